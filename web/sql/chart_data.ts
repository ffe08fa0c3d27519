/** The points of a chart, from the rows of a result. */

import type { Value } from "../api/sql_client.ts";
import type { Chart } from "./chart_choice.ts";
import type { ResultColumn } from "./column_kind.ts";
import { valueText } from "./value_text.ts";

/** A line, or bars of one colour: a value for each place on the axis, null where there is none. */
export interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

export interface ChartData {
  /** Unix seconds for times, numbers for numbers, else places of `labels`. */
  readonly xs: readonly number[];
  /** Texts of the places of a bar chart; undefined where `xs` are quantities. */
  readonly labels: readonly string[] | undefined;
  readonly isTime: boolean;
  readonly series: readonly Series[];
  /** Series, or bars, that are left out: the smallest. */
  readonly leftOut: number;
}

const SERIES_MAX = 8;
const BARS_MAX = 50;

type Rows = readonly (readonly Value[])[];

/** Makes the points; rows that share a place on the axis and a series are added up. */
export function chartData(
  chart: Chart,
  columns: readonly ResultColumn[],
  rows: Rows,
): ChartData {
  if (chart.kind === "bar") return barData(chart, columns, rows);
  const isTime = chart.x !== undefined && columns[chart.x]?.kind === "time";
  const xOf = (row: readonly Value[], at: number) =>
    chart.x === undefined ? at + 1 : isTime ? secondsOf(row[chart.x]) : numberOf(row[chart.x]);
  if (chart.kind === "scatter") {
    const points = rows.map((row, at) => ({ x: xOf(row, at), row }))
      .filter(({ x }) => x !== null)
      .toSorted((a, b) => Number(a.x) - Number(b.x));
    const series = chart.y.map((y) => ({
      name: columns[y]?.name ?? "",
      values: points.map(({ row }) => numberOf(row[y])),
    }));
    return { xs: points.map(({ x }) => Number(x)), labels: undefined, isTime, series, leftOut: 0 };
  }
  const grid = new Grid<number>();
  rows.forEach((row, at) => {
    const x = xOf(row, at);
    if (x !== null) addRow(grid, { x, row, chart, columns });
  });
  const xs = [...grid.xs.keys()].toSorted((a, b) => a - b);
  const { series, leftOut } = grid.largest(xs, SERIES_MAX);
  return { xs, labels: undefined, isTime, series, leftOut };
}

function barData(chart: Chart, columns: readonly ResultColumn[], rows: Rows): ChartData {
  const grid = new Grid<string>();
  rows.forEach((row, at) => {
    const x = chart.x === undefined ? String(at + 1) : labelOf(row[chart.x]);
    addRow(grid, { x, row, chart, columns });
  });
  const all = [...grid.xs.keys()];
  const labels = all.slice(0, BARS_MAX);
  const { series } = grid.largest(labels, SERIES_MAX);
  return {
    xs: [...labels.keys()],
    labels,
    isTime: false,
    series,
    leftOut: all.length - labels.length,
  };
}

function addRow<X>(grid: Grid<X>, { x, row, chart: { by, y }, columns }: {
  readonly x: X;
  readonly row: readonly Value[];
  readonly chart: Chart;
  readonly columns: readonly ResultColumn[];
}): void {
  for (const place of y) {
    const value = numberOf(row[place]);
    const name = by === undefined ? columns[place]?.name ?? "" : labelOf(row[by]);
    grid.add(x, name, value);
  }
}

/** Values by their place on the axis and their series. */
class Grid<X> {
  /** In the order in which they came. */
  readonly xs = new Map<X, Map<string, number>>();
  readonly #totals = new Map<string, number>();

  add(x: X, name: string, value: number | null): void {
    const cells = this.xs.get(x) ?? new Map<string, number>();
    this.xs.set(x, cells);
    if (value === null) return;
    cells.set(name, (cells.get(name) ?? 0) + value);
    this.#totals.set(name, (this.#totals.get(name) ?? 0) + Math.abs(value));
  }

  /** The series with the largest sums, in the order in which they came. */
  largest(
    xs: readonly X[],
    seriesMax: number,
  ): { readonly series: readonly Series[]; readonly leftOut: number } {
    const names = [...this.#totals.keys()];
    const kept = new Set(
      names.toSorted((a, b) => (this.#totals.get(b) ?? 0) - (this.#totals.get(a) ?? 0))
        .slice(0, seriesMax),
    );
    const series = names.filter((name) => kept.has(name)).map((name) => ({
      name,
      values: xs.map((x) => this.xs.get(x)?.get(name) ?? null),
    }));
    return { series, leftOut: names.length - series.length };
  }
}

function labelOf(value: Value | undefined): string {
  return value === null || value === undefined ? "null" : valueText(value);
}

function numberOf(value: Value | undefined): number | null {
  if (value === null || value === undefined || value === "") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

function secondsOf(value: Value | undefined): number | null {
  const ms = Date.parse(String(value ?? ""));
  return Number.isNaN(ms) ? null : ms / 1_000;
}
