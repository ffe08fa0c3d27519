/**
 * The engine from outside: a statement is prepared (parsed, gated, planned, priced) and then run
 * once. Reports (`Cost`, `Stats`) have the members of docs/api/query.md#records-answer; they are
 * measured or absent.
 */

import type { TimeRange } from "../iceberg/types.ts";
import type { Column, ColumnType } from "../schema/schema.ts";
import type { FollowPosition } from "./follow/follow_position.ts";
import type { DeltaFile } from "./plan/delta_file.ts";
import type { FrozenTables, ReceivedTable, Shard } from "./shards/shard.ts";

/**
 * A value has the type that it would have if it were written into the statement; a typed one has
 * its own.
 */
export type ParameterValue = string | number | boolean | null | TypedParameter;

/** A value of a type that is named, as DuckDB's cast from a text reads it. */
export type TypedParameter =
  | { readonly type: ParameterType; readonly text: string | null }
  /** A list whose items have the type. */
  | { readonly type: ParameterType; readonly items: readonly (string | null)[] | null };

/** Types that a parameter may have: DuckDB's names, with its short ones for times with zones. */
export type ParameterType =
  | "BOOLEAN"
  | "SMALLINT"
  | "INTEGER"
  | "BIGINT"
  | "HUGEINT"
  | "FLOAT"
  | "DOUBLE"
  | `DECIMAL(${number},${number})`
  | "VARCHAR"
  | "BLOB"
  | "DATE"
  | "TIME"
  | "TIMESTAMP"
  | "TIMESTAMPTZ"
  | "INTERVAL"
  | "UUID";

/** For `?` and `$1` a list, for `$name` an object. */
export type Parameters =
  | readonly ParameterValue[]
  | Readonly<Record<string, ParameterValue>>;

/** What a statement is told of the session that it is asked in, where it asks for it. */
export interface PgSession {
  /** The name that the client gave itself. */
  readonly user: string;
  readonly database: string;
  /** What `version()` gives. */
  readonly version: string;
  readonly processId: number;
  /** Settings by their lower-cased names. */
  readonly settings: ReadonlyMap<string, string>;
}

export interface QueryRequest {
  readonly sql: string;
  /** Values of the statement's parameters; absent: it has none. */
  readonly parameters?: Parameters;
  /** The only namespace whose tables the statement can name. */
  readonly namespace: string;
  /** The session that it is asked in; absent: there is none. */
  readonly session?: PgSession;
  /** Tenant whose WAL lanes are read besides. */
  readonly tenant: string;
  /**
   * Whether a bare SELECT over one eligible table is ordered newest-first. `limited`: where its
   * LIMIT makes the order decide which rows it has.
   */
  readonly defaultOrder: boolean | "limited";
  /**
   * A snapshot pin: only committed snapshots are read, and one pin always reads the same ones. It
   * is `latest`, or what `Stats.snapshot` said before. Without it rows of the WAL are read, too.
   */
  readonly snapshot?: string;
  /**
   * An earlier snapshot of the table, beside `snapshot`. Only files that came after it are read,
   * where no commit since took rows out. It is for callers that keep what it held;
   * `PlannedTable.since` says whether it was used. Rows that moved come again.
   */
  readonly since?: string;
  /**
   * Whether only rows of the WAL that no snapshot holds yet are read. It is for callers that know
   * what the snapshots hold.
   */
  readonly uncommittedOnly?: boolean;
  /**
   * Asks for what summaries count of the table's columns (`PreparedQuery.columnCounts`). Where
   * there are such counts, the statement itself reads only rows that no snapshot holds yet.
   */
  readonly columnCounts?: ColumnCountsRequest;
  /** Reads only some rows of one table: a shard of a statement that many servers share. */
  readonly shard?: Shard;
  /**
   * The tables as another statement of this server found them, which holds the leases. No catalog
   * is read for these. It is for the parts of one statement, which read one state of the tables.
   */
  readonly frozen?: FrozenTables;
  /** Rows that other servers sent, which the statement can name as a table. */
  readonly received?: ReceivedTable;
  /** Reads nothing but the rows of a step (`follow/`). */
  readonly step?: FollowStep;
  /** Whether subqueries may be run before the statement (`subqueries/`); default true. */
  readonly subqueriesFirst?: boolean;
  /**
   * Prepares the parts of a statement whose subqueries are run first, and the statement itself
   * where they cannot be. Default: this engine does.
   */
  readonly prepareParts?: (part: QueryRequest) => Promise<PreparedQuery>;
  /** Whether summaries may answer instead of rows (`fast_paths/`); default true. */
  readonly fastPaths?: boolean;
  /**
   * Whether the answer must be exact. Else it may come with bounds where an exact one takes a scan;
   * default true.
   */
  readonly isExact?: boolean;
  /**
   * Whether only its price and its plan are asked, and work for its answer is not begun; default
   * false.
   */
  readonly planOnly?: boolean;
  /**
   * Whether it was asked before, and DuckDB's process ended under it. Should another one end, it is
   * not asked once more; default false.
   */
  readonly isBegunAnew?: boolean;
  /**
   * Rows wanted at most. The run has one more when the statement has more, so that truncation
   * shows.
   */
  readonly rowsMax: number;
  /**
   * Rows that the run may take from its sources beyond the planned ones. Past it: `too_large`
   * (`duckdb/rows_breaker.ts`).
   */
  readonly rowsScannedMax?: number;
  /** Wall clock for planning and running, in milliseconds. Past it: `deadline_exceeded`. */
  readonly deadlineMs: number;
  /**
   * How long it waits for a scheduler slot; default: until the deadline. Past it: `rate_limited`.
   */
  readonly waitMs?: TurnWaits;
  /**
   * Whether it is a batch job's: it may take long, and runs in a slot for batch jobs, whatever its
   * price.
   */
  readonly batch?: boolean;
  /** Aborts when the caller is gone: the statement is interrupted. */
  readonly signal?: AbortSignal;
}

