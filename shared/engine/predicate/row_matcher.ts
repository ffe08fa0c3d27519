/**
 * Finds the rows of a data file for which a predicate is true. DuckDB and the dialect are those of
 * queries, over one file at a time, with nothing else in reach. It serves the deletion of rows;
 * queries use `shared/engine/open_engine.ts`.
 */

import { OperatingError } from "../../base/errors.ts";
import { textOf } from "../../base/bytes.ts";
import { seenColumns } from "../../schema/promoted.ts";
import { type Column, columnOf } from "../../schema/schema.ts";
import type { FileSystem } from "../../os/file_system.ts";
import { Deadline } from "../turns/deadline.ts";
import type { EngineConnection, EngineDatabase } from "../duckdb/driver.ts";
import { faultError } from "../duckdb/fault_error.ts";
import { DIALECT_SETUP } from "../functions/dialect.ts";
import { soleDriver } from "../duckdb/process/sole_driver.ts";
import { fileSql, SQL_WRITER } from "../bind/relation.ts";
import { madeSql, seenMadeColumns } from "../plan/made_columns.ts";
import { parsePredicate } from "./row_predicate.ts";
import { quoteName } from "../duckdb/statement_text.ts";

/** Directories and threads of a matcher, and where its DuckDB runs. */
export interface RowMatcherOptions {
  /** Used for `scratchDir` only. */
  readonly files: FileSystem;
  /**
   * Absolute path of a directory that is made, and emptied, at the start, and removed at the end:
   * DuckDB's profiles have the predicate. Each matcher needs its own.
   */
  readonly scratchDir: string;
  /** Absolute directories whose files can be matched. */
  readonly readableDirs: readonly string[];
  readonly memoryBytesMax: number;
  /** Threads of DuckDB; default: one per core. */
  readonly threads?: number;
  /**
   * Whether DuckDB has a process of its own, which is replaced when a predicate cannot be ended
   * otherwise. Default: it runs in this one, which such a predicate holds for good.
   */
  readonly hasProcess?: boolean;
}

/** What a file's rows are tested by. */
export interface RowTest {
  readonly predicate: string;
  readonly namespace: string;
  readonly table: string;
  /** Names of the columns whose words are compared by their stems. */
  readonly stemmed: ReadonlySet<string>;
  /** Unix nanoseconds of `timestamp_ns`, inclusive; undefined is open. */
  readonly startNs: bigint | undefined;
  /** Unix nanoseconds, exclusive; undefined is open. */
  readonly endNs: bigint | undefined;
}

/** A data file whose rows are tested. */
export interface MatchedFile {
  /** Absolute path of the file. */
  readonly path: string;
  readonly rows: number;
  /** Columns of the table. A column that the file lacks is null in it. */
  readonly columns: readonly Column[];
  /** Names of promoted columns. Each answers as the attribute of its name does. */
  readonly promoted?: readonly string[] | undefined;
}

/** Rows of one file by their position. */
export interface MatchedRows {
  readonly count: number;
  has(row: number): boolean;
}

/** Tests files one after the other. Disposing it ends its DuckDB. */
export interface RowMatcher extends AsyncDisposable {
  /**
   * Rows for which the test is true; a row for which it is null is not among them. Errors:
   * `invalid_argument` for a predicate that is none, or fails on some row; `unavailable` for memory
   * and storage; the signal's reason.
   */
  match(file: MatchedFile, test: RowTest, signal?: AbortSignal): Promise<MatchedRows>;
}

/** A file takes seconds. A file that takes longer than this is given up. */
const MATCH_MS_MAX = 600_000;

/**
 * The statement is ours, and written from a tree: DuckDB's `LINE n:` would quote nothing of the
 * caller's predicate.
 */
const NO_LINE_OF_CALLER = { linesBefore: Number.MAX_SAFE_INTEGER };

/**
 * Opens a matcher. Errors: `unavailable` (`engine_not_loaded`) when DuckDB's library cannot be
 * loaded.
 */
export async function openRowMatcher(options: RowMatcherOptions): Promise<RowMatcher> {
  const { files, scratchDir } = options;
  const clear = async () => {
    if (await files.exists(scratchDir)) await files.removeTree(scratchDir);
  };
  await clear();
  await files.mkdir(scratchDir);
  const { memoryBytesMax, hasProcess = false } = options;
  const driver = soleDriver({ engine: "predicate", hasProcess, memoryBytesMax, files });
  const database = await driver.open({
    readableDirs: options.readableDirs,
    scratchDir,
    memoryBytesMax,
    // Nothing that a predicate does can spill.
    spillBytesMax: 0,
    threads: options.threads,
    connections: 1,
    setup: DIALECT_SETUP,
  });
  return new NativeRowMatcher(database, clear);
}

