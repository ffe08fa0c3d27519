/**
 * What a metric is. Each role has one table of these; registration, `/metrics` and the
 * documentation tests derive from it. The three METRICS.md are made from it.
 */

interface MetricBase {
  /** Full name, with unit and, for a counter, `_total`. */
  readonly name: string;
  readonly help: string;
}

/**
 * Labels in their order, each with the values known beforehand. A counter or histogram exports
 * every combination of those at zero from the start, so that a rate over it is right. A gauge
 * exports what was set.
 *
 * An empty list is a label whose values come later. Give such a label only values of a bounded set,
 * never a client's text, or count through `BoundedCells`.
 */
export type LabelTable = Readonly<Record<string, readonly string[]>>;

/** A count that only grows. */
export interface CounterSpec extends MetricBase {
  readonly kind: "counter";
  readonly labels?: LabelTable;
}

/** A value that goes up and down. */
export interface GaugeSpec extends MetricBase {
  readonly kind: "gauge";
  readonly labels?: LabelTable;
  /**
   * What one series says that is shown in place of several (`MetricsOptions.shown`); their sum when
   * absent.
   */
  readonly together?: "max";
}

/** Observations counted by upper bounds. */
export interface HistogramSpec extends MetricBase {
  readonly kind: "histogram";
  /** Every observation takes from half a microsecond to two: not for single rows. */
  readonly labels?: LabelTable;
  /** Upper bounds, ascending; `+Inf` is implied. */
  readonly buckets: readonly number[];
}

export type MetricSpec = CounterSpec | GaugeSpec | HistogramSpec;

export type MetricTable = Readonly<Record<string, MetricSpec>>;

/** Bounds for durations in seconds, 0.1 ms to 30 s. */
export const DURATION_SECS_BUCKETS: readonly number[] = [
  0.0001,
  0.0003,
  0.001,
  0.003,
  0.01,
  0.03,
  0.1,
  0.3,
  1,
  3,
  10,
  30,
];

/** Bounds for counts of rows, 1 to 100,000. */
export const ROWS_BUCKETS: readonly number[] = [
  1,
  10,
  50,
  100,
  500,
  1_000,
  5_000,
  10_000,
  50_000,
  100_000,
];
