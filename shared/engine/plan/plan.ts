/**
 * What a statement will read, as a value: for each table the snapshot, the files that its time
 * range leaves, the rows of the WAL that no snapshot holds yet, and the parts DuckDB is
 * given. `shared/engine/cost/cost.ts` and `shared/engine/answer/stats.ts` are views of it;
 * `shared/engine/bind/relation.ts` makes SQL of it.
 */

import type { Column, TableSchema } from "../../schema/schema.ts";
import type { TableIdent } from "../../tenant/tenant.ts";
import { ALL_TIME, type DataFile, type TimeRange } from "../../iceberg/types.ts";
import type { DeltaFile } from "./delta_file.ts";
import type { Predicate } from "../pruning/predicate.ts";
import type { ScanOrdering } from "../types.ts";

export interface TablePlan {
  /** As statements name it. */
  readonly name: string;
  readonly ident: TableIdent;
  /** What the statement can name, and the columns of `unasked` that it was rewritten to. */
  readonly schema: TableSchema;
  /** Promoted columns that no statement can name (`schema/promoted.ts`); absent: none. */
  readonly unasked?: readonly Column[];
  /** Columns of `schema` that no file has: texts of attributes, by their names; absent: none. */
  readonly texts?: ReadonlyMap<string, AttributeText>;
  /** Names of the columns whose words are compared by their stems; absent: none. */
  readonly stemmed?: ReadonlySet<string>;
  /** Absent before the table is there. */
  readonly tableUuid?: string;
  /** undefined before the first commit. */
  readonly snapshotId: bigint | undefined;
  /** Of its columns; absent before the table is there. */
  readonly schemaId?: number;
  /** Of an earlier snapshot, whose files are not among `files`; absent: all are. */
  readonly since?: bigint;
  /** Id of the declared time order; 0 when there is none. */
  readonly sortOrderId: number;
  /**
   * A bare SELECT of it stays as written: it is no stored table, or its time field is not the
   * column `timestamp`.
   */
  readonly noImplicitOrder?: true;
  /** Why an ordered scan cannot rely on what the table declares; absent when it can. */
  readonly orderRefusal?: ScanOrdering;
  readonly range: TimeRange;
  /** Live files before pruning. */
  readonly considered: number;
  /** Files whose time range meets `range`, oldest first. */
  readonly files: readonly DataFile[];
  readonly delta: readonly DeltaFile[];
  /** What is read of `files` and `delta`. */
  readonly parts: readonly ScanPart[];
  /** Set when the parts hold just the newest or oldest rows that the answer can need. */
  readonly ordered: boolean;
  /** What is known of the rows that the statement needs; absent when nothing is (`pruning/`). */
  readonly condition?: Predicate<Column>;
  /** What that left out of `files` by indexes; present with `condition`. */
  readonly pruned?: PrunedByIndex;
  /** Columns the statement can need. */
  readonly projected: readonly Column[];
  /**
   * Live files of the same snapshot that can have rows in another range; absent: there are none.
   */
  readonly filesIn?: (range: TimeRange) => Promise<readonly DataFile[]>;
  /** How often the statement reads it (`shared/engine/cost/table_scans.ts`); absent: once. */
  readonly scans?: number;
  /**
   * Field ids of the columns that the parts hold; absent: all. Reading another is refused
   * (`shared/engine/bind/relation.ts`).
   */
  readonly columnsAtHand?: ReadonlySet<number>;
}

/**
 * What `attr_get` gives for an attribute: a promoted column says it, and the attributes where that
 * has no value.
 */
export interface AttributeText {
  readonly attribute: string;
  readonly source: Column;
}

/** A Parquet file, or some of its rows. */
export interface ScanPart {
  /** Local path. */
  readonly path: string;
  /** Absent: a piece of the WAL. */
  readonly file?: DataFile;
  /** Path of the data file of which a copy is read; absent: `path` is it. */
  readonly copyOf?: string;
  /**
   * Tables in memory that are read in place of the file, with all rows of `range`, and others;
   * absent: none.
   */
  readonly held?: readonly HeldBlock[];
  readonly rows: number;
  readonly rowGroups: number;
  readonly byteLength: number;
  /** Bytes by field id; empty when they are not recorded. */
  readonly columnSizes: ReadonlyMap<number, number>;
  /** Values by field id, nulls included, and those; absent: not known. */
  readonly counts?: Pick<DataFile, "valueCounts" | "nullCounts">;
  /** Rows [first, end) by position in the file; undefined is all of them. */
  readonly range: RowRange | undefined;
  /** Only these rows of `range`, ascending; absent: all of it. */
  readonly rowNumbers?: Uint32Array;
  /** Row groups that `range` touches; all of them when it is undefined. */
  readonly rowGroupsRead: number;
  readonly origin: "file" | "delta";
  /** Between which its rows are, where that is less than its file's; absent: not known. */
  readonly times?: RowTimes;
}

