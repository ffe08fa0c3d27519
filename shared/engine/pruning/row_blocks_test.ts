import assert from "node:assert/strict";
import { blocksOf, runsOf } from "./row_blocks.ts";

Deno.test("runs of neighbouring numbers, none for none", () => {
  assert.deepEqual(runsOf(Uint32Array.of(3, 4, 5, 9, 11, 12)), [
    { first: 3, last: 5 },
    { first: 9, last: 9 },
    { first: 11, last: 12 },
  ]);
  assert.deepEqual(runsOf(new Uint32Array(0)), []);
});

const CASES: readonly (readonly [string, [number, number][], [number, number[]]])[] = [
  ["granules of 16", [[16, 31], [64, 95]], [4, [1, 4, 5]]],
  ["one granule of 16 among granules of 64", [[64, 127], [144, 159]], [4, [4, 5, 6, 7, 9]]],
  ["the last one cut by the end of the file", [[32, 63], [96, 99]], [5, [1, 3]]],
  ["the first one cut by the start of the range", [[4, 31], [64, 79]], [4, [0, 1, 4]]],
  ["all of the range", [[4, 99]], [30, [0]]],
  ["single rows", [[6, 6], [9, 10]], [0, [6, 9, 10]]],
];
for (const [what, runs, [shift, numbers]] of CASES) {
  Deno.test(`blocks of rows: ${what}`, () => {
    const found = blocksOf(runs.map(([first, last]) => ({ first, last })), { first: 4, end: 100 });
    assert.deepEqual(found, { shift, numbers });
  });
}
