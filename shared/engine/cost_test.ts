import { strictEqual } from "node:assert/strict";
import { EVENTS_SCHEMA } from "../event/events.ts";
import { complexityOf, costOf } from "./cost.ts";
import type { ScanPart, TablePlan } from "./plan.ts";
import { ALL_TIME } from "../iceberg/types.ts";

/** SHAPES.md "Numbers": bounds are inclusive, both must hold. */
const CLASSES: readonly (readonly [expected: string, bytes: number, rows: number])[] = [
  ["small", 0, 0],
  ["small", 100e6, 1e6],
  ["medium", 100e6 + 1, 1],
  ["medium", 1, 1e6 + 1],
  ["medium", 10e9, 100e6],
  ["large", 10e9 + 1, 1],
  ["large", 1, 100e6 + 1],
  ["large", 100e9, 1e9],
  ["huge", 100e9 + 1, 1],
  ["huge", 1, 1e9 + 1],
];

Deno.test({
  name: "complexityOf by bytes and rows",
  fn: () => {
    for (const [expected, bytes, rows] of CLASSES) strictEqual(complexityOf(bytes, rows), expected);
  },
});

function part(changes: Partial<ScanPart>): ScanPart {
  return {
    path: "/x",
    rows: 1000,
    rowGroups: 2,
    byteLength: 9000,
    columnSizes: new Map([[3, 500], [7, 4000]]),
    range: undefined,
    rowGroupsRead: 2,
    origin: "file",
    ...changes,
  };
}

function planOf(parts: readonly ScanPart[], changes: Partial<TablePlan> = {}): TablePlan {
  return {
    name: "events",
    ident: { namespace: "svc", name: "events" },
    schema: EVENTS_SCHEMA,
    snapshotId: 1n,
    sortOrderId: 1,
    range: ALL_TIME,
    considered: 3,
    files: [],
    delta: [],
    parts,
    ordered: false,
    projected: EVENTS_SCHEMA.columns.filter(({ name }) => name === "host"),
    ...changes,
  };
}

Deno.test({
  name: "costOf adds projected columns of files and WAL pieces",
  fn: () => {
    const cost = costOf({ tables: [planOf([part({}), part({ origin: "delta", rows: 10 })])] });
    strictEqual(cost.files_to_scan, 1);
    strictEqual(cost.files_considered, 3);
    strictEqual(cost.estimated_bytes_scanned, 1000);
    strictEqual(cost.estimated_rows_processed, 1010);
    strictEqual(cost.exact, true);
  },
});

Deno.test({
  name: "costOf is not exact where it scales or lacks sizes",
  fn: () => {
    const half = costOf({ tables: [planOf([part({ range: { first: 500, end: 1000 } })])] });
    strictEqual(half.estimated_bytes_scanned, 250);
    strictEqual(half.estimated_rows_processed, 500);
    strictEqual(half.exact, false);
    const unknown = costOf({ tables: [planOf([part({ columnSizes: new Map() })])] });
    strictEqual(unknown.estimated_bytes_scanned, 9000);
    strictEqual(unknown.exact, false);
  },
});

Deno.test({
  name: "costOf warns of a large scan without a time bound, and only of that",
  fn: () => {
    const large = part({ rows: 5e6 });
    strictEqual(costOf({ tables: [planOf([large])] }).warnings.length, 1);
    strictEqual(costOf({ tables: [planOf([part({})])] }).warnings.length, 0);
    const bounded = planOf([large], { range: { minNs: 1n, maxNs: undefined } });
    strictEqual(costOf({ tables: [bounded] }).warnings.length, 0);
  },
});
