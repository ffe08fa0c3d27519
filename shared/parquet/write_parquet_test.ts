import assert from "node:assert/strict";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { utf8 } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import type { ColumnBatch, ColumnData } from "../columns/batch.ts";
import type { TableSchema } from "../schema/schema.ts";
import { MemoryStore } from "../testing/memory_store.ts";
import { parseFooter, readFooter } from "./footer.ts";
import { writeParquet } from "./write_parquet.ts";

/** One column of each type; ids with a gap, as after a dropped column. */
const SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 5, name: "text", type: "string", required: false },
    { id: 6, name: "count", type: "int", required: true },
    { id: 7, name: "ratio", type: "double", required: true },
    { id: 9, name: "flag", type: "bool", required: true },
  ],
  tags: [],
};

interface Row {
  readonly ns: bigint;
  readonly text: string | null;
  readonly count: number;
  readonly ratio: number;
  readonly flag: boolean;
}

Deno.test({
  name: "writeParquet: another reader finds every row, in order",
  async fn() {
    const rows = Array.from({ length: 2_500 }, (_, at) => rowAt(at));
    for (const effort of ["thorough", "usual", "quick", "none"] as const) {
      const batches = [batchOf(rows.slice(0, 1_000)), batchOf([]), batchOf(rows.slice(1_000))];
      const file = writeParquet(batches, { schema: SCHEMA, effort, rowGroupRowsMax: 600 });
      assert.equal(file.rows, rows.length);
      const read = await parquetReadObjects({
        file: file.bytes.slice().buffer,
        compressors,
        parsers: { timestampFromMicroseconds: (micros: bigint) => micros },
      });
      assert.deepEqual(
        read,
        rows.map(({ ns, ...rest }) => ({ timestamp: ns / 1_000n, timestamp_ns: ns, ...rest })),
      );
    }
  },
});

Deno.test({
  name: "writeParquet ends what is kept with a small row group, whatever batches it came in",
  async fn() {
    const rows = Array.from({ length: 30_000 }, (_, at) => rowAt(at));
    const cuts = [0, 9_000, 9_600, 26_000, 29_999, rows.length];
    const batches = cuts.slice(1).map((end, at) => batchOf(rows.slice(cuts[at], end)));
    const { bytes, footer } = writeParquet(batches, { schema: SCHEMA });
    assert.deepEqual(
      footer.rowGroups.map((group) => [group.firstRow, group.rows]),
      [[0, 25_904], [25_904, 4_096]],
    );
    const read = await parquetReadObjects({ file: bytes.slice().buffer, compressors });
    assert.deepEqual(read.map((row) => row["timestamp_ns"]), rows.map(({ ns }) => ns));
    assert.deepEqual(read.map((row) => row["text"]), rows.map(({ text }) => text));
  },
});