/** What is to be counted of the one table that a statement reads. */
export interface ColumnCountsRequest {
  readonly range: TimeRange;
  /** Names of columns and attributes; absent: all that summaries count. */
  readonly names?: readonly string[];
}

/** What summaries say of a table's committed rows in a range of time. */
export interface ColumnCounts {
  /** Rows in the range, which is widened to whole minutes. */
  readonly rows: number;
  /** Whether `rows` is the number of rows in the very range. */
  readonly isExact: boolean;
  readonly columns: readonly ColumnCount[];
}

/** How many rows have which values of a column, or of an attribute that has a column. */
export interface ColumnCount {
  readonly name: string;
  readonly isAttribute: boolean;
  readonly type: ColumnType;
  /** Rows with a value. */
  readonly rows: number;
  /** Rows of files whose summaries count the column, also those without a value. */
  readonly rowsCounted: number;
  /** Rows by value; values are texts, as `::VARCHAR` writes them. */
  readonly values: ReadonlyMap<string, number>;
}

/** How long a statement waits for its slots, in milliseconds. */
export interface TurnWaits {
  /** Wait for the slot to be planned in, and to run in if it is cheap. */
  readonly light: number;
  /** Wait for the slot to run in if it is expensive. */
  readonly dear: number;
}

export interface Engine extends AsyncDisposable {
  /** Resident memory of each process of its own; absent or empty: it has none. */
  readonly residentBytes?: readonly number[];
  /** Whether no statement is at work; absent: that is not known. */
  readonly isIdle?: boolean;
  /**
   * Plans a statement. Errors: `invalid_argument` (bad SQL, not one SELECT, refused function,
   * unknown table), with a stable `reason`; `deadline_exceeded`; `unavailable` (memory pool or
   * spill cap). It is `rate_limited` when it got no slot within `waitMs`, or too many wait.
   */
  prepare(request: QueryRequest): Promise<PreparedQuery>;
  /**
   * DuckDB's types of a statement's parameters by their names, as its binder infers them; null
   * where nothing tells. Runs nothing. Absent in engines of tests. Errors: those of `prepare`.
   */
  parameterTypes?(request: QueryRequest): Promise<ReadonlyMap<string, string | null>>;
  /**
   * Checks that a predicate (`predicate/row_predicate.ts`) is one over the columns of a table.
   * Errors: `invalid_argument` with the place; `not_found` (`unknown_index`); those of `prepare`.
   */
  checkPredicate(request: PredicateRequest): Promise<CheckedPredicate>;
  /**
   * Runs a tiny statement wherever statements run, and reads the catalog. Throws when either fails.
   */
  ping(): Promise<void>;
  /**
   * Why no statement can run at this moment, as far as that is known without asking. Undefined: one
   * can.
   */
  readonly problem: string | undefined;
  /** What the memory pool and the spill space hold now, all statements and caches together. */
  memory(): Promise<MemoryUse>;
  /** Statements in line now. */
  waiting(): StatementsWaiting;
  /** Follows the rows of a table as they come. Absent in engines of tests. */
  follow?(table: FollowedTable): TableFollower;
  close(): Promise<void>;
}

