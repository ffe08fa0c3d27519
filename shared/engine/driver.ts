/**
 * What the engine needs of a SQL engine. `native_driver.ts` implements it in-process; a sandboxed one will
 * follow. A driver knows nothing of tables, tenants or the gate: it runs the text it is given.
 *
 * Errors of a connection are `EngineFault`s: the kind is stable, the message is the SQL engine's own.
 */

export interface DriverOptions {
  /** Absolute directories that statements may read; everything else is out of reach. */
  readonly readableDirs: readonly string[];
  /** Absolute directory for spill files. */
  readonly spillDir: string;
  readonly memoryBytesMax: number;
  readonly spillBytesMax: number;
  readonly threads: number | undefined;
  /** Statements run once before the configuration is locked: functions and the like. */
  readonly setup: readonly string[];
}

export interface EngineDriver {
  readonly name: "native" | "wasm";
  open(options: DriverOptions): Promise<EngineDatabase>;
}

export interface EngineDatabase {
  /** A connection of its own for one request; closed by the caller. */
  connect(): Promise<EngineConnection>;
  close(): Promise<void>;
}

export interface EngineConnection {
  /** Runs a statement and returns all of its rows as text; for small results only. */
  texts(sql: string, values?: readonly string[]): Promise<(string | null)[][]>;
  /** Starts a statement whose rows are fetched a chunk at a time. */
  stream(sql: string): Promise<EngineResult>;
  /** Stops what this connection runs; the pending call rejects with an `interrupted` fault. */
  interrupt(): void;
  /** Rows the running statement has processed so far, as far as the engine tells. */
  progress(): { readonly rowsProcessed: bigint; readonly rowsTotal: bigint };
  close(): void;
}

export interface EngineResult {
  readonly names: readonly string[];
  readonly types: readonly string[];
  /** Undefined after the last chunk. */
  next(): Promise<EngineChunk | undefined>;
}

export interface EngineChunk {
  readonly rows: number;
  /** JSON texts of one column's values. */
  column(index: number): readonly string[];
}

export type FaultKind = "syntax" | "statement" | "memory" | "interrupted" | "io" | "internal";

export class EngineFault extends Error {
  override readonly name = "EngineFault";
  constructor(readonly kind: FaultKind, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
  }
}
