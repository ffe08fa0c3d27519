/**
 * A histogram whose observations are additions to numbers. `prom-client`'s own looks at labels,
 * makes a text of them and looks that up for each value, which costs a request more than its route.
 * It reads these at a scrape.
 */

import type { Histogram, Registry } from "prom-client";
import { assert } from "../base/assert.ts";

/** One series. Buckets are counted each by itself and summed up at a scrape. */
export class HistogramCell {
  sum = 0;
  count = 0;
  readonly bounds: readonly number[];
  /** Values in each bucket. What lies above the last bound is only in `count`. */
  readonly counts: number[];

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    assert(Number.isFinite(value), "a histogram takes finite numbers");
    const { bounds, counts } = this;
    this.sum += value;
    this.count += 1;
    for (let at = 0; at < bounds.length; at += 1) {
      if (value <= (bounds[at] as number)) {
        counts[at] = (counts[at] as number) + 1;
        return;
      }
    }
  }
}

interface Sample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export interface HistogramSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly cell: HistogramCell;
}

/** Has `registry` show the series as a histogram of that name. */
export function registerHistogram(
  registry: Registry,
  { name, help }: { readonly name: string; readonly help: string },
  series: () => Iterable<HistogramSeries>,
): void {
  const get = () => {
    const values = [...series()].flatMap((one) => samplesOf(name, one));
    return Promise.resolve({ name, help, type: "histogram", aggregator: "sum", values });
  };
  // The registry asks a metric for its name and its samples.
  registry.registerMetric({ name, help, get } as unknown as Histogram);
}

function samplesOf(name: string, { labels, cell }: HistogramSeries): Sample[] {
  let below = 0;
  const bucket = (le: number | string, value: number): Sample => ({
    metricName: `${name}_bucket`,
    labels: { le, ...labels },
    value,
  });
  return [
    ...cell.bounds.map((le, at) => bucket(le, below += cell.counts[at] as number)),
    bucket("+Inf", cell.count),
    { metricName: `${name}_sum`, labels, value: cell.sum },
    { metricName: `${name}_count`, labels, value: cell.count },
  ];
}
