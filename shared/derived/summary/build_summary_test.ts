/** Every blob of a summary against counts of the rows by plain loops, and what is left out. */

import fc from "fast-check";
import assert from "node:assert/strict";
import { batchOfRows, type ColumnValue, type RowObject } from "../../columns/rows.ts";
import type { TableSchema } from "../../schema/schema.ts";
import type { Blob, FileRows } from "../types.ts";
import { summaryBlobs, type SummaryLimits } from "./build_summary.ts";
import {
  CUBE_COUNTS_BLOB,
  type CubeCells,
  decodeCubeCounts,
  decodeGroupCounts,
  decodeMeasures,
  decodeSummary,
  encodeSummary,
  GROUP_COUNTS_BLOB,
  type GroupValue,
  type Measures,
  MEASURES_BLOB,
  SUMMARY_BLOB,
} from "./summary_blobs.ts";
import { TOP_VALUES_BLOB, VALUE_COUNTS_BLOB } from "./value_counts.ts";

const RUNS = Number(Deno.env.get("SVC_SUMMARY_RUNS") ?? 60);

const SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "host", type: "string", required: true },
    { id: 4, name: "zone", type: "string", required: false },
    { id: 5, name: "code", type: "int", required: false },
    { id: 6, name: "ratio", type: "double", required: false },
    { id: 7, name: "ok", type: "bool", required: false },
    { id: 8, name: "took", type: "long", required: false },
    { id: 9, name: "raw", type: "string", required: true },
  ],
  tags: ["zone", "host"],
};

const text = fc.oneof(
  fc.constantFrom("", "a", "b", "o'neil", "東京", "\0", "a".repeat(40), "a".repeat(39) + "b"),
  fc.string({ unit: "binary", maxLength: 6 }).map((value) => value.toWellFormed()),
);
const row: fc.Arbitrary<RowObject> = fc.record({
  minute: fc.integer({ min: -3, max: 3 }),
  within: fc.bigInt({ min: 0n, max: 59_999_999n }),
  host: text,
  zone: fc.option(fc.constantFrom("", "eu", "us")),
  code: fc.option(fc.constantFrom(200, 404, -1, -2_147_483_648)),
  ratio: fc.option(fc.constantFrom(0, 0.25, -1.5, NaN, Infinity, 0.1, 2 ** 60, 1e300)),
  ok: fc.option(fc.boolean()),
  took: fc.option(
    fc.constantFrom(0n, 5n, -7n, 2n ** 63n - 1n, -(2n ** 63n), 9_007_199_254_740_993n),
  ),
  raw: text,
}).map(({ minute, within, ...columns }) => {
  const micros = BigInt(minute) * 60_000_000n + within;
  return { timestamp: micros, timestamp_ns: micros * 1_000n, ...columns };
});
const inOrder = (rows: RowObject[]) =>
  rows.toSorted((a, b) =>
    Number(BigInt(a["timestamp"] as bigint) - BigInt(b["timestamp"] as bigint))
  );

/** Rows in pieces, as a file may come. */
function fileOf(rows: readonly RowObject[], pieces = 1, schema = SCHEMA): FileRows {
  const size = Math.max(1, Math.ceil(rows.length / pieces));
  const batches = [];
  for (let at = 0; at < rows.length; at += size) {
    batches.push(batchOfRows(schema, rows.slice(at, at + size)));
  }
  return { schema, rows: rows.length, batches, text: [], rowGroupRows: 1000 };
}

function find(blobs: readonly Blob[], type: string, fields: readonly number[]): Blob | undefined {
  return blobs.find((blob) => blob.type === type && String(blob.fields) === String(fields));
}

function dataOf(blobs: readonly Blob[], type: string, fields: readonly number[]): Uint8Array {
  const blob = find(blobs, type, fields);
  assert(blob, `${type} ${fields}`);
  return blob.data;
}

