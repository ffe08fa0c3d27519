/**
 * Column batches as what the Parquet writer takes: one Arrow IPC stream in one buffer, each batch
 * copied once into its place. In shared memory every thread that works on the rows reads this one
 * copy.
 */

import { assert, present } from "../base/assert.ts";
import { OperatingError } from "../base/errors.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { decodeBatch, encodeColumns, encodeSchemaMessage } from "../columns/ipc.ts";
import type { TableSchema } from "../schema/schema.ts";
import type { SharedBuffers } from "../os/shared_buffers.ts";

/** Bytes of batches that one file takes at most. */
const PARQUET_INPUT_BYTES_MAX = 512 * 1024 * 1024;
/** What memory grows by that was too small. */
const GROWTH = 1.5;
const END_OF_STREAM = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

/** Disposing of it gives the memory back. No thread may read it any more then. */
export interface ParquetInput extends Disposable {
  /** The Arrow IPC stream. */
  readonly stream: Uint8Array;
  readonly rows: number;
  /** The rows as views of the stream. */
  batches(): ColumnBatch[];
}

/**
 * `batches`, all with the columns of `schema`, in their order, in memory of `buffers`; without them
 * in the caller's thread's own. Errors: `too_large`.
 */
export function parquetInput(
  batches: readonly ColumnBatch[],
  schema: TableSchema,
  buffers?: SharedBuffers,
): ParquetInput {
  const bytes = batches.reduce((sum, batch) => sum + encodeColumns(batch).byteLength, 0);
  const input = new OpenInput(schema, { bytes, ...(buffers === undefined ? {} : { buffers }) });
  for (const batch of batches) input.add(batch);
  return input.finish();
}

/**
 * An input that batches are added to as they come, each copied at once. Disposing of one that is
 * not finished gives its memory back.
 */
export class OpenInput implements Disposable {
  readonly #schema: TableSchema;
  readonly #buffers: SharedBuffers | undefined;
  /** Where the messages of batches begin, and the last one ends. */
  readonly #ends: number[] = [];
  #memory: Uint8Array | undefined;
  /** Views of it, as far as they were asked for. */
  #views: ColumnBatch[] = [];
  #rows = 0;

  /** `bytes` of batches are expected: it takes more, at the cost of another copy. */
  constructor(
    schema: TableSchema,
    { bytes, buffers }: { readonly bytes: number; readonly buffers?: SharedBuffers },
  ) {
    this.#schema = schema;
    this.#buffers = buffers;
    const schemaMessage = encodeSchemaMessage(schema);
    const length = schemaMessage.byteLength;
    this.#memory = this.#take(length + bytes + END_OF_STREAM.byteLength);
    this.#memory.set(schemaMessage);
    this.#ends.push(length);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Copies the batch. Errors: `too_large`. */
  add(batch: ColumnBatch): void {
    assertSameColumns(batch.schema, this.#schema);
    if (batch.rows === 0) return;
    const { pieces, byteLength } = encodeColumns(batch);
    const start = present(this.#ends.at(-1), "end");
    const memory = this.#withRoomFor(start + byteLength);
    let at = start;
    for (const piece of pieces) {
      memory.set(piece, at);
      at += piece.byteLength;
    }
    this.#ends.push(at);
    this.#rows += batch.rows;
  }

  /** What was added, as views that hold until the next batch is. */
  batches(): ColumnBatch[] {
    return this.#viewsIn(present(this.#memory, "memory"));
  }

  /** All of it; nothing can be added afterwards. */
  finish(): ParquetInput {
    const buffers = this.#buffers;
    const end = present(this.#ends.at(-1), "end");
    const memory = present(this.#memory, "memory");
    this.#memory = undefined;
    memory.set(END_OF_STREAM, end);
    let isHeld = true;
    return {
      stream: memory.subarray(0, end + END_OF_STREAM.byteLength),
      rows: this.#rows,
      batches: () => this.#viewsIn(memory),
      [Symbol.dispose]() {
        if (isHeld) giveBack(memory, buffers);
        isHeld = false;
      },
    };
  }

  [Symbol.dispose](): void {
    if (this.#memory !== undefined) giveBack(this.#memory, this.#buffers);
    this.#memory = undefined;
  }

  #viewsIn(memory: Uint8Array): ColumnBatch[] {
    for (let at = this.#views.length; at + 1 < this.#ends.length; at += 1) {
      const message = memory.subarray(this.#ends[at], this.#ends[at + 1]);
      this.#views.push(decodeBatch(message, this.#schema));
    }
    return [...this.#views];
  }

  #withRoomFor(end: number): Uint8Array {
    const memory = present(this.#memory, "memory");
    if (end > PARQUET_INPUT_BYTES_MAX) throw tooLarge(end);
    const needed = end + END_OF_STREAM.byteLength;
    if (needed <= memory.byteLength) return memory;
    const larger = this.#take(Math.max(needed, Math.floor(GROWTH * memory.byteLength)));
    larger.set(memory.subarray(0, this.#ends.at(-1)));
    giveBack(memory, this.#buffers);
    this.#views = [];
    this.#memory = larger;
    return larger;
  }

  #take(byteLength: number): Uint8Array {
    return this.#buffers?.take(byteLength) ?? new Uint8Array(byteLength);
  }
}

function giveBack(memory: Uint8Array, buffers: SharedBuffers | undefined): void {
  const { buffer, byteOffset, byteLength } = memory;
  if (!(buffer instanceof SharedArrayBuffer)) return;
  buffers?.give(new Uint8Array(buffer, byteOffset, byteLength));
}

function tooLarge(bytes: number): OperatingError {
  return new OperatingError(
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
