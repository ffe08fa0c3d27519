/**
 * Writes Parquet beside the caller: on a thread of its own, so that reading and sorting go on meanwhile and a server in
 * the same process keeps answering.
 *
 * The thread loads `parquet_worker.ts`, which needs read permission on the source tree (a compiled program has it
 * inside). Without that permission the caller's thread does the work: slower, the same bytes.
 */

import { getLogger } from "@logtape/logtape";
import { statSync } from "node:fs";
import { OperatingError } from "../base/errors.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { describeParquet, type ParquetFile } from "./describe_parquet.ts";
import type { ParquetOptions } from "./encode_parquet.ts";
import { parquetInput } from "./parquet_input.ts";

export interface EncodeRequest {
  /** An Arrow IPC stream. */
  readonly stream: ArrayBuffer;
  readonly options: ParquetOptions;
}

export type EncodeReply =
  | { readonly ok: true; readonly bytes: ArrayBuffer }
  | {
    readonly ok: false;
    readonly message: string;
    /** Whether the thread had started when it failed. */
    readonly isStarted: boolean;
  };

export interface ParquetEncoder extends Disposable {
  /** As `writeParquet`; the batches must stay as they are until the promise is settled. */
  encode(batches: readonly ColumnBatch[], options: ParquetOptions): Promise<ParquetFile>;
}

/** An encoder whose thread starts with its first file and ends when it is disposed of. */
export function openParquetEncoder(): ParquetEncoder {
  if (isReadable(WORKER_URL)) return new ThreadEncoder();
  noteNoThread(`no read permission on ${WORKER_URL.pathname}`);
  return INLINE_PARQUET_ENCODER;
}

function noteNoThread(reason: string): void {
  getLogger(["svc", "parquet"]).info("writes Parquet on the main thread: {reason}", { reason });
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

const WORKER_URL = new URL("./parquet_worker.ts", import.meta.url);

function isReadable(url: URL): boolean {
  try {
    statSync(url);
    return true;
  } catch {
    return false;
  }
}

class ThreadEncoder implements ParquetEncoder {
  #worker: Worker | undefined;
  /** Whether a thread has ever answered; undefined: not yet known. */
  #works: boolean | undefined;
  #last: Promise<unknown> = Promise.resolve();

  encode(batches: readonly ColumnBatch[], options: ParquetOptions): Promise<ParquetFile> {
    const file = this.#last.then(() =>
      this.#works === false
        ? INLINE_PARQUET_ENCODER.encode(batches, options)
        : this.#encode(batches, options)
    );
    this.#last = file.catch(() => {});
    return file;
  }

  [Symbol.dispose](): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  async #encode(batches: readonly ColumnBatch[], options: ParquetOptions): Promise<ParquetFile> {
    const { stream, rows } = parquetInput(batches, options.schema);
    this.#worker ??= new Worker(WORKER_URL, { type: "module" });
    const reply = await replyOf(this.#worker, { stream: stream.buffer, options });
    if (reply.ok) {
      this.#works = true;
      return describeParquet(new Uint8Array(reply.bytes), { schema: options.schema, rows });
    }
    // What failed in WASM may have left its memory in disorder: the next file gets a new thread.
    this[Symbol.dispose]();
    if (reply.isStarted || this.#works) {
      throw new OperatingError("internal", `Cannot write a Parquet file: ${reply.message}`);
    }
    this.#works = false;
    noteNoThread(reply.message);
    return await INLINE_PARQUET_ENCODER.encode(batches, options);
  }
}

/** One request is under way at a time, so the next message is its reply. */
function replyOf(worker: Worker, request: EncodeRequest): Promise<EncodeReply> {
  return new Promise((resolve) => {
    worker.onmessage = ({ data }: MessageEvent<EncodeReply>) => resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      resolve({ ok: false, message: event.message, isStarted: false });
    };
    worker.postMessage(request, [request.stream]);
  });
}
