/**
 * JSON whose numbers keep their text. The server writes 64-bit integers exactly; a JavaScript
 * number would round those past 2^53, so such a number is held as an `ExactNumber` and written back
 * as it came.
 */

export class ExactNumber {
  constructor(readonly text: string) {}

  toJSON(): unknown {
    return sourceTextJson.rawJSON(this.text);
  }
}

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | ExactNumber
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/**
 * The two members of ECMAScript's source-text proposal, which the runtime has and the types lack.
 */
interface SourceTextJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
}

const sourceTextJson = JSON as unknown as SourceTextJson;

/** Parses JSON; throws a `SyntaxError` like `JSON.parse`. */
export function parseExactJson(text: string): JsonValue {
  return sourceTextJson.parse(text, (_key, value, { source }) => {
    if (typeof value !== "number" || source === undefined) return value;
    return String(value) === source ? value : new ExactNumber(source);
  }) as JsonValue;
}
