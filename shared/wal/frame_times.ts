/** Times of rows, gathered frame by frame. */

import type { FrameTimes } from "./types.ts";

/** The times of both; `before` is undefined before the first. */
export function joinTimes(before: FrameTimes | undefined, more: FrameTimes): FrameTimes {
  const { timestampNsMin: first, timestampNsMax: last } = more;
  if (before === undefined) return { timestampNsMin: first, timestampNsMax: last };
  return {
    timestampNsMin: before.timestampNsMin < first ? before.timestampNsMin : first,
    timestampNsMax: before.timestampNsMax > last ? before.timestampNsMax : last,
  };
}
