/**
 * How much a request may hold beside its bytes. A record or an attribute can be two bytes on the wire, and a thousand
 * of them nothing once compressed, while each takes its microseconds on the thread that serves all others.
 */

import { OperatingError } from "../../shared/base/errors.ts";

/** Most log records or spans of a request. */
export const REQUEST_RECORDS_MAX = 1_000_000;
/**
 * Most attributes of a request that are read one by one: those of resources and scopes, and those of records in which
 * two names may meet. Others are copied, and cost no more than their bytes.
 */
export const REQUEST_ATTRIBUTES_MAX = 500_000;

/** The refusal of a request that holds more than `max` of `what`. */
export function tooMany(what: string, max: number): OperatingError {
  return new OperatingError(
    "too_large",
    `cannot take more than ${max} ${what} in a request, and nothing of this one was stored: send smaller ones`,
    { reason: "too_many_parts" },
  );
}
