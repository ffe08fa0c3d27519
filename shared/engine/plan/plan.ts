/**
 * What a statement will read, as a value. Each table has its snapshot, the files that its time
 * range leaves, the rows of the WAL that no snapshot holds yet, and the parts that DuckDB is given.
 * `cost/cost.ts` and `answer/stats.ts` are views of it; `bind/relation.ts` makes SQL of it.
 */

import type { StoredValue } from "../../parquet/reader/chunk_rows.ts";
import type { Column, TableSchema } from "../../schema/schema.ts";
import type { TableIdent } from "../../tenant/tenant.ts";
import { ALL_TIME, type DataFile, type TimeRange } from "../../iceberg/types.ts";
import type { CountedRows } from "./counted_by.ts";
import type { DeltaFile } from "./delta_file.ts";
import type { LostRows } from "./lost_rows.ts";
import type { IsComplete, MadeColumn } from "./made_columns.ts";
import type { Predicate } from "../pruning/predicate.ts";
import type { ReceivedTable } from "../shards/shard.ts";
import type { ScanOrdering } from "../types.ts";

/** What a statement reads of one table. */
export interface TablePlan {
  /** The name that statements give it. */
  readonly name: string;
  readonly ident: TableIdent;
  /** Columns that the statement can name, and those of `made` that it was rewritten to. */
  readonly schema: TableSchema;
  /** Columns that data files have, also promoted ones that no statement can name. */
  readonly stored: TableSchema;
  /** Columns of `schema` that each part makes of an attribute as it can, by name. */
  readonly made: ReadonlyMap<string, MadeColumn>;
  /** Whether a promoted column says all that the attributes of a file's rows do. */
  readonly isComplete: IsComplete;
  /** Names of the columns whose words are compared by their stems. */
  readonly stemmed: ReadonlySet<string>;
  /** Version in the catalog; undefined before the first commit, and for a call's table. */
  readonly version: TableVersion | undefined;
  readonly order: TableOrder;
  readonly range: TimeRange;
  readonly committed: CommittedRows;
  /** Live files before pruning. */
  readonly considered: number;
  /** What its rows lack, for people: a text for each thing. Default: nothing. */
  readonly lacking?: readonly string[];
  /** Files of `committed` whose time range meets `range`, oldest first. */
  readonly files: readonly DataFile[];
  /** Rows of the WAL, and what remains of files from which another engine deleted rows. */
  readonly delta: readonly DeltaFile[];
  /**
   * Rows of the WAL that are in `range` and in no file. A statement may count them by what is told
   * of them, and no more (`fast_paths/counted_hint.ts`). Absent: there are none.
   */
  readonly counted?: readonly CountedRows[];
  /** Rows of its WAL that cannot be read. */
  readonly lost?: LostRows | undefined;
  /** Parts of `files` and `delta` that are read. */
  readonly parts: readonly ScanPart[];
  /** Whether the parts hold just the newest or oldest rows that the answer can need. */
  readonly ordered: boolean;
  /**
   * What the statement's conditions left out (`pruning/`); undefined: they could leave out nothing.
   */
  readonly pruned: Pruning | undefined;
  /** Columns the statement can need. */
  readonly projected: readonly Column[];
  /** How often the statement reads it. */
  readonly scans: number;
  /** Name of a column that tells of each row its place among its parts: `placeOf`. */
  readonly place?: string;
  /** Rows of files, by key, beyond which nothing is read (`shards/`); absent: whole files are. */
  readonly cuts?: ReadonlyMap<string, readonly RowRange[]>;
  /** Set for a table of rows that other servers sent; its parts are their files. */
  readonly received?: ReceivedTable;
}

/** What the catalog says of a table that is there. */
export interface TableVersion {
  readonly uuid: string;
  /** Id of the snapshot; undefined: the table has columns and no commit. */
  readonly snapshotId: bigint | undefined;
  /** Id of the schema with its columns. */
  readonly schemaId: number;
}

/** What may be relied on of the order of a table's rows. */
export interface TableOrder {
  /** Id of the declared time order; 0 when there is none. */
  readonly id: number;
  /** Why an ordered scan cannot rely on what the table declares; undefined when it can. */
  readonly refusal: ScanOrdering | undefined;
  /**
   * Whether a bare SELECT is ordered newest-first. It is not for a call's table, nor for one whose
   * time field is not the column `timestamp`.
   */
  readonly isImplicit: boolean;
}

/** The table's order before its first commit. */
export const NO_ORDER: TableOrder = { id: 0, refusal: undefined, isImplicit: true };

