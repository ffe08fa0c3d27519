/**
 * Instants as Unix nanoseconds in a `bigint`, and their texts. Texts are RFC 3339 in UTC.
 *
 * Range: 1970-01-01 to 2262-04-11 (what a signed 64-bit nanosecond count holds, from zero).
 */

export const NS_PER_US = 1_000n;
export const NS_PER_MS = 1_000_000n;
export const NS_PER_SEC = 1_000_000_000n;
export const NS_PER_DAY = 86_400_000_000_000n;
export const MS_PER_DAY = 86_400_000;
/** The last instant a signed 64-bit nanosecond count holds. */
export const TIMESTAMP_NS_MAX = 9_223_372_036_854_775_807n;

/**
 * Nanoseconds of an RFC 3339 text with a zone, or undefined when it is none. Digits past nine are
 * cut.
 */
export function parseRfc3339Ns(text: string): bigint | undefined {
  return readRfc3339(text, undefined);
}

/**
 * Nanoseconds since 1970 of what search engines call `strict_date_optional_time`, or undefined. No
 * zone means UTC. Everything behind the year may be missing, from the end on: `2026-01-02T03:04`,
 * `2026-01-02`, `2026-01`. A zone may have hours only.
 */
export function parseOptionalTimeNs(text: string): bigint | undefined {
  const ns = readRfc3339(text, 0);
  if (ns !== undefined) return ns;
  const [, year, month = "01", day = "01", hour = "00", minute = "00", second = "00", zone = "Z"] =
    PARTIAL_TIME.exec(text) ?? [];
  if (year === undefined) return undefined;
  const wholeZone = zone.length === 3 ? `${zone}:00` : zone;
  return readRfc3339(`${year}-${month}-${day}T${hour}:${minute}:${second}${wholeZone}`, undefined);
}

const PARTIAL_TIME =
  /^([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:[Tt ](?:([0-9]{2})(?::([0-9]{2})(?::([0-9]{2}(?:[.,][0-9]{1,30})?))?)?(Z|z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?)?)?)?$/;

/**
 * Reads digit by digit: every bulk document has such a text, and a pattern with its groups costs
 * four times as much. `noZoneMinutes` is the offset of a text without a zone, which is none where
 * it is undefined.
 */
function readRfc3339(text: string, noZoneMinutes: number | undefined): bigint | undefined {
  const year = numberAt(text, 0, 4);
  const month = numberAt(text, 5, 2);
  const day = numberAt(text, 8, 2);
  const hour = numberAt(text, 11, 2);
  const minute = numberAt(text, 14, 2);
  const second = numberAt(text, 17, 2);
  if (text[4] !== "-" || text[7] !== "-" || text[13] !== ":" || text[16] !== ":") return undefined;
  if (text[10] !== "T" && text[10] !== "t" && text[10] !== " ") return undefined;
  if (!(year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month))) {
    return undefined;
  }
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return undefined;
  let at = 19;
  let fractionNs = 0;
  if (text[at] === "." || text[at] === ",") {
    const start = at + 1;
    for (at = start; isDigit(text.charCodeAt(at)); at += 1) {
      if (at - start < 9) fractionNs = 10 * fractionNs + text.charCodeAt(at) - ZERO;
    }
    if (at === start) return undefined;
    for (let digits = at - start; digits < 9; digits += 1) fractionNs *= 10;
  }
  const offset = at === text.length ? noZoneMinutes : zoneOffsetMinutes(text, at);
  if (offset === undefined) return undefined;
  const secs = 86_400 * daysOf(year, month, day) + 3_600 * hour + 60 * (minute - offset) + second;
  return BigInt(secs) * NS_PER_SEC + BigInt(fractionNs);
}

const ZERO = 48;

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9;
}

/**
 * The number that `count` digits at `start` make; NaN when they are none, which no comparison
 * takes.
 */
function numberAt(text: string, start: number, count: number): number {
  let number = 0;
  for (let at = start; at < start + count; at += 1) {
    const code = text.charCodeAt(at);
    if (!isDigit(code)) return NaN;
    number = 10 * number + code - ZERO;
  }
  return number;
}

/** `Z`, `+02:00` or `+0200` up to the end of `text`. */
function zoneOffsetMinutes(text: string, start: number): number | undefined {
  const sign = text[start];
  if (sign === "Z" || sign === "z") return text.length === start + 1 ? 0 : undefined;
  if (sign !== "+" && sign !== "-") return undefined;
  const minutesAt = text[start + 3] === ":" ? start + 4 : start + 3;
  const hours = numberAt(text, start + 1, 2);
  const minutes = numberAt(text, minutesAt, 2);
  if (!(hours <= 23 && minutes <= 59) || text.length !== minutesAt + 2) return undefined;
  return (sign === "-" ? -1 : 1) * (60 * hours + minutes);
}

const DAYS_IN = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
/** Days of a year before the month. */
const DAYS_BEFORE = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334] as const;
/** From the day before the first of year 0 to 1970-01-01. */
const DAYS_TO_1970 = 719_528;

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

function daysIn(year: number, month: number): number {
  return month === 2 && isLeap(year) ? 29 : DAYS_IN[month - 1] ?? 0;
}

/** Days since 1970-01-01. */
function daysOf(year: number, month: number, day: number): number {
  const before = year - 1;
  const leaps = Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400);
  const leapDay = month > 2 && isLeap(year) ? 1 : 0;
  return 365 * year + leaps + (DAYS_BEFORE[month - 1] ?? 0) + leapDay + day - DAYS_TO_1970;
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
  const day = ns / NS_PER_DAY;
  return Number(ns < 0n && ns % NS_PER_DAY !== 0n ? day - 1n : day);
}
