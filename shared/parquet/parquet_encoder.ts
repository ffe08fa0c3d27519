/**
 * Writes Parquet beside the caller: on a thread of its own, so that reading and sorting go on meanwhile and a server in
 * the same process keeps answering.
 *
 * The thread loads `parquet_worker.ts`, which needs read permission on the source tree (a compiled program has it
 * inside). Without that permission the caller's thread does the work: slower, the same bytes.
 */

import { getLogger } from "@logtape/logtape";
import { accessSync } from "node:fs";
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
  | { readonly ok: false; readonly message: string };

export interface ParquetEncoder extends Disposable {
  /** As `writeParquet`; the batches may be changed once the call has returned its promise. */
  encode(batches: readonly ColumnBatch[], options: ParquetOptions): Promise<ParquetFile>;
}

/** An encoder whose thread starts with its first file and ends when it is disposed of. */
export function openParquetEncoder(): ParquetEncoder {
  if (isReadable(WORKER_URL)) return new ThreadEncoder();
  getLogger(["svc", "parquet"]).info(
    "writes Parquet on the main thread: no read permission on {path}",
    { path: WORKER_URL.pathname },
  );
  return INLINE_PARQUET_ENCODER;
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
    accessSync(url);
    return true;
  } catch {
    return false;
  }
}

class ThreadEncoder implements ParquetEncoder {
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();

  async encode(batches: readonly ColumnBatch[], options: ParquetOptions): Promise<ParquetFile> {
    const { stream, rows } = parquetInput(batches, options.schema);
    const reply = this.#last.then(() => this.#ask({ stream: stream.buffer, options }));
    this.#last = reply.catch(() => {});
    return describeParquet(await reply, { schema: options.schema, rows });
  }

  [Symbol.dispose](): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  async #ask(request: EncodeRequest): Promise<Uint8Array> {
    this.#worker ??= new Worker(WORKER_URL, { type: "module" });
    const reply = await replyOf(this.#worker, request);
    if (reply.ok) return new Uint8Array(reply.bytes);
    // What failed in WASM may have left its memory in disorder: the next file gets a new thread.
    this[Symbol.dispose]();
    throw new OperatingError("internal", `Cannot write a Parquet file: ${reply.message}`);
  }
}

/** One request is under way at a time, so the next message is its reply. */
function replyOf(worker: Worker, request: EncodeRequest): Promise<EncodeReply> {
  return new Promise((resolve) => {
    worker.onmessage = ({ data }: MessageEvent<EncodeReply>) => resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      resolve({ ok: false, message: event.message });
    };
    worker.postMessage(request, [request.stream]);
  });
}