/** Which committed rows are read. */
export type CommittedRows =
  | {
    readonly kind: "all";
    /** Live files of the same snapshot that can have rows in another range. */
    readonly filesIn: (range: TimeRange) => Promise<readonly DataFile[]>;
  }
  /**
   * All of them, but another engine deleted rows of some files: what remains of these files is
   * among the pieces of the WAL.
   */
  | { readonly kind: "most"; readonly filesIn: (range: TimeRange) => Promise<readonly DataFile[]> }
  /** The rows of files that came after an earlier snapshot. */
  | { readonly kind: "since"; readonly snapshotId: bigint }
  | { readonly kind: "none" };

/** What the statement's conditions leave of a table. */
export interface Pruning extends PrunedByIndex {
  /** What is known of the rows that the statement needs; `all`: nothing. */
  readonly condition: Predicate<Column>;
}

/** A Parquet file, or some of its rows. */
export type ScanPart = FilePart | DeltaPart;

interface PartOfFile {
  /** Local path. */
  readonly path: string;
  readonly rows: number;
  readonly rowGroups: number;
  readonly byteLength: number;
  /** Bytes by field id; empty when they are not recorded. */
  readonly columnSizes: ReadonlyMap<number, number>;
  /** Rows [first, end) by position in the file; undefined is all of them. */
  readonly range: RowRange | undefined;
  /** Only these rows of `range`, ascending; undefined: all of it. */
  readonly rowNumbers: Uint32Array | undefined;
  /** Whether DuckDB is told these. Otherwise, where they are not read by us, it reads all of it. */
  readonly isTold: boolean;
  /** Row groups that `range` touches; all of them when it is undefined. */
  readonly rowGroupsRead: number;
  /** Times between which its rows are. */
  readonly times: RowTimes;
}

/** A part of a committed data file. */
export interface FilePart extends PartOfFile {
  readonly origin: "file";
  readonly file: DataFile;
  readonly source: PartSource;
}

/** A part of a converted piece of the WAL. */
export interface DeltaPart extends PartOfFile {
  readonly origin: "delta";
  readonly delta: DeltaFile;
}

/** Where the rows of a data file are read. */
export type PartSource =
  | { readonly kind: "file" }
  /** A copy of some columns, at `path` (`files/decoded_files/`). */
  | { readonly kind: "copy"; readonly path: string }
  /** The rows that may be wanted, read already (`files/few_rows/`). */
  | { readonly kind: "rows" } & ReadRows;

/** Rows of a data file that were read out of its pages. */
export interface ReadRows {
  /** Their numbers in the file, ascending. */
  readonly numbers: Uint32Array;
  /** By field id, the wanted columns' values in the order of the rows. */
  readonly values: ReadonlyMap<number, readonly StoredValue[]>;
  /** Bytes of the pages. */
  readonly byteLength: number;
}

/** Unix nanoseconds, both inclusive; undefined where they are not known. */
export type RowTimes = Pick<DataFile, "timestampNsMin" | "timestampNsMax">;

/** What was left out because indexes (`shared/derived`) said so. */
export interface PrunedByIndex {
  /** Files without a row to read. */
  readonly files: number;
  /** Row groups of those files, and of others that are read in part. */
  readonly rowGroups: number;
}

/** Rows [first, end) by position in a file, from 0. */
export interface RowRange {
  readonly first: number;
  readonly end: number;
}

/** A part whose rows were read already. */
export type PartRead = FilePart & {
  readonly source: Extract<PartSource, { readonly kind: "rows" }>;
};

/** Whether the rows of a part were read already. */
export function isRead(part: ScanPart): part is PartRead {
  return part.origin === "file" && part.source.kind === "rows";
}

/** What a statement reads: a plan for each of its tables. */
export interface Plan {
  readonly tables: readonly TablePlan[];
}

/** Rows of what a plan reads, as often as it reads them. */
export function planRows(plan: Pick<Plan, "tables">): number {
  return rowsByPart(plan, partRows);
}

/** Rows that DuckDB scans of a plan which it scans whole. What was read for it is few rows. */
export function scannedRows(plan: Pick<Plan, "tables">): number {
  return rowsByPart(
    plan,
    (part) => isRead(part) || part.isTold ? partRows(part) : rowsInRange(part),
  );
}

function rowsByPart(
  { tables }: Pick<Plan, "tables">,
  rowsOf: (part: ScanPart) => number,
): number {
  return tables.reduce((sum, { parts, scans }) => sum + scans * sumOver(parts, rowsOf), 0);
}

function sumOver(parts: readonly ScanPart[], rowsOf: (part: ScanPart) => number): number {
  return parts.reduce((sum, part) => sum + rowsOf(part), 0);
}

/** A row's place in its file is below this. */
const FILE_PLACES = 2 ** 32;

/** Tells the part of a plan, by its number, and the row of its file that a place is of. */
export function placeOf(place: number): { readonly part: number; readonly row: number } {
  return { part: Math.floor(place / FILE_PLACES), row: place % FILE_PLACES };
}

/** The place of the first row of the file of a part, by its number in the plan. */
export function firstPlace(part: number): number {
  return part * FILE_PLACES;
}

