/**
 * Column batches as what the Parquet writer takes: one Arrow IPC stream in one buffer, each batch copied once into
 * its place. In shared memory every thread that works on the rows reads this one copy.
 */

import { assert } from "../base/assert.ts";
import { OperatingError } from "../base/errors.ts";
import type { ColumnBatch, EncodedBatch } from "../columns/batch.ts";
import { decodeBatch, encodeColumns, encodeSchemaMessage } from "../columns/ipc.ts";
import type { TableSchema } from "../event/schema.ts";
import type { SharedBuffers } from "../os/shared_buffers.ts";

/** Bytes of batches that one file takes at most. WASM memory has 4 GiB. */
export const PARQUET_INPUT_BYTES_MAX = 512 * 1024 * 1024;
const END_OF_STREAM = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

/** Disposing of it gives the memory back: for whoever knows that no thread reads it any more. */
export interface ParquetInput extends Disposable {
  /** The Arrow IPC stream. */
  readonly stream: Uint8Array;
  readonly rows: number;
  /** The same rows, as views of the stream. */
  batches(): ColumnBatch[];
}

/**
 * `batches`, all with the columns of `schema`, in their order, in memory of `buffers`; without them in the caller's thread's
 * own. Errors: `too_large`.
 */
export function parquetInput(
  batches: readonly ColumnBatch[],
  schema: TableSchema,
  buffers?: SharedBuffers,
): ParquetInput {
  for (const batch of batches) assertSameColumns(batch.schema, schema);
  const filled = batches.filter((batch) => batch.rows > 0);
  const encoded = filled.map(encodeColumns);
  const schemaMessage = encodeSchemaMessage(schema);
  const length = schemaMessage.byteLength + inputBytesOf(encoded) + END_OF_STREAM.byteLength;
  let shared = buffers?.take(length);
  const stream = shared ?? new Uint8Array(length);
  stream.set(schemaMessage);
  let at = schemaMessage.byteLength;
  const messages = encoded.map(({ pieces }) => {
    const start = at;
    for (const piece of pieces) {
      stream.set(piece, at);
      at += piece.byteLength;
    }
    return stream.subarray(start, at);
  });
  stream.set(END_OF_STREAM, at);
  return {
    stream,
    rows: filled.reduce((sum, batch) => sum + batch.rows, 0),
    batches: () => messages.map((message) => decodeBatch(message, schema)),
    [Symbol.dispose]() {
      if (shared !== undefined) buffers?.give(shared);
      shared = undefined;
    },
  };
}

function inputBytesOf(batches: readonly Pick<EncodedBatch, "byteLength">[]): number {
  const bytes = batches.reduce((sum, batch) => sum + batch.byteLength, 0);
  if (bytes <= PARQUET_INPUT_BYTES_MAX) return bytes;
  throw new OperatingError(
    "too_large",
    `Cannot write ${bytes} bytes of rows to one Parquet file: the limit is ` +
      `${PARQUET_INPUT_BYTES_MAX}; write several files`,
  );
}

function assertSameColumns(actual: TableSchema, expected: TableSchema): void {
  if (actual === expected) return;
  assert(actual.columns.length === expected.columns.length, "a batch has other columns");
  actual.columns.forEach((column, at) => {
    const other = expected.columns[at];
    const same = column.id === other?.id && column.name === other.name &&
      column.type === other.type && column.required === other.required;
    assert(same, `column ${column.name} of a batch differs from the file's`);
  });
}
