import assert from "node:assert/strict";
import { OBJECT_STORE_CASES } from "../testing/object_store_conformance.ts";
import { LazyStore } from "./lazy_store.ts";
import { MemoryStore } from "../testing/memory_store.ts";

for (const { name, run } of OBJECT_STORE_CASES) {
  Deno.test({
    name: `LazyStore ${name}`,
    fn: () => {
      const store = new MemoryStore();
      return run(new LazyStore(store.rootUri, () => Promise.resolve(store)));
    },
  });
}

Deno.test({
  name: "LazyStore opens once, when it is used, and again after that failed",
  fn: async () => {
    let opens = 0;
    const store = new LazyStore("memory://warehouse", () => {
      opens += 1;
      return opens === 1
        ? Promise.reject(new Error("no library"))
        : Promise.resolve(new MemoryStore());
    });
    assert.equal(opens, 0);
    await assert.rejects(store.head("a"), /no library/);
    await Promise.all([store.putNew("a", new Uint8Array(1)), store.putNew("b", new Uint8Array(2))]);
    assert.equal((await store.head("b")).size, 2);
    assert.equal(opens, 2);
  },
});
