import assert from "node:assert/strict";
import { WeighedCache } from "./weighed_cache.ts";

function counting() {
  const reads: string[] = [];
  return {
    reads,
    load: (cache: WeighedCache, key: string, bytes = 10) =>
      cache.load(key, () => {
        reads.push(key);
        return Promise.resolve({ value: key.toUpperCase(), bytes });
      }),
  };
}

Deno.test({
  name: "WeighedCache drops the least recently used past its bytes",
  async fn() {
    const { reads, load } = counting();
    const cache = new WeighedCache(20);
    for (const key of ["a", "b", "a", "c", "a", "b"]) {
      assert.equal(await load(cache, key), key.toUpperCase());
      assert.ok(cache.bytes <= 20, `${cache.bytes} bytes`);
    }
    assert.deepEqual(reads, ["a", "b", "c", "b"]);
  },
});

Deno.test({
  name: "WeighedCache does not keep a value larger than itself",
  async fn() {
    const { reads, load } = counting();
    const cache = new WeighedCache(20);
    await load(cache, "big", 21);
    await load(cache, "big", 21);
    assert.deepEqual([reads.length, cache.bytes], [2, 0]);
  },
});

Deno.test({
  name: "WeighedCache reads once for concurrent loads and forgets a failure",
  async fn() {
    const { reads, load } = counting();
    const cache = new WeighedCache(100);
    await Promise.all([load(cache, "a"), load(cache, "a")]);
    assert.deepEqual(reads, ["a"]);
    const failing = () => cache.load("x", () => Promise.reject(new Error("gone")));
    await assert.rejects(Promise.all([failing(), failing()]), /gone/);
    assert.equal(await load(cache, "x"), "X");
  },
});

Deno.test({
  name: "WeighedCache keeps at most so many entries, and tells its meter of all that it does",
  async fn() {
    const { reads, load } = counting();
    const told: (string | number)[] = [];
    const cache = new WeighedCache(100, {
      entriesMax: 2,
      meter: {
        lookedUp: (outcome) => void told.push(outcome),
        held: (bytes) => void told.push(bytes),
      },
    });
    for (const key of ["a", "b", "c", "b", "a"]) await load(cache, key);
    assert.deepEqual(reads, ["a", "b", "c", "a"]);
    assert.deepEqual(told, ["miss", 10, "miss", 20, "miss", 20, "hit", "miss", 20]);
  },
});

Deno.test({
  name: "WeighedCache keeps what is used again and again, among many that are used once",
  async fn() {
    const { reads, load } = counting();
    const cache = new WeighedCache(1_000);
    for (let round = 0; round < 1_000; round += 1) {
      await load(cache, "hot");
      await load(cache, `once ${round}`);
    }
    assert.equal(reads.filter((key) => key === "hot").length, 1);
  },
});

Deno.test({
  name: "WeighedCache does not keep what is as quickly read again",
  async fn() {
    const cache = new WeighedCache(100);
    let reads = 0;
    const read = () => Promise.resolve({ value: ++reads, bytes: 10, isKept: false });
    assert.deepEqual(await Promise.all([cache.load("a", read), cache.load("a", read)]), [1, 1]);
    assert.deepEqual([await cache.load("a", read), cache.bytes], [2, 0]);
  },
});

Deno.test({
  name: "WeighedCache of 0 bytes keeps nothing, and shares a load meanwhile",
  async fn() {
    const { reads, load } = counting();
    const cache = new WeighedCache(0);
    await Promise.all([load(cache, "a", 0), load(cache, "a", 0)]);
    await load(cache, "a", 0);
    assert.deepEqual(reads, ["a", "a"]);
  },
});

Deno.test({
  name: "WeighedCache reads what it was told to forget again, and counts its bytes once",
  async fn() {
    const { reads, load } = counting();
    const cache = new WeighedCache(20);
    await load(cache, "a");
    cache.forget("a");
    cache.forget("unknown");
    assert.equal(cache.bytes, 0);
    await load(cache, "a");
    const loading = load(cache, "b");
    cache.forget("b");
    assert.equal(await loading, "B");
    assert.deepEqual([reads, cache.bytes], [["a", "a", "b"], 10]);
  },
});
