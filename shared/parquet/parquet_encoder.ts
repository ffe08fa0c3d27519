/**
 * Writes Parquet beside the caller: on a thread of its own, so that reading and sorting go on meanwhile. Where there can
 * be no thread (`TaskThread`) the caller's does the work: slower, the same bytes.
 */

import { messageOf, OperatingError } from "../base/errors.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { TaskThread, ThreadUnavailable } from "../os/task_thread.ts";
import { describeParquet, type ParquetFile } from "./describe_parquet.ts";
import type { ParquetOptions } from "./encode_parquet.ts";
import { parquetInput } from "./parquet_input.ts";

export interface EncodeRequest {
  /** An Arrow IPC stream. */
  readonly stream: ArrayBuffer;
  readonly options: ParquetOptions;
}

export interface ParquetEncoder extends Disposable {
  /** As `writeParquet`; the batches must stay as they are until the promise is settled. */
  encode(batches: readonly ColumnBatch[], options: ParquetOptions): Promise<ParquetFile>;
}

/** An encoder whose thread starts with its first file and ends when it is disposed of. */
export function openParquetEncoder(): ParquetEncoder {
  return new ThreadEncoder();
}

/** The encoder of processes that cannot have a thread, and of tests. */
export const INLINE_PARQUET_ENCODER: ParquetEncoder = {
  async encode(batches, options) {
    const { stream, rows } = parquetInput(batches, options.schema);
    // Loaded when it is needed: whoever has a thread does not need a second copy of the writer.
    const { encodeParquet } = await import("./encode_parquet.ts");
    return describeParquet(encodeParquet(stream, options), { schema: options.schema, rows });
  },
  [Symbol.dispose]() {},
};

class ThreadEncoder implements ParquetEncoder {
  readonly #thread = new TaskThread<EncodeRequest, ArrayBuffer>(
    new URL("./parquet_worker.ts", import.meta.url),
    { what: "writes Parquet", category: ["svc", "parquet"] },
  );

  async encode(batches: readonly ColumnBatch[], options: ParquetOptions): Promise<ParquetFile> {
    const { schema } = options;
    if (this.#thread.isAvailable) {
      const { stream, rows } = parquetInput(batches, schema);
      try {
        const bytes = await this.#thread.run({ stream: stream.buffer, options }, [stream.buffer]);
        return describeParquet(new Uint8Array(bytes), { schema, rows });
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
    return await INLINE_PARQUET_ENCODER.encode(batches, options);
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }
}
