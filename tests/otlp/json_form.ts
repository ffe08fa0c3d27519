/** Requests in OTLP/JSON, for tests. */

import { hexOf } from "../../shared/base/bytes.ts";

/** The OTLP/JSON form: ids as hex, bytes as base64, doubles that JSON lacks as strings. */
export function jsonForm(request: unknown, idOf: (hex: string) => string): string {
  return JSON.stringify(request, (name, value) => {
    if (value instanceof Uint8Array) {
      return name === "bytesValue" ? Buffer.from(value).toString("base64") : idOf(hexOf(value));
    }
    if (name === "doubleValue" && !Number.isFinite(value)) return String(value);
    return Object.is(value, -0) ? 0 : value;
  });
}
