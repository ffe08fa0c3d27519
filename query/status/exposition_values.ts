/** Values out of a scrape: the text format of Prometheus, as far as this service writes it. */

import type { StatusSeries } from "./status_series.ts";

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The series of a metric; those without a value are left out. */
export function samplesOf(text: string, metric: string): Sample[] {
  return text.split("\n")
    .filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `))
    .map((line) => ({
      labels: Object.fromEntries(
        [...line.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = "", value = ""]) => [
          name,
          value.replaceAll(/\\(.)/g, (_, letter) => letter === "n" ? "\n" : letter),
        ]),
      ),
      value: valueIn(line),
    }))
    .filter(({ value }) => Number.isFinite(value));
}

/** Returns a value for each series; NaN where the text has none. */
export function valuesOf(
  text: string,
  series: readonly Pick<StatusSeries, "metric" | "label" | "of">[],
): number[] {
  const samples = Map.groupBy(text.split("\n"), (line) => /^[a-zA-Z_:][\w:]*/.exec(line)?.[0]);
  return series.map(({ metric, label, of }) => {
    const wanted = label === undefined ? "" : `${label[0]}="${label[1]}"`;
    const values = (samples.get(metric) ?? []).filter((line) => line.includes(wanted))
      .map(valueIn);
    if (values.length === 0) return NaN;
    return of === "max" ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0);
  });
}

function valueIn(line: string): number {
  return Number(line.slice(line.lastIndexOf(" ") + 1));
}