class NativeRowMatcher implements RowMatcher {
  constructor(
    private readonly database: EngineDatabase,
    private readonly clear: () => Promise<void>,
  ) {}

  async match(file: MatchedFile, test: RowTest, signal?: AbortSignal): Promise<MatchedRows> {
    using deadline = new Deadline(MATCH_MS_MAX, signal);
    const connection = await this.database.connect(deadline.signal, { sql: test.predicate });
    try {
      deadline.watch(connection);
      const sql = await matchSql(connection, file, test);
      const rows = new RowSet(file.rows);
      for await (const chunk of connection.rows({ sql })) {
        deadline.check();
        rows.addAll(textOf(chunk.bytes()));
      }
      // An interrupted stream may end without an error.
      deadline.check();
      return rows;
    } catch (error) {
      signal?.throwIfAborted();
      throw deadline.signal.aborted ? deadline.signal.reason : faultError(error, NO_LINE_OF_CALLER);
    } finally {
      await connection.release();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.close();
    await this.clear();
  }
}

/** The statement of a test. Its rows are the positions as text, a comma after each. */
async function matchSql(
  connection: EngineConnection,
  { path, rows, columns, promoted }: MatchedFile,
  test: RowTest,
): Promise<string> {
  const { stemmed } = test;
  const predicate = await parsePredicate(connection, {
    ...test,
    stemmed: { columns: columns.map(({ name }) => name), stemmed },
  });
  const position = positionName(columns);
  const bounds = [
    ...(test.startNs === undefined ? [] : [`timestamp_ns >= ${test.startNs}`]),
    ...(test.endNs === undefined ? [] : [`timestamp_ns < ${test.endNs}`]),
  ];
  const where = bounds.length === 0 ? "" : ` WHERE ${bounds.join(" AND ")}`;
  const source = fileSql({ path, rows }, columns, position);
  return `WITH ${quoteName(test.table)} AS NOT MATERIALIZED ` +
    `(SELECT *${replacedSql(columns, promoted)} FROM (${source})${where}) ` +
    `SELECT row::VARCHAR || ',' FROM (${await predicate.select([position])}) AS matched(row)`;
}

/** Returns what a `*` replaces so that promoted columns are what statements read. */
function replacedSql(columns: readonly Column[], promoted: readonly string[] | undefined): string {
  const schema = { columns: seenColumns(columns), tags: [], promoted: promoted ?? [] };
  const made = [...seenMadeColumns(schema, schema)].map(([name, column]) => {
    const { type } = columnOf(schema, name);
    const { sql } = madeSql(column, { type, isComplete: () => false, write: SQL_WRITER });
    return `${sql} AS ${quoteName(name)}`;
  });
  return made.length === 0 ? "" : ` REPLACE (${made.join(", ")})`;
}

/** A name that no column has, and that no predicate was checked with. */
function positionName(columns: readonly Column[]): string {
  const names = new Set(columns.map(({ name }) => name.toLowerCase()));
  let name = "svc_row_position";
  while (names.has(name)) name += "_";
  return name;
}

/** A set of rows with one bit a row. */
class RowSet implements MatchedRows {
  readonly #bits: Uint8Array;
  readonly #rows: number;
  count = 0;

  constructor(rows: number) {
    this.#rows = rows;
    this.#bits = new Uint8Array((rows + 7) >> 3);
  }

  has(row: number): boolean {
    return ((this.#bits[row >> 3] ?? 0) & (1 << (row & 7))) !== 0;
  }

  /** Adds positions in the form `12,34,`. Errors: `corrupt` for a row that the file cannot have. */
  addAll(positions: string): void {
    let row = 0;
    for (let at = 0; at < positions.length; at += 1) {
      const code = positions.charCodeAt(at);
      if (code !== COMMA) {
        row = row * 10 + code - ZERO;
        continue;
      }
      this.#add(row);
      row = 0;
    }
  }

  #add(row: number): void {
    if (!(row < this.#rows) || this.has(row)) {
      throw new OperatingError(
        "corrupt",
        `Cannot delete rows of a file of ${this.#rows}: DuckDB names row ${row}` +
          (row < this.#rows ? " twice" : ""),
      );
    }
    this.#bits[row >> 3] = (this.#bits[row >> 3] ?? 0) | (1 << (row & 7));
    this.count += 1;
  }
}

const COMMA = 0x2c;
const ZERO = 0x30;
