import fc from "fast-check";
import assert from "node:assert/strict";
import { batchOfRows, type RowObject, rowsOf } from "../columns/rows.ts";
import { ALL_TYPES_SCHEMA, rows as rowsArbitrary } from "../testing/batch_arbitrary.ts";
import { BatchJoiner, type RowsOfMessages } from "./batch_joiner.ts";

const WANTED = 100;

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
      const joiner = new BatchJoiner(WANTED);
      const found: RowObject[] = [];
      const sizes: number[] = [];
      const read = (joined: Iterable<RowsOfMessages>) => {
        // Each is read before the next, which has its memory.
        for (const { batch, messageBytes } of joined) {
          found.push(...rowsOf(batch));
          sizes.push(messageBytes);
          const isOne = batches.some((one) => one.batch === batch);
          assert.ok(isOne || messageBytes < 2 * WANTED, `${messageBytes} bytes are copied`);
        }
      };
      for (const one of batches) read(joiner.add(one));
      read(joiner.rest());
      read(joiner.rest());
      assert.deepEqual(found, batches.flatMap(({ batch }) => rowsOf(batch)));
      assert.equal(sum(sizes), sum(given.map(({ messageBytes }) => messageBytes)));
      // A small batch comes before a long one, or at the end.
      const small = sizes.filter((bytes) => bytes < WANTED).length;
      const long = given.filter(({ messageBytes }) => messageBytes >= WANTED).length;
      assert.ok(small <= long + 1, `${small} small batches beside ${long} long ones`);
    }),
    { numRuns: 200 },
  );
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
