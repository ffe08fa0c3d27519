/**
 * Members of an OTLP/JSON object, checked. Each function takes a member's parsed value and gives
 * undefined when it is absent or null. It throws a `JsonFault` naming member and value when it has
 * another type.
 *
 * Integers but enums may be strings or numbers. An integer beyond 2^53 has lost digits in
 * `JSON.parse`, and a double like 1e400 all of them: that throws `INEXACT`, upon which the text is
 * parsed again with `exactReviver`. Source: OTLP specification, "JSON Protobuf Encoding";
 * https://protobuf.dev/programming-guides/json.
 */

import { OperatingError } from "../../../shared/base/errors.ts";
import { isJsonObject, type JsonObject } from "../../../shared/document/json_object.ts";

/**
 * Thrown when a 64-bit integer was read from a number that may be inexact, or a double from one
 * that is greater than any.
 */
export const INEXACT = new Error("a number was parsed as another one");

const UINT64_MAX = 2n ** 64n - 1n;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const UINT32 = { min: 0, max: 2 ** 32 - 1 } as const;
const INTEGER = /^-?[0-9]{1,20}$/;
const DECIMAL = /^[0-9]{1,20}$/;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** Members that hold 64-bit integers. */
const INT64_MEMBERS = new Set([
  "timeUnixNano",
  "observedTimeUnixNano",
  "startTimeUnixNano",
  "endTimeUnixNano",
  "intValue",
]);

/** A reviver for `JSON.parse` that keeps such numbers as the digits that were sent. */
export function exactReviver(key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number") return value;
  const isHeld = INT64_MEMBERS.has(key) ? Number.isSafeInteger(value) : Number.isFinite(value);
  return isHeld ? value : context?.source ?? value;
}

function objectOf(value: unknown, member: string): JsonObject | undefined {
  if (value === undefined || value === null) return undefined;
  if (isJsonObject(value)) return value;
  throw refusal(member, value, "an object");
}

/** Calls `read` with each object of an array, in order; a refusal out of it names the element. */
export function eachObject(
  value: unknown,
  member: string,
  read: (object: JsonObject) => void,
): void {
  if (value === undefined || value === null) return;
  if (!Array.isArray(value)) throw refusal(member, value, "an array");
  let at = 0;
  try {
    for (; at < value.length; at += 1) {
      const element: unknown = value[at];
      if (!isJsonObject(element)) throw refusal("", element, "an object");
      read(element);
    }
  } catch (error) {
    throw placed(error, `${member}[${at}]`);
  }
}

/**
 * Calls `read` with a member that is an object, if it is there; a refusal out of it names the
 * member.
 */
export function inObject(
  value: unknown,
  member: string,
  read: (object: JsonObject) => void,
): void {
  const object = objectOf(value, member);
  if (object === undefined) return;
  try {
    read(object);
  } catch (error) {
    throw placed(error, member);
  }
}

/** The member as a string. Errors: `JsonFault` when it is another type. */
export function stringOf(value: unknown, member: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  throw refusal(member, value, "a string");
}

/** The member as a truth value. Errors: `JsonFault` when it is another type. */
export function boolOf(value: unknown, member: string): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "boolean") return value;
  throw refusal(member, value, "true or false");
}

/** An integer of 32 bits; enums come as their numbers. */
export function int32Of(
  value: unknown,
  member: string,
  { min, max }: { min: number; max: number },
): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) {
    return value;
  }
  throw refusal(member, value, `an integer from ${min} to ${max}`);
}

/** An unsigned integer of 32 bits. */
export function uint32Of(value: unknown, member: string): number | undefined {
  const isText = typeof value === "string" && DECIMAL.test(value);
  return int32Of(isText ? Number(value) : value, member, UINT32);
}

/** Unix nanoseconds; what lies past 2262 is refused where the row is made. */
export function timeOf(value: unknown, member: string): bigint | undefined {
  const time = int64Of(value, member, { min: 0n, max: UINT64_MAX });
  return time === 0n ? undefined : time;
}

/** The member as a signed 64-bit integer, given as a number or a string. Errors: `JsonFault`. */
export function intValueOf(value: unknown, member: string): bigint | undefined {
  return int64Of(value, member, { min: INT64_MIN, max: INT64_MAX });
}

function int64Of(
  value: unknown,
  member: string,
  { min, max }: { min: bigint; max: bigint },
): bigint | undefined {
  if (value === undefined || value === null) return undefined;
  let integer: bigint | undefined;
  if (typeof value === "string" && INTEGER.test(value)) integer = BigInt(value);
  else if (typeof value === "number") {
    if (Number.isSafeInteger(value)) integer = BigInt(value);
    else if (Number.isInteger(value)) throw INEXACT;
  }
  if (integer !== undefined && integer >= min && integer <= max) return integer;
  throw refusal(member, value, `an integer from ${min} to ${max}`);
}

/** A double; NaN and infinities come as strings. */
export function doubleOf(value: unknown, member: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value;
    throw INEXACT;
  }
  if (value === "NaN" || value === "Infinity" || value === "-Infinity") return Number(value);
  if (typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value))) {
    return Number(value);
  }
  throw refusal(member, value, "a number");
}

/** Base64 in the standard or the URL alphabet, padded or not. */
export function base64Of(value: unknown, member: string): Uint8Array | undefined {
  const text = stringOf(value, member);
  if (text === undefined) return undefined;
  const standard = text.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
  if (!BASE64.test(text) || standard.length % 4 === 1) throw refusal(member, text, "base64");
  return Uint8Array.from(atob(standard), (letter) => letter.charCodeAt(0));
}

/**
 * Why a request is refused; the path grows while the error leaves the objects around its member.
 */
export class JsonFault extends Error {
  override readonly name = "JsonFault";
  path: string;
  readonly #found: string;
  readonly #wanted: string;

  constructor(path: string, { found, wanted }: { found: string; wanted: string }) {
    super();
    this.path = path;
    this.#found = found;
    this.#wanted = wanted;
  }

  /** For the sender. */
  refusal(): OperatingError {
    return new OperatingError(
      "invalid_argument",
      `Cannot decode the OTLP/JSON request: ${
        shown(this.path, PATH_CHARS_MAX)
      } is ${this.#found}; send ${this.#wanted}`,
    );
  }
}

/** The fault of a member's value; an empty `member` is what is around it itself. */
export function refusal(member: string, value: unknown, wanted: string): JsonFault {
  const nested = typeof value === "object" && value !== null;
  const found = nested ? (Array.isArray(value) ? "an array" : "an object") : JSON.stringify(value);
  return new JsonFault(member, { found: shown(found, VALUE_CHARS_MAX), wanted });
}

function placed(error: unknown, place: string): unknown {
  if (error instanceof JsonFault) {
    error.path = error.path === "" ? place : `${place}.${error.path}`;
  }
  return error;
}

const PATH_CHARS_MAX = 300;
const VALUE_CHARS_MAX = 100;

function shown(text: string, charsMax: number): string {
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text;
}
