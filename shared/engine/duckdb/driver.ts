/**
 * What the engine needs of a DuckDB. `native_driver.ts` implements it in this process,
 * `process/process_driver.ts` in one of its own. A driver knows nothing of tables, tenants or the
 * gate: it runs the text it is given.
 *
 * Errors of a connection are `EngineFault`s: the kind is stable, the message is DuckDB's
 * own and may name paths, so it never leaves the engine as it is (`fault_error.ts`).
 */

import type { ArrowType } from "../arrow_fields.ts";
import type { RunProgress } from "../types.ts";
import type { PlaceInLine } from "../turns/waiters.ts";

/** What a DuckDB may use: directories, memory and spill space in bytes, threads, connections. */
export interface DriverOptions {
  /**
   * Absolute directories that statements may read, and the engine's own statements may write.
   * Everything else is out of reach.
   */
  readonly readableDirs: readonly string[];
  /**
   * Absolute directory of the driver's own, for spill files and profiles. It exists and is empty.
   */
  readonly scratchDir: string;
  readonly memoryBytesMax: number;
  readonly spillBytesMax: number;
  /** Threads of DuckDB. Undefined: one per core. */
  readonly threads: number | undefined;
  readonly connections: number;
  /** Statements run once before the configuration is locked: the dialect's functions. */
  readonly setup: readonly string[];
}

/** Opens databases, in this process or in one of their own. */
export interface EngineDriver {
  open(options: DriverOptions): Promise<EngineDatabase>;
}

/** One DuckDB with a fixed number of connections. */
export interface EngineDatabase {
  /**
   * A connection for one request, given back by `release`. Waits for a free one; tenants go one
   * after the other. Rejects when `signal` aborts, and with `rate_limited` after `waitMs` or when
   * too many wait.
   */
  connect(signal: AbortSignal, wanted?: ConnectionWanted): Promise<EngineConnection>;
  /**
   * Why no statement can run now; undefined when one can. A driver without it can always run one.
   */
  readonly problem?: string | undefined;
  /**
   * Whether it has nothing in memory because nobody needed it. A connection wakes it, and until
   * then it can be asked nothing. A driver without it never rests.
   */
  readonly isResting?: boolean;
  /** Resident memory of its own process; absent: it is in this one. */
  readonly residentBytes?: number;
  close(): Promise<void>;
}

/** Who wants a connection, and for which statement. */
export interface ConnectionWanted extends PlaceInLine {
  /** The statement that it is wanted for, to name it in the log by its hash. */
  readonly sql?: string;
  /** Whether it is for questions about the database, which do not keep it from resting. */
  readonly isProbe?: boolean;
}

/** One connection, lent to one request. Errors of all methods: `EngineFault`. */
export interface EngineConnection {
  /** The parsed statement as JSON text; a syntax error is a value in it. */
  serialize(sql: string): Promise<string>;
  /** Text of a parsed statement. */
  deserialize(tree: string): Promise<string>;
  /** Runs a statement with a small result, every value as text. */
  texts(sql: string): Promise<(string | null)[][]>;
  /**
   * Names and types of a statement's result, without running it. `relations` exist meanwhile, for
   * it alone.
   */
  describe(sql: string, relations: readonly Relation[]): Promise<readonly DescribedColumn[]>;
  /**
   * Types of a statement's parameters, null where they do not follow. `names`: those that it has;
   * their numbers may have gaps. `relations` exist meanwhile, for it alone.
   */
  parameterTypes(
    sql: string,
    names: readonly string[],
    relations: readonly Relation[],
  ): Promise<readonly (readonly [name: string, type: string | null])[]>;
  /** The physical plan as text. */
  explain(sql: string): Promise<string>;
  /** Rows of a statement whose one column is a text that is never NULL, a chunk at a time. */
  rows(statement: RunStatement): AsyncIterable<TextChunk>;
  /** What the statement running now did so far. It has no rows when none runs. */
  progress(): RunProgress;
  /** Stops what the connection runs. */
  interrupt(): void;
  /** What the statement that was last run to its end measured; undefined when that is not known. */
  profile(): Promise<RunProfile | undefined>;
  /** Ends what runs, forgets the request and gives the connection back. */
  release(): Promise<void>;
}

/** A statement whose rows are texts, with the values of its places. */
export interface RunStatement {
  readonly sql: string;
  /** Values of its places `$1`, `$2`, …; default: it has none. */
  readonly values?: readonly string[];
  /**
   * Whether it has progress and a profile; default: it has. Without, the smallest statement takes a
   * third less.
   */
  readonly isMeasured?: boolean;
  /**
   * Whether its rows come once all are made, which is for few rows and not with `isMeasured`.
   * Default: they come while they are made.
   */
  readonly isWhole?: boolean;
  /**
   * Whether it is so short that it need not have all threads (`awaited_result.ts`). Default: it
   * has them. It is planned by the thread that calls.
   */
  readonly isShort?: boolean;
  /**
   * Its rows come as Arrow batches, not as texts: the types of its columns, and after how many rows
   * it ends.
   */
  readonly arrow?: { readonly types: readonly ArrowType[]; readonly rowsMax: number };
}

/** Rows that are still DuckDB's; `bytes` brings them over. */
export interface TextChunk {
  readonly rowCount: number;
  /**
   * The texts of the first `rows` rows, all by default, one after another as UTF-8. With `arrow`
   * the message of all rows.
   */
  bytes(rows?: number): Uint8Array<ArrayBuffer>;
  /** What `bytes` gives, for who only sends it; absent: it is in one piece. */
  pieces?(): readonly Uint8Array<ArrayBuffer>[];
  /** Where the text of each row ends in them; nothing with `arrow`. */
  ends(): Uint32Array<ArrayBuffer>;
  /**
   * Gives back its memory, which otherwise waits for the garbage collector: that knows nothing of
   * what lies outside of the heap. Nothing of it is read afterwards, but what was read before is
   * its reader's.
   */
  free?(): void;
}

/** A table by the name that a statement has for it, and what it holds. */
export interface Relation {
  readonly name: string;
  readonly select: string;
}

/** A column of a result. */
export interface DescribedColumn {
  readonly name: string;
  readonly type: EngineType;
}

/** A result type: its name, and for nested types the types within. */
export interface EngineType {
  /** For example `VARCHAR`, `DECIMAL(18,3)`, `STRUCT(a INTEGER)`. */
  readonly text: string;
  readonly kind: string;
  /** The type of the items of LIST and ARRAY, and of the values of MAP. */
  readonly item?: EngineType;
  /** The type of the keys of MAP. */
  readonly key?: EngineType;
  /** The fields of STRUCT. */
  readonly fields?: readonly DescribedColumn[];
}

/** What a run measured. Bytes and counts. */
export interface RunProfile {
  /** Rows emitted by scans of data files. */
  readonly rowsScanned: number;
  readonly filesRead: number;
  /**
   * The most that lay in spill files while it ran, with other statements' spill. It is 0 when an
   * earlier statement on the connection had reached as much: what this one added to that is not
   * known.
   */
  readonly spillBytes: number;
}

/**
 * `passed`: it failed after its first rows, and does not when it is asked again. `lost`: DuckDB's
 * process ended meanwhile, which says nothing of the statement.
 */
export type FaultKind =
  | "statement"
  | "memory"
  | "interrupted"
  | "io"
  | "passed"
  | "lost"
  | "internal";

/** An error of DuckDB. Its message may name paths, so it never leaves the engine as it is. */
export class EngineFault extends Error {
  override readonly name = "EngineFault";
  constructor(readonly kind: FaultKind, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
  }
}
