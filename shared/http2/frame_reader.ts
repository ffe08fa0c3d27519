/** Cuts the bytes of a connection into frames: the preface first, then whole frames only. */

import {
  ConnectionError,
  type FrameHead,
  HEAD_BYTES,
  Http2ErrorCode,
  NoHttp2,
  PAYLOAD_BYTES_MAX,
  PREFACE,
  readHead,
} from "./frames.ts";
import type { Http2Bytes } from "./outbox.ts";

/** What a silent connection costs. */
const BUFFER_BYTES_MIN = 4 * 1024;
/** What one that sends without a pause grows to, for few reads and large ones. */
const BUFFER_BYTES_MAX = 256 * 1024;

/**
 * Takes a frame, whose payload is valid only within the call; what it returns is waited for before
 * the next one.
 */
export type TakeFrame = (head: FrameHead, payload: Uint8Array) => Promise<void> | undefined;

export class FrameReader {
  readonly #connection: Http2Bytes;
  readonly #onGreeted: () => void;
  #buffer = new Uint8Array(BUFFER_BYTES_MIN);
  #filled = 0;
  #greeted = false;
  #stopped = false;

  /** `onGreeted` is called once, before the first frame. */
  constructor(connection: Http2Bytes, onGreeted: () => void) {
    this.#connection = connection;
    this.#onGreeted = onGreeted;
  }

  /** Whether the peer has begun as HTTP/2 does. */
  get greeted(): boolean {
    return this.#greeted;
  }

  /**
   * Waits for bytes and hands each frame that is whole to `take`. False at the connection's end,
   * and once it is stopped.
   * Errors: `ConnectionError`, what a read throws.
   */
  async read(take: TakeFrame): Promise<boolean> {
    const count = await this.#connection.read(this.#buffer.subarray(this.#filled));
    if (count === null || this.#stopped) return false;
    this.#filled += count;
    const wasFull = this.#filled === this.#buffer.byteLength;
    const used = await this.#take(this.#buffer.subarray(0, this.#filled), take);
    this.#buffer.copyWithin(0, used, this.#filled);
    this.#filled -= used;
    if (wasFull && this.#buffer.byteLength < BUFFER_BYTES_MAX) this.#grow();
    return true;
  }

  /** Hands over no further frame, not of those that have come either, and gives its buffer up. */
  stop(): void {
    this.#stopped = true;
    this.#buffer = new Uint8Array(0);
  }

  /** Returns how many bytes were whole frames. */
  async #take(bytes: Uint8Array, take: TakeFrame): Promise<number> {
    let at = 0;
    if (!this.#greeted) {
      const seen = bytes.subarray(0, PREFACE.byteLength);
      if (seen.some((byte, i) => byte !== PREFACE[i])) {
        throw new NoHttp2(seen.slice());
      }
      if (seen.byteLength < PREFACE.byteLength) return 0;
      this.#greeted = true;
      this.#onGreeted();
      at = PREFACE.byteLength;
    }
    while (!this.#stopped && bytes.byteLength - at >= HEAD_BYTES) {
      const head = readHead(bytes, at);
      if (head.payloadBytes > PAYLOAD_BYTES_MAX) {
        throw new ConnectionError(Http2ErrorCode.FRAME_SIZE_ERROR, "a frame is over its size");
      }
      const end = at + HEAD_BYTES + head.payloadBytes;
      if (end > bytes.byteLength) break;
      const othersFirst = take(head, bytes.subarray(at + HEAD_BYTES, end));
      if (othersFirst !== undefined) await othersFirst;
      at = end;
    }
    return at;
  }

  #grow(): void {
    const larger = new Uint8Array(4 * this.#buffer.byteLength);
    larger.set(this.#buffer.subarray(0, this.#filled));
    this.#buffer = larger;
  }
}
