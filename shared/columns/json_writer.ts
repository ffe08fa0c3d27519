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
/** The two digits of each byte, as one big-endian unit. */
const HEX_PAIRS = Uint16Array.from(
  { length: 256 },
  (_, byte) => ((HEX[byte >> 4] as number) << 8) | (HEX[byte & 15] as number),
);
const BASE64 = bytesOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

/** 0: copy the byte. 1: write `\u00xx`. Else the letter after the backslash. */
const ESCAPES = escapeTable();

/**
 * Appends the string whose UTF-8 is `source` from `start` to `end`, in quotes. Four bytes at a time: the terms of
 * the test have a byte's top bit set where that byte is a control character, a quote or a backslash.
 */
export function writeJsonString(
  out: ByteBuilder,
  source: DataView,
  start: number,
  end: number,
): void {
  out.reserve(end - start + 2);
  const view = out.view;
  let at = out.length;
  view.setUint8(at, QUOTE);
  at += 1;
  let from = start;
  for (; from + 4 <= end; from += 4) {
    const word = source.getInt32(from);
    const quote = word ^ 0x22222222;
    const backslash = word ^ 0x5c5c5c5c;
    const special = ((word - 0x20202020) & ~word) | ((quote - 0x01010101) & ~quote) |
      ((backslash - 0x01010101) & ~backslash);
    if ((special & 0x80808080) !== 0) break;
    view.setInt32(at, word);
    at += 4;
  }
  for (; from < end; from += 1) {
    const byte = source.getUint8(from);
    if (ESCAPES[byte] !== 0) break;
    view.setUint8(at, byte);
    at += 1;
  }
  out.length = at;
  if (from < end) writeEscaped(out, source, from, end);
  out.byte(QUOTE);
}

function writeEscaped(out: ByteBuilder, source: DataView, start: number, end: number): void {
  out.reserve(6 * (end - start) + 1);
  const bytes = out.bytes;
  let at = out.length;
  for (let from = start; from < end; from += 1) {
    const byte = source.getUint8(from);
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
    out.view.setUint16(at + 4, HEX_PAIRS[byte] as number);
    at += 6;
  }
  out.length = at;
}

/** Appends a signed 64-bit integer in decimal, given as its halves. */
export function writeInt64(out: ByteBuilder, low: number, high: number): void {
  if (high < 0) {
    out.byte(0x2d);
    const negated = -low | 0;
    writeUint64(out, negated >>> 0, (negated === 0 ? -high : ~high) >>> 0);
  } else writeUint64(out, low >>> 0, high);
}

/** Through millions, so that every step is exact in a double. Halves are unsigned. */
function writeUint64(out: ByteBuilder, low: number, high: number): void {
  if (high === 0) {
    writeCount(out, low);
    return;
  }
  const million = 1_000_000;
  const topHigh = Math.floor(high / million);
  const rest = (high - topHigh * million) * 0x1_0000_0000 + low;
  const millions = topHigh * 0x1_0000_0000 + Math.floor(rest / million);
  const top = Math.floor(millions / million);
  if (top === 0) writeCount(out, millions);
  else {
    writeCount(out, top);
    writeDigits(out, millions - top * million, 6);
  }
  writeDigits(out, rest % million, 6);
}

/** Appends an integer from 0 to 2^32 in decimal. */
export function writeCount(out: ByteBuilder, value: number): void {
  let digits = 1;
  for (let bound = 10; bound <= value; bound *= 10) digits += 1;
  writeDigits(out, value, digits);
}

/** Appends exactly so many digits of a value that has no more. */
function writeDigits(out: ByteBuilder, value: number, digits: number): void {
  out.reserve(digits);
  const bytes = out.bytes;
  const start = out.length;
  let rest = value;
  let at = start + digits - 1;
  if (rest > 0x7fffffff) {
    const next = Math.floor(rest / 10);
    bytes[at] = 0x30 + rest - 10 * next;
    rest = next;
    at -= 1;
  }
  for (; at >= start; at -= 1) {
    const next = (rest / 10) | 0;
    bytes[at] = 0x30 + rest - 10 * next;
    rest = next;
  }
  out.length = start + digits;
}

/** Appends a double as JavaScript prints it; NaN and infinities in quotes. */
export function writeDouble(out: ByteBuilder, value: number): void {
  if (value === (value | 0) && value >= 0) writeCount(out, value);
  else if (Number.isFinite(value)) writeAscii(out, String(value));
  else writeAscii(out, `"${value}"`);
}

/** Appends bytes as a base64 string (standard alphabet, padded) in quotes. */
export function writeBase64(out: ByteBuilder, source: DataView, start: number, end: number): void {
  out.reserve(2 + 4 * Math.ceil((end - start) / 3));
  const bytes = out.bytes;
  let at = out.length;
  bytes[at] = QUOTE;
  at += 1;
  for (let from = start; from < end; from += 3) {
    const left = end - from;
    const bits = (source.getUint8(from) << 16) |
      ((left > 1 ? source.getUint8(from + 1) : 0) << 8) |
      (left > 2 ? source.getUint8(from + 2) : 0);
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
export function writeHex(out: ByteBuilder, source: DataView, start: number, end: number): void {
  out.reserve(2 + 2 * (end - start));
  const view = out.view;
  let at = out.length;
  view.setUint8(at, QUOTE);
  at += 1;
  for (let from = start; from < end; from += 1) {
    view.setUint16(at, HEX_PAIRS[source.getUint8(from)] as number);
    at += 2;
  }
  view.setUint8(at, QUOTE);
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
