/**
 * Writes to a connection in order, everything of one turn of the event loop at once, and bounds
 * what a peer leaves unread.
 */

import { concatBytes } from "../base/bytes.ts";
import type { ByteConnection } from "../http1/input.ts";
import { HTTP2_LIMITS } from "./limits.ts";

/** What a connection is made of; HTTP/2 says in frames that nothing follows. */
export type Http2Bytes = Pick<ByteConnection, "read" | "write" | "close">;

export class Outbox {
  readonly #connection: Http2Bytes;
  readonly #onFailure: (error: unknown) => void;
  #waiting: Uint8Array[] = [];
  #bytes = 0;
  #writing: Promise<void> | undefined;

  /**
   * `onFailure` is called when a write fails or too much is unread; nothing is written after it.
   */
  constructor(connection: Http2Bytes, onFailure: (error: unknown) => void) {
    this.#connection = connection;
    this.#onFailure = onFailure;
  }

  push(bytes: Uint8Array): void {
    this.#bytes += bytes.byteLength;
    if (this.#bytes > HTTP2_LIMITS.unreadBytesMax) {
      this.#onFailure(new Error("the peer does not read its answers"));
      return;
    }
    this.#waiting.push(bytes);
    this.#writing ??= this.#write().catch(this.#onFailure);
  }

  /** Returns once all that was pushed is written, or cannot be. */
  async flushed(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async #write(): Promise<void> {
    // What comes in the same turn goes out in the same write.
    await Promise.resolve();
    try {
      while (this.#waiting.length > 0) {
        const bytes = concatBytes(this.#waiting);
        this.#waiting = [];
        for (let at = 0; at < bytes.byteLength;) {
          at += await this.#connection.write(bytes.subarray(at));
        }
        this.#bytes -= bytes.byteLength;
      }
    } finally {
      this.#writing = undefined;
    }
  }
}
