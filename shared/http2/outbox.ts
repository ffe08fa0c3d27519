/**
 * Writes to a connection in order, everything of one turn of the event loop at once, and bounds
 * what a peer leaves unread.
 */

import { concatBytes } from "../base/bytes.ts";
import { HTTP2_LIMITS } from "./limits.ts";

/** A byte connection, as `Deno.Conn` is one. */
export interface ByteConnection {
  read(into: Uint8Array): Promise<number | null>;
  write(bytes: Uint8Array): Promise<number>;
  close(): void;
}

export class Outbox {
  readonly #connection: ByteConnection;
  readonly #onFailure: (error: unknown) => void;
  #waiting: Uint8Array[] = [];
  #bytes = 0;
  #writing: Promise<void> | undefined;

  /**
   * `onFailure` is called when a write fails or too much is unread; nothing is written after it.
   */
  constructor(connection: ByteConnection, onFailure: (error: unknown) => void) {
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
