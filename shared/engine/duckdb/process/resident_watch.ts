/**
 * When a DuckDB process takes too much memory. Its pool does not count what functions make of
 * texts.
 */

import {
  RESIDENT_HEADROOM_BYTES_MIN,
  RESIDENT_HEADROOM_DIVISOR,
  RESIDENT_MS_MAX,
} from "../../limits.ts";

/**
 * Bytes that a process may take beyond its part of a memory pool of so many bytes: what the pool
 * does not count.
 */
export function headroomBytesFor(poolBytes: number): number {
  return Math.max(RESIDENT_HEADROOM_BYTES_MIN, Math.floor(poolBytes / RESIDENT_HEADROOM_DIVISOR));
}

/**
 * `interrupt` is given once, when the process began to take too much; `end` when that did not help.
 */
export type ResidentVerdict = "fine" | "interrupt" | "end";

/** Judges one process by the resident memory that it tells. */
export class ResidentWatch {
  #sinceMs: number | undefined;

  constructor(
    private readonly limits: {
      /** Past this many bytes its statements are interrupted. */
      readonly bytesMax: number;
      /** Past this many bytes there is no time for an interrupt. */
      readonly bytesEnd: number;
    },
  ) {}

  judge(residentBytes: number, nowMs: number): ResidentVerdict {
    const { bytesMax, bytesEnd } = this.limits;
    if (residentBytes > bytesEnd) return "end";
    if (residentBytes <= bytesMax) {
      this.#sinceMs = undefined;
      return "fine";
    }
    if (this.#sinceMs === undefined) {
      this.#sinceMs = nowMs;
      return "interrupt";
    }
    return nowMs - this.#sinceMs > RESIDENT_MS_MAX ? "end" : "fine";
  }
}
