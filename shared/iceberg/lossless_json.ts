/**
 * JSON whose 64-bit integers survive: Iceberg's ids are longs, and a JSON number read as a double
 * loses those beyond 2^53.
 *
 * An integer that a double holds exactly is a `number`; any other integer is a `bigint`. Writing
 * turns both back into the same digits. Fractions stay doubles.
 */

declare global {
  interface JSON {
    /** ECMAScript's raw JSON text; not in TypeScript's library yet. */
    rawJSON(text: string): unknown;
  }
}

/** Throws `SyntaxError` when `text` is no JSON. */
export function parseLosslessJson(text: string): unknown {
  return JSON.parse(text, (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    if (typeof value !== "number" || Number.isSafeInteger(value) || source === undefined) {
      return value;
    }
    return /^-?\d+$/.test(source) ? BigInt(source) : value;
  });
}

/** JSON whose 64-bit integers, given as bigint, keep all digits. */
export function losslessJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, member) => typeof member === "bigint" ? JSON.rawJSON(String(member)) : member,
  );
}
