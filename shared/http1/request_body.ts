/**
 * The body of one request, as its handler reads it: in pieces, or whole.
 *
 * Nothing is read ahead of the handler, so that a sender waits for it. A body that ends early, or
 * whose chunks are broken, fails; its connection serves no other request then.
 */

import { concatBytes } from "../base/bytes.ts";
import { ChunkedDecoder } from "./chunked.ts";
import type { Input } from "./input.ts";
import { HTTP1_LIMITS } from "./limits.ts";
import type { Framing } from "./request_head.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

export interface BodyEvents {
  /** Before the first byte is waited for: a sender may wait to be asked for it. */
  onWait(): void;
  /** Once every byte was read. */
  onEnd(): void;
}

export class RequestBody {
  readonly #input: Input;
  readonly #decoder: ChunkedDecoder | undefined;
  readonly #events: BodyEvents;
  #left: number;
  #hasWaited = false;
  #hasToldEnd = false;
  #isAbandoned = false;

  constructor(input: Input, framing: Framing, events: BodyEvents) {
    this.#input = input;
    this.#decoder = framing === "chunked" ? new ChunkedDecoder() : undefined;
    this.#left = framing === "chunked" ? 0 : framing;
    this.#events = events;
  }

  /** Whether every byte was read. */
  get hasEnded(): boolean {
    return this.#decoder?.hasEnded ?? this.#left === 0;
  }

  /** Its first byte was waited for. */
  get hasWaited(): boolean {
    return this.#hasWaited;
  }

  /** The next bytes, at least one; undefined at the end. */
  async piece(): Promise<Bytes | undefined> {
    for (;;) {
      if (this.hasEnded) return undefined;
      const piece = this.#pieceAtHand();
      if (this.hasEnded) this.#tellEnd();
      if (piece !== undefined) return piece;
      if (!this.hasEnded) await this.#more();
    }
  }

  /** Whether its length is known from its beginning. */
  get isAnnounced(): boolean {
    return this.#decoder === undefined;
  }

  /**
   * The next bytes, at least one, where they lie in the connection's buffer: good until the next
   * call. Undefined at the end, which is told once it is asked for.
   */
  async view(): Promise<Uint8Array | undefined> {
    for (;;) {
      if (this.hasEnded) {
        this.#tellEnd();
        return undefined;
      }
      const view = this.#viewAtHand();
      if (view.byteLength > 0) return view;
      if (!this.hasEnded) await this.#more();
    }
  }

  /** Reads and drops some of what is left; how many bytes of the wire, 0 at the end. */
  async skip(): Promise<number> {
    if (this.#decoder !== undefined) return (await this.view())?.byteLength ?? 0;
    if (this.#left === 0) {
      this.#tellEnd();
      return 0;
    }
    if (this.#input.length === 0) this.#aboutToWait();
    const count = await this.#input.skip(this.#left);
    if (count === 0) throw endedEarly();
    this.#left -= count;
    return count;
  }

  /** All of it that was not read yet. */
  bytes(): Promise<Bytes> {
    return this.#decoder === undefined ? this.#announced() : this.#collected();
  }

  /** Reads of it, now and later, fail with this error. */
  cut(error: Error): void {
    if (!this.hasEnded) this.#input.interrupt(error);
  }

  /** No more of it is wanted. */
  abandon(): void {
    this.#isAbandoned = true;
  }

  /** Drops what is at hand of it. */
  dropAtHand(): void {
    while (!this.hasEnded && this.#viewAtHand().byteLength > 0);
  }

  async #announced(): Promise<Bytes> {
    const body = new Uint8Array(this.#left);
    let at = this.#input.moveTo(body);
    this.#left -= at;
    while (this.#left > 0) {
      this.#aboutToWait();
      const count = await this.#input.readInto(body.subarray(at));
      if (count === 0) throw endedEarly();
      at += count;
      this.#left -= count;
    }
    this.#tellEnd();
    return body;
  }

  async #collected(): Promise<Bytes> {
    const pieces: Bytes[] = [];
    for (let piece = await this.piece(); piece !== undefined; piece = await this.piece()) {
      pieces.push(piece);
    }
    return concatBytes(pieces) as Bytes;
  }

  #pieceAtHand(): Bytes | undefined {
    const view = this.#viewAtHand();
    return view.byteLength > 0 ? view.slice() as Bytes : undefined;
  }

  /** The bytes at hand, as they lie in the buffer; those of chunks are moved together there. */
  #viewAtHand(): Uint8Array {
    const wire = this.#input.peek();
    if (this.#decoder === undefined) {
      const view = wire.subarray(0, this.#left);
      this.#left -= view.byteLength;
      this.#input.drop(view.byteLength);
      return view;
    }
    let count = 0;
    const taken = this.#decoder.decode(wire, (data) => {
      wire.set(data, count);
      count += data.byteLength;
    });
    this.#input.drop(taken);
    return wire.subarray(0, count);
  }

  #tellEnd(): void {
    if (this.#hasToldEnd) return;
    this.#hasToldEnd = true;
    this.#events.onEnd();
  }

  async #more(): Promise<void> {
    if (this.#isAbandoned) throw endedEarly();
    this.#aboutToWait();
    if (!await this.#input.fill(HTTP1_LIMITS.chunkedBufferBytes)) throw endedEarly();
  }

  #aboutToWait(): void {
    if (this.#hasWaited) return;
    this.#hasWaited = true;
    this.#events.onWait();
  }
}

function endedEarly(): Error {
  return new TypeError("the body ended before its end was due");
}
