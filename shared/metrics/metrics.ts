/**
 * A role's metrics, made from its table: typed handles to count with, and the text for a scrape.
 *
 * All values are plain numbers in cells; `prom-client` reads them at a scrape. So counting costs an
 * addition and a look-up for each label. A hot path keeps the cell of its labels: `const ok =
 * metrics.requests.at({status: "200"})`.
 */

import { Counter, Gauge, Registry } from "prom-client";
import { HistogramCell, registerHistogram } from "./histogram_cells.ts";
import { OPENMETRICS_CONTENT_TYPE, openMetricsText, TEXT_CONTENT_TYPE } from "./exposition.ts";
import type { LabelTable, MetricSpec, MetricTable } from "./table.ts";

type LabelsOf<S> = S extends { readonly labels: infer L extends LabelTable }
  ? { readonly [K in keyof L]: string }
  : Readonly<Record<string, never>>;

export type HandleOf<S extends MetricSpec> = S["kind"] extends "counter"
  ? CounterHandle<LabelsOf<S>>
  : S["kind"] extends "gauge" ? GaugeHandle<LabelsOf<S>>
  : S extends { readonly labels: LabelTable } ? LabelledHistogramHandle<LabelsOf<S>>
  : HistogramHandle;

export type MetricHandles<T extends MetricTable> = { readonly [K in keyof T]: HandleOf<T[K]> };

export type Metrics<T extends MetricTable> = MetricHandles<T> & {
  /** The exposition and its exact content type; OpenMetrics when `accept` asks for it. */
  render(accept: string | null): Promise<{ contentType: string; text: string }>;
};

/** What `svc_build_info` tells; each member becomes a label. */
export interface BuildInfo {
  readonly version: string;
  readonly role: string;
  readonly [label: string]: string;
}

export interface MetricsOptions {
  /**
   * The labels to show in place of a series' own; series that are shown with the same labels become
   * one.
   */
  readonly shown?: (labels: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;
}

export class Cell {
  value = 0;

  add(count = 1): void {
    this.value += count;
  }
}

interface Series<L, C> {
  readonly labels: L;
  readonly cell: C;
}

/** A map for each label but the last, whose map has the series. */
type Branch<T> = Map<string, T | Branch<T>>;

class Family<L extends Readonly<Record<string, string>>, C> {
  /** In the order in which they were first asked for. */
  readonly series: Series<L, C>[] = [];
  readonly #names: readonly string[];
  readonly #create: () => C;
  readonly #root: Branch<Series<L, C>> = new Map();

  constructor(names: readonly string[], create: () => C) {
    this.#names = names;
    this.#create = create;
  }

  /** The cell of one combination of label values. */
  at(labels: L): C {
    const names = this.#names;
    const last = names.length - 1;
    let branch = this.#root;
    for (let i = 0; i < last; i += 1) {
      const value = labels[names[i] as string] as string;
      let next = branch.get(value) as Branch<Series<L, C>> | undefined;
      if (next === undefined) branch.set(value, next = new Map());
      branch = next;
    }
    const value = last < 0 ? "" : labels[names[last] as string] as string;
    const known = branch.get(value) as Series<L, C> | undefined;
    if (known !== undefined) return known.cell;
    const made = { labels, cell: this.#create() };
    branch.set(value, made);
    this.series.push(made);
    return made.cell;
  }

  /** Without any series, as at the start. */
  protected forget(): void {
    this.series.length = 0;
    this.#root.clear();
  }
}

export class CounterHandle<L extends Readonly<Record<string, string>>> extends Family<L, Cell> {
  constructor(names: readonly string[]) {
    super(names, () => new Cell());
  }

  add(count: number, labels: L): void {
    this.at(labels).add(count);
  }
}

export class GaugeHandle<L extends Readonly<Record<string, string>>> extends Family<L, Cell> {
  readonly #readers: (() => Promise<void>)[] = [];

  constructor(names: readonly string[]) {
    super(names, () => new Cell());
  }

  set(value: number, labels: L): void {
    this.at(labels).value = value;
  }

  /** Takes the value from `read` at every scrape; it must be cheap. One that throws exports NaN. */
  readAtScrape(read: () => number | Promise<number>, labels: L): void {
    this.#readers.push(async () => {
      try {
        this.set(await read(), labels);
      } catch {
        this.set(NaN, labels);
      }
    });
  }

