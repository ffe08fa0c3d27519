import { strictEqual } from "node:assert/strict";
import { ALL_TIME, type DataFile, type TimeRange } from "../../iceberg/types.ts";
import { type FilePart, filePart, fileTable, type RowRange } from "../plan/plan.ts";
import { isNearestHeld } from "./held_plan.ts";

const FILE: DataFile = {
  ...{ key: "a.parquet", location: "file:///a.parquet", day: 0, rows: 700, byteLength: 1 },
  ...{ timestampNsMin: 100n, timestampNsMax: 900n },
  ...{ lowerBounds: new Map(), upperBounds: new Map(), columnSizes: new Map() },
  ...{ nullCounts: new Map(), valueCounts: new Map(), splitOffsets: [], sortOrderId: 1 },
};
const INSIDE: TimeRange = { minNs: 100n, maxNs: 900n };

/** A plan of rows in memory: of all of a file, or of a range of it. */
function heldPlanOf(timeRange: TimeRange, range: RowRange | undefined) {
  const part: FilePart = { ...filePart(FILE, "/a"), range, source: { kind: "held", blocks: [] } };
  return { tables: [{ ...fileTable(FILE, [], [part]), range: timeRange, ordered: true }] };
}

const NEAREST: RowRange = { first: 695, end: 700 };

/** Whether a run counts as the rows of its plan, and is not measured. */
const CASES: readonly (readonly [what: string, TimeRange, RowRange | undefined, boolean])[] = [
  ["the nearest rows of a file, at all times", ALL_TIME, NEAREST, true],
  ["a whole file, at all times", ALL_TIME, undefined, true],
  ["the nearest rows of a file in the range", INSIDE, NEAREST, true],
  ["rows of a file that begins before the range", { ...INSIDE, minNs: 101n }, NEAREST, false],
  ["rows of a file that ends after the range", { ...INSIDE, maxNs: 899n }, NEAREST, false],
  ["a whole file in the range, which a scan gives in part", INSIDE, undefined, false],
];

Deno.test({
  name: "isNearestHeld counts rows in memory as scanned where an ordered scan chose just them",
  fn: async (t) => {
    for (const [what, timeRange, range, expected] of CASES) {
      await t.step(what, () => strictEqual(isNearestHeld(heldPlanOf(timeRange, range)), expected));
    }
  },
});
