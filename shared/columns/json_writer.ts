/**
 * JSON text as bytes, from bytes: what `JSON.stringify` would give, without a string in between.
 *
 * Strings: `"`, `\` and control characters are escaped as `JSON.stringify` does, everything else is copied.
 * Input that is not UTF-8 gives output that is not UTF-8: the caller checks whole columns at once. Numbers:
 * 64-bit integers in full; NaN and infinities as strings.
 */

import type { ByteBuilder } from "./byte_builder.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const HEX = bytesOf("0123456789abcdef");
const BASE64 = bytesOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

/** 0: copy the byte. 1: write `\u00xx`. Else the letter after the backslash. */
const ESCAPES = escapeTable();

/** Appends the string whose UTF-8 is `source` from `start` to `end`, in quotes. */
export function writeJsonString(
  out: ByteBuilder,
  source: Uint8Array,
  start: number,
  end: number,
): void {
  out.reserve(end - start + 2);
  const bytes = out.bytes;
  let at = out.length;
  bytes[at] = QUOTE;
  at += 1;
  for (let i = start; i < end; i += 1) {
    const byte = source[i] as number;
    if (ESCAPES[byte] !== 0) {
      out.length = at;
      writeEscaped(out, source, i, end);
      return;
    }
    bytes[at] = byte;
    at += 1;
  }
  bytes[at] = QUOTE;
  out.length = at + 1;
}

function writeEscaped(out: ByteBuilder, source: Uint8Array, start: number, end: number): void {
  out.reserve(6 * (end - start) + 1);
  const bytes = out.bytes;
  let at = out.length;
  for (let i = start; i < end; i += 1) {
    const byte = source[i] as number;
    const escape = ESCAPES[byte] as number;
    if (escape === 0) {
      bytes[at] = byte;
      at += 1;
      continue;
    }
    bytes[at] = BACKSLASH;
    if (escape !== 1) {
      bytes[at + 1] = escape;
      at += 2;
      continue;
    }
    bytes[at + 1] = 0x75;
    bytes[at + 2] = 0x30;
    bytes[at + 3] = 0x30;
    bytes[at + 4] = HEX[byte >> 4] as number;
    bytes[at + 5] = HEX[byte & 15] as number;
    at += 6;
  }
  bytes[at] = QUOTE;
  out.length = at + 1;
}

/** Appends a signed 64-bit integer in decimal, given as its halves. */
export function writeInt64(out: ByteBuilder, low: number, high: number): void {
  const unsigned = low >>> 0;
  if (high === 0) writeCount(out, unsigned);
  else if (high === -1 && unsigned !== 0) {
    out.byte(0x2d);
    writeCount(out, 0x1_0000_0000 - unsigned);
  } else writeAscii(out, String((BigInt(high) << 32n) | BigInt(unsigned)));
}

/** Appends an integer from 0 to 2^32 in decimal. */
export function writeCount(out: ByteBuilder, value: number): void {
  let digits = 1;
  for (let bound = 10; bound <= value; bound *= 10) digits += 1;
  out.reserve(digits);
  let rest = value;
  for (let at = out.length + digits - 1; at >= out.length; at -= 1) {
    const next = Math.floor(rest / 10);
    out.bytes[at] = 0x30 + rest - 10 * next;
    rest = next;
  }
  out.length += digits;
}

/** Appends a double as JavaScript prints it; NaN and infinities in quotes. */
export function writeDouble(out: ByteBuilder, value: number): void {
  if (Number.isFinite(value)) writeAscii(out, String(value));
  else writeAscii(out, `"${value}"`);
}

/** Appends bytes as a base64 string (standard alphabet, padded) in quotes. */
export function writeBase64(
  out: ByteBuilder,
  source: Uint8Array,
  start: number,
  end: number,
): void {
  out.reserve(2 + 4 * Math.ceil((end - start) / 3));
  const bytes = out.bytes;
  let at = out.length;
  bytes[at] = QUOTE;
  at += 1;
  for (let i = start; i < end; i += 3) {
    const left = end - i;
    const bits = ((source[i] as number) << 16) |
      ((left > 1 ? source[i + 1] as number : 0) << 8) |
      (left > 2 ? source[i + 2] as number : 0);
    bytes[at] = BASE64[bits >> 18] as number;
    bytes[at + 1] = BASE64[(bits >> 12) & 63] as number;
    bytes[at + 2] = left > 1 ? BASE64[(bits >> 6) & 63] as number : 0x3d;
    bytes[at + 3] = left > 2 ? BASE64[bits & 63] as number : 0x3d;
    at += 4;
  }
  bytes[at] = QUOTE;
  out.length = at + 1;
}

/** Appends bytes as a lower-case hexadecimal string in quotes. */
export function writeHex(out: ByteBuilder, source: Uint8Array, start: number, end: number): void {
  out.reserve(2 + 2 * (end - start));
  const bytes = out.bytes;
  let at = out.length;
  bytes[at] = QUOTE;
  at += 1;
  for (let i = start; i < end; i += 1) {
    const byte = source[i] as number;
    bytes[at] = HEX[byte >> 4] as number;
    bytes[at + 1] = HEX[byte & 15] as number;
    at += 2;
  }
  bytes[at] = QUOTE;
  out.length = at + 1;
}

/** Appends text that is known to be ASCII. */
export function writeAscii(out: ByteBuilder, text: string): void {
  out.reserve(text.length);
  for (let i = 0; i < text.length; i += 1) out.bytes[out.length + i] = text.charCodeAt(i);
  out.length += text.length;
}

function escapeTable(): Uint8Array {
  const table = new Uint8Array(256).fill(1, 0, 0x20);
  table[QUOTE] = QUOTE;
  table[BACKSLASH] = BACKSLASH;
  for (const [code, letter] of [[8, "b"], [9, "t"], [10, "n"], [12, "f"], [13, "r"]] as const) {
    table[code] = letter.charCodeAt(0);
  }
  return table;
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}