Deno.test({
  name: "writeParquet counts values and nulls and bounds each column by field id",
  fn() {
    const rows = Array.from({ length: 2_500 }, (_, at) => rowAt(at));
    const options = { schema: SCHEMA, rowGroupRowsMax: 600 };
    const file = writeParquet([batchOf(rows)], options);
    const nulls = rows.filter((row) => row.text === null).length;
    assert.deepEqual([...file.valueCounts], SCHEMA.columns.map(({ id }) => [id, 2_500]));
    assert.deepEqual(
      [...file.nullCounts],
      SCHEMA.columns.map(({ id }) => [id, id === 5 ? nulls : 0]),
    );
    const texts = rows.flatMap((row) => row.text ?? []).toSorted();
    const ns = rows.map((row) => row.ns).toSorted((a, b) => (a < b ? -1 : 1));
    const bounds = (sorted: readonly bigint[], at: number) => int64(sorted.at(at) ?? 0n);
    assert.deepEqual(file.lowerBounds.get(1), bounds(ns.map((value) => value / 1_000n), 0));
    assert.deepEqual(file.upperBounds.get(1), bounds(ns.map((value) => value / 1_000n), -1));
    assert.deepEqual(file.lowerBounds.get(2), bounds(ns, 0));
    assert.deepEqual(file.upperBounds.get(2), bounds(ns, -1));
    assert.deepEqual(file.lowerBounds.get(5), utf8(texts.at(0) ?? ""));
    assert.deepEqual(file.upperBounds.get(5), utf8(texts.at(-1) ?? ""));
    assert.deepEqual(file.lowerBounds.get(6), int32(-1_250));
    assert.deepEqual(file.upperBounds.get(6), int32(1_249));
    assert.deepEqual(file.lowerBounds.get(7), float64(-625));
    assert.deepEqual(file.upperBounds.get(7), float64(624.5));
    assert.deepEqual(file.lowerBounds.get(9), Uint8Array.of(0));
    assert.deepEqual(file.upperBounds.get(9), Uint8Array.of(1));
    const stored = [...file.columnSizes.values()].reduce((sum, size) => sum + size, 0);
    assert.ok(stored > 0 && stored < file.bytes.byteLength, `columns have ${stored} bytes`);
    assert.equal(file.splitOffsets.length, 5);
  },
});

