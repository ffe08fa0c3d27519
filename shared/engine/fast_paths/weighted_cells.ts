/**
 * Counts and measures by key (`CubePart`) as weighted rows. They come from cubes, from what the WAL
 * tells of its rows, and from instants in memory.
 */

import {
  cellKey,
  type Cells,
  cellsOf,
  partsOfKey,
  sumOfCells,
} from "../../derived/summary/cells.ts";
import { type MeasuredCells, sumOfMeasures } from "../../derived/summary/measured_cells.ts";
import type { TalliedColumns } from "../plan/counted_by.ts";
import { cellsIn, type MinuteRange } from "./cut_range.ts";
import type { MinuteRows } from "./edge_times.ts";
import type { CubePart } from "./file_part.ts";
import type { TableCubes } from "./table_answers.ts";
import type { WeightedRows } from "./weighted_relation.ts";
import type { WeightedStatement } from "./weighted_statement.ts";

/** What sums of a column without values are. */
export const NO_MEASURES: MeasuredCells = { kind: "integer", units: 0, cells: new Map() };

/** What a cube by minute has of some minutes. */
export function partOfMinutes({ cells, measures }: CubePart, minutes: MinuteRange): CubePart {
  const [from, to] = [cellKey(minutes.first, 0), cellKey(minutes.end, 0)];
  const between = (all: MeasuredCells): MeasuredCells => ({
    ...all,
    cells: new Map([...all.cells].filter(([key]) => key >= from && key < to)),
  });
  return {
    cells: cellsIn(cells, minutes),
    measures: new Map([...measures].map(([id, own]) => [id, between(own)])),
  };
}

/** What a cube by minute has of all its minutes together. */
export function withoutMinutes({ cells, measures }: CubePart): CubePart {
  const withoutMinute = (key: number) => cellKey(0, partsOfKey(key).b);
  const totals = new Map<number, number>();
  cells.keys.forEach((key, at) => {
    const own = withoutMinute(key);
    totals.set(own, (totals.get(own) ?? 0) + (cells.counts[at] as number));
  });
  const keys = Float64Array.from(totals.keys()).sort();
  const sums = new Map([...measures].flatMap(([id, own]) => {
    const single = [...own.cells].map(([key, cell]) => ({
      ...own,
      cells: new Map([[withoutMinute(key), cell]]),
    }));
    const sum = sumOfMeasures(single);
    return sum === undefined ? [] : [[id, sum] as const];
  }));
  return {
    cells: { keys, counts: Float64Array.from(keys, (key) => totals.get(key) ?? 0) },
    measures: sums,
  };
}

/** Rows by minute and nothing else. */
export function cellsOfMinutes(rows: readonly MinuteRows[]): Cells {
  return cellsOf(rows.map(({ minute }) => cellKey(minute, 0)), rows.map(({ rows }) => rows));
}

/** Rows that the WAL tells by value. Undefined: by other values than are wanted. */
export function talliedCells(
  by: TalliedColumns | undefined,
  { minutes, columns, measures, filter, filled }: WeightedStatement,
  cubes: Pick<TableCubes, "valuesOf">,
): Cells | undefined {
  if (by === undefined || measures.length > 0 || filter !== undefined) return undefined;
  const places = columns.map(({ id, words }) => words === undefined ? by.ids.indexOf(id) : -1);
  const filledPlaces = filled.map(({ id }) => by.ids.indexOf(id));
  if (places.includes(-1) || filledPlaces.includes(-1)) return undefined;
  const own = columns.map((column) => cubes.valuesOf(column));
  const keys: number[] = [];
  for (const { minute, values } of by.cells) {
    if (filledPlaces.some((place) => values[place] === null)) return undefined;
    const ids: number[] = [];
    for (const [at, place] of places.entries()) {
      const value = values[place] ?? null;
      const id = own[at]?.id(value === null ? null : String(value));
      if (id === undefined) return undefined;
      ids.push(id);
    }
    const [a = 0, b = 0] = minutes ? [minute, ...ids] : ids.length < 2 ? [0, ...ids] : ids;
    keys.push(cellKey(a, b));
  }
  return cellsOf(keys, by.cells.map(({ rows }) => rows));
}

/**
 * All of `parts` as weighted rows, with `counted` rows besides of which nothing but their number is
 * wanted.
 */
export function weightedRows(
  parts: readonly CubePart[],
  { minutes, columns, measures }: WeightedStatement,
  { cubes, counted }: { readonly cubes: Pick<TableCubes, "valuesOf">; readonly counted: number },
): WeightedRows {
  const { keys, counts } = sumOfCells(parts.map(({ cells }) => cells));
  const allKeys = [...keys, ...(counted > 0 ? [0] : [])];
  const split = allKeys.map(partsOfKey);
  return {
    weights: [...counts, ...(counted > 0 ? [counted] : [])],
    minutes: minutes ? split.map(({ a }) => a) : [],
    columns: columns.map((column, at) => {
      const isFirst = !minutes && columns.length === 2 && at === 0;
      return {
        values: cubes.valuesOf(column).values,
        ids: split.map(({ a, b }) => isFirst ? a : b),
      };
    }),
    measures: measures.map(({ column }) => ({
      cells: sumOfMeasures(parts.flatMap((part) => part.measures.get(column.id) ?? [])) ??
        NO_MEASURES,
      keys: allKeys,
    })),
  };
}
