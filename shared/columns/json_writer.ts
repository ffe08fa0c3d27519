/**
 * JSON text as bytes, from bytes: what `JSON.stringify` would give, without a string in between.
 *
 * Strings: `"`, `\` and control characters are escaped as `JSON.stringify` does, everything else is
 * copied. Input that is not UTF-8 gives output that is not UTF-8: the caller checks whole columns
 * at once. Numbers: 64-bit integers in full; NaN and infinities as strings.
 */

import {
  BACKSLASH,
  BRACE,
  COLON,
  COMMA,
  ESCAPES,
  MINUS,
  POINT,
  QUOTE,
  ZERO,
} from "../base/json_letters.ts";
import type { ByteBuilder } from "./byte_builder.ts";

const SPACES = 0x20202020;
const HEX = bytesOf("0123456789abcdef");
/** The two digits of each byte, as one big-endian unit. */
const HEX_PAIRS = Uint16Array.from(
  { length: 256 },
  (_, byte) => ((HEX[byte >> 4] as number) << 8) | (HEX[byte & 15] as number),
);
/** The two decimal digits of each number below 100, likewise. */
const DIGIT_PAIRS = Uint16Array.from(
  { length: 100 },
  (_, value) => ((ZERO + Math.floor(value / 10)) << 8) | (ZERO + value % 10),
);
const BASE64 = bytesOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

/** 0: copy the byte. 1: write `\u00xx`. Else the letter after the backslash. */
const ESCAPE_OF = escapeTable();

/** Appends the string whose UTF-8 is `source` from `start` to `end`, in quotes. */
export function writeJsonString(
  out: ByteBuilder,
  source: DataView,
  start: number,
  end: number,
): void {
  out.reserve(end - start + 6);
  out.view.setUint8(out.length, QUOTE);
  out.length += 1;
  writeQuoted(out, source, start, end);
}

/** Appends `,"name":`, without the comma where the object was just opened. */
export function writeJsonName(
  out: ByteBuilder,
  source: DataView,
  start: number,
  end: number,
): void {
  out.reserve(end - start + 8);
  const { view } = out;
  let at = out.length;
  if (view.getUint8(at - 1) !== BRACE) {
    view.setUint8(at, COMMA);
    at += 1;
  }
  view.setUint8(at, QUOTE);
  out.length = at + 1;
  writeQuoted(out, source, start, end);
  out.byte(COLON);
}

/**
 * Appends a string and its closing quote, for which there is room and four bytes more; a word of
 * four bytes at a time. Where the source goes on, so does the last word: what it holds past the end
 * is made harmless for the check.
 */
function writeQuoted(out: ByteBuilder, source: DataView, start: number, end: number): void {
  const { view } = out;
  let at = out.length;
  let from = start;
  for (; from + 4 <= end; from += 4) {
    const word = source.getInt32(from, true);
    if (needsEscape(word)) break;
    view.setInt32(at, word, true);
    at += 4;
  }
  const left = end - from;
  if (left < 4 && end + 4 <= source.byteLength) {
    const word = source.getInt32(from, true);
    if (left === 0 || !needsEscape((word & ((1 << (8 * left)) - 1)) | (SPACES << (8 * left)))) {
      view.setInt32(at, word, true);
      view.setUint8(at + left, QUOTE);
      out.length = at + left + 1;
      return;
    }
  }
  for (; from < end; from += 1) {
    const byte = source.getUint8(from);
    if (ESCAPE_OF[byte] !== 0) break;
    view.setUint8(at, byte);
    at += 1;
  }
  if (from === end) {
    view.setUint8(at, QUOTE);
    out.length = at + 1;
    return;
  }
  out.length = at;
  writeEscaped(out, source, from, end);
  out.byte(QUOTE);
}

/**
 * Whether any of four ASCII bytes is a control character, a quote or a backslash. A byte of a
 * difference has its top bit set where the subtraction went below zero. With its lowest but one bit
 * turned, a quote comes right after the control characters. The answer is true as well for some
 * words that need no escape.
 */
export function needsEscape(word: number): boolean {
  const turned = word ^ 0x02020202;
  const backslash = word ^ 0x5c5c5c5c;
  const below = ((turned - 0x21212121) & ~turned) | ((backslash - 0x01010101) & ~backslash);
  return (below & 0x80808080) !== 0;
}

