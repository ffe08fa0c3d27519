/**
 * How many files an ordered scan merges when nobody says:
 * docs/api/command_line.md#options-of-the-servers.
 */

import type { FanIn } from "./ordered_scan.ts";

/**
 * Returns the bounds for `cpus` cores. A core allows 4 files of one day (16 to 64 in all), and 8
 * files of all days (32 to 128).
 */
export function defaultFanIn(cpus: number): FanIn {
  return { partitionMax: clamp(4 * cpus, 16, 64), globalMax: clamp(8 * cpus, 32, 128) };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
