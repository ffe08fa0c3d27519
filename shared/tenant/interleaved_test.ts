import assert from "node:assert/strict";
import { firstOfEach, interleaved } from "./interleaved.ts";

const ITEMS = ["a1", "a2", "a3", "a4", "b1", "c1", "c2"];
const tenantOf = (item: string) => item.slice(0, 1);

Deno.test({
  name: "interleaved: each tenant's first comes before anybody's second",
  fn() {
    assert.deepEqual(interleaved(ITEMS, tenantOf), ["a1", "b1", "c1", "a2", "c2", "a3", "a4"]);
    assert.deepEqual(interleaved([], tenantOf), []);
  },
});

Deno.test({
  name: "firstOfEach: one of each tenant",
  fn: () => assert.deepEqual(firstOfEach(ITEMS, tenantOf), ["a1", "b1", "c1"]),
});
