/**
 * Iceberg's single-value serialization (table specification, appendix D) for the types of our
 * columns, and the shortening of string bounds.
 *
 * A lower bound may be too low and an upper bound too high, never the other way round; a bound that
 * cannot be kept on its side is absent.
 */

import { assert } from "../base/assert.ts";
import { OperatingError } from "../base/errors.ts";
import { textOf, utf8, viewOf } from "../base/bytes.ts";
import type { ColumnType } from "../schema/schema.ts";

/** Unicode code points kept of a string bound. */
const BOUND_CODE_POINTS_MAX = 16;

/** A column value: `timestamptz` in Unix microseconds, `long` and `timestamptz` as bigint. */
export type SingleValue = bigint | number | boolean | string;

/** A bound as Iceberg's single-value serialization has it. */
export function encodeSingleValue(type: ColumnType, value: SingleValue): Uint8Array<ArrayBuffer> {
  switch (type) {
    case "timestamptz":
    case "long": {
      assert(typeof value === "bigint", `${type} value is a bigint`);
      return scalar(8, (view) => view.setBigInt64(0, value, true));
    }
    case "int": {
      assert(typeof value === "number", "int value is a number");
      return scalar(4, (view) => view.setInt32(0, value, true));
    }
    case "double": {
      assert(typeof value === "number", "double value is a number");
      return scalar(8, (view) => view.setFloat64(0, value, true));
    }
    case "bool":
      return Uint8Array.of(value === true ? 1 : 0);
    case "string": {
      assert(typeof value === "string", "string value is a string");
      return utf8(value);
    }
  }
}

/** The value of a bound that `encodeSingleValue` or another writer made. */
export function decodeSingleValue(type: ColumnType, bytes: Uint8Array): SingleValue {
  const view = viewOf(bytes);
  switch (type) {
    case "timestamptz":
    case "long":
      // A column promoted from int keeps the 4-byte bounds of its older files.
      if (bytes.byteLength === 4) return BigInt(view.getInt32(0, true));
      return sized(bytes, 8, type) && view.getBigInt64(0, true);
    case "int":
      return sized(bytes, 4, type) && view.getInt32(0, true);
    case "double":
      if (bytes.byteLength === 4) return view.getFloat32(0, true);
      return sized(bytes, 8, type) && view.getFloat64(0, true);
    case "bool":
      return sized(bytes, 1, type) && view.getUint8(0) !== 0;
    case "string":
      return textOf(bytes);
  }
}

/** `bytes` of a string cut to its first code points; undefined when they are not UTF-8. */
export function shortenLowerBound(bytes: Uint8Array): Uint8Array | undefined {
  const points = codePoints(bytes);
  if (points === undefined) return undefined;
  if (points.length <= BOUND_CODE_POINTS_MAX) return bytes;
  return utf8(String.fromCodePoint(...points.slice(0, BOUND_CODE_POINTS_MAX)));
}

/**
 * The shortest text not below `bytes` that its first code points allow: cut, then the last code
 * point that has a successor is raised. Undefined when none has, or when `bytes` are not UTF-8.
 */
export function shortenUpperBound(bytes: Uint8Array): Uint8Array | undefined {
  const points = codePoints(bytes);
  if (points === undefined) return undefined;
  if (points.length <= BOUND_CODE_POINTS_MAX) return bytes;
  for (let kept = BOUND_CODE_POINTS_MAX; kept > 0; kept -= 1) {
    const next = successorOf(points[kept - 1] ?? 0);
    if (next !== undefined) return utf8(String.fromCodePoint(...points.slice(0, kept - 1), next));
  }
  return undefined;
}

/** The next code point that UTF-8 can hold: surrogates are left out. */
function successorOf(point: number): number | undefined {
  if (point === 0xd7ff) return 0xe000;
  return point === 0x10ffff ? undefined : point + 1;
}

/**
 * Code points of the first bytes, one more than is kept at most; undefined when they are not UTF-8.
 */
function codePoints(bytes: Uint8Array): number[] | undefined {
  let text: string;
  try {
    text = textOf(bytes);
  } catch {
    return undefined;
  }
  const points: number[] = [];
  for (const character of text) {
    points.push(character.codePointAt(0) ?? 0);
    if (points.length > BOUND_CODE_POINTS_MAX) break;
  }
  return points;
}

function scalar(byteLength: number, set: (view: DataView) => void): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(byteLength);
  set(new DataView(bytes.buffer));
  return bytes;
}

function sized(bytes: Uint8Array, byteLength: number, type: string): true {
  if (bytes.byteLength === byteLength) return true;
  throw new OperatingError(
    "corrupt",
    `Cannot read a bound as ${type}: it has ${bytes.byteLength} bytes instead of ${byteLength}.`,
  );
}
