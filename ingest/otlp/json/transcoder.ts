/**
 * OTLP/JSON → the protobuf wire format, from bytes to bytes, for requests in the common form: no
 * tree of objects and no strings in between. What it writes is read as what `JsonRequestWriter`
 * writes for the same text.
 *
 * Not covered, and left to `JSON.parse` by throwing `UNUSUAL`: what JSON refuses, members that are
 * unknown, null or repeated, values of another type than usual, bytes values, deep nesting.
 */

import { isUtf8 } from "node:buffer";
import {
  BRACE,
  BRACE_END,
  BRACKET,
  BRACKET_END,
  COLON,
  QUOTE,
} from "../../../shared/base/json_letters.ts";
import type { JsonField, JsonMessage } from "./message_shape.ts";
import { JsonScanner, UNUSUAL } from "./scanner.ts";
import type { WireWriter } from "../wire/wire_writer.ts";

/** Messages within messages; fewer than the nested values that a request may have. */
const DEPTH_MAX = 24;
const UINT32_MAX = 2 ** 32 - 1;
const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;

/** Kept between requests. */
export class JsonTranscoder {
  readonly #scanner = new JsonScanner();
  readonly #wire: WireWriter;
  #depth = 0;

  constructor(wire: WireWriter) {
    this.#wire = wire;
  }

  /** Writes the request; false when it is not in the common form, whatever was written then. */
  write(body: Uint8Array, request: JsonMessage): boolean {
    if (!isUtf8(body)) return false;
    const scanner = this.#scanner;
    scanner.open(body);
    this.#depth = 0;
    try {
      this.#message(request);
      return scanner.peek() === -1;
    } catch (error) {
      if (error === UNUSUAL || error instanceof SyntaxError) return false;
      throw error;
    } finally {
      scanner.close();
    }
  }

  #message(message: JsonMessage): void {
    const scanner = this.#scanner;
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw UNUSUAL;
    let seen = 0;
    let place = -1;
    let more = scanner.begins(BRACE, BRACE_END);
    while (more) {
      if (scanner.peek() !== QUOTE) throw UNUSUAL;
      place = message.place(scanner, place);
      const bit = 1 << place;
      if ((seen & bit) !== 0 || (message.isUnion && seen !== 0)) throw UNUSUAL;
      seen |= bit;
      scanner.expect(COLON);
      this.#field(message.field(place));
      more = scanner.follows(BRACE_END);
    }
    this.#depth -= 1;
  }

  #field(field: JsonField): void {
    const { tag, message } = field;
    if (message !== undefined) {
      if (field.kind === "message") this.#nested(tag, message);
      else this.#repeated(tag, message);
      return;
    }
    const scanner = this.#scanner;
    switch (field.kind) {
      case "string":
        return this.#string(tag);
      case "id":
        return this.#id(tag);
      case "time":
        return this.#time(tag);
      case "int64":
        return this.#int64(tag);
      case "int32":
        return this.#wire.varint(tag, scanner.int32(INT32_MIN, INT32_MAX));
      case "uint32":
        return this.#wire.varint(tag, scanner.int32(0, UINT32_MAX));
      case "fixed32":
        return this.#wire.fixed32(tag, scanner.int32(0, UINT32_MAX));
      case "double":
        return this.#wire.double(tag, scanner.double());
      case "bool":
        return this.#bool(tag);
    }
  }

  #nested(tag: number, message: JsonMessage): void {
    const start = this.#wire.start(tag);
    this.#message(message);
    this.#wire.end(start);
  }

  #repeated(tag: number, message: JsonMessage): void {
    const scanner = this.#scanner;
    let more = scanner.begins(BRACKET, BRACKET_END);
    while (more) {
      this.#nested(tag, message);
      more = scanner.follows(BRACKET_END);
    }
  }

  #string(tag: number): void {
    const scanner = this.#scanner;
    scanner.string();
    if (scanner.escaped) this.#wire.string(tag, scanner.unescaped());
    else this.#wire.copy(tag, scanner.view, scanner.textStart, scanner.textEnd);
  }

  #id(tag: number): void {
    const scanner = this.#scanner;
    scanner.string();
    const { view, textStart, textEnd } = scanner;
    if (textStart !== textEnd && !this.#wire.hexOf(tag, view, textStart, textEnd)) throw UNUSUAL;
  }

  #time(tag: number): void {
    const scanner = this.#scanner;
    scanner.integer();
    const { low, high } = scanner;
    if (scanner.negative) throw UNUSUAL;
    if (low !== 0 || high !== 0) this.#wire.fixed64Halves(tag, low, high);
  }

  #int64(tag: number): void {
    const scanner = this.#scanner;
    scanner.integer();
    const { low, high, negative } = scanner;
    if (high > INT32_MAX) throw UNUSUAL;
    if (negative) this.#wire.int64Halves(tag, -low, low === 0 ? -high : ~high);
    else this.#wire.int64Halves(tag, low, high);
  }

  #bool(tag: number): void {
    const scanner = this.#scanner;
    scanner.peek();
    const { bytes, pos } = scanner;
    const word = bytes[pos] === TRUE[0] ? TRUE : FALSE;
    for (let i = 0; i < word.length; i += 1) if (bytes[pos + i] !== word[i]) throw UNUSUAL;
    scanner.pos = pos + word.length;
    this.#wire.varint(tag, word === TRUE ? 1 : 0);
  }
}

const TRUE = Uint8Array.from("true", (letter) => letter.charCodeAt(0));
const FALSE = Uint8Array.from("false", (letter) => letter.charCodeAt(0));
