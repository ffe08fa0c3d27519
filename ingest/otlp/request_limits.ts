/**
 * How much a request may hold beside its bytes. A record or an attribute can be two bytes on the
 * wire, and a thousand of them nothing once compressed. Yet each takes its microseconds on the
 * thread that serves all others.
 */

import { OperatingError } from "../../shared/base/errors.ts";

/** Most log records or spans of a request. */
export const REQUEST_RECORDS_MAX = 1_000_000;
/**
 * Most attributes of a request that are looked at twice: those of resources and scopes, and those
 * of records in which two names meet. Others are copied, and cost no more than their bytes.
 */
export const REQUEST_ATTRIBUTES_MAX = 500_000;
/**
 * Most different names of a record's attributes, or of one map's members, and most attributes of a
 * resource or a scope.
 */
export const OBJECT_NAMES_MAX = 50_000;

/**
 * What a body of so many bytes is decoded within on the thread that serves all senders. One that
 * needs more goes to a thread of its own, as longer ones do. Few bytes make long rows where a
 * resource has many attributes. They make much work where it has many scopes, or many resources one
 * attribute each.
 */
export const SHORT = {
  bodyBytesMax: 512 * 1024,
  /** Bytes of each column: a hundred times what usual records take. */
  columnBytesMax: 16 * 1024 * 1024,
  /** How many attributes, counted as for `REQUEST_ATTRIBUTES_MAX`. */
  attributesMax: 20_000,
  /** Scopes whose resource and own attributes were not seen before. */
  contextsMax: 2_000,
} as const;

/**
 * Most members and elements of a JSON request that goes through `JSON.parse`, as one in an unusual
 * form does. An object of two bytes takes a microsecond and a hundred bytes.
 */
export const REQUEST_JSON_VALUES_MAX = 2_000_000;

/**
 * Most bytes of a protobuf request that has a singular field twice, which is legal and which no
 * encoder writes. To merge the two, protobufjs makes an object of each message in one piece: a
 * hundred times the bytes and a second for a MiB at worst.
 */
export const IRREGULAR_BYTES_MAX = 64 * 1024;

/** The refusal of a request of that many bytes. */
export function tooIrregular(bytes: number): OperatingError {
  return new OperatingError(
    "too_large",
    `cannot merge the fields that a request of ${bytes} bytes has twice, as the limit for that is ` +
      `${IRREGULAR_BYTES_MAX} bytes: write resource, scope, name, version, body and value once each`,
    { reason: "irregular_request" },
  );
}

/** The refusal of an object that has more than `OBJECT_NAMES_MAX` names. */
export function tooManyNames(): OperatingError {
  return new OperatingError(
    "too_large",
    `cannot take a record or a map with more than ${OBJECT_NAMES_MAX} different names of attributes, and nothing of ` +
      "the request was stored: send fewer in each, and what differs from record to record as values",
    { reason: "too_many_parts" },
  );
}

/** The refusal of a request that holds more than `max` of `what`. */
export function tooMany(what: string, max: number): OperatingError {
  return new OperatingError(
    "too_large",
    `cannot take more than ${max} ${what} in a request, and nothing of this one was stored: send smaller ones`,
    { reason: "too_many_parts" },
  );
}
