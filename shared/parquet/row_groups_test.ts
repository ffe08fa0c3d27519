import assert from "node:assert/strict";
import { evenStarts, nextWholeRows, ROW_GROUP_ROWS, rowGroupStarts } from "./row_groups.ts";

const STARTS: readonly (readonly [rows: number, starts: readonly number[]])[] = [
  [0, []],
  [1, [0]],
  [4_096, [0]],
  [4_097, [0, 1]],
  [30_000, [0, 25_904]],
  [65_536, [0, 61_440]],
  [65_537, [0, 32_769, 65_536]],
  [65_536 + 32_767, [0, 65_535, 65_536]],
  [65_536 + 32_768, [0, 65_536]],
  [80_000, [0, 47_232, 65_536]],
  [200_000, [0, 65_536, 131_072, 167_232, 196_608]],
];

Deno.test("rowGroupStarts puts a small row group at a file's end, and none across 65,536 rows", () => {
  for (const [rows, starts] of STARTS) assert.deepEqual(rowGroupStarts(rows), starts, `${rows}`);
});

Deno.test("row groups with a small one at the end are never as many as even ones that differ from them", () => {
  for (let rows = 0; rows < 3 * ROW_GROUP_ROWS; rows += 1) {
    const [ours, even] = [rowGroupStarts(rows), evenStarts(rows, ROW_GROUP_ROWS)];
    if (ours.length === even.length) assert.deepEqual(ours, even, `${rows}`);
  }
});

Deno.test("nextWholeRows are rows of which no row group but the last is small", () => {
  for (let rows = 0; rows < 4 * ROW_GROUP_ROWS; rows += 1_000) {
    const whole = nextWholeRows(rows);
    assert.ok(whole > rows && whole <= rows + ROW_GROUP_ROWS, `${rows}: ${whole}`);
    if (whole < ROW_GROUP_ROWS) continue;
    assert.deepEqual(rowGroupStarts(whole), evenStarts(whole, ROW_GROUP_ROWS), `${whole}`);
  }
});