const nameOf = (id: number) => SCHEMA.columns.find((column) => column.id === id)?.name ?? "";
const textOfValue = (value: ColumnValue | undefined): GroupValue =>
  value === null || value === undefined ? null : String(value);
const minuteOf = (row: RowObject) =>
  Math.floor(Number(BigInt(row["timestamp"] as bigint)) / 60_000_000);

/** What a row is counted under, for each of `fields`. */
const keyOf = (row: RowObject, fields: readonly number[]) =>
  JSON.stringify(fields.map((id) => id === 1 ? minuteOf(row) : textOfValue(row[nameOf(id)])));

function plainCounts(rows: readonly RowObject[], fields: readonly number[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(keyOf(row, fields), (counts.get(keyOf(row, fields)) ?? 0) + 1);
  return counts;
}

/** The key of a cell in the words of `keyOf`. */
function cellKeys(
  blobs: readonly Blob[],
  rows: number,
  fields: readonly number[],
  cells: CubeCells,
) {
  const lists = fields.map((id) => {
    const blob = find(blobs, GROUP_COUNTS_BLOB, [id]);
    return blob === undefined ? undefined : decodeGroupCounts(blob.data, rows).values;
  });
  return Array.from(cells.a, (a, at) =>
    JSON.stringify(fields.map((id, dim) => {
      const part = dim === 0 ? a : cells.b[at] as number;
      return id === 1 ? part : lists[dim]?.[part] ?? null;
    })));
}

Deno.test("summaryBlobs counts as plain loops do, by value, minute, minute and value, and pair", () => {
  fc.assert(
    fc.property(
      fc.array(row, { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      (unordered, pieces) => {
        const rows = inOrder(unordered);
        const blobs = summaryBlobs(fileOf(rows, pieces));
        assert.equal(
          decodeSummary(dataOf(blobs, SUMMARY_BLOB, [1, 2, 3, 4, 5, 6, 7, 8, 9])),
          rows.length,
        );
        for (const id of [3, 4, 5, 6, 7, 8]) {
          const blob = find(blobs, GROUP_COUNTS_BLOB, [id]);
          assert(blob, nameOf(id));
          const { values, counts } = decodeGroupCounts(blob.data, rows.length);
          const found = new Map(
            values.flatMap((value, at) =>
              counts[at] === 0 ? [] : [[JSON.stringify([value]), counts[at] as number]]
            ),
          );
          assert.deepEqual(found, plainCounts(rows, [id]));
        }
        for (const fields of [[1], [1, 3], [1, 4], [1, 5], [1, 8], [3, 4]]) {
          const blob = find(blobs, CUBE_COUNTS_BLOB, fields);
          assert(blob, String(fields));
          const cube = decodeCubeCounts(blob.data, rows.length);
          const keys = cellKeys(blobs, rows.length, fields, cube);
          const found = new Map(keys.map((key, at) => [key, cube.counts[at] as number]));
          assert.equal(found.size, keys.length);
          assert.deepEqual(found, plainCounts(rows, fields));
        }
      },
    ),
    { numRuns: RUNS },
  );
});

Deno.test("summaryBlobs measures as plain loops do; doubles have a sum only where every order gives it", () => {
  fc.assert(
    fc.property(
      fc.array(row, { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      (unordered, pieces) => {
        const rows = inOrder(unordered);
        const blobs = summaryBlobs(fileOf(rows, pieces));
        for (const dims of [[], [4], [5], [1], [1, 3], [1, 4]]) {
          for (const id of [1, 5, 6, 8]) {
            if (dims[0] === id || (dims.length > 1 && id === 1)) continue;
            const blob = find(blobs, MEASURES_BLOB, [...dims, id]);
            assert(blob, String([...dims, id]));
            const measures = decodeMeasures(blob.data);
            const keys = cellKeys(blobs, rows.length, dims, measures);
            const wanted = Map.groupBy(
              rows.filter((row) => row[nameOf(id)] !== null),
              (row) => keyOf(row, dims),
            );
            keys.forEach((key, at) => {
              const values = wanted.get(key)?.map((row) => row[nameOf(id)] as bigint | number) ??
                [];
              assertMeasured(measures, at, values);
              wanted.delete(key);
            });
            assert.equal(wanted.size, 0);
          }
        }
      },
    ),
    { numRuns: RUNS },
  );
});

function assertMeasured(
  measures: Measures,
  at: number,
  values: readonly (bigint | number)[],
): void {
  assert.equal(measures.values[at], values.length);
  if (values.length === 0) return;
  // NaN is the largest.
  const rank = (value: bigint | number) => Number.isNaN(value) ? Infinity : value;
  const sorted = values.toSorted((a, b) => {
    if (Number.isNaN(a) || Number.isNaN(b)) {
      return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
    }
    return rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0;
  });
  const typed = (value: bigint | number | undefined) =>
    measures.kind === "double" ? Number(value) : BigInt(value ?? 0);
  assert.deepEqual(measures.smallest[at], typed(sorted[0]));
  assert.deepEqual(measures.largest[at], typed(sorted.at(-1)));
  if (measures.kind === "time") assert.equal(measures.sums, undefined);
  if (measures.kind === "integer") {
    const sum = values.reduce<bigint>((total, value) => total + BigInt(value), 0n);
    assert.equal(measures.sums?.sums[at], sum);
  }
  if (measures.kind === "double" && measures.sums !== undefined) {
    const { units, sums, absolutes } = measures.sums;
    const scaled = values.map((value) => BigInt(Number(value) * 2 ** units));
    assert.equal(sums[at], scaled.reduce((total, value) => total + value, 0n));
    assert.equal(
      absolutes[at],
      scaled.reduce((total, value) => total + (value < 0n ? -value : value), 0n),
    );
  }
}

const TIME = { timestamp: 0n, timestamp_ns: 0n };
const plainRow = (changes: RowObject): RowObject => ({ ...TIME, host: "h", raw: "", ...changes });

interface LeftOut {
  readonly name: string;
  readonly rows: readonly RowObject[];
  readonly limits?: SummaryLimits;
  readonly absent: readonly (readonly [type: string, ...fields: number[]])[];
  readonly there: readonly (readonly [type: string, ...fields: number[]])[];
}

const LEFT_OUT: readonly LeftOut[] = [
  {
    name: "a column with more values than allowed has no counts by value, and is a measure",
    rows: Array.from({ length: 5 }, (_, n) => plainRow({ host: `h${n}`, took: BigInt(n) })),
    limits: { groupValuesMax: 4 },
    absent: [
      ...[[GROUP_COUNTS_BLOB, 3], [CUBE_COUNTS_BLOB, 1, 3], [GROUP_COUNTS_BLOB, 8]] as const,
      [VALUE_COUNTS_BLOB, 3],
    ],
    there: [[MEASURES_BLOB, 8], [CUBE_COUNTS_BLOB, 1], [TOP_VALUES_BLOB, 3]],
  },
  {
    name:
      "a column with more values than allowed, several rows of each, is counted beside the summary",
    rows: Array.from(
      { length: 12 },
      (_, n) => plainRow({ host: `h${n % 5}`, ratio: n === 0 ? -0 : n }),
    ),
    limits: { groupValuesMax: 4 },
    absent: [[GROUP_COUNTS_BLOB, 3], [TOP_VALUES_BLOB, 3], [VALUE_COUNTS_BLOB, 6], [
      TOP_VALUES_BLOB,
      6,
    ]],
    there: [[VALUE_COUNTS_BLOB, 3]],
  },
  {
    name: "as many values as allowed are counted",
    rows: Array.from({ length: 5 }, (_, n) => plainRow({ host: `h${n}` })),
    limits: { groupValuesMax: 5 },
    absent: [],
    there: [[GROUP_COUNTS_BLOB, 3]],
  },
  {
    name: "a double that is -0 is neither counted nor measured",
    rows: [plainRow({ ratio: 1 }), plainRow({ ratio: -0 })],
    absent: [[GROUP_COUNTS_BLOB, 6], [MEASURES_BLOB, 6], [MEASURES_BLOB, 1, 6]],
    there: [[GROUP_COUNTS_BLOB, 5]],
  },
  {
    name: "rows out of order have no counts by minute",
    rows: [plainRow({ timestamp: 9n }), plainRow({ timestamp: 8n })],
    absent: [[CUBE_COUNTS_BLOB, 1], [CUBE_COUNTS_BLOB, 1, 3], [MEASURES_BLOB, 1, 8]],
    there: [[GROUP_COUNTS_BLOB, 3], [MEASURES_BLOB, 8]],
  },
  {
    name: "what does not fit is left out, and what is wanted less",
    rows: Array.from({ length: 200 }, (_, n) => plainRow({ host: `host-${n}` })),
    limits: { bytesMax: 1_000 },
    absent: [[GROUP_COUNTS_BLOB, 3]],
    there: [[GROUP_COUNTS_BLOB, 4], [CUBE_COUNTS_BLOB, 1]],
  },
];

for (const { name, rows, limits, absent, there } of LEFT_OUT) {
  Deno.test(`summaryBlobs: ${name}`, () => {
    const blobs = summaryBlobs(fileOf(rows), limits);
    for (const [type, ...fields] of absent) {
      assert.equal(find(blobs, type, fields), undefined, type);
    }
    for (const [type, ...fields] of there) assert(find(blobs, type, fields), `${type} ${fields}`);
    const beside = [VALUE_COUNTS_BLOB, TOP_VALUES_BLOB];
    const bytes = blobs.filter(({ type }) => !beside.includes(type))
      .reduce((sum, { data }) => sum + data.byteLength, 0);
    assert(bytes <= (limits?.bytesMax ?? 2 ** 20));
  });
}

Deno.test("sums of doubles: whole numbers, fractions of a power of two, and none for 0.1", () => {
  const sumsOf = (ratios: readonly number[]) => {
    const blobs = summaryBlobs(fileOf(ratios.map((ratio) => plainRow({ ratio }))));
    return decodeMeasures(dataOf(blobs, MEASURES_BLOB, [6])).sums;
  };
  assert.deepEqual(sumsOf([3, -1]), { units: 0, sums: [2n], absolutes: [4n] });
  assert.deepEqual(sumsOf([0.5, 0.25]), { units: 20, sums: [786_432n], absolutes: [786_432n] });
  for (const inexact of [[0.1], [2 ** 53], [2 ** 40, 0.5], [NaN], [-Infinity]]) {
    assert.equal(sumsOf(inexact), undefined, String(inexact));
  }
});

Deno.test("a blob of any other bytes is corrupt, never a wrong count", () => {
  const rows = [plainRow({ host: "a", took: 4n }), plainRow({ host: "b", took: null })];
  const blobs = summaryBlobs(fileOf(rows));
  const decode = ({ type, data }: Blob): unknown =>
    type === SUMMARY_BLOB
      ? decodeSummary(data)
      : type === GROUP_COUNTS_BLOB
      ? decodeGroupCounts(data, rows.length)
      : type === CUBE_COUNTS_BLOB
      ? decodeCubeCounts(data, rows.length)
      : decodeMeasures(data);
  const corrupt = { name: "OperatingError", code: "corrupt" };
  for (const blob of blobs) {
    for (let at = 0; at < blob.data.byteLength; at += 1) {
      const data = blob.data.slice();
      data[at] = (data[at] as number) ^ 0x10;
      assert.throws(() => decode({ ...blob, data }), corrupt);
      assert.throws(() => decode({ ...blob, data: blob.data.subarray(0, at) }), corrupt);
    }
  }
  const counts = dataOf(blobs, GROUP_COUNTS_BLOB, [3]);
  assert.throws(() => decodeGroupCounts(counts, 3), corrupt);
  assert.equal(decodeSummary(encodeSummary(2 ** 40)), 2 ** 40);
});
