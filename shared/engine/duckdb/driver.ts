/**
 * What the engine needs of a DuckDB. `native_driver.ts` implements it in this process,
 * `process/process_driver.ts` in one of its own. A driver knows nothing of tables, tenants or the
 * gate: it runs the text it is given.
 *
 * Errors of a connection are `EngineFault`s: the kind is stable, the message is DuckDB's
 * own and may name paths, so it never leaves the engine as it is (`fault_error.ts`).
 */

import type { RunProgress } from "../types.ts";
import type { PlaceInLine } from "../turns/waiters.ts";

export interface DriverOptions {
  /**
   * Absolute directories that statements may read, and the engine's own may write; everything else
   * is out of reach.
   */
  readonly readableDirs: readonly string[];
  /** Absolute directory of the driver's own: spill files and profiles. Exists and is empty. */
  readonly scratchDir: string;
  readonly memoryBytesMax: number;
  readonly spillBytesMax: number;
  /** Undefined: one per core. */
  readonly threads: number | undefined;
  readonly connections: number;
  /** Statements run once before the configuration is locked: the dialect's functions. */
  readonly setup: readonly string[];
}

export interface EngineDriver {
  readonly name: "native" | "process";
  open(options: DriverOptions): Promise<EngineDatabase>;
}

export interface EngineDatabase {
  /**
   * A connection for one request, given back by `release`. Waits for a free one, tenants in turn;
   * rejects when `signal` aborts, and with `rate_limited` after `waitMs` or when too many wait.
   */
  connect(signal: AbortSignal, wanted?: ConnectionWanted): Promise<EngineConnection>;
  /** Why no statement can run now; undefined when one can. Absent: that is never so. */
  readonly problem?: string | undefined;
  /**
   * Is called each time that all which the database held is gone, and it is begun anew: tables, for
   * example.
   */
  onRenewed?: (() => void) | undefined;
  close(): Promise<void>;
}

export interface ConnectionWanted extends PlaceInLine {
  /** The statement that it is wanted for, to name it in the log by its hash. */
  readonly sql?: string;
}

export interface EngineConnection {
  /** The parsed statement as JSON text; a syntax error is a value in it. */
  serialize(sql: string): Promise<string>;
  /** Text of a parsed statement. */
  deserialize(tree: string): Promise<string>;
  /** Runs a statement with a small result, every value as text. */
  texts(sql: string): Promise<(string | null)[][]>;
  /**
   * Names and types of a statement's result, without running it; `relations` exist meanwhile, for
   * it alone.
   */
  describe(sql: string, relations: readonly Relation[]): Promise<readonly DescribedColumn[]>;
  /** The physical plan as text. */
  explain(sql: string): Promise<string>;
  /** Rows of a statement whose one column is a text that is never NULL, a chunk at a time. */
  rows(statement: RunStatement): AsyncIterable<TextChunk>;
  /** What the statement running now did so far; no rows when none runs. */
  progress(): RunProgress;
  /** Stops what the connection runs. */
  interrupt(): void;
  /** What the statement that was last run to its end measured; undefined when that is not known. */
  profile(): Promise<RunProfile | undefined>;
  /** Ends what runs, forgets the request and gives the connection back. */
  release(): Promise<void>;
}

export interface RunStatement {
  readonly sql: string;
  /** Of its places `$1`, `$2`, …; default: it has none. */
  readonly values?: readonly string[];
  /** Default: it has progress and a profile. A third of what the smallest statement takes. */
  readonly isMeasured?: boolean;
  /** They are few, and come once all are made; not with `isMeasured`. Default: as they are made. */
  readonly isWhole?: boolean;
}

/** Rows that are still DuckDB's; `bytes` brings them over. */
export interface TextChunk {
  readonly rowCount: number;
  /** The texts of the first `rows` rows, all by default, one after another as UTF-8. */
  bytes(rows?: number): Uint8Array<ArrayBuffer>;
  /** Where the text of each row ends in them. */
  ends(): Uint32Array<ArrayBuffer>;
}

/** A table by the name that a statement has for it, and what it holds. */
export interface Relation {
  readonly name: string;
  readonly select: string;
}

export interface DescribedColumn {
  readonly name: string;
  readonly type: EngineType;
}

/** A result type: its name, and for nested types what it holds. */
export interface EngineType {
  /** For example `VARCHAR`, `DECIMAL(18,3)`, `STRUCT(a INTEGER)`. */
  readonly text: string;
  readonly kind: string;
  /** Of LIST and ARRAY; the value of MAP. */
  readonly item?: EngineType;
  /** Of STRUCT. */
  readonly fields?: readonly DescribedColumn[];
}

export interface RunProfile {
  /** Rows emitted by scans of data files. */
  readonly rowsScanned: number;
  readonly filesRead: number;
  /**
   * Most that lay in spill files while it ran, other statements' too; 0 when an earlier one on the
   * same connection had reached as much, as what this one added to that is not known.
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

export class EngineFault extends Error {
  override readonly name = "EngineFault";
  constructor(readonly kind: FaultKind, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
  }
}