Deno.test({
  name: "writeParquet gives a column of nulls no bounds, and cuts long texts on the safe side",
  fn() {
    const row = rowAt(0);
    const nulls = writeParquet([batchOf([{ ...row, text: null }])], { schema: SCHEMA });
    assert.equal(nulls.lowerBounds.has(5), false);
    assert.equal(nulls.upperBounds.has(5), false);

    const text = "ü".repeat(500);
    const long = writeParquet([batchOf([{ ...row, text }])], { schema: SCHEMA });
    const [lower = "", upper = ""] = [long.lowerBounds.get(5), long.upperBounds.get(5)]
      .map((bytes) => new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    assert.ok(lower <= text && text <= upper, `${lower} … ${upper}`);
    assert.ok(lower.length <= 64 && upper.length <= 64, "bounds are cut");
  },
});

Deno.test({
  name: "writeParquet of no rows is a file of no row groups",
  fn() {
    const file = writeParquet([], { schema: SCHEMA });
    assert.equal(file.rows, 0);
    assert.deepEqual(file.splitOffsets, []);
    assert.deepEqual(parseFooter(file.bytes, "empty").rowGroups, []);
  },
});

Deno.test({
  name: "readFooter finds each row group's place, rows and time range from the end of the object",
  async fn() {
    const rows = Array.from({ length: 2_500 }, (_, at) => rowAt(at));
    const file = writeParquet([batchOf(rows)], { schema: SCHEMA, rowGroupRowsMax: 1_000 });
    const store = new MemoryStore();
    await store.putNew("x.parquet", file.bytes);
    const { rowGroups } = await readFooter(store, "x.parquet", file.bytes.byteLength);
    assert.deepEqual(rowGroups.map((group) => [group.firstRow, group.rows]), [
      [0, 1_000],
      [1_000, 1_000],
      [2_000, 500],
    ]);
    for (const group of rowGroups) {
      const ns = rows.slice(group.firstRow, group.firstRow + group.rows).map((row) => row.ns);
      const sorted = ns.toSorted((a, b) => (a < b ? -1 : 1));
      const [min = 0n, max = 0n] = [sorted.at(0), sorted.at(-1)];
      assert.deepEqual([group.timestampNsMin, group.timestampNsMax], [min, max]);
      assert.deepEqual([group.timestampMin, group.timestampMax], [min / 1_000n, max / 1_000n]);
      const ends = group.columns.map((column) => column.offset + column.byteLength);
      // Chunks follow each other, so the first one that does not start where its neighbour ends is
      // misplaced.
      assert.deepEqual(group.columns.slice(1).map((column) => column.offset), ends.slice(0, -1));
      assert.equal(group.offset + group.byteLength, ends.at(-1));
    }
    assert.equal(rowGroups[0]?.offset, 4);
  },
});

Deno.test({
  name: "readFooter reads again when the footer is longer than its first read",
  async fn() {
    const rows = Array.from({ length: 400 }, (_, at) => rowAt(at));
    const file = writeParquet([batchOf(rows)], { schema: SCHEMA, rowGroupRowsMax: 1 });
    const store = new MemoryStore();
    await store.putNew("x.parquet", file.bytes);
    const footer = await readFooter(store, "x.parquet", file.bytes.byteLength);
    assert.equal(footer.rowGroups.length, 400);
  },
});

Deno.test({
  name: "parseFooter refuses what is no footer as corrupt",
  fn() {
    const { bytes } = writeParquet([batchOf([rowAt(0), rowAt(1)])], { schema: SCHEMA });
    const withLength = (length: number) => {
      const copy = bytes.slice();
      new DataView(copy.buffer).setUint32(copy.byteLength - 8, length, true);
      return copy;
    };
    const footerBytes = new DataView(bytes.buffer, bytes.byteOffset)
      .getUint32(bytes.byteLength - 8, true);
    const scrambled = bytes.slice();
    scrambled.fill(0xff, bytes.byteLength - 8 - footerBytes, bytes.byteLength - 8);
    const table: [what: string, tail: Uint8Array][] = [
      ["nothing", new Uint8Array()],
      ["no magic", bytes.subarray(0, bytes.byteLength - 1)],
      ["cut at the front", bytes.subarray(bytes.byteLength - 20)],
      ["length over the file", withLength(bytes.byteLength)],
      ["length over the limit", withLength(0xffff_ffff)],
      ["scrambled", scrambled],
    ];
    for (const [what, tail] of table) {
      assert.throws(
        () => parseFooter(tail, what),
        (error) => isOperatingError(error, "corrupt"),
        what,
      );
    }
  },
});

/**
 * Row `at` of a fixed set whose columns are out of order, so that bounds are not the first and last
 * row.
 */
function rowAt(at: number): Row {
  const mixed = (at * 977) % 2_500;
  return {
    ns: 1_790_000_000_000_000_000n + BigInt(mixed) * 1_234_567n,
    text: at % 7 === 3 ? null : `line ${mixed} é`,
    count: mixed - 1_250,
    ratio: mixed / 2 - 625,
    flag: mixed % 3 === 0,
  };
}

function batchOf(rows: readonly Row[]): ColumnBatch {
  const required = { validity: null, nullCount: 0, offsets: null };
  const bits = (set: (row: Row) => boolean) => {
    const bytes = new Uint8Array((rows.length + 7) >> 3);
    rows.forEach((row, at) => {
      if (set(row)) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7));
    });
    return bytes;
  };
  const joined = (parts: Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]));
  const texts = rows.map((row) => utf8(row.text ?? ""));
  const offsets = new Int32Array(rows.length + 1);
  texts.forEach((text, at) => offsets[at + 1] = (offsets[at] ?? 0) + text.byteLength);
  const nullCount = rows.filter((row) => row.text === null).length;
  const columns: ColumnData[] = [
    { ...required, values: joined(rows.map((row) => int64(row.ns / 1_000n))) },
    { ...required, values: joined(rows.map((row) => int64(row.ns))) },
    { validity: bits((row) => row.text !== null), nullCount, offsets, values: joined(texts) },
    { ...required, values: joined(rows.map((row) => int32(row.count))) },
    { ...required, values: joined(rows.map((row) => float64(row.ratio))) },
    { ...required, values: bits((row) => row.flag) },
  ];
  return { schema: SCHEMA, rows: rows.length, columns };
}

function int64(value: bigint): Uint8Array {
  return new Uint8Array(BigInt64Array.of(value).buffer);
}

function int32(value: number): Uint8Array {
  return new Uint8Array(Int32Array.of(value).buffer);
}

function float64(value: number): Uint8Array {
  return new Uint8Array(Float64Array.of(value).buffer);
}
