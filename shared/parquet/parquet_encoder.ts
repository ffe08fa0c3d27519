/**
 * Writes Parquet beside the caller: on a thread of its own, so that reading and sorting go on
 * meanwhile. Where there can be no thread (`TaskThread`) the caller's does the work: slower, the
 * same bytes.
 */

import { messageOf, OperatingError } from "../base/errors.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import type { TableSchema } from "../schema/schema.ts";
import { SharedBuffers } from "../os/shared_buffers.ts";
import { TaskThread, type ThreadMemory, ThreadUnavailable } from "../os/task_thread.ts";
import { describeParquet, type ParquetFile } from "./describe_parquet.ts";
import type { ParquetCompression, ParquetOptions } from "./encode_zstd.ts";
import { OpenInput, type ParquetInput, parquetInput } from "./parquet_input.ts";

export interface EncodeRequest {
  /** An Arrow IPC stream in shared memory. */
  readonly stream: Uint8Array;
  readonly options: ParquetOptions;
}

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

/** An encoder whose thread starts with its first file and ends when it is disposed of. */
export function openParquetEncoder(memory?: ThreadMemory): ParquetEncoder {
  return new ThreadEncoder(memory);
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
  async encode({ stream, rows }, options) {
    // Loaded when it is needed: a process with a thread does not need a second copy of the writer.
    const { encodeParquet } = await import("./encode_parquet.ts");
    return describeParquet(encodeParquet(stream, options), { schema: options.schema, rows });
  },
  [Symbol.dispose]() {},
};

type EncodeThread = TaskThread<EncodeRequest, ArrayBuffer>;

function encodeThread(
  module: URL,
  options: { readonly memory: ThreadMemory | undefined; readonly onIdle: () => void },
): EncodeThread {
  const category = ["svc", "parquet"];
  return new TaskThread(module, { what: "writes Parquet", category, ...options });
}

class ThreadEncoder implements ParquetEncoder {
  /**
   * Each compression has a thread of its own, which starts with the first file of it: one of them
   * needs no WASM.
   */
  readonly #threads: Readonly<Record<ParquetCompression, EncodeThread>>;
  readonly #buffers = new SharedBuffers();

  constructor(memory: ThreadMemory | undefined) {
    const options = { memory, onIdle: () => this.#buffers.drop() };
    this.#threads = {
      zstd: encodeThread(new URL("./parquet_worker.ts", import.meta.url), options),
      lz4_raw: encodeThread(new URL("./parquet_lz4_worker.ts", import.meta.url), options),
    };
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
    const thread = this.#threads[options.compression];
    if (thread.isAvailable) {
      try {
        const bytes = await thread.run({ stream, options });
        return describeParquet(new Uint8Array(bytes), { schema: options.schema, rows });
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
    for (const thread of Object.values(this.#threads)) thread[Symbol.dispose]();
    this.#buffers.drop();
  }
}
