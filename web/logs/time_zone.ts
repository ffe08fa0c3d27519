/** Times as texts, in the viewer's zone or in UTC. */

/** `local` is the zone of the viewer's browser. */
export type Zone = "local" | "utc";

/** Year to millisecond, as the zone's calendar and clock have them. */
export interface ZonedTime {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly ms: number;
}

export function zonedTime(instantMs: number, zone: Zone): ZonedTime {
  const date = new Date(instantMs);
  return zone === "utc"
    ? {
      year: date.getUTCFullYear(),
      month: date.getUTCMonth() + 1,
      day: date.getUTCDate(),
      hour: date.getUTCHours(),
      minute: date.getUTCMinutes(),
      second: date.getUTCSeconds(),
      ms: date.getUTCMilliseconds(),
    }
    : {
      year: date.getFullYear(),
      month: date.getMonth() + 1,
      day: date.getDate(),
      hour: date.getHours(),
      minute: date.getMinutes(),
      second: date.getSeconds(),
      ms: date.getMilliseconds(),
    };
}

/** Returns Unix milliseconds; undefined where the calendar has no such time. */
export function instantOfZoned(time: ZonedTime, zone: Zone): number | undefined {
  const { year, month, day, hour, minute, second, ms } = time;
  const instant = zone === "utc"
    ? Date.UTC(year, month - 1, day, hour, minute, second, ms)
    : new Date(year, month - 1, day, hour, minute, second, ms).getTime();
  const read = zonedTime(instant, zone);
  // JavaScript takes the years 0 to 99 for 1900 to 1999.
  const isSame = read.year === year && read.month === month && read.day === day;
  return isSame ? instant : undefined;
}

const two = (n: number) => String(n).padStart(2, "0");

/** `2026-11-20`. */
export function dayText(instantMs: number, zone: Zone): string {
  const { year, month, day } = zonedTime(instantMs, zone);
  return `${year}-${two(month)}-${two(day)}`;
}

/** `21:04:05.123`; without `.123` where the caller wants seconds. */
export function clockText(instantMs: number, zone: Zone, { hasMs = true } = {}): string {
  const { hour, minute, second, ms } = zonedTime(instantMs, zone);
  const clock = [hour, minute, second].map(two).join(":");
  return hasMs ? `${clock}.${String(ms).padStart(3, "0")}` : clock;
}

/** `2026-11-20 21:04:05`, which `parseTimePhrase` reads back. */
export function instantText(instantMs: number, zone: Zone): string {
  const hasMs = instantMs % 1_000 !== 0;
  return `${dayText(instantMs, zone)} ${clockText(instantMs, zone, { hasMs })}`;
}

/** `UTC`, or the viewer's zone as `Europe/Berlin`. */
export function zoneName(zone: Zone): string {
  return zone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}
