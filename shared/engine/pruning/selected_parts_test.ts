/** Which rows of a part are told to the scan, and which are only counted. */

import { deepStrictEqual } from "node:assert/strict";
import { dataFile } from "../../testing/data_file.ts";
import { filePart } from "../plan/plan.ts";
import { type Evaluation, selectedParts } from "./selected_parts.ts";

const ROWS = 65_536;
const RUN = Uint32Array.from({ length: 5_000 }, (_, at) => 24_000 + at);
/** More runs than a scan is told as ranges. */
const APART = Uint32Array.from({ length: 100 }, (_, at) => at * 600);

const CASES: readonly (readonly [Evaluation, rows: Uint32Array, isTold: boolean])[] = [
  ["while decoding", RUN, false],
  ["while decoding", APART, false],
  ["quick", RUN, true],
  ["quick", APART, false],
  ["dear", RUN, true],
  ["dear", APART, true],
];

Deno.test("selectedParts tells a scan the rows that it would not find sooner by itself", () => {
  const whole = filePart(dataFile({ rows: ROWS, splitOffsets: [4] }), "a.parquet");
  const groups = [{ firstRow: 0, rows: ROWS }];
  for (const [evaluation, rows, isTold] of CASES) {
    const { parts } = selectedParts({ whole, groups, evaluation }, { kind: "rows", rows });
    // Their number is known in any case: it is the plan's, and few rows are read out of pages.
    deepStrictEqual(
      parts.map((part) => [part.isTold, part.rowNumbers?.length]),
      [[isTold, rows.length]],
      evaluation,
    );
  }
});

Deno.test("selectedParts has numbers of half of a small file for its pages, not for a scan", () => {
  const whole = filePart(dataFile({ rows: 1_000, splitOffsets: [4] }), "a.parquet");
  const groups = [{ firstRow: 0, rows: 1_000 }];
  for (const [count, numbers] of [[250, true], [256, false], [500, false], [501, undefined]]) {
    const rows = Uint32Array.from({ length: Number(count) }, (_, at) => at);
    const { parts } = selectedParts(
      { whole, groups, evaluation: "dear" },
      { kind: "rows", rows },
    );
    const [part] = parts;
    deepStrictEqual(part?.rowNumbers === undefined ? undefined : part.isTold, numbers, `${count}`);
  }
});
