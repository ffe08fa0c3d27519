import fc from "fast-check";
import assert from "node:assert/strict";
import { batchOfRows, type RowObject, rowsOf } from "../columns/rows.ts";
import { ALL_TYPES_SCHEMA, rows as rowsArbitrary } from "../testing/batch_arbitrary.ts";
import { BatchJoiner } from "./batch_joiner.ts";

const MESSAGE_BYTES = 10;

Deno.test("BatchJoiner gives all rows in their order, in batches of as many messages as are wanted", () => {
  fc.assert(
    fc.property(
      fc.array(rowsArbitrary, { maxLength: 9 }),
      fc.integer({ min: 1, max: 4 }),
      (parts, messagesMax) => {
        const joiner = new BatchJoiner(messagesMax * MESSAGE_BYTES);
        const found: RowObject[] = [];
        const sizes: number[] = [];
        const take = () => {
          const joined = joiner.take();
          if (joined === undefined) return;
          // Each is read before the next, which has its memory.
          found.push(...rowsOf(joined.batch));
          sizes.push(joined.messageBytes / MESSAGE_BYTES);
        };
        const batches = parts.map((rows) => batchOfRows(ALL_TYPES_SCHEMA, rows));
        for (const batch of batches) {
          joiner.add({ batch, messageBytes: MESSAGE_BYTES });
          if (joiner.isFull) take();
        }
        take();
        assert.deepEqual(found, batches.flatMap(rowsOf));
        const whole = Math.floor(parts.length / messagesMax);
        const rest = parts.length % messagesMax;
        assert.deepEqual(sizes, [...Array(whole).fill(messagesMax), ...rest > 0 ? [rest] : []]);
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("BatchJoiner has nothing to take where nothing was added", () => {
  assert.equal(new BatchJoiner(MESSAGE_BYTES).take(), undefined);
});
