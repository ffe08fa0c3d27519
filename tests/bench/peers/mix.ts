/** Numbers that look random and are decided by a row's number. */

/**
 * 32 bits of `value` and `salt`, unsigned. Different salts give independent numbers, and different
 * values of one salt different numbers: each step can be undone.
 */
export function mix(value: number, salt: number): number {
  let h = Math.imul(value ^ Math.imul(salt, 0x9e3779b1), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 15), 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 13), 0x27d4eb2f);
  return (h ^ (h >>> 16)) >>> 0;
}

/** One of `choices`, which is not empty. */
export function pick<T>(choices: readonly T[], number: number): T {
  return choices[number % choices.length] as T;
}

const HEX = "0123456789abcdef";
/** Two digits of each byte, as their character codes. */
const DIGITS = Uint8Array.from(
  Array.from({ length: 256 }, (_, byte) => [HEX.charCodeAt(byte >> 4), HEX.charCodeAt(byte & 15)])
    .flat(),
);

/** Writes eight hexadecimal digits. */
export function writeHex32(bytes: Uint8Array, at: number, value: number): void {
  for (let i = 0; i < 4; i += 1) {
    const byte = (value >>> (24 - 8 * i)) & 255;
    bytes[at + 2 * i] = DIGITS[2 * byte] ?? 0;
    bytes[at + 2 * i + 1] = DIGITS[2 * byte + 1] ?? 0;
  }
}

export function hex32(value: number): string {
  return value.toString(16).padStart(8, "0");
}
