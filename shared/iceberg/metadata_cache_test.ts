import assert from "node:assert/strict";
import { MetadataCache } from "./metadata_cache.ts";

function counting() {
  const reads: string[] = [];
  return {
    reads,
    load: (cache: MetadataCache, key: string, bytes = 10) =>
      cache.load(key, () => {
        reads.push(key);
        return Promise.resolve({ value: key.toUpperCase(), bytes });
      }),
  };
}

Deno.test({
  name: "MetadataCache drops the least recently used past its bytes",
  async fn() {
    const { reads, load } = counting();
    const cache = new MetadataCache(20);
    for (const key of ["a", "b", "a", "c", "a", "b"]) {
      assert.equal(await load(cache, key), key.toUpperCase());
      assert.ok(cache.bytes <= 20, `${cache.bytes} bytes`);
    }
    assert.deepEqual(reads, ["a", "b", "c", "b"]);
  },
});

Deno.test({
  name: "MetadataCache does not keep a value larger than itself",
  async fn() {
    const { reads, load } = counting();
    const cache = new MetadataCache(20);
    await load(cache, "big", 21);
    await load(cache, "big", 21);
    assert.deepEqual([reads.length, cache.bytes], [2, 0]);
  },
});

Deno.test({
  name: "MetadataCache reads once for concurrent loads and forgets a failure",
  async fn() {
    const { reads, load } = counting();
    const cache = new MetadataCache(100);
    await Promise.all([load(cache, "a"), load(cache, "a")]);
    assert.deepEqual(reads, ["a"]);
    const failing = () => cache.load("x", () => Promise.reject(new Error("gone")));
    await assert.rejects(Promise.all([failing(), failing()]), /gone/);
    assert.equal(await load(cache, "x"), "X");
  },
});
