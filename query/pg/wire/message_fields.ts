/** Reads the fields of a message. What is not there is a protocol violation, never a guess. */

import { textOf } from "../../../shared/base/bytes.ts";
import { pgError } from "../sqlstate.ts";

/** Errors of all methods: `invalid_argument` with SQLSTATE 08P01. */
export class MessageFields {
  readonly #view: DataView;
  #at = 0;

  constructor(private readonly body: Uint8Array, private readonly what: string) {
    this.#view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.body.byteLength;
  }

  byte(): number {
    return this.#view.getUint8(this.#take(1));
  }

  int16(): number {
    return this.#view.getInt16(this.#take(2));
  }

  uint16(): number {
    return this.#view.getUint16(this.#take(2));
  }

  int32(): number {
    return this.#view.getInt32(this.#take(4));
  }

  uint32(): number {
    return this.#view.getUint32(this.#take(4));
  }

  /** A text that ends with a zero. */
  text(): string {
    const end = this.body.indexOf(0, this.#at);
    if (end < 0) throw this.violation("a text without an end");
    const bytes = this.body.subarray(this.#at, end);
    this.#at = end + 1;
    try {
      return textOf(bytes);
    } catch {
      throw pgError("22021", `Cannot read the ${this.what} message: a text in it is not UTF-8`);
    }
  }

  bytes(count: number): Uint8Array {
    const at = this.#take(count);
    return this.body.subarray(at, at + count);
  }

  rest(): Uint8Array {
    return this.bytes(this.body.byteLength - this.#at);
  }

  /** Nothing may be left. */
  end(): void {
    if (!this.isAtEnd) throw this.violation("bytes behind its last field");
  }

  violation(what: string): Error {
    return pgError("08P01", `Cannot read the ${this.what} message: it has ${what}`);
  }

  #take(count: number): number {
    const at = this.#at;
    if (count < 0 || at + count > this.body.byteLength) throw this.violation("too few bytes");
    this.#at += count;
    return at;
  }
}