function writeEscaped(out: ByteBuilder, source: DataView, start: number, end: number): void {
  out.reserve(6 * (end - start) + 1);
  const bytes = out.bytes;
  let at = out.length;
  for (let from = start; from < end; from += 1) {
    const byte = source.getUint8(from);
    const escape = ESCAPE_OF[byte] as number;
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
    out.byte(MINUS);
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
  const restMillions = Math.floor(rest / million);
  const millions = topHigh * 0x1_0000_0000 + restMillions;
  const top = Math.floor(millions / million);
  if (top === 0) writeCount(out, millions);
  else {
    writeCount(out, top);
    writeSixDigits(out, millions - top * million);
  }
  writeSixDigits(out, rest - restMillions * million);
}

/** Appends an integer from 0 to 2^32 in decimal. */
export function writeCount(out: ByteBuilder, value: number): void {
  let rest = value;
  if (value >= 1_000_000) {
    const millions = Math.floor(value / 1_000_000);
    writeCount(out, millions);
    writeSixDigits(out, value - millions * 1_000_000);
    return;
  }
  let digits = 1;
  for (let bound = 10; bound <= value; bound *= 10) digits += 1;
  out.reserve(digits);
  const { view } = out;
  let at = out.length + digits;
  out.length = at;
  while (rest >= 10) {
    const next = (rest / 100) | 0;
    at -= 2;
    view.setUint16(at, DIGIT_PAIRS[rest - 100 * next] as number);
    rest = next;
  }
  if ((digits & 1) === 1) view.setUint8(at - 1, ZERO + rest);
}

/** Appends a value below a million with its leading zeros. */
function writeSixDigits(out: ByteBuilder, value: number): void {
  out.reserve(6);
  const { view } = out;
  const at = out.length;
  const top = (value / 10_000) | 0;
  const rest = value - 10_000 * top;
  const middle = (rest / 100) | 0;
  view.setUint16(at, DIGIT_PAIRS[top] as number);
  view.setUint16(at + 2, DIGIT_PAIRS[middle] as number);
  view.setUint16(at + 4, DIGIT_PAIRS[rest - 100 * middle] as number);
  out.length = at + 6;
}

/**
 * Appends a double as JavaScript prints it; NaN and infinities in quotes. One with at most six
 * decimals and fifteen digits is its own shortest text, which spares the search for it.
 */
export function writeDouble(out: ByteBuilder, value: number): void {
  const size = Math.abs(value);
  const millionths = Math.round(size * 1_000_000);
  if (size < 1_000_000_000 && millionths / 1_000_000 === size) {
    if (value < 0) out.byte(MINUS);
    const whole = Math.floor(size);
    writeCount(out, whole);
    const fraction = millionths - whole * 1_000_000;
    if (fraction === 0) return;
    out.byte(POINT);
    writeSixDigits(out, fraction);
    while (out.view.getUint8(out.length - 1) === ZERO) out.length -= 1;
  } else writeAscii(out, Number.isFinite(value) ? String(value) : `"${value}"`);
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
  out.byte(QUOTE);
  writeHexDigits(out, source, start, end);
  out.byte(QUOTE);
}

/** Writes hexadecimal digits without quotes around them. */
export function writeHexDigits(
  out: ByteBuilder,
  source: DataView,
  start: number,
  end: number,
): void {
  out.reserve(2 * (end - start));
  const view = out.view;
  let at = out.length;
  for (let from = start; from < end; from += 1) {
    view.setUint16(at, HEX_PAIRS[source.getUint8(from)] as number);
    at += 2;
  }
  out.length = at;
}

/** Appends text that is known to be ASCII. */
export function writeAscii(out: ByteBuilder, text: string): void {
  out.reserve(text.length);
  for (let i = 0; i < text.length; i += 1) out.bytes[out.length + i] = text.charCodeAt(i);
  out.length += text.length;
}

function escapeTable(): Uint8Array {
  const table = new Uint8Array(256).fill(1, 0, 0x20);
  for (const [letter, character] of Object.entries(ESCAPES)) {
    // A slash needs no escape.
    if (character !== "/") table[character.charCodeAt(0)] = letter.charCodeAt(0);
  }
  return table;
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}
