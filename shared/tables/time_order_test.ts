import assert from "node:assert/strict";
import fc from "fast-check";
import { NS_PER_DAY } from "../base/time.ts";
import { batchOfRows, type ColumnValue, type RowObject, rowsOf } from "../columns/rows.ts";
import type { TableSchema } from "../schema/schema.ts";
import { inTimeOrder } from "./time_order.ts";

const SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "text", type: "string", required: false },
    { id: 4, name: "count", type: "int", required: false },
    { id: 5, name: "ratio", type: "double", required: false },
    { id: 6, name: "flag", type: "bool", required: false },
    { id: 7, name: "number", type: "int", required: true },
  ],
  tags: [],
};
const START_NS = 20_700n * NS_PER_DAY;

/**
 * Few distinct times, so that rows tie in microseconds, in nanoseconds, and lie on both sides of
 * midnight.
 */
const anyNs = fc.oneof(
  fc.bigInt(-3n, 3n),
  fc.bigInt(-3n, 3n).map((step) => step * 1_000n),
  fc.bigInt(0n, 5_000_000_000n).map((step) => step * 1_000_000n),
).map((offset) => START_NS + offset);

const anyRow = fc.record({
  ns: anyNs,
  text: fc.option(fc.string({ unit: "grapheme", maxLength: 60 })),
  count: fc.option(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
  ratio: fc.option(fc.double({ noNaN: true })),
  flag: fc.option(fc.boolean()),
});

Deno.test({
  name: "inTimeOrder gives every row once, by day, in order of both times, ties as they came",
  fn() {
    fc.assert(
      fc.property(
        fc.array(fc.array(anyRow, { maxLength: 40 }), { maxLength: 8 }),
        (parts) => {
          let number = 0;
          const rows = parts.map((part) =>
            part.map(({ ns, ...rest }): RowObject => ({
              timestamp: ns / 1_000n,
              timestamp_ns: ns,
              ...rest,
              number: number++,
            }))
          );
          const expected = Map.groupBy(rows.flat().toSorted(byTimes), dayOf);
          const days = inTimeOrder(rows.map((part) => batchOfRows(SCHEMA, part)));
          assert.deepEqual(days.map(({ day }) => day), [...expected.keys()]);
          for (const { day, batches } of days) {
            assert.deepEqual(Array.from(batches(), rowsOf).flat(), expected.get(day));
          }
        },
      ),
    );
  },
});

Deno.test({
  name: "inTimeOrder does not copy rows of one day that came in order",
  fn() {
    const parts = [0n, 1n, 2n].map((part) =>
      batchOfRows(SCHEMA, [0n, 500n].map((ns) => rowAt(START_NS + part * 1_000n + ns)))
    );
    const [only, ...others] = inTimeOrder(parts);
    assert.equal(others.length, 0);
    assert.ok(only?.isAsGiven);
    assert.ok([...only.batches()].every((batch, at) => batch === parts[at]));
  },
});

Deno.test({
  name: "inTimeOrder copies many rows a part at a time, whether senders take turns or overlap",
  fn() {
    const requests = Array.from({ length: 40 }, (_, at) => at);
    const startsOf: Record<string, (request: number) => number> = {
      "one after another, two at a time": (request) => (request ^ 1) * 500,
      "at the same time": (request) => (request >> 2) * 2_000 + (request & 3),
    };
    for (const [what, startOf] of Object.entries(startsOf)) {
      const step = what.startsWith("one") ? 1 : 4;
      const batches = requests.map((request) =>
        batchOfRows(
          SCHEMA,
          Array.from({ length: 500 }, (_, at) =>
            rowAt(START_NS + BigInt(startOf(request) + step * at))),
        )
      );
      const [only] = inTimeOrder(batches);
      const taken = Array.from(only?.batches() ?? [], rowsOf);
      assert.deepEqual(taken.map(({ length }) => length), [8_192, 8_192, 3_616], what);
      const ns = taken.flat().map((row) => Number(BigInt(row.timestamp_ns ?? 0) - START_NS));
      assert.deepEqual(ns, Array.from({ length: 20_000 }, (_, at) => at), what);
    }
  },
});

function byTimes(a: RowObject, b: RowObject): number {
  const first = compare(a.timestamp, b.timestamp);
  return first !== 0 ? first : compare(a.timestamp_ns, b.timestamp_ns);
}

function compare(a: ColumnValue | undefined, b: ColumnValue | undefined): number {
  return BigInt(a ?? 0) < BigInt(b ?? 0) ? -1 : BigInt(a ?? 0) > BigInt(b ?? 0) ? 1 : 0;
}

function dayOf(row: RowObject): number {
  return Number(BigInt(row.timestamp_ns ?? 0) / NS_PER_DAY);
}

function rowAt(ns: bigint): RowObject {
  return { timestamp: ns / 1_000n, timestamp_ns: ns, number: 0 };
}
