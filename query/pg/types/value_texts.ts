/** Values as PostgreSQL's text format has them, with its settings of a new session, in UTC. */

const DAY_SECS = 86_400;
const MICROS = 1_000_000;
const DAYS_PER_ERA = 146_097;
/** Days from 0000-03-01 to 1970-01-01. */
const EPOCH_FROM_MARCH = 719_468;

/** `2026-11-23`, `0044-03-15 BC`, from days since 1970-01-01. */
export function dateText(days: number): string {
  const { date, isBefore } = dateParts(days);
  return isBefore ? `${date} BC` : date;
}

/** `2026-11-23 10:00:00.5`, from whole seconds since 1970 and microseconds of a second. */
export function timestampText(
  { days, secs, micros }: SplitInstant,
  zone: "" | "+00",
): string {
  const { date, isBefore } = dateParts(days);
  return `${date} ${clockText(secs)}${fractionText(micros)}${zone}${isBefore ? " BC" : ""}`;
}

/** An instant as a day, a second of it and microseconds of that. */
export interface SplitInstant {
  readonly days: number;
  readonly secs: number;
  readonly micros: number;
}

export function splitInstant(unixSecs: number, micros: number): SplitInstant {
  const days = Math.floor(unixSecs / DAY_SECS);
  return { days, secs: unixSecs - days * DAY_SECS, micros };
}

/** `04:05:06.789`, from microseconds of a day. */
export function timeText(micros: number): string {
  const secs = Math.floor(micros / MICROS);
  return clockText(secs) + fractionText(micros - secs * MICROS);
}

/** Civil date of a day: https://howardhinnant.github.io/date_algorithms.html#civil_from_days. */
function dateParts(days: number): { readonly date: string; readonly isBefore: boolean } {
  const shifted = days + EPOCH_FROM_MARCH;
  const era = Math.floor(shifted / DAYS_PER_ERA);
  const dayOfEra = shifted - era * DAYS_PER_ERA;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra -
    (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  const isBefore = year <= 0;
  const shown = String(isBefore ? 1 - year : year).padStart(4, "0");
  return { date: `${shown}-${two(month)}-${two(day)}`, isBefore };
}

function clockText(secs: number): string {
  const hours = Math.floor(secs / 3_600);
  const minutes = Math.floor(secs / 60) % 60;
  return `${two(hours)}:${two(minutes)}:${two(secs % 60)}`;
}

function fractionText(micros: number): string {
  return micros === 0 ? "" : `.${String(micros).padStart(6, "0").replace(/0+$/, "")}`;
}

function two(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}

/** What an interval holds. */
export interface Interval {
  readonly months: number;
  readonly days: number;
  readonly micros: bigint;
}

/** Reads `P14M3DT-4.5S`, which the engine writes. */
export function parseInterval(text: string): Interval {
  const found = /^P(-?\d+)M(-?\d+)DT(-?)(\d*)(?:\.(\d{1,6}))?S$/.exec(text);
  if (found === null) throw new TypeError(`no interval: ${text}`);
  const [, months = "0", days = "0", sign = "", secs = "", fraction = ""] = found;
  const micros = BigInt(secs || "0") * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
  return { months: Number(months), days: Number(days), micros: sign === "-" ? -micros : micros };
}

/** `1 year 2 mons -3 days +04:05:06.5`: `IntervalStyle` `postgres`. */
export function intervalText({ months, days, micros }: Interval): string {
  const parts: string[] = [];
  let isBefore = false;
  const add = (value: number, unit: string) => {
    if (value === 0) return;
    parts.push(`${isBefore && value > 0 ? "+" : ""}${value} ${unit}${value === 1 ? "" : "s"}`);
    isBefore = value < 0;
  };
  add(Math.trunc(months / 12), "year");
  add(months % 12, "mon");
  add(days, "day");
  if (parts.length > 0 && micros === 0n) return parts.join(" ");
  const isNegative = micros < 0n;
  const all = isNegative ? -micros : micros;
  const secs = Number(all / 1_000_000n);
  const sign = isNegative ? "-" : isBefore ? "+" : "";
  parts.push(`${sign}${clockText(secs)}${fractionText(Number(all % 1_000_000n))}`);
  return parts.join(" ");
}

/** `P1Y2M-3DT4H5M6.5S`: `IntervalStyle` `iso_8601`. Each part has a sign of its own. */
export function isoIntervalText({ months, days, micros }: Interval): string {
  const part = (value: number, unit: string) => value === 0 ? "" : `${value}${unit}`;
  const isNegative = micros < 0n;
  const all = isNegative ? -micros : micros;
  const secs = Number(all / 1_000_000n);
  const sign = isNegative ? -1 : 1;
  const rest = `${secs % 60}${fractionText(Number(all % 1_000_000n))}`;
  const date = part(Math.trunc(months / 12), "Y") + part(months % 12, "M") + part(days, "D");
  const time = part(sign * Math.floor(secs / 3_600), "H") +
    part(sign * (Math.floor(secs / 60) % 60), "M") +
    (rest === "0" ? "" : `${isNegative ? "-" : ""}${rest}S`);
  if (date === "" && time === "") return "PT0S";
  return `P${date}${time === "" ? "" : `T${time}`}`;
}

/** Shortest digits that read back, in PostgreSQL's choice of forms. */
export function float8Text(value: number): string {
  const text = String(value);
  const size = Math.abs(value);
  if (size >= 1e-4 && size < 1e15) return text;
  return floatText(value, { digits: value.toExponential(), plainBelow: 15 });
}

/** `float8Text` for a value of 32 bits. */
export function float4Text(value: number): string {
  if (!Number.isFinite(value) || value === 0) return float8Text(value);
  for (let digits = 0; digits < 9; digits += 1) {
    const text = value.toExponential(digits);
    if (Math.fround(Number(text)) === value) {
      return floatText(value, { digits: text, plainBelow: 6 });
    }
  }
  return floatText(value, { digits: value.toExponential(), plainBelow: 6 });
}

/** The first exponent that is written as one, and the least that is not. */
const PLAIN_EXPONENT_MIN = -4;

function floatText(
  value: number,
  { digits, plainBelow }: { readonly digits: string; readonly plainBelow: number },
): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa = "", exponentText = "0"] = digits.split("e");
  const exponent = Number(exponentText);
  const sign = mantissa.startsWith("-") ? "-" : "";
  const plain = trimmedMantissa(mantissa.replace("-", ""));
  if (exponent < PLAIN_EXPONENT_MIN || exponent >= plainBelow) {
    const shown = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${plain}e${exponent < 0 ? "-" : "+"}${shown}`;
  }
  const all = plain.replace(".", "");
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${all}`;
  const whole = all.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  const rest = all.slice(exponent + 1);
  return `${sign}${whole}${rest === "" ? "" : `.${rest}`}`;
}

function trimmedMantissa(mantissa: string): string {
  return mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
}

/** A whole number of units of `10 ** -scale`. */
export function decimalText(units: bigint | number, scale: number): string {
  if (scale === 0) return String(units);
  const isNegative = units < 0;
  const digits = String(isNegative ? -units : units).padStart(scale + 1, "0");
  const at = digits.length - scale;
  return `${isNegative ? "-" : ""}${digits.slice(0, at)}.${digits.slice(at)}`;
}
