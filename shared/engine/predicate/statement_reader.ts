/**
 * What statements read, found in their text alone. Parser, dialect and gate are those of queries,
 * over no table. It serves programs that look through statements that were answered;
 * `shared/engine/open_engine.ts` answers statements.
 */

import { isOperatingError } from "../../base/errors.ts";
import type { FileSystem } from "../../os/file_system.ts";
import { Deadline } from "../turns/deadline.ts";
import { type EngineConnection, type EngineDatabase, EngineFault } from "../duckdb/driver.ts";
import { DIALECT_SETUP } from "../functions/dialect.ts";
import { gate } from "../gate/gate.ts";
import { parse } from "../statement/parse.ts";
import { soleDriver } from "../duckdb/process/sole_driver.ts";
import { type AttributeReads, attributeReads } from "../plan/promoted_attributes.ts";

/** Directory of a reader, and where its DuckDB runs. */
export interface StatementReaderOptions {
  /** Used for `scratchDir` only. */
  readonly files: FileSystem;
  /**
   * Absolute path of a directory that is made, and emptied, at the start. Each reader needs its
   * own.
   */
  readonly scratchDir: string;
  /** `hasProcess` of `SoleDriverOptions`; default: DuckDB runs in this process. */
  readonly hasProcess?: boolean;
}

/** Reads statements without running them. Disposing it ends its DuckDB. */
export interface StatementReader extends AsyncDisposable {
  /**
   * What each statement reads of a table's attributes, in the order of the statements. Undefined
   * for a statement that reads none, or that a caller of `namespace` may not ask. What is not
   * looked through after a minute is left out. Errors: the signal's reason.
   */
  attributes(
    statements: readonly string[],
    options: { readonly namespace: string; readonly signal?: AbortSignal },
  ): Promise<readonly (AttributeReads | undefined)[]>;
}

/** The least memory that DuckDB takes. A tree of the longest statement fits. */
const MEMORY_BYTES_MAX = 64 * 1024 * 1024;
/** 20,000 statements take eight seconds. */
const READ_MS_MAX = 60_000;
/** A statement without these letters does not call it, and need not be parsed. */
const CALL = /attr_get/i;

/**
 * Opens a reader. Errors: `unavailable` (`engine_not_loaded`) when DuckDB's library cannot be
 * loaded.
 */
export async function openStatementReader(
  { files, scratchDir, hasProcess = false }: StatementReaderOptions,
): Promise<StatementReader> {
  if (await files.exists(scratchDir)) await files.removeTree(scratchDir);
  await files.mkdir(scratchDir);
  const memoryBytesMax = MEMORY_BYTES_MAX;
  const driver = soleDriver({ engine: "statements", hasProcess, memoryBytesMax, files });
  const database = await driver.open({
    readableDirs: [],
    scratchDir,
    memoryBytesMax,
    spillBytesMax: 0,
    threads: 1,
    connections: 1,
    setup: DIALECT_SETUP,
  });
  return new NativeStatementReader(database);
}

class NativeStatementReader implements StatementReader {
  constructor(private readonly database: EngineDatabase) {}

  async attributes(
    statements: readonly string[],
    { namespace, signal }: { readonly namespace: string; readonly signal?: AbortSignal },
  ): Promise<readonly (AttributeReads | undefined)[]> {
    signal?.throwIfAborted();
    using deadline = new Deadline(READ_MS_MAX, signal);
    const connection = await this.database.connect(deadline.signal);
    const reads: (AttributeReads | undefined)[] = [];
    try {
      deadline.watch(connection);
      for (const statement of statements) {
        deadline.check();
        const isCaller = CALL.test(statement);
        reads.push(isCaller ? await readsOf(connection, statement, namespace) : undefined);
      }
      return reads;
    } catch (error) {
      signal?.throwIfAborted();
      if (deadline.signal.aborted) return reads;
      throw error;
    } finally {
      await connection.release();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.close();
  }
}

async function readsOf(
  connection: EngineConnection,
  sql: string,
  namespace: string,
): Promise<AttributeReads | undefined> {
  try {
    const { root } = await parse((text) => connection.serialize(text), sql);
    return attributeReads(root, gate(root, { namespace }));
  } catch (error) {
    const isRefused = isOperatingError(error, "invalid_argument") ||
      error instanceof EngineFault && (error.kind === "statement" || error.kind === "memory");
    if (isRefused) return undefined;
    throw error;
  }
}
