import assert from "node:assert/strict";
import { batchOfRows, rowsOf } from "../columns/rows.ts";
import type { TableSchema } from "../schema/schema.ts";
import { SharedBuffers } from "../os/shared_buffers.ts";
import { parquetInput } from "./parquet_input.ts";

const SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "raw", type: "string", required: true },
    { id: 2, name: "took", type: "double", required: false },
  ],
  tags: [],
};
const ROWS = [{ raw: "one", took: 1.5 }, { raw: "", took: null }, { raw: "drei", took: 3 }];

Deno.test("parquetInput copies rows into shared memory, of which its batches are views, and gives it back once", () => {
  const buffers = new SharedBuffers();
  const batches = [batchOfRows(SCHEMA, ROWS.slice(0, 2)), batchOfRows(SCHEMA, ROWS.slice(2))];
  const input = parquetInput(batches, SCHEMA, buffers);
  const views = input.batches();
  assert.deepEqual(views.flatMap((batch) => [...rowsOf(batch)]), ROWS);
  for (const { columns } of views) {
    for (const { values } of columns) assert.equal(values.buffer, input.stream.buffer);
  }
  input[Symbol.dispose]();
  input[Symbol.dispose]();
  assert.equal(buffers.take(1).buffer, input.stream.buffer);
  assert.notEqual(buffers.take(1).buffer, input.stream.buffer);
});

Deno.test("parquetInput without buffers has memory of its own", () => {
  const input = parquetInput([batchOfRows(SCHEMA, ROWS)], SCHEMA);
  assert.ok(input.stream.buffer instanceof ArrayBuffer);
  assert.equal(input.rows, ROWS.length);
});
