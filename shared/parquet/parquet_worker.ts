/**
 * The thread behind `openParquetEncoder`: one file for each message, in order.
 *
 * Imports nothing from outside this folder: a thread needs read permission on every source file it loads.
 */

import { encodeParquet } from "./encode_parquet.ts";
import type { EncodeReply, EncodeRequest } from "./parquet_encoder.ts";

interface WorkerScope {
  onmessage: ((event: MessageEvent<EncodeRequest>) => void) | null;
  postMessage(reply: EncodeReply, transfer: ArrayBuffer[]): void;
}

const scope = globalThis as unknown as WorkerScope;

scope.onmessage = ({ data: { stream, options } }) => {
  try {
    const bytes = encodeParquet(new Uint8Array(stream), options);
    scope.postMessage({ ok: true, bytes: bytes.buffer }, [bytes.buffer]);
  } catch (error) {
    scope.postMessage({ ok: false, message: String(error), isStarted: true }, []);
  }
};
