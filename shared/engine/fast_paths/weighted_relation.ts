/** Weighted rows as SQL, which replaces the table while a weighted statement runs. */

import type { MeasuredCells } from "../../derived/summary/measured_cells.ts";
import type { GroupValue } from "../../derived/summary/summary_blobs.ts";
import type { Column } from "../../schema/schema.ts";
import type { TimeRange } from "../../iceberg/types.ts";
import { SQL_TYPES } from "../bind/relation.ts";
import { type BindText, quoteName, quoteText } from "../duckdb/statement_text.ts";
import { type Measure, measureName, type MeasurePart, WEIGHT } from "./weighted_aggregates.ts";

/** The columns of weighted rows, in their order. */
export interface WeightedColumns {
  readonly minutes: boolean;
  readonly columns: readonly Column[];
  readonly measures: readonly Measure[];
  /** Columns that are NULL in weighted rows. */
  readonly unneeded: readonly Column[];
  /** What the table's own rows have in place of a column, by the column's name. */
  readonly ownValues: ReadonlyMap<string, { readonly sql: string }>;
  /** Which of the table's own rows are meant; undefined: all. */
  readonly filter: { readonly sql: string } | undefined;
}

/** Weighted rows whose data is all here. */
export interface WeightedRows {
  readonly weights: readonly number[];
  /** The minute of each row, when the columns include `minutes`. */
  readonly minutes: readonly number[];
  /** For each of the columns: what ids mean, and the id of each row. 0 is NULL. */
  readonly columns: readonly {
    readonly values: readonly GroupValue[];
    readonly ids: readonly number[];
  }[];
  /** For each of the measures: the key of each row in `cells`. */
  readonly measures: readonly { readonly cells: MeasuredCells; readonly keys: readonly number[] }[];
}

/**
 * A SELECT of `rows`. Their values are bound, so that the text of the statement does not depend on
 * them.
 */
export function rowsSql(shape: WeightedColumns, rows: WeightedRows, bind: BindText): string {
  const lists: string[] = [];
  const list = (values: readonly (number | string | null)[], type: string) => {
    const name = `l${lists.length}`;
    lists.push(`${listSql(values, type, bind)} AS ${name}`);
    return name;
  };
  const selected: string[] = [];
  if (shape.minutes) {
    const minute = list(rows.minutes, "BIGINT");
    selected.push(`make_timestamptz(${minute} * 60000000) AS "timestamp"`);
  }
  shape.columns.forEach((column, at) => {
    const own = rows.columns[at] ?? { values: [], ids: [] };
    const used = [...new Set(own.ids)].filter((id) => id !== 0).sort((a, b) => a - b);
    const type = SQL_TYPES[column.type];
    const texts = used.map((id) => own.values[id] ?? null);
    const isRepeated = used.length * REPEATED_MIN <= own.ids.length;
    const value = isRepeated
      ? `(from_json(${quoteText(JSON.stringify(texts))}, '["VARCHAR"]')::${type}[])[${
        list(placesOf(used, own.ids), "INTEGER")
      }]`
      : `${
        list(own.ids.map((id) => id === 0 ? null : own.values[id] ?? null), "VARCHAR")
      }::${type}`;
    selected.push(`${value} AS ${quoteName(column.name)}`);
  });
  selected.push(...shape.unneeded.map(nullSql));
  selected.push(`${list(rows.weights, "BIGINT")} AS ${quoteName(WEIGHT)}`);
  shape.measures.forEach((measure, at) => {
    const { cells, keys } = rows.measures[at] ?? { cells: { cells: new Map() }, keys: [] };
    for (const part of measure.parts) {
      const values = keys.map((key) => partText(part, cells as MeasuredCells, key));
      const name = list(values, "VARCHAR");
      const type = partType(part, measure.column);
      const value = type === "TIMESTAMPTZ"
        ? `make_timestamptz(${name}::BIGINT)`
        : `${name}::${type}`;
      selected.push(`${value} AS ${quoteName(measureName(part, measure.column))}`);
    }
  });
  return `SELECT ${selected.join(", ")} FROM (SELECT ${lists.join(", ")})`;
}

function nullSql({ name, type }: Column): string {
  return `NULL::${SQL_TYPES[type]} AS ${quoteName(name)}`;
}

