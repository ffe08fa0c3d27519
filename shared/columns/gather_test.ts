import fc from "fast-check";
import assert from "node:assert/strict";
import { ALL_TYPES_SCHEMA, rows as rowsArbitrary } from "../testing/batch_arbitrary.ts";
import { concatBatches, sliceRows, sortOrder, takeRows } from "./gather.ts";
import { batchOfRows, type RowObject, rowsOf } from "./rows.ts";

const batchRows = fc.array(rowsArbitrary, { minLength: 1, maxLength: 5 });

function batchesOf(parts: readonly RowObject[][]) {
  return parts.map((rows) => batchOfRows(ALL_TYPES_SCHEMA, rows));
}

/** Rows in the schema's order of members, as `rowsOf` gives them. */
function allRows(parts: readonly RowObject[][]): RowObject[] {
  return batchesOf(parts).flatMap(rowsOf);
}

function ns(row: RowObject): bigint {
  return row.timestamp_ns as bigint;
}

Deno.test({
  name: "takeRows(sortOrder) equals a stable sort of row objects",
  fn() {
    fc.assert(
      fc.property(batchRows, (parts) => {
        const batches = batchesOf(parts);
        const expected = allRows(parts).toSorted((a, b) =>
          ns(a) < ns(b) ? -1 : ns(a) > ns(b) ? 1 : 0
        );
        assert.deepEqual(rowsOf(takeRows(batches, sortOrder(batches))), expected);
      }),
      { numRuns: 300 },
    );
  },
});

const T = 1_763_000_000_000_000_000n;

const ORDERS: readonly { readonly times: readonly (readonly bigint[])[]; readonly what: string }[] =
  [
    { what: "sorted already", times: [[T, T + 1n], [T + 2n, T + 3n]] },
    { what: "reversed batches", times: [[T + 2n, T + 3n], [T, T + 1n]] },
    { what: "descending", times: [[T + 5n, T + 4n, T + 3n, T + 2n, T + 1n]] },
    { what: "ties across batches", times: [[T, T + 1n], [T, T + 1n], [T]] },
    { what: "an empty batch", times: [[], [T + 1n, T], []] },
    {
      what: "one nanosecond apart over 290 years",
      times: [[2n ** 63n - 1n, 1n], [2n ** 63n - 2n, 0n]],
    },
    {
      what: "halves at their limits",
      times: [[2n ** 32n, 2n ** 32n - 1n, 2n ** 31n, 2n ** 31n - 1n]],
    },
  ];

Deno.test({
  name: "sortOrder orders by time and keeps ties in the order given",
  fn() {
    for (const { what, times } of ORDERS) {
      const parts = times.map((column, batch) =>
        column.map((timestamp_ns, row): RowObject => ({
          timestamp: timestamp_ns / 1000n,
          timestamp_ns,
          name: `${batch}.${row}`,
        }))
      );
      const batches = batchesOf(parts);
      const order = sortOrder(batches);
      const found = Array.from(order.row, (row, i) => `${order.batch[i]}.${row}`);
      const expected = parts.flat().toSorted((a, b) => ns(a) < ns(b) ? -1 : ns(a) > ns(b) ? 1 : 0);
      assert.deepEqual(found, expected.map((row) => row.name), what);
    }
  },
});

Deno.test({
  name: "takeRows gathers any rows in any order, also twice",
  fn() {
    const places = fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 60 });
    fc.assert(
      fc.property(batchRows, places, (parts, wanted) => {
        const batches = batchesOf(parts);
        const order = wanted.flatMap(([batch, row]) => {
          const at = batch % batches.length;
          const rows = parts[at]?.length ?? 0;
          return rows === 0 ? [] : [{ batch: at, row: row % rows }];
        });
        const taken = takeRows(batches, {
          batch: Uint32Array.from(order, ({ batch }) => batch),
          row: Uint32Array.from(order, ({ row }) => row),
        });
        const sources = parts.map((part) => allRows([part]));
        assert.deepEqual(rowsOf(taken), order.map(({ batch, row }) => sources[batch]?.[row]));
      }),
      { numRuns: 300 },
    );
  },
});

Deno.test({
  name: "concatBatches and sliceRows equal concat and slice of row objects",
  fn() {
    fc.assert(
      fc.property(batchRows, fc.nat(), fc.nat(), (parts, a, b) => {
        const whole = concatBatches(batchesOf(parts));
        const rows = allRows(parts);
        assert.deepEqual(rowsOf(whole), rows);
        const start = a % (rows.length + 1);
        const end = start + b % (rows.length - start + 1);
        assert.deepEqual(rowsOf(sliceRows(whole, start, end)), rows.slice(start, end));
      }),
    );
  },
});