export interface FollowedTable {
  readonly namespace: string;
  readonly tenant: string;
  readonly table: string;
}

/** A table that is followed, until it is disposed. Whoever follows it gets the same steps. */
export interface TableFollower extends Disposable {
  /** The end of what there is. Errors: those of catalog and store. */
  end(): Promise<FollowPosition>;
  /** The rows behind a position, as far as they are there. Errors: those of catalog and store. */
  next(position: FollowPosition): Promise<FollowedRows>;
}

/** What is behind a position of a table that is followed. */
export type FollowedRows =
  /** No rows. */
  | { readonly kind: "none"; readonly position: FollowPosition }
  /** Rows, which a statement with this step reads. Dispose it after that. */
  | {
    readonly kind: "rows";
    /** Rows of the step, whatever a statement makes of them. */
    readonly rows: number;
    /** Whether there were no more rows behind them. */
    readonly isLast: boolean;
    readonly position: FollowPosition;
    readonly step: FollowStep;
    readonly [Symbol.dispose]: () => void;
  }
  /** Rows that cannot be read any more, or not be told from those before. */
  | { readonly kind: "lost"; readonly position: FollowPosition };

/** Rows of a table that came together. */
export type FollowStep =
  | { readonly kind: "wal"; readonly appended: AppendedRows }
  /** The files that came with `snapshot`, a pin, after `since`. */
  | { readonly kind: "commit"; readonly snapshot: string; readonly since: string | undefined };

/** Rows of a segment of the WAL, as a Parquet file. */
export interface AppendedRows {
  readonly file: DeltaFile;
  readonly columns: readonly Column[];
  /** Epoch of the rows: `TableSchema.epoch`. */
  readonly epoch: number;
}

export interface PredicateRequest {
  readonly predicate: string;
  readonly namespace: string;
  readonly tenant: string;
  readonly table: string;
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
}

export interface CheckedPredicate {
  /** The table's incarnation; undefined before its first commit. */
  readonly tableUuid: string | undefined;
}

export interface StatementsWaiting {
  /** Statements that wait to be planned, and cheap ones that wait to run. */
  readonly light: number;
  /** Statements that are planned, and so expensive that only a few run at once. */
  readonly dear: number;
  readonly batch: number;
  /** Shards of statements that other servers share. */
  readonly shard: number;
}

/** Memory in bytes. */
export interface MemoryUse {
  readonly poolBytes: number;
  readonly poolBytesMax: number;
  readonly spillBytes: number;
  readonly spillBytesMax: number;
  /** What holds the pool, the largest first. A consumer that holds nothing is not among them. */
  readonly consumers: readonly MemoryConsumer[];
}

export interface MemoryConsumer {
  /** DuckDB's word, for example `hash_table`. */
  readonly tag: string;
  readonly bytes: number;
}

