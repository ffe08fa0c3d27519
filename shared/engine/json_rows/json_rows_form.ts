/**
 * Which statements have rows that are written as JSON from the pages of data files. They select
 * stored columns of one table and nothing else, in order of time. Bounds of time are the only
 * condition.
 */

import { INT64_EXACT_MAX } from "../../columns/timestamps.ts";
import { arePagesReadable } from "../../parquet/reader/column_pages.ts";
import type { Column } from "../../schema/schema.ts";
import type { DescribedColumn } from "../duckdb/driver.ts";
import { SQL_TYPES } from "../bind/relation.ts";
import { ROW_ENDS, uniqueNames } from "../answer/render.ts";
import type { DataFileLease } from "../files/data_files.ts";
import { chunkOf } from "../files/page_places.ts";
import type { BandRequest } from "../order/ordered_bands.ts";
import { isInside, unitTimes } from "../order/nearest_units.ts";
import type { FilePart, ScanPart, TablePlan } from "../plan/plan.ts";
import { namedColumns } from "../plan/projection.ts";
import type { Prepared } from "../prepared.ts";
import { listAt, nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import type { RowShape } from "../types.ts";

/** How rows are written. */
export interface JsonRowsForm {
  /** What is read: columns of the answer, and the time behind them where it is not among them. */
  readonly columns: readonly JsonRowsColumn[];
  /** How many of them the answer has. */
  readonly shown: number;
  /** The place of the time among them. */
  readonly ordered: number;
  /** What ends a row. */
  readonly after: string;
  readonly direction: BandRequest["direction"];
  /** Whether rows of the same time are in order of another column: those of one file are. */
  readonly isFiner: boolean;
}

export interface JsonRowsColumn {
  /** Field id. */
  readonly id: number;
  readonly type: Column["type"];
  /** What stands before each value. */
  readonly before: string;
  readonly isInstant: boolean;
}

const TIME = "timestamp";
const STAR_LISTS = ["exclude_list", "qualified_exclude_list", "replace_list", "rename_list"];
const TYPES: ReadonlySet<Column["type"]> = new Set(["string", "long", "timestamptz"]);

/** Undefined: DuckDB writes them. */
export function jsonRowsForm(
  { plan, path, statement, columns }: Pick<Prepared, "plan" | "path" | "statement" | "columns">,
  shape: RowShape,
): JsonRowsForm | undefined {
  const [table, ...others] = plan.tables;
  if (path.kind !== "scan" || path.bands === undefined || path.trial !== undefined) {
    return undefined;
  }
  if (table === undefined || others.length > 0 || !isWhole(table)) return undefined;
  if (shape !== "objects" && shape !== "arrays" && shape !== "array_lines") return undefined;
  const shown = shownColumns(statement.root, table, columns);
  const time = table.schema.columns.find(({ name }) => name === TIME);
  if (shown === undefined || time === undefined) return undefined;
  // The range that parts lie in is one of this column.
  const where = nodeAt(statement.root, "where_clause");
  if (where !== undefined && namedColumns(where)?.has(TIME) !== true) return undefined;
  if (where !== undefined && namedColumns(where)?.has("timestamp_ns") !== false) return undefined;
  const names = shape === "objects" ? uniqueNames(columns.map(({ name }) => name)) : undefined;
  const read = shown.includes(time) ? shown : [...shown, time];
  return {
    columns: read.map((column, at) => ({
      ...{ id: column.id, type: column.type, isInstant: column === time },
      before: (at > 0 ? "," : names === undefined ? "[" : "{") +
        (names === undefined ? "" : `${JSON.stringify(names[at] ?? TIME)}:`),
    })),
    shown: shown.length,
    ordered: read.indexOf(time),
    after: `${names === undefined ? "]" : "}"}${ROW_ENDS[shape]}`,
    direction: path.bands.direction,
    isFiner:
      nodesAt(statement.root, "modifiers").flatMap((one) => nodesAt(one, "orders")).length > 1,
  };
}

/** Microseconds of later times, from the year 2255 on, are not all numbers of JavaScript. */
const NS_MAX = INT64_EXACT_MAX * 1_000n;

/** Whether the rows of a part are all wanted, and in order of times that are written exactly. */
export function isWritable(part: ScanPart, { order, range }: TablePlan): part is FilePart {
  const { timestampNsMin, timestampNsMax } = part.times;
  return part.origin === "file" && part.source.kind === "file" && part.rowNumbers === undefined &&
    order.id !== 0 && part.file.sortOrderId === order.id &&
    timestampNsMin !== undefined && timestampNsMax !== undefined &&
    timestampNsMin >= -NS_MAX && timestampNsMax <= NS_MAX &&
    isInside({ ...unitTimes({ timestampNsMin, timestampNsMax }), rows: part.rows }, range);
}

/** Whether the columns' pages can be read in all that `parts` have of their files. */
export async function areReadable(
  parts: readonly FilePart[],
  { columns }: JsonRowsForm,
  lease: Pick<DataFileLease, "footer">,
): Promise<boolean> {
  for (const { file } of parts) {
    const { isOwn, rows, rowGroups } = await lease.footer(file);
    if (!isOwn || rows !== file.rows) return false;
    const areAll = rowGroups.every((group) =>
      columns.every(({ id, type }) => {
        const chunk = chunkOf(group, id);
        return chunk === undefined || arePagesReadable(chunk) && chunk.stored?.type === type;
      })
    );
    if (!areAll) return false;
  }
  return true;
}

/** The most parts of which rows may have the same time. */
export function filesAtOnce(parts: readonly Pick<ScanPart, "times">[]): number {
  const times = parts.map(({ times: { timestampNsMin: min = 0n, timestampNsMax: max = 0n } }) => ({
    min,
    max,
  }));
  return Math.max(
    0,
    ...times.map((one) => times.filter(({ min, max }) => min <= one.min && one.min <= max).length),
  );
}

/** Whether rows of the table are read as they lie in its files, the nearest in time of them. */
function isWhole({ ordered, cuts, place, received, order }: TablePlan): boolean {
  return ordered && cuts === undefined && place === undefined && received === undefined &&
    order.refusal === undefined;
}

/** The stored columns that the answer's columns are; undefined: some are something else. */
function shownColumns(
  root: TreeNode,
  table: TablePlan,
  described: readonly DescribedColumn[],
): readonly Column[] | undefined {
  const byName = new Map(table.schema.columns.map((column) => [column.name.toLowerCase(), column]));
  const shown: Column[] = [];
  for (const item of nodesAt(root, "select_list")) {
    const found = textAt(item, "class") === "STAR"
      ? starColumns(item, table)
      : namedColumn(item, byName);
    if (found === undefined) return undefined;
    shown.push(...found);
  }
  // Both know the answer's columns: what one of them saw otherwise is not written here.
  const isSame = shown.length === described.length &&
    shown.every((column, at) =>
      isPlain(column, table) && kindOf(column) === described[at]?.type.kind &&
      !/\p{Cc}/u.test(described[at].name)
    );
  return isSame && shown.length > 0 ? shown : undefined;
}

/** A star that leaves out, replaces or renames something is not looked into. */
function starColumns(item: TreeNode, { schema }: TablePlan): readonly Column[] | undefined {
  const isPlain = item["columns"] !== true && nodeAt(item, "expr") === undefined &&
    STAR_LISTS.every((list) => listAt(item, list).length === 0);
  return isPlain ? schema.columns : undefined;
}

function namedColumn(
  item: TreeNode,
  byName: ReadonlyMap<string, Column>,
): readonly Column[] | undefined {
  if (textAt(item, "class") !== "COLUMN_REF") return undefined;
  const names = listAt(item, "column_names");
  const column = names.length > 2 ? undefined : byName.get(String(names.at(-1)).toLowerCase());
  return column && [column];
}

/** Whether files have the column as it is, and as a type whose JSON is written here. */
function isPlain(column: Column, { made, stored }: TablePlan): boolean {
  return !made.has(column.name) && stored.columns.some(({ id }) => id === column.id) &&
    TYPES.has(column.type) && (column.type !== "timestamptz" || column.name === TIME);
}

function kindOf({ type }: Column): string {
  return type === "timestamptz" ? "TIMESTAMP_TZ" : SQL_TYPES[type];
}
