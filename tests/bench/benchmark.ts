/**
 * What a benchmark is: a name, sizes, and a run that returns rows for the table. Figures are ratios
 * taken in one run, since machines are noisy; absolute numbers stand beside them for orientation.
 */

export interface BenchSize {
  /** Rows or records the benchmark works on, where it has such a size. */
  readonly rows: number;
  /** Seconds of measured load, where it runs by time. */
  readonly seconds: number;
}

export interface BenchRow {
  /** What was measured, in a few words. */
  readonly what: string;
  /** Our figure with its unit. */
  readonly ours: string;
  /** What it is compared with, with its unit; empty when there is nothing to compare. */
  readonly reference: string;
  /** Ours against the reference. */
  readonly ratio: string;
  /** The bar, as text. */
  readonly target: string;
  readonly reached: boolean;
}

export interface Benchmark {
  readonly name: string;
  readonly summary: string;
  readonly sizes: { readonly small: BenchSize; readonly full: BenchSize };
  run(size: BenchSize): Promise<BenchRow[]>;
}

/** `1,234,567`. */
export function formatCount(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** `12.3 ms` or `1.23 s`. */
export function formatMs(ms: number): string {
  return ms < 1_000 ? `${ms.toFixed(1)} ms` : `${(ms / 1_000).toFixed(2)} s`;
}

export function formatRatio(ratio: number): string {
  return `${ratio.toFixed(2)}×`;
}

/** The middle of `values`; they need not be sorted. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The value below which the fraction `p` of `values` lies (nearest rank). */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1));
  return sorted[rank] ?? NaN;
}
