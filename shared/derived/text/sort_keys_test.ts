import assert from "node:assert/strict";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { sortedByKey } from "./sort_keys.ts";

for (const bits of [1, 11, 12, 22, 32]) {
  Deno.test(`keys of ${bits} bits are sorted, and equal ones stay in their order`, () => {
    const random = new SeededRandom(bits);
    const keys = Uint32Array.from({ length: 5_000 }, () => random.below(2 ** bits));
    const things = [...keys.keys()].sort((a, b) => Number(keys[a]) - Number(keys[b]) || a - b);
    const expected = {
      keys: keys.toSorted(),
      things: Uint32Array.from(things),
    };
    const sorted = sortedByKey(keys, bits);
    assert.deepEqual({ ...sorted }, expected);
  });
}

Deno.test("no keys are sorted, too", () => {
  assert.equal(sortedByKey(new Uint32Array(), 20).keys.length, 0);
});
