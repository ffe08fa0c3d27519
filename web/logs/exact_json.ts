/** JSON whose whole numbers keep each of their digits. */

import type { Value } from "../api/sql_client.ts";

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
/** A double has fewer digits. */
const MANY_DIGITS = /^-?\d{16,}$/;

/** Reads JSON; a whole number of 16 digits and more is a text. Errors: `SyntaxError`. */
export function parseExact(json: string): Value {
  return JSON.parse(
    json.replaceAll(TOKENS, (token) => MANY_DIGITS.test(token) ? `"${token}"` : token),
  );
}