/**
 * How often a value must stand on average for all values to be written once, and then named by
 * their places.
 */
const REPEATED_MIN = 8;

/** For each row the place of its id among `used`, from 1; 0 is NULL. */
function placesOf(used: readonly number[], ids: readonly number[]): number[] {
  const places = new Map(used.map((id, i) => [id, i + 1]));
  return ids.map((id) => places.get(id) ?? 0);
}

/** A SELECT of the table's own rows as weighted ones: each stands for itself. */
export function ownRowsSql(
  shape: WeightedColumns,
  { relation, ranges, areFilled }: {
    readonly relation: string;
    readonly ranges: readonly TimeRange[];
    /** Whether they are of files that have no need of `unneeded`. */
    readonly areFilled: boolean;
  },
): string {
  const valueOf = ({ name }: Column) => shape.ownValues.get(name)?.sql ?? quoteName(name);
  const selected = [
    ...(shape.minutes ? [`utc_date_trunc('minute', "timestamp") AS "timestamp"`] : []),
    ...shape.columns.map((column) => `${valueOf(column)} AS ${quoteName(column.name)}`),
    ...shape.unneeded.map((column) =>
      areFilled ? nullSql(column) : `${valueOf(column)} AS ${quoteName(column.name)}`
    ),
    `1::BIGINT AS ${quoteName(WEIGHT)}`,
    ...shape.measures.flatMap(({ column, parts }) =>
      [...parts].map((part) =>
        `${ownPart(part, column, valueOf(column))} AS ${quoteName(measureName(part, column))}`
      )
    ),
  ];
  const conditions = [withinSql(ranges), shape.filter?.sql ?? ""].filter((one) => one !== "");
  const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  return `SELECT ${selected.join(", ")} FROM (${relation})${where}`;
}

function ownPart(part: MeasurePart, column: Column, value: string): string {
  if (part === "values") return `(CASE WHEN ${value} IS NULL THEN 0 ELSE 1 END)::BIGINT`;
  return `${value}::${partType(part, column)}`;
}

function partType(part: MeasurePart, { type }: Column): string {
  if (part === "values") return "BIGINT";
  if (part === "sum" && type !== "double") return "HUGEINT";
  return SQL_TYPES[type];
}

function partText(
  part: MeasurePart,
  { cells, units, kind }: MeasuredCells,
  key: number,
): string | null {
  const cell = cells.get(key);
  if (cell === undefined) return null;
  switch (part) {
    case "values":
      return String(cell.values);
    case "sum":
      return kind === "double" ? String(Number(cell.sum) / 2 ** (units ?? 0)) : String(cell.sum);
    case "smallest":
      return String(cell.smallest);
    case "largest":
      return String(cell.largest);
  }
}

/**
 * One `unnest` of a bound JSON text. It takes 0.12 µs a value; a value that is written into the
 * statement takes 0.3, a list of constants 4.
 */
function listSql(
  values: readonly (number | string | null)[],
  type: string,
  bind: BindText,
): string {
  return `unnest(from_json(${bind(JSON.stringify(values))}, '["${type}"]'))`;
}

/** A condition for rows in one of `ranges`; "" where it holds for all. */
function withinSql(ranges: readonly TimeRange[]): string {
  const conditions = ranges.map(rangeSql);
  return conditions.includes("") ? "" : `(${conditions.join(" OR ")})`;
}

/**
 * A condition for one range. A bound that is a whole microsecond is one of `timestamp`, by which
 * files are sorted and pruned.
 */
function rangeSql({ minNs, maxNs }: TimeRange): string {
  const conditions: string[] = [];
  if (minNs !== undefined) {
    conditions.push(
      floorMod(minNs) === 0n
        ? `"timestamp" >= make_timestamptz(${minNs / 1_000n})`
        : `"timestamp_ns" >= ${minNs}`,
    );
  }
  if (maxNs !== undefined) {
    conditions.push(
      floorMod(maxNs) === 999n
        ? `"timestamp" <= make_timestamptz(${(maxNs - 999n) / 1_000n})`
        : `"timestamp_ns" <= ${maxNs}`,
    );
  }
  return conditions.length === 0 ? "" : `(${conditions.join(" AND ")})`;
}

function floorMod(ns: bigint): bigint {
  return ((ns % 1_000n) + 1_000n) % 1_000n;
}
