/**
 * UUIDs that carry a checksum of what they name. A file that is written once is named by one, so
 * whatever refers to the file by its name also says what its bytes are.
 *
 * The layout is RFC 9562's version 8, whose bits are the maker's own: 90 random bits, and the
 * CRC-32 in the last 32 bits. Names of other programs have UUIDs of other versions, or none.
 */

/** `xxxxxxxx-xxxx-8xxx-[89ab]xxx-xxxx` and the sum. */
const SUMMED =
  /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{4}(?<sum>[0-9a-f]{8})/;
const VERSION_AT = 14;
const SUM_AT = 28;
const SUM_DIGITS = 8;

/** The UUID of version 8 that has the random bits of `uuid`, and `sum`, an unsigned CRC-32. */
export function withSum(uuid: string, sum: number): string {
  const digits = sum.toString(16).padStart(SUM_DIGITS, "0");
  return `${uuid.slice(0, VERSION_AT)}8${uuid.slice(VERSION_AT + 1, SUM_AT)}${digits}`;
}

/** The CRC-32 that the last part of a key or path carries; undefined where it carries none. */
export function sumInName(key: string): number | undefined {
  const digits = SUMMED.exec(key.slice(key.lastIndexOf("/") + 1))?.groups?.["sum"];
  return digits === undefined ? undefined : Number.parseInt(digits, 16);
}
