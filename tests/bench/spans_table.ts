/**
 * A table of spans for the benchmarks of summaries: tags with few values and one with many,
 * numbers, texts.
 */

import { NS_PER_DAY } from "../../shared/base/time.ts";
import type { ColumnBatch, ColumnData } from "../../shared/columns/batch.ts";
import { StringColumnBuilder } from "../../shared/columns/column_builders.ts";
import type { Deriver } from "../../shared/derived/deriver.ts";
import { writeSidecar } from "../../shared/derived/sidecar.ts";
import { summaryBlobs } from "../../shared/derived/summary/build_summary.ts";
import type { TableSchema } from "../../shared/schema/schema.ts";
import { START_NS, type TableSource } from "./table_fixture.ts";

const DAYS = 10n;

export const SPANS_TABLE = "spans";
const SPANS: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "host", type: "string", required: true },
    { id: 4, name: "service", type: "string", required: true },
    { id: 5, name: "level", type: "string", required: true },
    { id: 6, name: "status", type: "int", required: false },
    { id: 7, name: "duration_nanos", type: "long", required: true },
    { id: 8, name: "raw", type: "string", required: true },
    { id: 9, name: "customer", type: "string", required: true },
  ],
  tags: ["host", "service", "level", "customer"],
};

/** Indexes of words take longer to make than all of the rest. */
export const SUMMARIES_ONLY: Deriver = {
  words: () => Promise.resolve({ blobs: [], columns: [] }),
  derive: async (file, subject) => writeSidecar(summaryBlobs(file), await subject),
  [Symbol.dispose]() {},
};

/** So many rows, evenly over ten days. */
export function source(rows: number): TableSource {
  const stepNs = stepNsOf(rows);
  return {
    name: SPANS_TABLE,
    schema: SPANS,
    batch: (first: number, records: number) => batchOf(first, { records, stepNs }),
  };
}

function batchOf(
  first: number,
  { records, stepNs }: { readonly records: number; readonly stepNs: bigint },
): ColumnBatch {
  const at = (row: number) => START_NS + BigInt(first + row) * stepNs;
  const columns = [
    longs(records, (row) => at(row) / 1_000n),
    longs(records, at),
    texts(records, (row) => `web-${mixed(first + row) % 50}.example.com`),
    texts(records, (row) => `service-${mixed(first + row + 7) % 20}`),
    texts(records, (row) => LEVELS[mixed(first + row + 13) % LEVELS.length] ?? ""),
    ints(records, (row) => STATUSES[mixed(first + row + 29) % STATUSES.length] ?? 0),
    longs(records, (row) => BigInt(mixed(first + row + 31) % 1_000_000_000)),
    texts(records, (row) => `GET /item/${mixed(first + row + 37) % 100_000} took a while`),
    texts(records, (row) => `customer-${customerOf(first + row)}`),
  ];
  return { schema: SPANS, rows: records, columns };
}

/** One of a million customers; every other row is of one of the first thousand. */
function customerOf(row: number): number {
  return mixed(row + 41) % (row % 2 === 0 ? 1_000 : 1_000_000);
}

const LEVELS = ["info", "info", "info", "warn", "error"];
const STATUSES = [200, 200, 201, 404, 500];

function mixed(value: number): number {
  const hash = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (Math.imul(hash ^ (hash >>> 12), 0x297a2d39) ^ (hash >>> 15)) >>> 0;
}

function longs(rows: number, valueOf: (row: number) => bigint): ColumnData {
  const values = BigInt64Array.from({ length: rows }, (_, row) => valueOf(row));
  return { validity: null, nullCount: 0, offsets: null, values: new Uint8Array(values.buffer) };
}

function ints(rows: number, valueOf: (row: number) => number): ColumnData {
  const values = Int32Array.from({ length: rows }, (_, row) => valueOf(row));
  return { validity: null, nullCount: 0, offsets: null, values: new Uint8Array(values.buffer) };
}

function texts(rows: number, valueOf: (row: number) => string): ColumnData {
  const builder = new StringColumnBuilder();
  for (let row = 0; row < rows; row += 1) builder.text(valueOf(row));
  return builder.finish();
}

export function instantOf(sinceStartNs: bigint): string {
  return new Date(Number((START_NS + sinceStartNs) / 1_000_000n)).toISOString();
}

/** Between two rows of so many. */
export function stepNsOf(rows: number): bigint {
  return DAYS * NS_PER_DAY / BigInt(rows);
}
