/**
 * A gauge of what does not get on, in seconds since it began: lanes that no turn succeeds for,
 * sweeps that hang. What gets on has no series.
 */

import { isOperatingError } from "../base/errors.ts";
import type { GaugeHandle } from "./metrics.ts";

/** What stands still, since when in Unix milliseconds, and labels that say why. */
export interface Stall<L> {
  readonly sinceMs: number;
  readonly labels: L;
}

/**
 * Why work does not get on, in a word: metrics hold no message, as that may name hosts and users.
 * `hangs`: it exceeded its deadline; else the reason or the code of its error.
 */
export function wordOfStall(error: unknown, { hangs }: { readonly hangs: boolean }): string {
  if (hangs) return "hangs";
  return isOperatingError(error) ? error.reason ?? error.code : "error";
}

export interface StallGaugeOptions {
  readonly clock: { nowMs(): number };
  /** So many have a series: those that began first. */
  readonly seriesMax: number;
}

export class StallGauge<L extends Readonly<Record<string, string>>> {
  /** In the order in which they began. */
  readonly #stalls = new Map<string, Stall<L>>();

  constructor(gauge: GaugeHandle<L>, { clock, seriesMax }: StallGaugeOptions) {
    gauge.allAtScrape(() =>
      [...this.#stalls.values()].slice(0, seriesMax)
        .map(({ labels, sinceMs }) =>
          [labels, Math.max(0, clock.nowMs() - sinceMs) / 1_000] as const
        )
    );
  }

  /** Without `stall` it gets on again. */
  set(name: string, stall: Stall<L> | undefined): void {
    if (stall === undefined) this.#stalls.delete(name);
    else this.#stalls.set(name, stall);
  }

  /** Forgets all but these. */
  keep(isKept: (name: string) => boolean): void {
    for (const name of this.#stalls.keys()) if (!isKept(name)) this.#stalls.delete(name);
  }
}
