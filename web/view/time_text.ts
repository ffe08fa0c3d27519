/** Instants, as the viewer's zone has them, and what stands behind them. */

import { durationText } from "./number_text.ts";

const STEPS_MS = [1_000, 60_000, 3_600_000, 86_400_000] as const;

/** The viewer's time zone, such as `Europe/Berlin`. */
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** `2026-11-20 01:02:03.456`: fixed width, so that times stand below each other. */
export function timeText(ms: number): string {
  const time = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(":");
  return `${day} ${clock}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

/** `3 min ago`, `in 2 h`: one unit. */
export function agoText(ms: number, nowMs: number): string {
  const away = Math.abs(nowMs - ms);
  if (away < 1_000) return "now";
  const step = STEPS_MS.findLast((step) => away >= step) ?? 1_000;
  const text = durationText(Math.floor(away / step) * step);
  return ms <= nowMs ? `${text} ago` : `in ${text}`;
}

/** UTC to the last digit that is known, and how long ago: what hovering over a time shows. */
export function timeTitle(ms: number, nowMs: number): string {
  return `${new Date(ms).toISOString()} (UTC)\n${timeText(ms)} (${ZONE})\n${agoText(ms, nowMs)}`;
}
