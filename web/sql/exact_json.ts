/** JSON whose long numbers keep their digits, which `JSON.parse` would round. */

/** A text whole, or a number of sixteen digits or more. */
const LONG_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.]{15,}(?:[eE][+-]?\d+)?/g;

/** Parses JSON; a number that a double would change comes as its text. */
export function parseExact(json: string): unknown {
  return JSON.parse(json.replace(LONG_NUMBER, (found) => {
    if (found.startsWith('"') || isDouble(found)) return found;
    return `"${found}"`;
  }));
}

function isDouble(digits: string): boolean {
  const plain = (text: string) => text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  return String(Number(digits)) === plain(digits) || /[eE]/.test(digits);
}