export interface PreparedQuery extends AsyncDisposable {
  /** What its answer has. */
  readonly columns: readonly ResultColumn[];
  readonly cost: Cost;
  readonly tables: readonly PlannedTable[];
  /** What would answer. */
  readonly servedBy: ServedBy;
  /** Why no fast path answers; absent where one does. */
  readonly aside?: string;
  /** What the request asked for by `columnCounts`; absent: no summary has it. */
  readonly columnCounts?: ColumnCounts;
  /**
   * Bytes of data files that it reads and that the object store must send; 0 for a folder, and
   * where that is not known.
   */
  readonly storeBytes?: number;
  /** Whether it reads just the newest or oldest rows that it needs. Absent: it does not. */
  readonly isOrdered?: boolean;
  /** Whether its subqueries are run first, where that is possible. Absent: they are not. */
  readonly runsSubqueriesFirst?: boolean;
  /** Whether it reserves memory itself, while it runs. Absent: it does not. */
  readonly reservesLater?: boolean;
  /** Whether the newest-first order was added. */
  readonly defaultOrderApplied: boolean;
  /** Physical plan as text, after a line that says which path answers, or why no fast path does. */
  explain(): Promise<string>;
  /**
   * Waits for its slot, which a cheap statement has at once. Holds the slot until disposed. Errors:
   * `rate_limited` when no slot was free within `waitMs`; `deadline_exceeded`.
   */
  turn(): Promise<void>;
  /** Runs the statement. Waits for its slot first where that was not done. */
  run(): Promise<RunningQuery>;
}

export interface PlannedTable {
  readonly table: string;
  /** null before the first commit. A string: snapshot ids need 64 bits. */
  readonly snapshot_id: string | null;
  /** The snapshot of the request whose files are left out; absent: no files are. */
  readonly since?: string;
  readonly files: number;
  /**
   * The counts of `ScanStats`. They are absent where the statement's conditions could not leave
   * anything out, or will when it runs.
   */
  readonly files_pruned_bloom?: number;
  readonly row_groups_pruned_bloom?: number;
}

export interface RunningQuery extends AsyncDisposable {
  readonly columns: readonly ResultColumn[];
  /**
   * Bounds of an answer that is not exact (`served_by` is `sketch`). See docs/api/query.md#stats.
   */
  readonly approximation?: Readonly<object>;
  /**
   * Result rows as text, a chunk at a time, produced as fast as they are taken. `arrays` is
   * `[1,"a"],` per row, with its comma, and one row past `rowsMax` at most. `array_lines` has a
   * line feed after each such comma, and no other line feeds. `objects` is `{"a":1}` and a line
   * feed per row. `csv` is a line of RFC 4180 per row, its texts in quotes. All but `arrays` may
   * have many more rows: the reader stops.
   */
  chunks(shape: RowShape): AsyncIterable<ResultChunk>;
  /** Result rows as `shape` says, as Arrow messages; absent: there are no such rows. */
  packed?(shape: PackedShape): AsyncIterable<ResultChunk>;
  /**
   * The Arrow message before those of `arrow`: names and types of the columns. `names` stand in
   * place of the columns' own.
   */
  arrowSchema(names?: readonly string[]): Uint8Array<ArrayBuffer>;
  /** What the run did so far. */
  progress(): RunProgress;
  /** Complete once `chunks` is exhausted. */
  stats(): Promise<Stats>;
}

/** `arrow_flat` is `arrow` in which values are single or lists of such; others are JSON texts. */
export type RowShape = TextShape | "arrow" | "arrow_flat";

/**
 * Rows as texts in which gaps are left for what a protocol writes before and between its texts. The
 * first column of an Arrow message has the rows. The others have the values that are no texts, and
 * the lengths in bytes (int32) of those that are. A value that is null has no bytes in its row.
 */
export interface PackedShape {
  /** Bytes before the first value of a row. */
  readonly headBytes: number;
  /** Bytes before each value. */
  readonly lengthBytes: number;
  /** By column: the bytes that its values take; undefined: its texts stand in the row. */
  readonly widths: readonly (number | undefined)[];
}

/** Shapes whose rows are texts. */
export type TextShape = "arrays" | "array_lines" | "objects" | "csv";

export interface RunProgress {
  /** Rows that it took from its sources. */
  readonly rows: number;
  /** DuckDB's guess, 0 to 100; undefined while it has none. */
  readonly percent: number | undefined;
}

export interface ResultColumn {
  readonly name: string;
  /** DuckDB's type name, for example `VARCHAR`. */
  readonly type: string;
}

export interface ResultChunk {
  readonly rowCount: number;
  /**
   * The texts of the first `rows` rows, all by default, as UTF-8. They are brought over when asked
   * for.
   */
  bytes(rows?: number): Uint8Array<ArrayBuffer>;
}

