/**
 * Which rows are one span, and that telling them apart takes no longer for rows made to be alike.
 */

import assert from "node:assert/strict";
import { outlineOfRow } from "./span.ts";
import { tracesOf } from "./traces.ts";

const ID = "0".repeat(31) + "1";
const MS_MAX = 5_000;

function row(name: string): readonly unknown[] {
  return [
    ID,
    "00000000000000aa",
    null,
    "shop",
    name,
    "SPAN_KIND_SERVER",
    "STATUS_CODE_OK",
    "5",
    "1",
  ];
}

Deno.test({
  name:
    "tracesOf tells rows that are alike once, and different rows of one id each, in linear time",
  fn() {
    // Compared with each other they would be two thousand million pairs.
    const names = Array.from({ length: 60_000 }, (_, n) => `op ${n}`);
    const rows = [...names, ...names.slice(0, 100)].map(row);
    const startMs = performance.now();
    const [trace] = tracesOf(rows, [ID], outlineOfRow);
    assert.ok(performance.now() - startMs < MS_MAX);
    assert.deepEqual(trace?.spans.map(({ name }) => name), names);
  },
});
