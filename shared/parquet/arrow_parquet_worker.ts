/** The thread behind `ArrowParquet`: one Parquet file from Arrow batches, as they come. */

import * as wasm from "parquet-wasm";
import { concatBytes } from "../base/bytes.ts";
import { serveTasks } from "../os/serve_tasks.ts";
import type { ArrowParquetRequest } from "./arrow_parquet.ts";

/** An Arrow stream ends with this. */
const END = new Uint8Array([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
/** Raw bytes of a row group, which the writer holds until it is whole. */
const GROUP_BYTES = 16 * 1024 * 1024;
const GROUP_ROWS_MIN = 1_024;
const GROUP_ROWS_MAX = 122_880;

let schema: Uint8Array = new Uint8Array();
let input: ReadableStreamDefaultController<wasm.RecordBatch> | undefined;
let wanted = Promise.withResolvers<void>();
let writing: Promise<void> = Promise.resolve();
const made: Uint8Array[] = [];

serveTasks(async ({ step, message }: ArrowParquetRequest) => {
  if (step === "schema") schema = message;
  if (step === "batch") await add(message);
  if (step === "end") await end();
  const { buffer } = concatBytes(made.splice(0));
  return { value: buffer, transfer: [buffer] };
});

async function add(message: Uint8Array): Promise<void> {
  const table = wasm.Table.fromIPCStream(concatBytes([schema, message, END]));
  const batch = table.recordBatch(0);
  table.free();
  if (batch === undefined) return;
  input ??= begin(message.byteLength / Math.max(1, batch.numRows));
  // The writer takes one at a time; it may also have failed.
  await Promise.race([wanted.promise, writing]);
  wanted = Promise.withResolvers();
  input.enqueue(batch);
  await Promise.race([wanted.promise, writing]);
}

async function end(): Promise<void> {
  if (input === undefined) {
    const table = wasm.Table.fromIPCStream(concatBytes([schema, END]));
    made.push(wasm.writeParquet(table, properties(GROUP_ROWS_MAX)));
    return;
  }
  input.close();
  await writing;
}

function begin(rowBytes: number): ReadableStreamDefaultController<wasm.RecordBatch> {
  let controller: ReadableStreamDefaultController<wasm.RecordBatch> | undefined;
  const batches = new ReadableStream<wasm.RecordBatch>({
    start: (made) => void (controller = made),
    pull: () => wanted.resolve(),
  }, { highWaterMark: 0 });
  const rows = Math.min(GROUP_ROWS_MAX, Math.max(GROUP_ROWS_MIN, GROUP_BYTES / rowBytes));
  writing = write(batches, properties(Math.floor(rows)));
  // Whoever waits hears of it.
  writing.catch(() => {});
  if (controller === undefined) throw new Error("a stream starts at once");
  return controller;
}

async function write(
  batches: ReadableStream<wasm.RecordBatch>,
  written: wasm.WriterProperties,
): Promise<void> {
  const file = await wasm.transformParquetStream(batches, written);
  for await (const piece of file as ReadableStream<Uint8Array>) made.push(piece);
}

function properties(groupRows: number): wasm.WriterProperties {
  return new wasm.WriterPropertiesBuilder().setCreatedBy("svc")
    .setCompression(wasm.Compression.ZSTD).setMaxRowGroupSize(groupRows).build();
}
