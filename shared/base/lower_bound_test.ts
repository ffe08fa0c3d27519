import { strictEqual } from "node:assert/strict";
import { lowerBound } from "./lower_bound.ts";

Deno.test("lowerBound is the first number that is not below, from where it is asked", () => {
  const numbers = [2, 2, 5, 9, 9, 9, 12];
  for (const sorted of [Uint32Array.from(numbers), Float64Array.from(numbers)]) {
    for (let bound = 0; bound <= 13; bound += 1) {
      for (let from = 0; from <= sorted.length; from += 1) {
        const found = sorted.findIndex((number, at) => at >= from && number >= bound);
        strictEqual(lowerBound(sorted, bound, from), found < 0 ? sorted.length : found);
      }
    }
  }
  strictEqual(lowerBound(new Uint32Array(), 1), 0);
});
