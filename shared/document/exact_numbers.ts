/**
 * JSON whose numbers keep all their digits: one that a double does not hold is kept as the text it
 * was sent as. Raw JSON is standard, but unknown to the compiler's library.
 */

import { mayLoseDigits } from "./inexact_numbers.ts";

/** A number as it was sent; `JSON.stringify` writes it back unchanged. */
export interface RawNumber {
  readonly rawJSON: string;
}

const json = JSON as unknown as {
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
};

/**
 * Parses as `JSON.parse` does, but numbers that a double does not hold are `RawNumber`s.
 * `seeTooGreat` is told of those with a fraction or an exponent that are greater than any double.
 * Errors: a `SyntaxError` of `JSON.parse`.
 */
export function parseExact(text: string, seeTooGreat?: (number: RawNumber) => void): unknown {
  if (!mayLoseDigits(text)) return JSON.parse(text);
  return parseNumbers(text, (value, source) => {
    if (isHeld(value, source)) return value;
    const exact = json.rawJSON(source);
    if (!Number.isFinite(value) && !INTEGER.test(source)) seeTooGreat?.(exact);
    return exact;
  });
}

/** Parses as `JSON.parse` does, but each number is a `RawNumber`: `1.0` is not `1`. */
export function parseAsSent(text: string): unknown {
  return parseNumbers(text, (_value, source) => json.rawJSON(source));
}

/** `numberOf` gives what stands for a number, of its value and its text. */
function parseNumbers(
  text: string,
  numberOf: (value: number, source: string) => number | RawNumber,
): unknown {
  return JSON.parse(text, (_name: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    return typeof value === "number" && source !== undefined ? numberOf(value, source) : value;
  });
}

/** A number that keeps its digits, as `parseExact` and `parseAsSent` give it. */
export function isExactNumber(value: unknown): value is RawNumber {
  return json.isRawJSON(value);
}

const INTEGER = /^-?[0-9]+$/;

/** Whether `value`, the double next to `source`, is written as the same decimal number. */
function isHeld(value: number, source: string): boolean {
  // An integer beyond 2^53 shares its double with its neighbour.
  if (INTEGER.test(source)) return Number.isSafeInteger(value);
  const written = String(value);
  return written === source || decimalOf(written) === decimalOf(source);
}

const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]+))?$/;

/**
 * A text that is the same for the same number: its digits without zeros around them, and the last
 * one's power of ten.
 */
function decimalOf(text: string): string | undefined {
  const [, sign, whole = "", fraction = "", exponent = "0"] = DECIMAL.exec(text) ?? [];
  const digits = `${whole}${fraction}`;
  const significant = digits.replace(/^0+/, "").replace(/0+$/, "");
  if (significant === "") return "0";
  const zeros = digits.length - digits.replace(/0+$/, "").length;
  return `${sign}${significant}e${Number(exponent) - fraction.length + zeros}`;
}
