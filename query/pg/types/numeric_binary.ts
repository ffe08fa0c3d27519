/**
 * `numeric` in PostgreSQL's binary format: digits of base 10,000, the weight of the first, the sign
 * and the digits behind the point. Source: `numeric_send` and `numeric_recv` of
 * https://github.com/postgres/postgres/blob/master/src/backend/utils/adt/numeric.c.
 */

import type { ByteBuilder } from "../../../shared/columns/byte_builder.ts";

const POSITIVE = 0x0000;
const NEGATIVE = 0x4000;
const NOT_A_NUMBER = 0xc000;
const POSITIVE_INFINITY = 0xd000;
const NEGATIVE_INFINITY = 0xf000;
/** Decimal digits of one digit. */
const WIDTH = 4;
const HEADER_BYTES = 8;

const SPECIAL: Readonly<Record<string, number>> = {
  NaN: NOT_A_NUMBER,
  Infinity: POSITIVE_INFINITY,
  "-Infinity": NEGATIVE_INFINITY,
};

/** Writes a number that is given as digits, perhaps with a sign and a point. */
export function writeNumeric(text: string, out: ByteBuilder): void {
  const special = SPECIAL[text];
  if (special !== undefined) {
    return writeHeader(out, { count: 0, weight: 0, sign: special, scale: 0 });
  }
  const isNegative = text.startsWith("-");
  const [whole = "", fraction = ""] = (isNegative ? text.slice(1) : text).split(".");
  const padded = whole.padStart(Math.ceil(whole.length / WIDTH) * WIDTH, "0") +
    fraction.padEnd(Math.ceil(fraction.length / WIDTH) * WIDTH, "0");
  let weight = Math.ceil(whole.length / WIDTH) - 1;
  let start = 0;
  let end = padded.length;
  while (start < end && digitAt(padded, start) === 0) {
    start += WIDTH;
    weight -= 1;
  }
  while (end > start && digitAt(padded, end - WIDTH) === 0) end -= WIDTH;
  const count = (end - start) / WIDTH;
  const sign = isNegative && count > 0 ? NEGATIVE : POSITIVE;
  writeHeader(out, { count, weight: count === 0 ? 0 : weight, sign, scale: fraction.length });
  out.reserve(2 * count);
  for (let at = start; at < end; at += WIDTH) {
    out.view.setUint16(out.length, digitAt(padded, at));
    out.length += 2;
  }
}

function digitAt(padded: string, at: number): number {
  return 1_000 * (padded.charCodeAt(at) - 48) + 100 * (padded.charCodeAt(at + 1) - 48) +
    10 * (padded.charCodeAt(at + 2) - 48) + padded.charCodeAt(at + 3) - 48;
}

function writeHeader(
  out: ByteBuilder,
  { count, weight, sign, scale }: {
    readonly count: number;
    readonly weight: number;
    readonly sign: number;
    readonly scale: number;
  },
): void {
  out.reserve(HEADER_BYTES);
  const { view, length } = out;
  view.setUint16(length, count);
  view.setInt16(length + 2, weight);
  view.setUint16(length + 4, sign);
  view.setUint16(length + 6, scale);
  out.length += HEADER_BYTES;
}

/** Reads what a client sent, as digits; undefined: it is no number. */
export function readNumeric(bytes: Uint8Array): string | undefined {
  if (bytes.byteLength < HEADER_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [count, weight, sign, scale] = [
    view.getUint16(0),
    view.getInt16(2),
    view.getUint16(4),
    view.getUint16(6),
  ];
  const special = Object.entries(SPECIAL).find(([, value]) => value === sign)?.[0];
  if (special !== undefined) return special;
  if (bytes.byteLength !== HEADER_BYTES + 2 * count || scale > SCALE_MAX) return undefined;
  if (sign !== POSITIVE && sign !== NEGATIVE) return undefined;
  if (Math.abs(weight) > WEIGHT_MAX) return undefined;
  const digit = (at: number) => {
    const value = at >= 0 && at < count ? view.getUint16(HEADER_BYTES + 2 * at) : 0;
    return value > 9_999 ? undefined : String(value).padStart(WIDTH, "0");
  };
  let whole = "";
  for (let at = 0; at <= weight; at += 1) whole += digit(at) ?? "x";
  let fraction = "";
  for (let at = weight + 1; fraction.length < scale; at += 1) fraction += digit(at) ?? "x";
  const text = `${whole.replace(/^0+(?=\d)/, "") || "0"}${
    scale === 0 ? "" : `.${fraction.slice(0, scale)}`
  }`;
  if (text.includes("x")) return undefined;
  return sign === NEGATIVE ? `-${text}` : text;
}

/** PostgreSQL's own bounds are larger; no number of a statement needs more. */
const SCALE_MAX = 1_000;
const WEIGHT_MAX = 250;
