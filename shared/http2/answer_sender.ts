/**
 * Sends whole answers as far as the peer's windows have room: RFC 9113, sections 5.2 and 6.9.
 *
 * Invariant: what a window frame costs does not grow with the number of calls. A change of the
 * initial window is one number, and answers that wait are looked at once for all frames of a read.
 */

import {
  ConnectionError,
  Flag,
  frame,
  FrameType,
  Http2ErrorCode,
  PAYLOAD_BYTES_MAX,
} from "./frames.ts";
import { WINDOW_BYTES_DEFAULT, WINDOW_BYTES_MAX } from "./frames.ts";
import { encodeFields } from "./hpack.ts";
import type { Field } from "./hpack_tables.ts";
import type { Outbox } from "./outbox.ts";
import type { Http2Answer, Stream } from "./stream.ts";

interface Waiting {
  readonly answer: Http2Answer;
  readonly over: () => void;
}

export class AnswerSender {
  readonly #outbox: Outbox;
  readonly #nowMs: () => number;
  #window: number = WINDOW_BYTES_DEFAULT;
  #initialWindow: number = WINDOW_BYTES_DEFAULT;
  readonly #waiting = new Map<Stream, Waiting>();
  /** A window has grown since the answers that wait were looked at. */
  #grown = false;
  #progressMs = 0;

  constructor(outbox: Outbox, nowMs: () => number) {
    this.#outbox = outbox;
    this.#nowMs = nowMs;
  }

  /** Sends `answer`, or has it wait: then it returns what resolves when it was sent or given up. */
  send(stream: Stream, answer: Http2Answer): Promise<void> | undefined {
    if (this.#sent(stream, answer)) return undefined;
    if (this.#waiting.size === 0) this.#progressMs = this.#nowMs();
    return new Promise((over) => this.#waiting.set(stream, { answer, over }));
  }

  /** Nobody waits for the answer of `stream` any more. */
  giveUp(stream: Stream): void {
    this.#waiting.get(stream)?.over();
    this.#waiting.delete(stream);
  }

  /** Sends what has room by now; to be called once all frames of a read were taken. */
  sendWaiting(): void {
    if (!this.#grown) return;
    this.#grown = false;
    for (const [stream, { answer, over }] of this.#waiting) {
      if (!this.#sent(stream, answer)) continue;
      this.#waiting.delete(stream);
      this.#progressMs = this.#nowMs();
      over();
    }
  }

  /** For how long answers have waited without one being sent; 0 when none does. */
  stuckMs(nowMs: number): number {
    return this.#waiting.size === 0 ? 0 : nowMs - this.#progressMs;
  }

  /** The peer gives room for `bytes` more, on a stream or, without, on the connection. */
  grow(bytes: number, stream?: Stream): void {
    if (stream === undefined) this.#window += bytes;
    else stream.windowGrown += bytes;
    const window = stream === undefined ? this.#window : this.#windowOf(stream);
    if (bytes === 0 || window > WINDOW_BYTES_MAX) throw tooLarge();
    this.#grown = true;
  }

  /** The peer says where its streams' windows begin, for those that there are as well. */
  setInitialWindow(bytes: number): void {
    if (bytes > WINDOW_BYTES_MAX) throw tooLarge();
    this.#grown ||= bytes > this.#initialWindow;
    this.#initialWindow = bytes;
  }

  #windowOf(stream: Stream): number {
    return this.#initialWindow + stream.windowGrown;
  }

  #sent(stream: Stream, { fields, body, trailers }: Http2Answer): boolean {
    const bytes = body?.byteLength ?? 0;
    if (bytes > Math.min(this.#window, this.#windowOf(stream))) return false;
    this.#window -= bytes;
    this.#sendFields(stream.id, fields, bytes === 0 && trailers === undefined);
    for (let at = 0; at < bytes; at += PAYLOAD_BYTES_MAX) {
      const part = body?.subarray(at, at + PAYLOAD_BYTES_MAX) ?? new Uint8Array(0);
      const last = trailers === undefined && at + PAYLOAD_BYTES_MAX >= bytes;
      const flags = last ? Flag.END_STREAM : 0;
      this.#outbox.push(frame(FrameType.DATA, part, { flags, stream: stream.id }));
    }
    if (trailers !== undefined) this.#sendFields(stream.id, trailers, true);
    return true;
  }

  #sendFields(stream: number, fields: readonly Field[], last: boolean): void {
    const block = encodeFields(fields);
    for (let at = 0; at === 0 || at < block.byteLength; at += PAYLOAD_BYTES_MAX) {
      const end = at + PAYLOAD_BYTES_MAX;
      const flags = (at === 0 && last ? Flag.END_STREAM : 0) |
        (end >= block.byteLength ? Flag.END_HEADERS : 0);
      const type = at === 0 ? FrameType.HEADERS : FrameType.CONTINUATION;
      this.#outbox.push(frame(type, block.subarray(at, end), { flags, stream }));
    }
  }
}

function tooLarge(): ConnectionError {
  return new ConnectionError(
    Http2ErrorCode.FLOW_CONTROL_ERROR,
    "a window is too large or not grown",
  );
}
