/**
 * Whether a JSON text may hold a number that a double does not: one of 16 digits or more, or with
 * an exponent of three.
 *
 * Among 16 characters in a row one stands at a multiple of 16, and no other is looked at. The
 * pattern `[:,[]\s*-?[0-9.]{16}` says the same, and takes 20 ns for each colon or comma: 0.3 s for
 * 16 MiB of them.
 */

const LENGTH_MIN = 16;
const POINT = 0x2e;
const PLUS = 0x2b;
const MINUS = 0x2d;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPENING = 0x5b;

/**
 * Whether a number in the text may have digits that a double does not hold. True may be wrong where
 * the digits stand in a string.
 */
export function mayLoseDigits(text: string): boolean {
  return hasLongNumber(text) || hasFarExponent(text);
}

/** Whether digits, and maybe a point, of such a length begin where a value may. */
function hasLongNumber(text: string): boolean {
  for (let at = LENGTH_MIN - 1; at < text.length; at += LENGTH_MIN) {
    if (!isDigitOrPoint(text.charCodeAt(at))) continue;
    let start = at;
    // One that begins before the place looked at last was seen there.
    while (start > at - LENGTH_MIN && isDigitOrPoint(text.charCodeAt(start - 1))) start -= 1;
    if (start === at - LENGTH_MIN || !isValueAt(text, start)) continue;
    let end = at + 1;
    while (isDigitOrPoint(text.charCodeAt(end))) end += 1;
    if (end - start >= LENGTH_MIN && !isShortest(text.slice(start, end))) return true;
  }
  return false;
}

/**
 * Whether `text` is the shortest one of its double, as most programs write one: the double loses
 * nothing of it.
 */
function isShortest(text: string): boolean {
  return text.length <= SHORTEST_LENGTH_MAX && text.includes(".") && String(Number(text)) === text;
}

/** `0.00000` and 17 digits. */
const SHORTEST_LENGTH_MAX = 24;

/**
 * What the greatest and the least double need. A hexadecimal id has such digits now and then, and
 * no value begins there.
 */
const FAR_EXPONENT = /[0-9.][eE][-+]?[0-9]{3}/g;
const EXPONENT_DIGITS = 3;

function hasFarExponent(text: string): boolean {
  FAR_EXPONENT.lastIndex = 0;
  // Ids are found in every second log line: a match as an object would cost more than the search.
  while (FAR_EXPONENT.test(text)) {
    let start = FAR_EXPONENT.lastIndex - EXPONENT_DIGITS - 1;
    if (isSign(text.charCodeAt(start))) start -= 1;
    while (start > 0 && isOfNumber(text.charCodeAt(start - 1))) start -= 1;
    if (isValueAt(text, start)) return true;
  }
  return false;
}

function isDigitOrPoint(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === POINT;
}

function isOfNumber(code: number): boolean {
  return isDigitOrPoint(code) || isSign(code);
}

function isSign(code: number): boolean {
  return code === PLUS || code === MINUS;
}

/** Whether the number whose digits begin at `start` follows what a value follows. */
function isValueAt(text: string, start: number): boolean {
  let at = start - 1;
  if (text.charCodeAt(at) === MINUS) at -= 1;
  while (isSpace(text.charCodeAt(at))) at -= 1;
  const code = text.charCodeAt(at);
  return code === COLON || code === COMMA || code === OPENING;
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}
