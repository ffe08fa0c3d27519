/** Numbers as people read them, in the page's language. */

const WHOLE = new Intl.NumberFormat();
const SHORT = new Intl.NumberFormat(undefined, {
  notation: "compact",
  maximumSignificantDigits: 3,
});
const SHARE = new Intl.NumberFormat(undefined, { style: "percent", maximumSignificantDigits: 2 });

/** `12,403`. */
export function wholeText(value: number | bigint): string {
  return WHOLE.format(value);
}

/** `1 row`, `12,403 rows`. */
export function rowsText(rows: number): string {
  return `${wholeText(rows)} ${rows === 1 ? "row" : "rows"}`;
}

/** `12.4K`, where a figure has little room. */
export function shortText(value: number): string {
  return SHORT.format(value);
}

/** `1 span`, `2,400 spans`: `one` is the word of one thing, `many` of several. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${wholeText(count)} ${count === 1 ? one : many}`;
}

/** `8.3%` of 0.083; `<0.1%` for a share that is no 0. */
export function shareText(share: number): string {
  return share > 0 && share < 0.001 ? `<${SHARE.format(0.001)}` : SHARE.format(share);
}

/** `640 µs`, `12 ms`, `3.4 s`, `2 min 5 s`, `3 h 20 min`, `4 d 2 h` of milliseconds. */
export function durationText(ms: number): string {
  if (ms < 0) return `-${durationText(-ms)}`;
  if (ms === 0) return "0 ms";
  if (ms < 1) return `${plain(ms * 1_000)} µs`;
  if (ms < 999.5) return `${plain(ms)} ms`;
  if (ms < 59_950) return `${plain(ms / 1_000)} s`;
  // Whatever rounds up to a larger unit is told in that.
  const [unitMs, unit, partMs, part] =
    LONG.find(([unitMs, , partMs]) => Math.round(ms / partMs) * partMs >= unitMs) ?? LONG[2];
  const parts = Math.round(ms / partMs);
  const partsOfUnit = unitMs / partMs;
  const rest = parts % partsOfUnit;
  return `${Math.floor(parts / partsOfUnit)} ${unit}${rest === 0 ? "" : ` ${rest} ${part}`}`;
}

const LONG = [
  [86_400_000, "d", 3_600_000, "h"],
  [3_600_000, "h", 60_000, "min"],
  [60_000, "min", 1_000, "s"],
] as const;

function plain(value: number): string {
  return value < 9.95 ? String(Number(value.toFixed(1))) : String(Math.round(value));
}
