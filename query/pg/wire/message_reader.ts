/**
 * Messages of a client, one after the other. A message is held as its bytes come, never by the
 * length that it announces. While a statement runs the connection is read ahead, within a bound, so
 * that a client that leaves is seen.
 */

import { OperatingError } from "../../../shared/base/errors.ts";
import { IDLE_READ_BYTES, MESSAGE_BYTES_MAX, MESSAGE_MS_MAX, READ_AHEAD_BYTES } from "../limits.ts";
import type { Transport } from "./transport.ts";

/** A message: its code, and what follows its length. */
export interface Message {
  readonly code: string;
  readonly body: Uint8Array;
}

const LENGTH_BYTES = 4;
const HEADER_BYTES = 5;

export class MessageReader {
  /** Bytes that came and were not read yet, from `#from` to before `#to`. */
  #buffer = new Uint8Array(IDLE_READ_BYTES);
  #from = 0;
  #to = 0;
  #isEnded = false;
  #failure: unknown;
  /** The read that is under way. */
  #filling: Promise<void> | undefined;
  /** Whom the end of the connection is told while it is read ahead. */
  #onEnd: (() => void) | undefined;
  #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Whether the next message is here already, so that nobody waits for it. */
  get hasMessage(): boolean {
    return this.#to - this.#from >= HEADER_BYTES && this.#isWhole();
  }

  /** The code of the next message, as far as it is here already. */
  get nextCode(): string | undefined {
    return this.#to > this.#from ? String.fromCharCode(this.#buffer[this.#from] ?? 0) : undefined;
  }

  /** The reader goes on above `transport`. */
  upgrade(transport: Transport): void {
    this.#transport = transport;
  }

  /** Takes what came and was not read. */
  takeRest(): Uint8Array {
    const rest = this.#buffer.slice(this.#from, this.#to);
    this.#from = this.#to = 0;
    return rest;
  }

  /** The next byte, which stays; undefined at the end. */
  async peek(): Promise<number | undefined> {
    return await this.#has(1) ? this.#buffer[this.#from] : undefined;
  }

  /**
   * A packet without code; undefined at the end. `bytesMax`: of its body. Errors: `too_large`,
   * `invalid_argument` for a length that none has.
   */
  async packet(bytesMax: number): Promise<Uint8Array | undefined> {
    if (!await this.#has(LENGTH_BYTES)) return undefined;
    return await this.#body(0, bytesMax);
  }

  /**
   * Resolves when something came that was not read, or nothing will come. An idle session waits
   * here, where no more is held than what one read takes.
   */
  some(): Promise<void> {
    this.#shrink();
    return this.#to > this.#from || this.#isEnded ? Promise.resolve() : this.#fill(1);
  }

  /** The next message; undefined at the end, also amid one. Errors: those of `packet`. */
  async next(bytesMax: number = MESSAGE_BYTES_MAX): Promise<Message | undefined> {
    this.#shrink();
    if (!await this.#has(1)) return undefined;
    const timer = this.#to - this.#from < HEADER_BYTES || !this.#isWhole()
      ? setTimeout(() => this.#transport.close(), MESSAGE_MS_MAX)
      : undefined;
    try {
      if (!await this.#has(HEADER_BYTES)) return undefined;
      const code = String.fromCharCode(this.#buffer[this.#from] ?? 0);
      const body = await this.#body(1, bytesMax);
      return body === undefined ? undefined : { code, body };
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Reads ahead until it is disposed of; calls `onEnd` should the connection end. One watches at a
   * time.
   */
  watch(onEnd: () => void): Disposable {
    this.#onEnd = onEnd;
    this.#readAhead();
    return { [Symbol.dispose]: () => this.#onEnd = undefined };
  }

  #readAhead(): void {
    if (this.#onEnd === undefined) return;
    if (this.#isEnded) return this.#onEnd();
    if (this.#to - this.#from < READ_AHEAD_BYTES) void this.#fill(READ_AHEAD_BYTES);
  }

  #isWhole(): boolean {
    const length = this.#lengthAt(this.#from + 1);
    return this.#to - this.#from >= 1 + length;
  }

  async #body(codeBytes: number, bytesMax: number): Promise<Uint8Array | undefined> {
    const length = this.#lengthAt(this.#from + codeBytes);
    if (length < LENGTH_BYTES) throw malformed(`a length of ${length}`);
    if (length - LENGTH_BYTES > bytesMax) {
      throw new OperatingError(
        "too_large",
        `Cannot read a message of ${length} bytes: at most ${bytesMax} are read`,
        { details: { sqlstate: "08P01" } },
      );
    }
    if (!await this.#has(codeBytes + length)) return undefined;
    const start = this.#from + codeBytes + LENGTH_BYTES;
    this.#from += codeBytes + length;
    return this.#buffer.slice(start, this.#from);
  }

  #lengthAt(at: number): number {
    return new DataView(this.#buffer.buffer).getInt32(at);
  }

  /** Whether so many bytes are there; false: the connection ended before. */
  async #has(bytes: number): Promise<boolean> {
    while (this.#to - this.#from < bytes) {
      if (this.#failure !== undefined || this.#isEnded) return false;
      await this.#fill(bytes);
    }
    return true;
  }

  /** Reads once, with room for `wanted` bytes at most in all. Never rejects. */
  #fill(wanted: number): Promise<void> {
    if (this.#filling !== undefined) return this.#filling;
    this.#makeRoom(wanted);
    return this.#filling = this.#transport.read(this.#buffer.subarray(this.#to)).then(
      (count) => {
        if (count === null) this.#isEnded = true;
        else this.#to += count;
        this.#filled();
      },
      (error) => {
        this.#failure = error;
        this.#isEnded = true;
        this.#filled();
      },
    );
  }

  #filled(): void {
    this.#filling = undefined;
    this.#readAhead();
  }

  /** Grows by what came, so that an announced length alone makes nobody hold anything. */
  #makeRoom(wanted: number): void {
    if (this.#from > 0) {
      this.#buffer.copyWithin(0, this.#from, this.#to);
      this.#to -= this.#from;
      this.#from = 0;
    }
    if (this.#to < this.#buffer.byteLength) return;
    const size = Math.max(2 * this.#buffer.byteLength, Math.min(wanted, READ_AHEAD_BYTES));
    const grown = new Uint8Array(size);
    grown.set(this.#buffer.subarray(0, this.#to));
    this.#buffer = grown;
  }

  /** What a large message took is not kept by an idle session. */
  #shrink(): void {
    if (this.#to > this.#from || this.#filling !== undefined) return;
    this.#from = this.#to = 0;
    if (this.#buffer.byteLength > IDLE_READ_BYTES) this.#buffer = new Uint8Array(IDLE_READ_BYTES);
  }
}

function malformed(what: string): OperatingError {
  return new OperatingError("invalid_argument", `Cannot read a message: it has ${what}`, {
    details: { sqlstate: "08P01" },
  });
}
