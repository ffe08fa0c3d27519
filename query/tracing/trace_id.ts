/**
 * Trace ids as Jaeger's clients write them, turned into what is stored: 32 lower-case hexadecimal
 * digits. An id of 64 bits is stored with 16 zeros before it, and clients leave out leading zeros.
 * Some send the base64 of all 16 or 8 bytes.
 */

import { hexOf } from "../../shared/base/bytes.ts";
import { OperatingError } from "../../shared/base/errors.ts";

const DIGITS_MAX = 32;
const SHORT_DIGITS = 16;
/** Base64 of 16 bytes or of 8. Its padding tells it from hexadecimal digits. */
const BASE64_ID = /^(?:[\w+/-]{21}[AQgw]==|[\w+/-]{10}[AEIMQUYcgkosw048]=)$/;
const HIGH_ZEROS = "0".repeat(DIGITS_MAX - SHORT_DIGITS);

/** The stored form of an id. Errors: `invalid_argument` naming the value. */
export function parseTraceId(text: string): string {
  if (BASE64_ID.test(text)) {
    const standard = text.replaceAll("-", "+").replaceAll("_", "/");
    const digits = hexOf(Uint8Array.fromBase64(standard));
    return digits.padStart(DIGITS_MAX, "0");
  }
  if (!/^[0-9a-fA-F]{1,32}$/.test(text)) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot read trace id ${JSON.stringify(text.slice(0, 100))}: ` +
        "it is 1 to 32 hexadecimal digits",
      { reason: "bad_trace_id" },
    );
  }
  return text.toLowerCase().padStart(DIGITS_MAX, "0");
}

/** Jaeger's own form of a stored id: 16 digits where they are enough. */
export function shortTraceId(stored: string): string {
  return stored.startsWith(HIGH_ZEROS) ? stored.slice(SHORT_DIGITS) : stored;
}
