import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { columnOf } from "../../schema/schema.ts";
import { complexityOf, costOf, isDear, type StatementWork } from "./cost.ts";
import {
  deltaPart,
  type FilePart,
  filePart,
  fileTable,
  type ScanPart,
  type TablePlan,
} from "../plan/plan.ts";
import { dataFile } from "../../testing/data_file.ts";

/** docs/api/query.md#cost: bounds are inclusive, both must hold. */
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

function part(changes: Partial<FilePart>): FilePart {
  const file = dataFile({
    rows: 1000,
    byteLength: 9000,
    columnSizes: new Map([[3, 500], [7, 4000]]),
    splitOffsets: [4, 8],
  });
  return { ...filePart(file, "/x"), ...changes };
}

function deltaOf(rows: number): ScanPart {
  const { lowerBounds, upperBounds, ...file } = dataFile({
    columnSizes: new Map([[3, 500], [7, 4000]]),
  });
  const bounds = { lowerBounds, upperBounds, timestampNsMin: 0n, timestampNsMax: 0n };
  return deltaPart({
    ...file,
    ...bounds,
    path: "/wal",
    rows,
    complete: new Set(),
    filled: new Set(),
  });
}

function planOf(parts: readonly ScanPart[], changes: Partial<TablePlan> = {}): TablePlan {
  return {
    ...fileTable(dataFile(), EVENTS_SCHEMA.columns.filter(({ name }) => name === "host"), parts),
    name: "events",
    considered: 3,
    ...changes,
  };
}

Deno.test({
  name: "costOf adds projected columns of files and WAL pieces",
  fn: () => {
    const cost = costOf({ tables: [planOf([part({}), deltaOf(10)])] });
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

const GROUPED_BY_HOST = workOf("host");
const ANY = workOf(undefined);

/** Plain work in which these columns tell groups apart; with undefined, any other work. */
function workOf(...grouped: readonly (string | undefined)[]): StatementWork {
  const names = grouped.filter((name) => name !== undefined);
  return {
    generated: { rows: 0, unknown: [] },
    joined: { certain: 0, possible: 0 },
    plain: names.length < grouped.length ? undefined : { grouped: new Set(names) },
  };
}

/** Megabytes of each column that is read, of 125 files together. */
type Read = Readonly<Record<string, number>>;

/** Millions of rows; the work; what is read; whether it waits among expensive statements. */
const TURNS: readonly (readonly [dear: boolean, rows: number, StatementWork, Read])[] = [
  [false, 10, GROUPED_BY_HOST, { host: 0.1 }],
  [false, 10, GROUPED_BY_HOST, { host: 7.6 }],
  [true, 20, GROUPED_BY_HOST, { host: 0.2 }],
  [true, 10, workOf("host", "source"), { host: 7.6, source: 3.4 }],
  [false, 5, workOf("host", "source"), { host: 3.8, source: 1.7 }],
  [false, 10, workOf(), {}],
  [false, 10, workOf(), { host: 7.6 }],
  [false, 5, workOf(), { timestamp_ns: 20 }],
  [true, 10, workOf(), { timestamp_ns: 40 }],
  // Groups that may be as many as the rows.
  [true, 2, workOf("host"), { host: 2.1 }],
  [true, 2, workOf("timestamp_ns"), { timestamp_ns: 1 }],
  [true, 2, workOf("timestamp"), { timestamp: 1 }],
  // Long texts are decoded to be compared.
  [true, 2, workOf(), { raw: 20 }],
  [true, 2, GROUPED_BY_HOST, { host: 0.1, raw: 20 }],
  [true, 10, ANY, { host: 0.1 }],
  [true, 2, ANY, { raw: 20 }],
  [true, 1, ANY, {}],
  [false, 0.5, ANY, { raw: 1 }],
];

Deno.test({
  name: "isDear by rows, bytes and what is done with them",
  fn: async (t) => {
    for (const [dear, rows, work, read] of TURNS) {
      const { plain } = work;
      const grouped = plain === undefined ? "any work" : `groups by [${[...plain.grouped]}]`;
      await t.step(`${rows} M rows, ${grouped}, MB ${JSON.stringify(read)}`, () => {
        const columns = Object.keys(read).map((name) => columnOf(EVENTS_SCHEMA, name));
        const columnSizes = new Map(
          columns.map(({ id, name }) => [id, (read[name] ?? 0) * 1e6 / FILES] as const),
        );
        const parts = Array.from(
          { length: FILES },
          (_, at) => part({ path: `/${at}`, rows: rows * 1e6 / FILES, columnSizes }),
        );
        strictEqual(
          isDear(costOf({ tables: [planOf(parts, { projected: columns })] }, work)),
          dear,
        );
      });
    }
  },
});

const FILES = 125;

Deno.test({
  name: "costOf of plain work is at most that of any other, part by part",
  fn: () => {
    const small = Array.from({ length: 500 }, (_, at) => part({ path: `/${at}`, rows: 100 }));
    const secs = [GROUPED_BY_HOST, ANY].map((work) =>
      costOf({ tables: [planOf(small)] }, work).estimated_runtime_seconds
    );
    deepStrictEqual(secs[0], secs[1]);
    const unsized = planOf([part({ rows: 5e6, columnSizes: new Map() })]);
    strictEqual(isDear(costOf({ tables: [unsized] }, GROUPED_BY_HOST)), true);
  },
});
