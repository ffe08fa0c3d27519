import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { rowsOf } from "../columns/rows.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { batchOf } from "../testing/drain_lab.ts";
import { INLINE_PARQUET_DECODER, openParquetDecoder } from "./parquet_decoder.ts";
import { wasmParquet } from "../testing/wasm_parquet.ts";
import { writeParquet } from "./write_parquet.ts";

const NUMBERS = Array.from({ length: 2_500 }, (_, at) => at);

for (const [name, open] of [["a thread", openParquetDecoder], ["the caller's", inline]] as const) {
  Deno.test({
    name: `ParquetDecoder gives the rows and field ids of the row groups asked for, on ${name}`,
    async fn() {
      const batch = batchOf(NUMBERS);
      const { bytes } = writeParquet([batch], {
        schema: EVENTS_SCHEMA,
        rowGroupRowsMax: 1_000,
      });
      using decoder = open();
      const shared = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
      shared.set(bytes);
      for (const file of [bytes, shared]) {
        const { columns, batches } = await decoder.decode({ file, rowGroups: [1, 2] }, "x");
        const wanted = EVENTS_SCHEMA.columns.map(({ id, name, type, required }) => ({
          id,
          name,
          type,
          required,
        }));
        assert.deepEqual(columns, wanted);
        assert.deepEqual(batches.flatMap(rowsOf), rowsOf(batch).slice(1_000));
      }
    },
  });
}

Deno.test({
  name: "ParquetDecoder refuses a damaged file as corrupt, by name, and reads the next one",
  async fn() {
    using decoder = openParquetDecoder();
    const { bytes } = writeParquet([batchOf(NUMBERS)], {
      schema: EVENTS_SCHEMA,
    });
    const damaged = bytes.slice();
    damaged.fill(0xaa, 100, bytes.byteLength >> 1);
    await assert.rejects(
      decoder.decode({ file: damaged, rowGroups: [0] }, "a.parquet"),
      (error) => isOperatingError(error, "corrupt") && error.message.includes("a.parquet"),
    );
    const { batches } = await decoder.decode({ file: bytes, rowGroups: [0] }, "b.parquet");
    assert.equal(batches.reduce((sum, batch) => sum + batch.rows, 0), NUMBERS.length);
  },
});

Deno.test({
  name:
    "ParquetDecoder reads other writers' files, and lends released memory to the rows that come next",
  async fn() {
    using decoder = openParquetDecoder();
    const batch = batchOf(NUMBERS);
    const decode = (file: Uint8Array) => decoder.decode({ file, rowGroups: [0] }, "x");
    const others = await decode(
      wasmParquet([batch], { schema: EVENTS_SCHEMA, rowGroupRowsMax: NUMBERS.length }),
    );
    assert.deepEqual(others.batches.flatMap(rowsOf), rowsOf(batch));
    const own = writeParquet([batch], { schema: EVENTS_SCHEMA }).bytes;
    const [held] = (await decode(own)).batches;
    const [released] = (await decode(own)).batches;
    released?.release?.();
    const [next] = (await decode(own)).batches;
    assert.deepEqual(
      released?.columns.map(({ values }) => values.length),
      EVENTS_SCHEMA.columns.map(() => 0),
    );
    for (const one of [held, next]) assert.deepEqual(one && rowsOf(one), rowsOf(batch));
  },
});

function inline() {
  return INLINE_PARQUET_DECODER;
}
