/**
 * DuckDB from outside: a statement is prepared (parsed, gated, planned, priced) and then run once.
 * Reports (`Cost`, `Stats`) have the members of docs/api/query.md#records-answer; they are measured
 * or absent.
 */

export interface QueryRequest {
  readonly sql: string;
  /** The only namespace whose tables the statement can name. */
  readonly namespace: string;
  /** Tenant whose WAL lanes are unioned in. */
  readonly tenant: string;
  /** Order a bare SELECT over one eligible table newest-first. */
  readonly defaultOrder: boolean;
  /**
   * Reads committed snapshots only, the same for the same pin: `latest`, or what `Stats.snapshot`
   * said before. Without it rows of the WAL are read, too.
   */
  readonly snapshot?: string;
  /**
   * An earlier snapshot of the table, beside `snapshot`: only files that came after it are read,
   * where no commit since took rows out. For callers that keep what it held; `PlannedTable.since`
   * says whether. Rows that moved come again.
   */
  readonly since?: string;
  /**
   * Reads only rows of the WAL that no snapshot holds yet; for callers that know what the snapshots
   * hold.
   */
  readonly uncommittedOnly?: boolean;
  /** Whether summaries may answer instead of rows (`fast_paths/`); default true. */
  readonly fastPaths?: boolean;
  /**
   * Whether the answer must be exact, or may come with bounds where an exact one takes a scan;
   * default true.
   */
  readonly isExact?: boolean;
  /**
   * It will not run: only its price and its plan are asked, and work for its answer is not begun.
   * Default false.
   */
  readonly planOnly?: boolean;
  /**
   * It was asked before, and DuckDB's process ended under it: should one end again, it is not asked
   * once more. Default false.
   */
  readonly isBegunAnew?: boolean;
  /** Rows wanted at most; the run has more when the statement has, so that truncation shows. */
  readonly rowsMax: number;
  /**
   * Rows that the run may take from its sources beyond those planned; past it: `too_large`
   * (`duckdb/rows_breaker.ts`).
   */
  readonly rowsScannedMax?: number;
  /** Wall clock for planning and running, in milliseconds. Past it: `deadline_exceeded`. */
  readonly deadlineMs: number;
  /** How long it waits for a turn; default: until the deadline. Past it: `rate_limited`. */
  readonly waitMs?: TurnWaits;
  /** It may take long, and runs in a turn among its like, whatever its price. */
  readonly batch?: boolean;
  /** The caller went away: the engine is interrupted. */
  readonly signal?: AbortSignal;
}

/** Milliseconds. */
export interface TurnWaits {
  /** To be planned, and to run what is cheap. */
  readonly light: number;
  /** To run what is expensive. */
  readonly dear: number;
}

export interface Engine extends AsyncDisposable {
  /**
   * Errors: `invalid_argument` (bad SQL, not one SELECT, refused function, unknown table), with a
   * stable `reason`; `deadline_exceeded`; `unavailable` (memory pool or spill cap); `rate_limited`
   * when its turn did not come within `waitMs`, or too many wait.
   */
  prepare(request: QueryRequest): Promise<PreparedQuery>;
  /**
   * Whether a predicate (`predicate/row_predicate.ts`) is one over the columns of a table. Errors:
   * `invalid_argument` with the place; `not_found` (`unknown_index`); those of `prepare`.
   */
  checkPredicate(request: PredicateRequest): Promise<CheckedPredicate>;
  /**
   * Runs a tiny statement wherever statements run, and reads the catalog; throws when either fails.
   */
  ping(): Promise<void>;
  /**
   * Why no statement can run at this moment, as far as that is known without asking; undefined: one
   * can.
   */
  readonly problem: string | undefined;
  /** What the memory pool and the spill space hold now, all statements and caches together. */
  memory(): Promise<MemoryUse>;
  /** Statements in line now. */
  waiting(): StatementsWaiting;
  close(): Promise<void>;
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
  /** To be planned. */
  readonly light: number;
  /** Planned, and so expensive that only a few run at once. */
  readonly dear: number;
  readonly batch: number;
}

