/**
 * A JSON value as the value of a typed column.
 *
 * A number may come as text (`"5"`), a boolean as `"true"`, as in the search engines whose
 * documents these are. Nothing is rounded or cut: 1.5 is no integer, 2^63 no `long`.
 */

import { NS_PER_US, TIMESTAMP_NS_MAX } from "../base/time.ts";
import { instantNs, jsonText } from "./document.ts";
import { isExactNumber } from "./exact_numbers.ts";
import type { ColumnType } from "../schema/schema.ts";

/** `timestamptz` (microseconds) and `long` are bigint, `double` and `int` number. */
export type TypedValue = bigint | number | string | boolean;

/** undefined when `value`, which is not null, does not fit. */
export function typedValue(value: unknown, type: ColumnType): TypedValue | undefined {
  switch (type) {
    case "string":
      return textOf(value);
    case "bool":
      return booleanOf(value);
    case "timestamptz":
      return microsOf(value);
    case "long":
      return integerOf(value, -(2n ** 63n), 2n ** 63n - 1n);
    case "int": {
      const integer = integerOf(value, -(2n ** 31n), 2n ** 31n - 1n);
      return integer === undefined ? undefined : Number(integer);
    }
    case "double":
      return doubleOf(value);
  }
}

/** Objects and lists as JSON: a text column loses nothing. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : jsonText(value);
}

function booleanOf(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  if (value === "true") return true;
  return value === "false" ? false : undefined;
}

function microsOf(value: unknown): bigint | undefined {
  const ns = instantNs(value);
  return ns === undefined || ns < 0n || ns > TIMESTAMP_NS_MAX ? undefined : ns / NS_PER_US;
}

function integerOf(value: unknown, min: bigint, max: bigint): bigint | undefined {
  const text = numberText(value);
  if (text === undefined || !/^-?[0-9]{1,20}$/.test(text)) return undefined;
  const integer = BigInt(text);
  return integer < min || integer > max ? undefined : integer;
}

function doubleOf(value: unknown): number | undefined {
  const text = numberText(value);
  if (text === undefined || !/^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(text)) {
    return undefined;
  }
  const double = Number(text);
  return Number.isFinite(double) ? double : undefined;
}

function numberText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  return isExactNumber(value) ? value.rawJSON : undefined;
}