/** Unix nanoseconds, both inclusive. */
export type RowTimes = Pick<DataFile, "timestampNsMin" | "timestampNsMax">;

/** What was left out because indexes (`shared/derived`) said so. */
export interface PrunedByIndex {
  /** Files without a row to read. */
  readonly files: number;
  /** Row groups of those, and of others that are read in part. */
  readonly rowGroups: number;
}

export interface RowRange {
  readonly first: number;
  readonly end: number;
}

/** Rows of a data file that a table in memory holds (`held_rows/`). */
export interface HeldBlock {
  /** Rows by position in the file. */
  readonly rows: RowRange;
  /** Its table, as SQL. */
  readonly table: string;
}

export interface Plan {
  readonly tables: readonly TablePlan[];
  /** Of a statement that asked for one: `snapshot_pin.ts`. */
  readonly pin?: string;
}

/** Files that the parts are of; several ranges of one file count once. */
export function countFiles(parts: readonly ScanPart[]): number {
  return new Set(parts.map((part) => part.path)).size;
}

/** Rows that a part gives. */
export function partRows(part: ScanPart): number {
  return part.rowNumbers?.length ?? rowsInRange(part);
}

/** Rows that DuckDB may have to decode for it. */
export function rowsInRange({ rows, range }: ScanPart): number {
  return range === undefined ? rows : range.end - range.first;
}

/**
 * Bytes of the projected columns in a part: recorded sizes, scaled by the share of rows that is
 * read.
 */
export function partBytes(part: ScanPart, projected: readonly Column[]): number {
  const whole = part.columnSizes.size === 0
    ? part.byteLength
    : projected.reduce((sum, column) => sum + (part.columnSizes.get(column.id) ?? 0), 0);
  return part.rows === 0 ? 0 : Math.ceil(whole * rowsInRange(part) / part.rows);
}

/** The part that is all of a committed file, at `path`. */
export function filePart(file: DataFile, path: string): ScanPart {
  const rowGroups = Math.max(1, file.splitOffsets.length);
  return {
    path,
    file,
    rows: file.rows,
    rowGroups,
    byteLength: file.byteLength,
    columnSizes: file.columnSizes,
    counts: file,
    range: undefined,
    rowGroupsRead: rowGroups,
    origin: "file",
  };
}

/** Whether each row of a file has a value in the column. */
export function isFilled(
  { rows, counts }: Pick<ScanPart, "rows" | "counts">,
  { id }: Column,
): boolean {
  return counts?.valueCounts.get(id) === rows && counts.nullCounts.get(id) === 0;
}

/** The plan that reads all of its files and pieces of the WAL. */
export function wholePlan(table: TablePlan, path: (file: DataFile) => string): TablePlan {
  const parts = [
    ...table.files.map((file) => filePart(file, path(file))),
    ...table.delta.map(deltaPart),
  ];
  return { ...table, parts };
}

/** A table of nothing but these columns of some parts of one file. */
export function fileTable(
  file: DataFile,
  columns: readonly Column[],
  parts: readonly ScanPart[],
): TablePlan {
  return {
    name: "file",
    ident: { namespace: "", name: "file" },
    schema: { columns, tags: [] },
    snapshotId: undefined,
    sortOrderId: 0,
    range: ALL_TIME,
    considered: 1,
    files: [file],
    delta: [],
    parts,
    ordered: false,
    projected: columns,
  };
}

/** The part that is all of a converted piece of the WAL. */
export function deltaPart(delta: DeltaFile): ScanPart {
  return {
    path: delta.path,
    rows: delta.rows,
    rowGroups: 1,
    byteLength: delta.byteLength,
    columnSizes: delta.columnSizes,
    range: undefined,
    rowGroupsRead: 1,
    origin: "delta",
  };
}

/** Whether rows between two instants can lie in `range`. */
export function meets(
  range: TimeRange,
  first: bigint | undefined,
  last: bigint | undefined,
): boolean {
  if (range.minNs !== undefined && last !== undefined && last < range.minNs) return false;
  return !(range.maxNs !== undefined && first !== undefined && first > range.maxNs);
}
