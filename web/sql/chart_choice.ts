/** Which chart shows a result, by the kinds of its columns. */

import type { ResultColumn } from "./column_kind.ts";

export type ChartKind = "line" | "bar" | "scatter" | "number";

/** Columns by their places in the result. */
export interface Chart {
  readonly kind: ChartKind;
  /** Undefined: the number of the row, or nothing for a single number. */
  readonly x: number | undefined;
  readonly y: readonly number[];
  /** The column whose values become series of their own. */
  readonly by: number | undefined;
}

/** Returns the chart for a result; undefined where no column is a number. */
export function chooseChart(columns: readonly ResultColumn[], rows: number): Chart | undefined {
  const of = placesByKind(columns);
  const [first, second] = of.number;
  if (first === undefined || rows === 0) return undefined;
  const [time] = of.time;
  const [text] = of.text;
  if (rows === 1) return { kind: "number", x: undefined, y: of.number, by: undefined };
  if (time !== undefined) return withX("line", time, of);
  if (text !== undefined) return withX("bar", text, of);
  if (second !== undefined) return { kind: "scatter", x: first, y: [second], by: undefined };
  return { kind: "bar", x: undefined, y: [first], by: undefined };
}

/** The chart of another kind over the same result, with the axes that suit it. */
export function chartOfKind(
  kind: ChartKind,
  columns: readonly ResultColumn[],
): Chart | undefined {
  const of = placesByKind(columns);
  const [first, second] = of.number;
  if (first === undefined) return undefined;
  if (kind === "number") return { kind, x: undefined, y: of.number, by: undefined };
  const [time] = of.time;
  const [text] = of.text;
  if (kind === "bar") return withX(kind, text ?? time, of);
  if (time === undefined && second !== undefined) {
    return { kind, x: first, y: [second], by: kind === "scatter" ? undefined : text };
  }
  return withX(kind, time, of);
}

type Places = Readonly<Record<"number" | "time" | "text", readonly number[]>>;

/** A text besides the axis splits the first number into series; else each number is one. */
function withX(kind: ChartKind, x: number | undefined, of: Places): Chart {
  const by = of.text.find((place) => place !== x);
  return { kind, x, y: by === undefined ? of.number : of.number.slice(0, 1), by };
}

function placesByKind(columns: readonly ResultColumn[]): Places {
  const places = (test: (column: ResultColumn) => boolean) =>
    columns.flatMap((column, at) => test(column) ? [at] : []);
  return {
    number: places(({ kind }) => kind === "number"),
    time: places(({ kind }) => kind === "time"),
    text: places(({ kind }) => kind === "text" || kind === "bool"),
  };
}