export type ComplexityClass = "small" | "medium" | "large" | "huge";

export interface Cost {
  readonly files_to_scan: number;
  readonly files_considered: number;
  readonly estimated_bytes_scanned: number;
  readonly estimated_rows_processed: number;
  readonly estimated_runtime_seconds: number;
  readonly complexity_class: ComplexityClass;
  readonly exact: boolean;
  readonly warnings: readonly string[];
}

export type ServedBy =
  | "scan"
  | "tier1_inline"
  | "tier1_wide"
  | "tier1_windowed_agg"
  | "materialized"
  | "sketch";

export interface Stats {
  readonly rows_scanned: number;
  readonly bytes_scanned: number;
  readonly spill_bytes: number;
  readonly phases: Phases;
  /** Absent when no data-file scan ran. */
  readonly scan?: ScanStats;
  /** Pin of what was read, for a request that gave `snapshot`. */
  readonly snapshot?: string;
  readonly served_by: ServedBy;
  /** What the answer lacks because the WAL is damaged; absent: nothing. */
  readonly wal_damage?: WalDamage;
}

/** Damaged parts of the WAL. */
export interface WalDamage {
  readonly segments: number;
  readonly bytes: number;
  /** Rows that lay there; absent: not known of all of them. */
  readonly rows?: number;
}

/** Times in microseconds. */
export interface Phases {
  readonly plan_micros: number;
  readonly buffer_delta_micros: number;
  readonly collect_micros: number;
  readonly render_micros: number;
  /** There for a statement that was, or was to be, shared with other servers. */
  readonly distributed?: DistributedPhases;
}

/** How a statement was shared with other servers. */
export interface DistributedPhases {
  /** What each server did; `local`: this server ran it alone. */
  readonly mode: string;
  /** Why it ran alone. */
  readonly reason?: string;
  /** Microseconds of each shard, in the order of the shards. */
  readonly shard_wall_micros?: readonly number[];
  readonly merge_micros?: number;
  /** Bytes of the rows that the shards gave. */
  readonly received_bytes?: number;
  readonly shards?: readonly DistributedShard[];
}

export interface DistributedShard {
  /** Address of the server whose rows count. */
  readonly server: string;
  readonly rows: number;
  readonly bytes_scanned: number;
  readonly wall_micros: number;
  /** Servers that were asked for it. */
  readonly attempts: number;
}

export interface ScanStats {
  readonly files_planned: number;
  readonly files_read: number;
  readonly planned_bytes: number;
  readonly planned_rows: number;
  readonly row_groups_considered: number;
  /**
   * The next five are there only where the plan itself chose files, row groups or rows: DuckDB does
   * not tell what it leaves out besides. `bloom`: by indexes of the data files; `stats`: by bounds
   * of columns.
   */
  readonly files_pruned_bloom?: number;
  readonly row_groups_pruned_bloom?: number;
  readonly row_groups_pruned_stats?: number;
  readonly row_groups_read?: number;
  readonly rows_pruned_selection?: number;
  /**
   * Requests to the object store for this statement, and bytes answered. They are absent where the
   * warehouse is a folder.
   */
  readonly object_store_reads?: number;
  readonly fetched_bytes?: number;
  /**
   * The parts of `fetched_bytes`; absent when zero. `other`: table metadata, and what lies between
   * ranges.
   */
  readonly bytes_footer?: number;
  readonly bytes_index?: number;
  readonly bytes_data?: number;
  readonly bytes_other?: number;
  /**
   * Data files of which all that was needed was at hand, and the other data files; absent when
   * zero.
   */
  readonly file_cache_hits?: number;
  readonly file_cache_misses?: number;
  readonly ordering: ScanOrdering;
}

/** docs/api/query.md#stats: `advertised`, or why the scan did not stream sorted. */
export type ScanOrdering =
  | "advertised"
  | "filtered"
  | "fan_in"
  | "global_fan_in"
  | "no_bounds"
  | "mixed_sort_direction"
  | "unknown_sort_order"
  | "order_walk_failed"
  | "missing_sort_column"
  | "not_projected"
  | "no_sort_order"
  | "non_identity_sort"
  | "missing_sort_field"
  | "non_timestamp_sort";
