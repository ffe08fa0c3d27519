/** Ranges of time as people type them: `last 2h`, `yesterday`, `2026-11-20 .. 2026-11-21`. */

import { rangeBetween, type TimeRange, UNITS_MS } from "./time_range.ts";
import { instantOfZoned, type Zone, zonedTime } from "./time_zone.ts";

const UNIT = "(s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?|w|weeks?)";
const LAST = new RegExp(String.raw`^(?:(?:the )?last |past |-)?(\d{1,6})? ?${UNIT}$`, "i");
const AGO = new RegExp(String.raw`^(?:now ?- ?)?(\d{1,6}) ?${UNIT}(?: ago)?$`, "i");
const DATE = /^(\d{4})-(\d{1,2})-(\d{1,2})$/;
const CLOCK =
  /^(?:(\d{4})-(\d{1,2})-(\d{1,2})[ T])?(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3})\d*)?)?$/;
const EXACT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/i;

/** What the texts mean. */
export interface PhraseClock {
  readonly nowMs: number;
  readonly zone: Zone;
}

/** From an instant up to another; a day is 24 hours long but where the clocks change. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** Returns the range that `text` is; undefined for anything that is none. */
export function parseTimePhrase(text: string, clock: PhraseClock): TimeRange | undefined {
  const phrase = text.trim().replaceAll(/\s+/g, " ");
  const last = LAST.exec(phrase);
  if (last !== null) {
    const ms = Number(last[1] ?? 1) * unitMs(last[2]);
    return ms === 0 ? undefined : { kind: "last", ms };
  }
  const ends = / to |\.\.|…| – | - /i.exec(phrase);
  if (ends === null) {
    const stretch = stretchOf(phrase, clock);
    if (stretch === undefined) return undefined;
    // A single instant is where one begins to read.
    const to = stretch.to > stretch.from ? stretch.to : clock.nowMs;
    return rangeBetween({ from: stretch.from, to });
  }
  const from = stretchOf(phrase.slice(0, ends.index).trim(), clock);
  const to = stretchOf(phrase.slice(ends.index + ends[0].length).trim(), clock);
  return from === undefined || to === undefined
    ? undefined
    : rangeBetween({ from: from.from, to: to.to });
}

function unitMs(unit: string | undefined): number {
  return UNITS_MS[(unit ?? "").slice(0, 1).toLowerCase()] ?? 0;
}

function stretchOf(text: string, clock: PhraseClock): Stretch | undefined {
  const { nowMs } = clock;
  const lower = text.toLowerCase();
  if (lower === "now") return { from: nowMs, to: nowMs };
  if (lower === "today") return dayOf(0, clock);
  if (lower === "yesterday") return dayOf(-1, clock);
  const ago = AGO.exec(text);
  if (ago !== null) {
    const at = nowMs - Number(ago[1]) * unitMs(ago[2]);
    return { from: at, to: at };
  }
  if (EXACT.test(text)) {
    const at = Date.parse(text);
    return Number.isNaN(at) ? undefined : { from: at, to: at };
  }
  return dateStretch(text, clock) ?? clockStretch(text, clock);
}

/** The day that is so many days after today. */
function dayOf(days: number, { nowMs, zone }: PhraseClock): Stretch | undefined {
  const { year, month, day } = zonedTime(nowMs, zone);
  const noon = new Date(Date.UTC(year, month - 1, day + days, 12));
  return dateStretch(noon.toISOString().slice(0, 10), { nowMs, zone });
}

function dateStretch(text: string, { zone }: PhraseClock): Stretch | undefined {
  const [, year, month, day] = DATE.exec(text) ?? [];
  if (year === undefined) return undefined;
  const midnight = { hour: 0, minute: 0, second: 0, ms: 0 };
  const parts = { year: Number(year), month: Number(month), day: Number(day) };
  const from = instantOfZoned({ ...parts, ...midnight }, zone);
  if (from === undefined) return undefined;
  const next = new Date(Date.UTC(parts.year, parts.month - 1, parts.day + 1));
  const to = instantOfZoned({
    year: next.getUTCFullYear(),
    month: next.getUTCMonth() + 1,
    day: next.getUTCDate(),
    ...midnight,
  }, zone);
  return to === undefined ? undefined : { from, to };
}

/** A time of a day, today where no date stands before it. */
function clockStretch(text: string, { nowMs, zone }: PhraseClock): Stretch | undefined {
  const found = CLOCK.exec(text);
  if (found === null) return undefined;
  const [, year, month, day, hour, minute, second = "0", ms = "0"] = found;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const today = zonedTime(nowMs, zone);
  const at = instantOfZoned({
    year: year === undefined ? today.year : Number(year),
    month: month === undefined ? today.month : Number(month),
    day: day === undefined ? today.day : Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    ms: Number(ms.padEnd(3, "0")),
  }, zone);
  return at === undefined ? undefined : { from: at, to: at };
}
