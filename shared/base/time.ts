/**
 * Instants as Unix nanoseconds in a `bigint`, and their texts. Texts are RFC 3339 in UTC.
 *
 * Range: 1970-01-01 to 2262-04-11 (what a signed 64-bit nanosecond count holds, from zero).
 */

export const NS_PER_US = 1_000n;
export const NS_PER_MS = 1_000_000n;
export const NS_PER_SEC = 1_000_000_000n;
/** The last instant a signed 64-bit nanosecond count holds. */
export const TIMESTAMP_NS_MAX = 9_223_372_036_854_775_807n;

const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,9})\d*)?([Zz]|[+-]\d{2}:?\d{2})$/;

/** Nanoseconds of an RFC 3339 text with a zone, or undefined when it is none. Digits past nine are cut. */
export function parseRfc3339Ns(text: string): bigint | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction, zone] = match;
  const ms = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  const date = new Date(ms);
  if (date.getUTCMonth() + 1 !== Number(month) || date.getUTCDate() !== Number(day)) {
    return undefined;
  }
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const fractionNs = fraction === undefined ? 0n : BigInt(fraction.padEnd(9, "0"));
  return BigInt(ms - zoneOffsetMs(zone ?? "Z")) * NS_PER_MS + fractionNs;
}

function zoneOffsetMs(zone: string): number {
  if (zone === "Z" || zone === "z") return 0;
  const sign = zone.startsWith("-") ? -1 : 1;
  const digits = zone.slice(1).replace(":", "");
  return sign * (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2, 4))) * 60_000;
}

/** `2026-11-20T21:04:05.123456Z` of Unix microseconds. */
export function formatMicros(micros: bigint): string {
  const ms = micros >= 0n ? micros / 1_000n : (micros - 999n) / 1_000n;
  const rest = micros - ms * 1_000n;
  return `${new Date(Number(ms)).toISOString().slice(0, -1)}${String(rest).padStart(3, "0")}Z`;
}

/** `2026-11-20T21:04:05.123456789Z` of Unix nanoseconds. */
export function formatNanos(ns: bigint): string {
  const micros = ns >= 0n ? ns / NS_PER_US : (ns - 999n) / NS_PER_US;
  const rest = ns - micros * NS_PER_US;
  return `${formatMicros(micros).slice(0, -1)}${String(rest).padStart(3, "0")}Z`;
}

/** Days since 1970-01-01 (UTC) of Unix nanoseconds: the day partition's value. */
export function dayOfNs(ns: bigint): number {
  const nsPerDay = 86_400n * NS_PER_SEC;
  const day = ns / nsPerDay;
  return Number(ns < 0n && ns % nsPerDay !== 0n ? day - 1n : day);
}