/** Counts the files that the parts are of; several ranges of one file count once. */
export function countFiles(parts: readonly ScanPart[]): number {
  return new Set(parts.map((part) => part.path)).size;
}

/** Returns how many rows a part gives. */
export function partRows(part: ScanPart): number {
  return part.rowNumbers?.length ?? rowsInRange(part);
}

/** Rows of some parts: `partRows` of each. */
export function rowsOfParts(parts: readonly ScanPart[]): number {
  return sumOver(parts, partRows);
}

/** Returns how many rows DuckDB may have to decode for a part. */
export function rowsInRange({ rows, range }: ScanPart): number {
  return range === undefined ? rows : range.end - range.first;
}

/**
 * Returns the bytes of the projected columns in a part: recorded sizes, scaled by the share of rows
 * that is read.
 */
export function partBytes(part: ScanPart, projected: readonly Column[]): number {
  if (part.origin === "file" && part.source.kind === "rows") return part.source.byteLength;
  const whole = part.columnSizes.size === 0
    ? part.byteLength
    : projected.reduce((sum, column) => sum + (part.columnSizes.get(column.id) ?? 0), 0);
  return part.rows === 0 ? 0 : Math.ceil(whole * rowsInRange(part) / part.rows);
}

/** Whether a promoted column says all that the attributes of a part's rows do. */
export function isCompleteIn(
  { isComplete }: Pick<TablePlan, "isComplete">,
  part: ScanPart,
  column: Column,
): boolean {
  return part.origin === "file"
    ? isComplete(part.file, column)
    : part.delta.complete.has(column.id);
}

/** Whether one of `columns`, which hold an attribute, is complete in each file and piece. */
export function isWhole(
  { files, delta, isComplete }: Pick<TablePlan, "files" | "delta" | "isComplete">,
  columns: readonly Column[],
): boolean {
  return delta.every(({ complete }) => columns.some(({ id }) => complete.has(id))) &&
    files.every((file) => columns.some((column) => isComplete(file, column)));
}

/** Returns the part that is all of a committed file, at `path`. */
export function filePart(file: DataFile, path: string): FilePart {
  const rowGroups = Math.max(1, file.splitOffsets.length);
  return {
    path,
    rows: file.rows,
    rowGroups,
    byteLength: file.byteLength,
    columnSizes: file.columnSizes,
    range: undefined,
    rowNumbers: undefined,
    isTold: false,
    rowGroupsRead: rowGroups,
    times: file,
    origin: "file",
    file,
    source: { kind: "file" },
  };
}

/** Returns the plan that reads all of the table's files and pieces of the WAL. */
export function wholePlan(table: TablePlan, path: (file: DataFile) => string): TablePlan {
  const parts = [
    ...table.files.map((file) => filePart(file, path(file))),
    ...table.delta.map(deltaPart),
  ];
  return { ...table, parts };
}

/** Returns a table of nothing but these columns of some parts of one file. */
export function fileTable(
  file: DataFile,
  columns: readonly Column[],
  parts: readonly ScanPart[],
): TablePlan {
  return {
    name: "file",
    ident: { namespace: "", name: "file" },
    schema: { columns, tags: [] },
    stored: { columns, tags: [] },
    made: new Map(),
    isComplete: () => false,
    stemmed: new Set(),
    version: undefined,
    order: NO_ORDER,
    range: ALL_TIME,
    committed: { kind: "none" },
    considered: 1,
    files: [file],
    delta: [],
    parts,
    ordered: false,
    pruned: undefined,
    projected: columns,
    scans: 1,
  };
}

/** Returns the part that is all of a converted piece of the WAL. */
export function deltaPart(delta: DeltaFile): DeltaPart {
  return {
    path: delta.path,
    rows: delta.rows,
    rowGroups: 1,
    byteLength: delta.byteLength,
    columnSizes: delta.columnSizes,
    range: undefined,
    rowNumbers: undefined,
    isTold: false,
    rowGroupsRead: 1,
    times: delta,
    origin: "delta",
    delta,
  };
}

/** Whether rows between two instants all lie in `range`; the same instants as of `meets`. */
export function lieIn(
  { minNs, maxNs }: TimeRange,
  first: bigint | undefined,
  last: bigint | undefined,
): boolean {
  if (minNs !== undefined && (first === undefined || first < minNs)) return false;
  return !(maxNs !== undefined && (last === undefined || last > maxNs));
}

/**
 * Whether rows between two instants can lie in `range`. Instants are Unix nanoseconds, both
 * inclusive; undefined: not known.
 */
export function meets(
  range: TimeRange,
  first: bigint | undefined,
  last: bigint | undefined,
): boolean {
  if (range.minNs !== undefined && last !== undefined && last < range.minNs) return false;
  return !(range.maxNs !== undefined && first !== undefined && first > range.maxNs);
}
