import fc from "fast-check";
import assert from "node:assert/strict";
import { concatBytes } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import type { TableSchema } from "../schema/schema.ts";
import { ALL_TYPES_SCHEMA, row as rowArbitrary } from "../testing/batch_arbitrary.ts";
import { compactColumns, expandColumns } from "./compact.ts";
import { decodeBatch, encodeBatch, encodeColumns } from "./ipc.ts";
import { batchOfRows, type RowObject, rowsOf } from "./rows.ts";

/**
 * What columns of logs are: some columns the same in all rows, `timestamp` sometimes of another
 * instant.
 */
const alikeRows = fc.tuple(
  fc.array(rowArbitrary, { maxLength: 20 }),
  rowArbitrary,
  fc.subarray(ALL_TYPES_SCHEMA.columns.map(({ name }) => name)),
).map(([rows, row, names]) => {
  const shared = Object.fromEntries(names.map((name) => [name, row[name] ?? null]));
  return rows.map((own): RowObject => ({ ...own, ...shared }));
});

const COLUMNS = ALL_TYPES_SCHEMA.columns.map(({ name }) => name);

/** Rows that each form of every column is stored for, by the names of the columns. */
function storedRows(rows: readonly RowObject[]): Record<string, number> {
  const stored = compactColumns(batchOfRows(ALL_TYPES_SCHEMA, rows));
  return Object.fromEntries(stored.map((column, i) => [COLUMNS[i] ?? "", column.rows]));
}

const PLAIN: RowObject = { timestamp: 1n, timestamp_ns: 1_999n, name: "a", ok: true };

Deno.test({
  name: "decodeBatch gives every row back, whichever columns are alike in all of them",
  fn() {
    let shorter = 0;
    fc.assert(fc.property(alikeRows, (rows) => {
      const batch = batchOfRows(ALL_TYPES_SCHEMA, rows);
      const encoded = encodeBatch(batch);
      const message = concatBytes(encoded.pieces);
      assert.deepEqual(rowsOf(decodeBatch(message, ALL_TYPES_SCHEMA)), rowsOf(batch));
      if (encoded.byteLength < encodeColumns(batch).byteLength) shorter += 1;
    }));
    assert.ok(shorter > 10, `${shorter} messages left something out`);
  },
});

const FORMS: readonly {
  name: string;
  rows: readonly RowObject[];
  stored: Record<string, number>;
}[] = [
  {
    name: "a column alike in all rows is one row, and so is one of nulls",
    rows: [PLAIN, { ...PLAIN, timestamp_ns: 1_001n, ok: false, big: 5n }],
    stored: { timestamp: 0, timestamp_ns: 2, name: 1, note: 1, ok: 2, big: 2 },
  },
  {
    name: "a timestamp of another instant stays",
    rows: [PLAIN, { ...PLAIN, timestamp: 2n }, PLAIN],
    stored: { timestamp: 3, timestamp_ns: 1, name: 1 },
  },
  {
    name: "strings of one length that differ at the end stay",
    rows: [PLAIN, { ...PLAIN, name: "b" }, { ...PLAIN, name: "a" }],
    stored: { timestamp: 0, name: 3 },
  },
  {
    name: "an empty string and a null are two values",
    rows: [{ ...PLAIN, note: "" }, { ...PLAIN, note: null }],
    stored: { note: 2, name: 1 },
  },
  {
    name: "numbers and booleans alike: one row, but for booleans, which take a bit",
    rows: [{ ...PLAIN, count: 3, ratio: 0.5 }, { ...PLAIN, count: 3, ratio: 0.5 }],
    stored: { count: 1, ratio: 1, ok: 2 },
  },
  { name: "one row is as it is", rows: [PLAIN], stored: { timestamp: 1, name: 1, note: 1 } },
  { name: "no row is as it is", rows: [], stored: { timestamp: 0, name: 0, note: 0 } },
];

for (const { name, rows, stored } of FORMS) {
  Deno.test({
    name: `compactColumns: ${name}`,
    fn() {
      const found = storedRows(rows);
      assert.deepEqual(
        Object.fromEntries(Object.keys(stored).map((column) => [column, found[column]])),
        stored,
      );
    },
  });
}

Deno.test({
  name: "compactColumns derives times before 1970 and at the ends of 64 bits, rounded down",
  fn() {
    const nanos = [
      -1n,
      -1_000n,
      -1_001n,
      0n,
      999n,
      2n ** 63n - 1n,
      -(2n ** 63n),
      2n ** 32n,
      -(2n ** 32n),
    ];
    const floor = (ns: bigint) => (ns - ((ns % 1_000n) + 1_000n) % 1_000n) / 1_000n;
    const rows = nanos.map((ns) => ({ ...PLAIN, timestamp: floor(ns), timestamp_ns: ns }));
    assert.equal(storedRows(rows).timestamp, 0);
    const batch = batchOfRows(ALL_TYPES_SCHEMA, rows);
    const message = concatBytes(encodeBatch(batch).pieces);
    assert.deepEqual(rowsOf(decodeBatch(message, ALL_TYPES_SCHEMA)), rowsOf(batch));
  },
});

const NAMED: TableSchema = {
  columns: [{ id: 1, name: "name", type: "string", required: true }],
  tags: [],
};

Deno.test({
  name: "expandColumns refuses to allocate more than a column may hold",
  fn() {
    const [stored] = compactColumns(batchOfRows(NAMED, [{ name: "x".repeat(100) }]));
    assert.ok(stored !== undefined);
    assert.throws(
      () => expandColumns(NAMED, 2 ** 31, [stored]),
      (error: unknown) => isOperatingError(error, "corrupt"),
    );
  },
});
