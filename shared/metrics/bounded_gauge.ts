/**
 * A gauge of tables or lanes, whose names senders choose. The first ones get a series each, up to a
 * bound; all others share one, which tells of the worst of them, or of all together. One that is
 * gone loses its series, and its place goes to the next.
 */

import { OTHER } from "./bounded_cells.ts";
import type { GaugeHandle } from "./metrics.ts";
import type { MetricSpec } from "./table.ts";

export interface BoundedGaugeOptions<K extends string> {
  readonly label: K;
  readonly seriesMax: number;
  /** How series are shown as one: as in the metric's table. */
  readonly spec: MetricSpec;
  /** What a value is at the time of a scrape; default: the value. */
  readonly atScrape?: (value: number) => number;
}

export class BoundedGauge<K extends string> {
  /** In the order in which they came. */
  readonly #values = new Map<string, number>();
  readonly #options: BoundedGaugeOptions<K>;

  constructor(gauge: GaugeHandle<Record<K, string>>, options: BoundedGaugeOptions<K>) {
    this.#options = options;
    gauge.allAtScrape(() => this.#series());
  }

  set(name: string, value: number): void {
    this.#values.set(name, value);
  }

  /** Forgets all but these. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#values.keys()) if (!names.has(name)) this.#values.delete(name);
  }

  #series(): readonly (readonly [Record<K, string>, number])[] {
    const { label, seriesMax, spec, atScrape = (value) => value } = this.#options;
    const labelled = (name: string) => ({ [label]: name }) as Record<K, string>;
    const all = [...this.#values].map(([name, value]) => [name, atScrape(value)] as const);
    const own = all.slice(0, seriesMax).map(([name, value]) => [labelled(name), value] as const);
    const others = all.slice(seriesMax).map(([, value]) => value);
    if (others.length === 0) return own;
    const isMax = spec.kind === "gauge" && spec.together === "max";
    const shared = isMax ? Math.max(...others) : others.reduce((sum, value) => sum + value, 0);
    return [...own, [labelled(OTHER), shared]];
  }
}
