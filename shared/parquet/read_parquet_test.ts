/** What `writeParquet` wrote, read back. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { isOperatingError } from "../base/errors.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { ALL_TYPES_SCHEMA, rows as arbitraryRows } from "../testing/batch_arbitrary.ts";
import { batchOfRows, type RowObject, rowsOf } from "../columns/rows.ts";
import { readParquet } from "./read_parquet.ts";
import { writeParquet } from "./write_parquet.ts";

Deno.test({
  name: "readParquet gives back every row of every type, in order, over several row groups",
  async fn() {
    await fc.assert(
      fc.asyncProperty(arbitraryRows, fc.integer({ min: 1, max: 7 }), async (rows, groupRows) => {
        const bytes = written(rows, groupRows);
        const batches = await collected(bytes);
        assert.deepEqual(batches.flatMap(rowsOf), rowsOf(batchOfRows(ALL_TYPES_SCHEMA, rows)));
        for (const { schema, rows } of batches) {
          assert.ok(rows <= groupRows);
          assert.deepEqual(schema.columns, ALL_TYPES_SCHEMA.columns);
        }
      }),
      { numRuns: 60 },
    );
  },
});

Deno.test({
  name: "readParquet names a file that is none",
  async fn() {
    const whole = written([], 1);
    for (const bytes of [new Uint8Array(), whole.slice(0, -3), new Uint8Array(100)]) {
      await assert.rejects(
        collected(bytes),
        (error: unknown) => isOperatingError(error, "corrupt") && /some\/file/.test(error.message),
      );
    }
  },
});

function written(rows: readonly RowObject[], rowGroupRowsMax: number): Uint8Array<ArrayBuffer> {
  const options = { schema: ALL_TYPES_SCHEMA, rowGroupRowsMax };
  return writeParquet([batchOfRows(ALL_TYPES_SCHEMA, rows)], options).bytes.slice();
}

async function collected(bytes: Uint8Array<ArrayBuffer>): Promise<ColumnBatch[]> {
  const batches: ColumnBatch[] = [];
  for await (const batch of readParquet(bytes, "some/file")) batches.push(batch);
  return batches;
}
