/**
 * Header compression: RFC 7541. Decodes all of it; encodes literals only, so that no state of ours
 * can go wrong and a peer's table size does not matter.
 */

import { ConnectionError, Http2ErrorCode } from "./frames.ts";
import { decodeHuffman } from "./hpack_huffman.ts";
import { type Field, STATIC_TABLE } from "./hpack_tables.ts";

/** What a peer may keep in the dynamic table: the protocol's default, which we do not change. */
const TABLE_BYTES_MAX = 4_096;
/**
 * Changes of its size at the beginning of a block, the least and the last one: RFC 7541, section
 * 4.2.
 */
const TABLE_SIZES_MAX = 2;
/** What every entry counts for besides its text: RFC 7541, section 4.1. */
const ENTRY_BYTES = 32;

/** Decodes the header blocks of one connection, in their order. */
export class HpackDecoder {
  readonly #listBytesMax: number;
  /** Newest last. */
  #entries: Field[] = [];
  #entriesBytes = 0;
  #tableBytesMax = TABLE_BYTES_MAX;
  #block = new Uint8Array(0);
  #at = 0;

  /** `listBytesMax` bounds the fields of one block, each with `ENTRY_BYTES` on top. */
  constructor(listBytesMax: number) {
    this.#listBytesMax = listBytesMax;
  }

  /** The fields of a whole block. Errors: `ConnectionError`; the connection is unusable then. */
  decode(block: Uint8Array): Field[] {
    this.#block = new Uint8Array(block);
    this.#at = 0;
    const fields: Field[] = [];
    let bytes = 0;
    let sizes = 0;
    while (this.#at < this.#block.byteLength) {
      const field = this.#representation();
      if (field === undefined) {
        sizes += 1;
        if (fields.length > 0 || sizes > TABLE_SIZES_MAX) {
          throw broken("its table is resized where it must not be");
        }
        continue;
      }
      bytes += bytesOf(field);
      if (bytes > this.#listBytesMax) {
        throw new ConnectionError(
          Http2ErrorCode.ENHANCE_YOUR_CALM,
          `a header list is over ${this.#listBytesMax} bytes`,
        );
      }
      fields.push(field);
    }
    return fields;
  }

  /** Undefined for an update of the table's size. RFC 7541, section 6. */
  #representation(): Field | undefined {
    const first = this.#block[this.#at] ?? 0;
    if ((first & 0x80) !== 0) return this.#entryAt(this.#integer(7));
    if ((first & 0xe0) === 0x20) {
      const bytes = this.#integer(5);
      if (bytes > TABLE_BYTES_MAX) throw broken(`its table is set to ${bytes} bytes`);
      this.#tableBytesMax = bytes;
      this.#evict(0);
      return undefined;
    }
    const indexed = (first & 0xc0) === 0x40;
    const nameAt = this.#integer(indexed ? 6 : 4);
    const name = nameAt === 0 ? this.#text() : this.#entryAt(nameAt)[0];
    const field: Field = [name, this.#text()];
    if (indexed) this.#add(field);
    return field;
  }

  #entryAt(index: number): Field {
    const field = index <= STATIC_TABLE.length
      ? STATIC_TABLE[index - 1]
      : this.#entries[this.#entries.length - (index - STATIC_TABLE.length)];
    if (field === undefined) throw broken(`it names entry ${index}, which is not there`);
    return field;
  }

  #add(field: Field): void {
    const bytes = bytesOf(field);
    this.#evict(bytes);
    if (bytes > this.#tableBytesMax) return;
    this.#entries.push(field);
    this.#entriesBytes += bytes;
  }

  /** Makes room for `bytes`, oldest entries first. */
  #evict(bytes: number): void {
    while (this.#entriesBytes + bytes > this.#tableBytesMax) {
      const oldest = this.#entries.shift();
      if (oldest === undefined) return;
      this.#entriesBytes -= bytesOf(oldest);
    }
  }

  /** An integer whose first bits share a byte with something else. RFC 7541, section 5.1. */
  #integer(prefixBits: number): number {
    const full = 2 ** prefixBits - 1;
    let value = this.#byte() & full;
    if (value < full) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) * 2 ** shift;
      if ((byte & 0x80) === 0) return value;
    }
    throw broken("an integer is too long");
  }

  #text(): string {
    const coded = ((this.#block[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#integer(7);
    const end = this.#at + length;
    if (end > this.#block.byteLength) throw broken("a text is cut off");
    const bytes = this.#block.subarray(this.#at, end);
    this.#at = end;
    return textOf(coded ? decodeHuffman(bytes) : bytes);
  }

  #byte(): number {
    const byte = this.#block[this.#at++];
    if (byte === undefined) throw broken("it is cut off");
    return byte;
  }
}

const LATIN1 = new TextDecoder("latin1");
/** Longer texts are decoded by the runtime, which takes as long for a letter as for so many. */
const SHORT_TEXT_BYTES = 32;

function textOf(bytes: Uint8Array): string {
  if (bytes.byteLength > SHORT_TEXT_BYTES) return LATIN1.decode(bytes);
  let text = "";
  for (const byte of bytes) {
    // ASCII is the same in all encodings.
    if (byte >= 0x80) return LATIN1.decode(bytes);
    text += String.fromCharCode(byte);
  }
  return text;
}

function bytesOf([name, value]: Field): number {
  return name.length + value.length + ENTRY_BYTES;
}

function broken(why: string): ConnectionError {
  return new ConnectionError(Http2ErrorCode.COMPRESSION_ERROR, `a header block is broken: ${why}`);
}

const STATUS_200 = 0x88;

/** A header block of literals. Texts are ASCII. */
export function encodeFields(fields: readonly Field[]): Uint8Array {
  const bytes: number[] = [];
  for (const [name, value] of fields) {
    if (name === ":status" && value === "200") {
      bytes.push(STATUS_200);
      continue;
    }
    bytes.push(0);
    pushText(bytes, name);
    pushText(bytes, value);
  }
  return Uint8Array.from(bytes);
}

function pushText(bytes: number[], text: string): void {
  if (text.length < 0x7f) {
    bytes.push(text.length);
  } else {
    bytes.push(0x7f);
    let rest = text.length - 0x7f;
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push(rest % 0x80 | 0x80);
    bytes.push(rest);
  }
  for (let at = 0; at < text.length; at++) bytes.push(text.charCodeAt(at));
}
