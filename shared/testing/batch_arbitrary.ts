/** Random batches of a schema with every column type, for property tests. */

import fc from "fast-check";
import type { TableSchema } from "../schema/schema.ts";
import type { RowObject } from "../columns/rows.ts";

export const ALL_TYPES_SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 7, name: "name", type: "string", required: true },
    { id: 8, name: "note", type: "string", required: false },
    { id: 9, name: "count", type: "int", required: false },
    { id: 11, name: "ratio", type: "double", required: false },
    { id: 12, name: "ok", type: "bool", required: false },
    { id: 13, name: "big", type: "long", required: false },
    { id: 14, name: "at", type: "timestamptz", required: false },
  ],
  tags: ["name"],
};

const nanos = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
  fc.bigInt({ min: 0n, max: 20n }).map((n) => 1_763_000_000_000_000_000n + n * 500n),
  fc.bigInt({ min: 0n, max: 5n }).map((days) =>
    1_763_000_000_000_000_000n + days * 86_400_000_000_000n
  ),
);

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

/** Strings as UTF-8 holds them: without lone surrogates. */
const text = fc.string({ unit: "binary", maxLength: 150 }).map((value) => value.toWellFormed());

export const row: fc.Arbitrary<RowObject> = fc.record({
  timestamp_ns: nanos,
  name: text,
  note: fc.option(text),
  count: fc.option(fc.integer()),
  ratio: fc.option(fc.double({ noNaN: true })),
  ok: fc.option(fc.boolean()),
  big: fc.option(int64),
  at: fc.option(nanos.map((ns) => ns / 1000n)),
}).map((columns) => ({ timestamp: columns.timestamp_ns / 1000n, ...columns }));

export const rows: fc.Arbitrary<RowObject[]> = fc.array(row, { maxLength: 40 });
