/** An attribute's value with its type in OTLP, as far as its JSON tells it. */

export type AttributeValue =
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "bool"; readonly value: boolean }
  /** A `bigint` past the integers that a double holds. */
  | { readonly type: "int64"; readonly value: number | bigint }
  | { readonly type: "float64"; readonly value: number }
  | { readonly type: "list"; readonly value: readonly unknown[] }
  | { readonly type: "object"; readonly value: Readonly<Record<string, unknown>> };

const INT64_MIN = -9_223_372_036_854_775_808n;
const INT64_MAX = 9_223_372_036_854_775_807n;

/**
 * `value` is one of those that `attributesOf` gives. No value at all becomes an empty text: strict
 * clients refuse one without a type.
 */
export function attributeValue(value: unknown): AttributeValue {
  switch (typeof value) {
    case "string":
      return { type: "string", value };
    case "boolean":
      return { type: "bool", value };
    case "number":
      return { type: Number.isSafeInteger(value) ? "int64" : "float64", value };
    case "bigint":
      return value >= INT64_MIN && value <= INT64_MAX
        ? { type: "int64", value }
        : { type: "float64", value: Number(value) };
    case "object":
      if (Array.isArray(value)) return { type: "list", value };
      if (value !== null) return { type: "object", value: value as Record<string, unknown> };
  }
  return { type: "string", value: "" };
}