/** Bytes. */
export interface MemoryUse {
  readonly poolBytes: number;
  readonly poolBytesMax: number;
  readonly spillBytes: number;
  readonly spillBytesMax: number;
  /** What holds the pool, the largest first; none that holds nothing. */
  readonly consumers: readonly MemoryConsumer[];
}

export interface MemoryConsumer {
  /** DuckDB's word, for example `hash_table`. */
  readonly tag: string;
  readonly bytes: number;
}

export interface PreparedQuery extends AsyncDisposable {
  readonly cost: Cost;
  readonly tables: readonly PlannedTable[];
  /** Who would answer. */
  readonly servedBy: ServedBy;
  /** Why no fast path answers; absent where one does. */
  readonly aside?: string;
  /** Whether the newest-first order was added. */
  readonly defaultOrderApplied: boolean;
  /** Physical plan as text, after a line that says which path answers, or why no fast path does. */
  explain(): Promise<string>;
  /**
   * Waits until it may run, which is at once for a cheap statement. Holds its turn until disposed.
   * Errors: `rate_limited` when the turn did not come within `waitMs`; `deadline_exceeded`.
   */
  turn(): Promise<void>;
  /** Takes its turn first where that was not done. */
  run(): Promise<RunningQuery>;
}

export interface PlannedTable {
  readonly table: string;
  /** null before the first commit. A string: snapshot ids need 64 bits. */
  readonly snapshot_id: string | null;
  /** The snapshot whose files are left out, as the request has it; absent: none are. */
  readonly since?: string;
  readonly files: number;
  /**
   * As in `ScanStats`; absent where the statement's conditions could not leave anything out, or
   * will when it runs.
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
   * Result rows as JSON text, a chunk at a time, produced as fast as they are taken. `arrays`:
   * `[1,"a"],` per row, with its comma, and one row past `rowsMax` at most; `array_lines`: the same
   * with a line feed behind each comma, the only ones; `objects`: `{"a":1}` and a line feed per
   * row. The last two may have many more rows: whoever takes them stops.
   */
  chunks(shape: RowShape): AsyncIterable<ResultChunk>;
  /** What the run did so far. */
  progress(): RunProgress;
  /** Complete once `chunks` is exhausted. */
  stats(): Promise<Stats>;
}

export type RowShape = "arrays" | "array_lines" | "objects";

export interface RunProgress {
  /** Rows that it took from its sources. */
  readonly rows: number;
  /** DuckDB's guess, 0 to 100; undefined while it has none. */
  readonly percent: number | undefined;
}

export interface ResultColumn {
  readonly name: string;
  /** The engine's type name, for example `VARCHAR`. */
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
}

/** Microseconds. */
export interface Phases {
  readonly plan_micros: number;
  readonly buffer_delta_micros: number;
  readonly collect_micros: number;
  readonly render_micros: number;
}

export interface ScanStats {
  readonly files_planned: number;
  readonly files_read: number;
  readonly planned_bytes: number;
  readonly planned_rows: number;
  readonly row_groups_considered: number;
  /**
   * The next five only where the plan itself chose files, row groups or rows: what DuckDB
   * leaves out besides it does not tell. `bloom`: by indexes of the data files; `stats`: by bounds
   * of columns.
   */
  readonly files_pruned_bloom?: number;
  readonly row_groups_pruned_bloom?: number;
  readonly row_groups_pruned_stats?: number;
  readonly row_groups_read?: number;
  readonly rows_pruned_selection?: number;
  /**
   * Requests to the object store for this statement, and bytes answered; absent where the warehouse
   * is a folder.
   */
  readonly object_store_reads?: number;
  readonly fetched_bytes?: number;
  /**
   * What `fetched_bytes` is the sum of; absent when zero. `other`: table metadata, and what lies
   * between.
   */
  readonly bytes_footer?: number;
  readonly bytes_index?: number;
  readonly bytes_data?: number;
  readonly bytes_other?: number;
  /** Data files of which all that was needed was at hand, and the others; absent when zero. */
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