  /** Takes all series from `read` at every scrape; those that it leaves out are gone. */
  allAtScrape(read: () => Iterable<readonly [labels: L, value: number]>): void {
    this.#readers.push(() => {
      this.forget();
      for (const [labels, value] of read()) this.set(value, labels);
      return Promise.resolve();
    });
  }

  /** Runs the readers: once per scrape. */
  async refresh(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader()));
  }
}

export interface HistogramHandle {
  observe(value: number): void;
}

class LabelledHistogramHandle<L extends Readonly<Record<string, string>>>
  extends Family<L, HistogramCell> {
  constructor(names: readonly string[], bounds: readonly number[]) {
    super(names, () => new HistogramCell(bounds));
  }

  observe(value: number, labels: L): void {
    this.at(labels).observe(value);
  }
}

/** Handles for each entry of `table`, and `svc_build_info`, in a registry of their own. */
export function createMetrics<const T extends MetricTable>(
  table: T,
  build: BuildInfo,
  { shown = (labels) => labels }: MetricsOptions = {},
): Metrics<T> {
  const registry = new Registry();
  const handles: Record<string, unknown> = {};
  for (const [key, spec] of Object.entries(table)) handles[key] = register(spec, registry, shown);
  new Gauge({
    name: "svc_build_info",
    help: "1, with the build and role as labels",
    labelNames: Object.keys(build),
    registers: [registry],
  }).set({ ...build }, 1);
  return {
    ...handles as MetricHandles<T>,
    async render(accept) {
      const text = await registry.metrics();
      return wantsOpenMetrics(accept)
        ? { contentType: OPENMETRICS_CONTENT_TYPE, text: openMetricsText(text) }
        : { contentType: TEXT_CONTENT_TYPE, text };
    },
  };
}

function register(
  spec: MetricSpec,
  registry: Registry,
  shown: NonNullable<MetricsOptions["shown"]>,
): unknown {
  const { name, help } = spec;
  const labels = spec.labels ?? {};
  const config = { name, help, labelNames: Object.keys(labels), registers: [registry] };
  if (spec.kind === "histogram") {
    const handle = new LabelledHistogramHandle<Record<string, string>>(
      config.labelNames,
      spec.buckets,
    );
    registerHistogram(registry, spec, () => handle.series);
    combinationsOf(labels).forEach((known) => handle.at(known));
    return spec.labels === undefined ? handle.at({}) : handle;
  }
  if (spec.kind === "counter") {
    const handle = new CounterHandle<Record<string, string>>(config.labelNames);
    combinationsOf(labels).forEach((known) => handle.at(known));
    new Counter({
      ...config,
      collect() {
        this.reset();
        for (const { labels, cell } of handle.series) this.inc(shown(labels), cell.value);
      },
    });
    return handle;
  }
  const handle = new GaugeHandle<Record<string, string>>(config.labelNames);
  new Gauge({
    ...config,
    async collect() {
      await handle.refresh();
      this.reset();
      for (const { labels, value } of together(handle, shown, spec.together)) {
        this.set(labels, value);
      }
    },
  });
  return handle;
}

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  value: number;
}

/** A gauge's series as they are shown. */
function together(
  { series }: GaugeHandle<Record<string, string>>,
  shown: NonNullable<MetricsOptions["shown"]>,
  how: "max" | undefined,
): Iterable<Sample> {
  const samples = new Map<string, Sample>();
  for (const { labels: own, cell } of series) {
    const labels = shown(own);
    const key = JSON.stringify(Object.entries(labels));
    const sample = samples.get(key);
    if (sample === undefined) samples.set(key, { labels, value: cell.value });
    else {sample.value = how === "max"
        ? Math.max(sample.value, cell.value)
        : sample.value + cell.value;}
  }
  return samples.values();
}

/** Every combination of the values known beforehand. */
function combinationsOf(table: LabelTable): Record<string, string>[] {
  let combinations: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(table)) {
    combinations = combinations.flatMap((known) =>
      values.map((value) => ({ ...known, [label]: value }))
    );
  }
  return combinations;
}

/** Whether OpenMetrics is acceptable and preferred at least as much as the plain text format. */
function wantsOpenMetrics(accept: string | null): boolean {
  if (accept === null) return false;
  const quality = (type: string) => {
    for (const item of accept.split(",")) {
      const [name, ...parameters] = item.trim().toLowerCase().split(/\s*;\s*/);
      if (name !== type) continue;
      const q = parameters.find((parameter) => parameter.startsWith("q="));
      return q === undefined ? 1 : Number(q.slice(2));
    }
    return 0;
  };
  const open = quality("application/openmetrics-text");
  return open > 0 && open >= quality("text/plain");
}
