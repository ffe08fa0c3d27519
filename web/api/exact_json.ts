/** JSON whose long numbers keep their digits, which `JSON.parse` would round. */

/** A text whole, or a number of sixteen digits or more. */
const LONG_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.]{15,}(?:[eE][+-]?\d+)?/g;

/**
 * Parses JSON. A number that a double would change comes as its text, and so does each whole number
 * past 2^53. Errors: `SyntaxError`.
 */
export function parseExact(json: string): unknown {
  return JSON.parse(
    json.replace(
      LONG_NUMBER,
      (found) => found.startsWith('"') || isDouble(found) ? found : `"${found}"`,
    ),
  );
}

function isDouble(digits: string): boolean {
  if (/[eE]/.test(digits)) return true;
  if (!digits.includes(".")) return Number.isSafeInteger(Number(digits));
  return String(Number(digits)) === digits.replace(/\.?0+$/, "");
}
