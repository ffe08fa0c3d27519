/** The time range of a search, as the page and its address have it. */

/** `last` is a span before now; `from` and `to` are Unix milliseconds. */
export type TimeRange =
  | { readonly kind: "last"; readonly ms: number }
  | { readonly kind: "between"; readonly from: number; readonly to: number };

/** Unix milliseconds, the end not included. */
export interface Instants {
  readonly from: number;
  readonly to: number;
}

/** The last whole minute that 64-bit nanoseconds hold, in 2262: no row is beyond it. */
const INSTANT_MS_MAX = 9_223_372_020_000;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Spans that the menu offers. */
export const SPANS: readonly { readonly label: string; readonly ms: number }[] = [
  { label: "15 minutes", ms: 15 * MINUTE },
  { label: "1 hour", ms: HOUR },
  { label: "6 hours", ms: 6 * HOUR },
  { label: "24 hours", ms: DAY },
  { label: "7 days", ms: 7 * DAY },
  { label: "30 days", ms: 30 * DAY },
];

/** Milliseconds of a unit by its first letter. */
export const UNITS_MS: Readonly<Record<string, number>> = {
  s: SECOND,
  m: MINUTE,
  h: HOUR,
  d: DAY,
  w: 7 * DAY,
};

export const RANGE_DEFAULT: TimeRange = { kind: "last", ms: HOUR };

/**
 * What `range` means at `nowMs`. An hour and more begins and ends with a minute: counts of whole
 * minutes are kept beside the data.
 */
export function instantsOf(range: TimeRange, nowMs: number): Instants {
  if (range.kind === "between") return { from: range.from, to: range.to };
  const [from, to] = [Math.max(nowMs - range.ms, -INSTANT_MS_MAX), nowMs + MINUTE];
  return range.ms < HOUR
    ? { from, to }
    : { from: Math.floor(from / MINUTE) * MINUTE, to: Math.ceil(to / MINUTE) * MINUTE };
}

/** Returns the range between two instants; undefined where no stored time can lie between them. */
export function rangeBetween({ from, to }: Instants): TimeRange | undefined {
  const bounded = { from: Math.max(from, -INSTANT_MS_MAX), to: Math.min(to, INSTANT_MS_MAX) };
  return bounded.from < bounded.to ? { kind: "between", ...bounded } : undefined;
}

/** Bins are whole minutes where they can be: counts by minute are kept beside the data. */
const BINS_MS = [
  ...[1, 5, 15].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 7, 30].map((n) => n * DAY),
];

/** Returns the milliseconds of a bin, so that at most `binsMax` bins show the range. */
export function binMsOf({ from, to }: Instants, binsMax: number): number {
  return BINS_MS.find((ms) => (to - from) / ms <= binsMax) ?? 365 * DAY;
}

/** `60m`, `30s` or `1795132800000..1795136400000`, for the address. */
export function rangeText(range: TimeRange): string {
  if (range.kind === "between") return `${range.from}..${range.to}`;
  return range.ms % MINUTE === 0 ? `${range.ms / MINUTE}m` : `${Math.ceil(range.ms / SECOND)}s`;
}

/** Reads `rangeText`, and `6h` or `3d`, as people write them; undefined for anything else. */
export function parseRange(text: string): TimeRange | undefined {
  const [, count, unit] = /^(\d{1,12})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) {
    const ms = Number(count) * (UNITS_MS[unit ?? ""] ?? 0);
    return ms === 0 ? undefined : { kind: "last", ms };
  }
  const [, from, to] = /^(-?\d{1,14})\.\.(-?\d{1,14})$/.exec(text) ?? [];
  if (from === undefined || to === undefined) return undefined;
  return rangeBetween({ from: Number(from), to: Number(to) });
}
