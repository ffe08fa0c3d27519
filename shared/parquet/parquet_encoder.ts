/**
 * Writes Parquet beside the caller: on a thread of its own, so that reading and sorting go on
 * meanwhile. Where there can be no thread (`TaskThread`) the caller's does the work: slower, the
 * same bytes.
 */

import { messageOf, OperatingError } from "../base/errors.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import type { TableSchema } from "../schema/schema.ts";
import { SharedBuffers } from "../os/shared_buffers.ts";
import { type RunsTasks, TaskThread, ThreadUnavailable } from "../os/task_thread.ts";
import { describeParquet, type ParquetFile } from "./describe_parquet.ts";
import { type EncodeRequest, encodeStream, type ParquetOptions } from "./encode_parquet.ts";
import { OpenInput, type ParquetInput, parquetInput } from "./parquet_input.ts";

/** Writes Parquet files, mostly on a thread of its own. */
export interface ParquetEncoder extends Disposable {
  /** Bytes of memory for inputs, also of what nobody uses now. */
  readonly inputBytes: number;
  /**
   * A copy of `batches` that `encode` takes, in memory that it gets back with the input's end.
   * Errors: `too_large`.
   */
  input(batches: readonly ColumnBatch[], schema: TableSchema): ParquetInput;
  /** An empty input for batches that come one by one, with room for about `bytes`. */
  open(schema: TableSchema, bytes: number): OpenInput;
  /**
   * Writes the rows of `input` as `writeParquet` does. The input must not be disposed of until the
   * promise is settled.
   */
  encode(input: ParquetInput, options: ParquetOptions): Promise<ParquetFile>;
}

/** What an encoder needs of a thread. */
export type EncodeThread = RunsTasks<EncodeRequest, ArrayBuffer>;

/**
 * An encoder whose thread starts with its first file and ends when it is disposed of. `open` may
 * give a thread that does other work as well; it calls `onIdle` when the thread ended for want of
 * work.
 */
export function openParquetEncoder(
  open: (onIdle: () => void) => EncodeThread = ownThread,
): ParquetEncoder {
  return new ThreadEncoder(open);
}

function ownThread(onIdle: () => void): EncodeThread {
  return new TaskThread(new URL("./parquet_worker.ts", import.meta.url), {
    what: "writes Parquet",
    category: ["svc", "parquet"],
    onIdle,
  });
}

/**
 * Bytes that an input has room for when it is opened without shared memory, at most. Fresh memory
 * for a whole file counts as the process's own although few rows come. The runtime would collect
 * its heap at each file, which takes longer than to write a small one.
 */
const OWN_ROOM_BYTES_MAX = 256 * 1024;

/** The encoder of processes that cannot have a thread, and of tests. */
export const INLINE_PARQUET_ENCODER: ParquetEncoder = {
  inputBytes: 0,
  input: (batches, schema) => parquetInput(batches, schema),
  open: (schema, bytes) => new OpenInput(schema, { bytes: Math.min(bytes, OWN_ROOM_BYTES_MAX) }),
  encode: ({ stream, rows }, options) =>
    Promise.try(() => describeParquet(encodeStream(stream, options), { ...options, rows })),
  [Symbol.dispose]() {},
};

class ThreadEncoder implements ParquetEncoder {
  readonly #thread: EncodeThread;
  readonly #buffers = new SharedBuffers();

  constructor(open: (onIdle: () => void) => EncodeThread) {
    this.#thread = open(() => this.#buffers.drop());
  }

  get inputBytes(): number {
    return this.#buffers.bytes;
  }

  input(batches: readonly ColumnBatch[], schema: TableSchema): ParquetInput {
    return parquetInput(batches, schema, this.#buffers);
  }

  open(schema: TableSchema, bytes: number): OpenInput {
    return new OpenInput(schema, { bytes, buffers: this.#buffers });
  }

  async encode(input: ParquetInput, options: ParquetOptions): Promise<ParquetFile> {
    const { stream, rows } = input;
    if (this.#thread.isAvailable) {
      try {
        const bytes = await this.#thread.run({ stream, options });
        return describeParquet(new Uint8Array(bytes), { ...options, rows });
      } catch (error) {
        if (!(error instanceof ThreadUnavailable)) {
          throw new OperatingError(
            "internal",
            `Cannot write a Parquet file: ${messageOf(error)}`,
            { cause: error },
          );
        }
      }
    }
    return await INLINE_PARQUET_ENCODER.encode(input, options);
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
    this.#buffers.drop();
  }
}
