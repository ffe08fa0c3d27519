import fc from "fast-check";
import assert from "node:assert/strict";
import { columnBytes } from "../columns/batch.ts";
import { batchOfRows, type RowObject, rowsOf } from "../columns/rows.ts";
import { ALL_TYPES_SCHEMA, rows as rowsArbitrary } from "../testing/batch_arbitrary.ts";
import { BatchJoiner, type RowsOfMessages } from "./batch_joiner.ts";

const WANTED = 4_000;

const requests = fc.array(
  fc.record({ rows: rowsArbitrary, messageBytes: fc.integer({ min: 1, max: 2 * WANTED }) }),
  { maxLength: 12 },
);

Deno.test("BatchJoiner gives all rows in their order, in few batches, and copies no long one", () => {
  fc.assert(
    fc.property(requests, (given) => {
      const batches = given.map(({ rows, messageBytes }): RowsOfMessages => ({
        batch: batchOfRows(ALL_TYPES_SCHEMA, rows),
        messageBytes,
      }));
      const bytes = batches.map(({ batch, messageBytes }) =>
        Math.max(messageBytes, columnBytes([batch]))
      );
      const joiner = new BatchJoiner(WANTED);
      const found: RowObject[] = [];
      const sizes: number[] = [];
      const read = (joined: Iterable<RowsOfMessages>) => {
        // Each is read before the next, which has its memory.
        for (const { batch, messageBytes } of joined) {
          found.push(...rowsOf(batch));
          sizes.push(messageBytes);
          const isOne = batches.some((one) => one.batch === batch);
          // Joined, a column with nulls has a bit for each row.
          const copied = Math.max(messageBytes, columnBytes([batch]) - WANTED / 4);
          assert.ok(isOne || copied < 2 * WANTED, `${copied} bytes are copied`);
        }
      };
      for (const one of batches) read(joiner.add(one));
      read(joiner.rest());
      read(joiner.rest());
      assert.deepEqual(found, batches.flatMap(({ batch }) => rowsOf(batch)));
      assert.equal(sum(sizes), sum(given.map(({ messageBytes }) => messageBytes)));
      // A small batch comes before a long one, or at the end.
      const long = bytes.filter((one) => one >= WANTED).length;
      const most = 2 * long + Math.floor(sum(bytes) / WANTED) + 1;
      assert.ok(sizes.length <= most, `${sizes.length} batches, not ${most}`);
    }),
    { numRuns: 200 },
  );
});

Deno.test("BatchJoiner waits for no more rows where short messages have many alike", () => {
  const row = { timestamp: 1n, timestamp_ns: 1_000n, name: "alike" };
  const batch = batchOfRows(ALL_TYPES_SCHEMA, Array.from({ length: 100 }, () => row));
  const joiner = new BatchJoiner(WANTED);
  assert.deepEqual([...joiner.add({ batch, messageBytes: 1 })], [{ batch, messageBytes: 1 }]);
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
