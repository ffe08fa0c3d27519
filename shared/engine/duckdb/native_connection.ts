/**
 * One connection of DuckDB in this process, and the types of its results.
 *
 * It is two of the database's connections. Statements run on one that measures them and tells their
 * progress. Statements that read nothing, and questions about statements, go to the other one,
 * which writes no profile (0.5 ms a parse instead of 1.2).
 */

import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBPreparedStatement,
  DuckDBResult,
  DuckDBType as NativeType,
} from "@duckdb/node-api";
import { concatBytes } from "../../base/bytes.ts";
import { messageOf } from "../../base/errors.ts";
import {
  type DescribedColumn,
  type EngineConnection,
  EngineFault,
  type EngineType,
  type FaultKind,
  type Relation,
  type RunProfile,
  type RunStatement,
  type TextChunk,
} from "./driver.ts";
import type { ArrowType } from "../arrow_fields.ts";
import { type ArrowBinding, arrowChunk } from "./arrow_chunk.ts";
import { awaitedResult, type Company, type PendingBinding } from "./awaited_result.ts";
import { type ChunkBinding, chunkTexts } from "./chunk_texts.ts";
import { KeptStatements } from "./kept_statements.ts";
import { QUESTIONS_KEPT_MAX } from "../limits.ts";
import { type ProfileNode, runProfileOf } from "./run_profile.ts";
import { quoteName } from "./statement_text.ts";
import type { RunProgress } from "../types.ts";

/** What a connection needs of its driver. */
export interface ConnectionHooks {
  /** Reads the profile that the database wrote last. */
  readonly profile: () => Promise<Uint8Array>;
  readonly binding: ChunkBinding & ArrowBinding & PendingBinding;
  /** Statements of all connections; undefined: DuckDB has no threads of its own. */
  readonly company: Company | undefined;
  readonly giveBack: () => void;
}

/** The two connections of the database that one connection consists of. */
export interface NativePair {
  readonly running: DuckDBConnection;
  readonly asking: DuckDBConnection;
}

/** A connection of DuckDB in this process. Errors of all methods: `EngineFault`. */
export class NativeConnection implements EngineConnection {
  #closed = false;
  /**
   * Calls of the binding that have not come back. They must before the connection is closed or lent
   * again.
   */
  readonly #running = new Set<Promise<unknown>>();
  /** Quoted names of views that `describe` made and has not dropped. */
  readonly #views = new Set<string>();
  readonly #kept = new KeptStatements<DuckDBPreparedStatement>((prepared) =>
    prepared.destroySync()
  );
  /** Prepared statements of `ask`, and others that read no file. */
  readonly #questions = new KeptStatements<DuckDBPreparedStatement>(
    (prepared) => prepared.destroySync(),
    QUESTIONS_KEPT_MAX,
  );
  /** Whether `rows` came to its end. Before that there is no profile of it. */
  #measured = false;
  /**
   * Set where rows of a statement are still to come. Their memory is the pool's until something
   * else runs there.
   */
  #unfinished: DuckDBConnection | undefined;
  /**
   * The spill peak of the connection's life in the last profile. Undefined when it may have grown
   * since.
   */
  #spillPeak: number | undefined;
  /** Whether the statement was interrupted since it began. */
  #interrupted = false;
  /** That peak before the statement. It counts from the connection's start and is never reset. */
  #spillPeakBefore = 0;

  constructor(
    private readonly native: NativePair,
    private readonly hooks: ConnectionHooks,
  ) {}

  async serialize(sql: string): Promise<string> {
    return (await this.ask("SELECT json_serialize_sql(?::VARCHAR)", sql)) ?? "{}";
  }

  async deserialize(tree: string): Promise<string> {
    return (await this.ask("SELECT json_deserialize_sql(?::JSON)", tree)) ?? "";
  }

  async texts(sql: string): Promise<(string | null)[][]> {
    const reader = await this.attempt(() => this.native.asking.runAndReadAll(sql));
    return reader.getRows().map((row) => row.map((value) => value === null ? null : String(value)));
  }

  async describe(
    sql: string,
    relations: readonly Relation[],
  ): Promise<readonly DescribedColumn[]> {
    return await this.preparedOver(sql, relations, (prepared) =>
      Array.from(
        { length: prepared.columnCount },
        (_, i) => ({
          // A name that COLUMNS makes tells where the views are, which is left out of it.
          name: prepared.columnName(i).replaceAll(VIEWS_PREFIX, ""),
          type: engineType(prepared.columnType(i)),
        }),
      ));
  }

  async parameterTypes(
    sql: string,
    names: readonly string[],
    relations: readonly Relation[],
  ): Promise<readonly (readonly [string, string | null])[]> {
    return await this.preparedOver(
      sql,
      relations,
      (prepared) => names.map((name) => [name, parameterType(prepared, name)] as const),
    );
  }

  private async preparedOver<T>(
    sql: string,
    relations: readonly Relation[],
    read: (prepared: DuckDBPreparedStatement) => T,
  ): Promise<T> {
    try {
      for (const { name, select } of relations) await this.createView(quoteName(name), select);
      const prepared = await this.attempt(() => this.native.asking.prepare(sql));
      try {
        return read(prepared);
      } finally {
        prepared.destroySync();
      }
    } finally {
      await this.dropViews();
    }
  }

  async explain(sql: string): Promise<string> {
    const rows = await this.texts(`EXPLAIN ${sql}`);
    return rows.map((row) => row[1] ?? "").join("\n");
  }

  /**
   * A statement that runs again word for word is not parsed again. One that reads no file is not
   * bound again either. DuckDB binds `read_parquet` at each run (`SupportStatementCache` of its
   * bind data is false).
   */
  async *rows(
    { sql, values = [], isMeasured = true, isWhole = false, isShort = false, arrow }: RunStatement,
  ): AsyncGenerator<TextChunk> {
    const native = isMeasured ? this.native.running : this.native.asking;
    const kept = isMeasured ? this.#kept : this.#questions;
    if (isMeasured) {
      this.#spillPeakBefore = this.#spillPeak ??
        (await this.readProfile())?.system_peak_temp_dir_size ?? 0;
      this.#spillPeak = undefined;
    }
    this.#measured = false;
    this.#interrupted = false;
    const prepared = kept.take(sql) ?? await this.attempt(() => native.prepare(sql));
    let left = arrow?.rowsMax ?? Infinity;
    const chunkOf = (chunk: DuckDBDataChunk) => {
      if (arrow === undefined) return this.textChunk(chunk);
      const rowCount = Math.min(chunk.rowCount, left);
      left -= rowCount;
      return this.arrowChunk(chunk, { rowCount, types: arrow.types });
    };
    let finished = false;
    let ahead: Promise<unknown> = Promise.resolve();
    using _entered = this.hooks.company?.enter();
    try {
      values.forEach((value, at) => prepared.bindVarchar(at + 1, value));
      this.#unfinished = native;
      if (isWhole) {
        const result = await this.attempt(() => prepared.run());
        finished = true;
        this.#unfinished = undefined;
        for (let at = 0; at < result.chunkCount; at += 1) yield chunkOf(result.getChunk(at));
        return;
      }
      const result = await this.attempt(() => this.started(prepared, isShort));
      const fetch = () => {
        const fetched = this.attempt(() => result.fetchChunk());
        // One chunk is fetched ahead: DuckDB's thread works on while this one sends. Whoever takes
        // the chunk hears of a failure.
        ahead = fetched.catch(() => {});
        return fetched;
      };
      let next = fetch();
      for (;;) {
        const chunk = await next;
        if (chunk === null || chunk.rowCount === 0) break;
        next = fetch();
        const wasLeft = left;
        yield chunkOf(chunk);
        // Nobody wants the others.
        if (chunk.rowCount > wasLeft) return;
      }
      if (result.returnType === FAILED) await this.failAgain(native, { sql, values });
      finished = true;
      this.#unfinished = undefined;
    } finally {
      await ahead;
      if (finished) kept.keep(sql, prepared);
      else prepared.destroySync();
    }
    this.#measured = isMeasured;
  }

  private started(prepared: DuckDBPreparedStatement, isShort: boolean): Promise<DuckDBResult> {
    const { binding, company } = this.hooks;
    if (!isShort || company === undefined) return prepared.stream();
    const mayWait = () => company.isAlone && !this.#interrupted && !this.#closed;
    return awaitedResult(binding, prepared, mayWait);
  }

  private textChunk({ rowCount, chunk }: DuckDBDataChunk): TextChunk {
    // Their memory is the chunk's, which is to live as long as this object.
    const texts = () => chunkTexts(this.hooks.binding, chunk, rowCount);
    return {
      rowCount,
      bytes: (rows = rowCount) => texts().copy(0, rows),
      pieces: () => texts().pieces(),
      ends: () => texts().ends(),
      free: () => this.hooks.binding.data_chunk_reset(chunk),
    };
  }

  private arrowChunk(
    { chunk }: DuckDBDataChunk,
    { rowCount: rows, types }: {
      readonly rowCount: number;
      readonly types: readonly ArrowType[];
    },
  ): TextChunk {
    const pieces = () => arrowChunk(this.hooks.binding, chunk, { rows, types });
    return {
      rowCount: rows,
      bytes: () => concatBytes(pieces()),
      pieces,
      ends: () => new Uint32Array(),
      free: () => this.hooks.binding.data_chunk_reset(chunk),
    };
  }

  /**
   * Asks a failed statement once more, all of it at once, which fails before there is a row. A
   * result that fails after its first rows ends like a whole one, and the binding keeps back why.
   * Always throws.
   */
  private async failAgain(
    native: DuckDBConnection,
    { sql, values }: { readonly sql: string; readonly values: readonly string[] },
  ): Promise<never> {
    if (this.#interrupted) throw new EngineFault("interrupted", "the statement was interrupted");
    const again = await this.attempt(() =>
      native.prepare(`SELECT max(hash(again)) FROM (${sql}\n) AS again`)
    );
    try {
      values.forEach((value, at) => again.bindVarchar(at + 1, value));
      await this.attempt(() => again.stream());
    } finally {
      again.destroySync();
    }
    throw new EngineFault("passed", "a result ended early and does not when it is asked again");
  }

  progress(): RunProgress {
    if (this.#closed) return { rows: 0, percent: undefined };
    const { rows_processed, percentage } = this.native.running.progress;
    const percent = percentage <= 0 ? undefined : Math.min(percentage, 100);
    return { rows: Number(rows_processed), percent };
  }

  interrupt(): void {
    if (!this.#closed) this.interruptBoth();
  }

  async profile(): Promise<RunProfile | undefined> {
    if (!this.#measured) return undefined;
    const profile = await this.readProfile();
    if (profile === undefined) return undefined;
    this.#spillPeak = profile.system_peak_temp_dir_size;
    return runProfileOf(profile, { spillPeakBefore: this.#spillPeakBefore });
  }

  async release(): Promise<void> {
    if (this.#closed) return;
    try {
      await this.stop();
      await this.dropUnfinished();
      await this.dropViews();
    } finally {
      this.hooks.giveBack();
    }
  }

  /** Ends what runs, then the connection. Closing under a running call would crash the process. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.stop();
    this.#kept.clear();
    this.#questions.clear();
    this.native.asking.closeSync();
    this.native.running.closeSync();
  }

  /**
   * Drops what a statement holds. The database lets go of it when the next statement begins,
   * whatever comes of that one.
   */
  private async dropUnfinished(): Promise<void> {
    const native = this.#unfinished;
    if (native === undefined) return;
    this.#unfinished = undefined;
    await this.attempt(() => native.run("SELECT 1")).catch(() => {});
  }

  private async createView(quoted: string, select: string): Promise<void> {
    this.#views.add(quoted);
    const sql = `CREATE OR REPLACE TEMP VIEW ${quoted} AS ${select}`;
    await this.attempt(() => this.native.asking.run(sql));
  }

  /** What cannot be dropped here, for example after an interrupt, is dropped at `release`. */
  private async dropViews(): Promise<void> {
    for (const view of this.#views) {
      await this.attempt(() => this.native.asking.run(`DROP VIEW IF EXISTS temp.${view}`));
      this.#views.delete(view);
    }
  }

  private interruptBoth(): void {
    this.#interrupted = true;
    this.native.running.interrupt();
    this.native.asking.interrupt();
  }

  /**
   * Interrupts until nothing runs, because an interrupt between two steps of a call is forgotten.
   */
  private async stop(): Promise<void> {
    while (this.#running.size > 0) {
      this.interruptBoth();
      const settled = Promise.allSettled(this.#running);
      await Promise.race([settled, new Promise((resolve) => setTimeout(resolve, STOP_REPEAT_MS))]);
    }
  }

  /**
   * The profile of the statement that ended last. Without a profile nothing was measured, and the
   * caller leaves the figures out.
   */
  private async readProfile(): Promise<ProfileNode | undefined> {
    try {
      return JSON.parse(new TextDecoder().decode(await this.hooks.profile())) as ProfileNode;
    } catch {
      return undefined;
    }
  }

  /** Runs a call of the binding; what it throws becomes an `EngineFault`. */
  private async attempt<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new EngineFault("interrupted", "the connection is closed");
    const running = call();
    this.#running.add(running);
    try {
      return await running;
    } catch (cause) {
      const message = messageOf(cause);
      throw new EngineFault(faultKindOf(message), message, { cause });
    } finally {
      this.#running.delete(running);
    }
  }

  /** Runs a one-value statement with one text parameter. The statement is prepared once. */
  private async ask(sql: string, argument: string): Promise<string | undefined> {
    const prepared = this.#questions.take(sql) ??
      await this.attempt(() => this.native.asking.prepare(sql));
    try {
      prepared.bindVarchar(1, argument);
      const reader = await this.attempt(() => prepared.runAndReadAll());
      this.#questions.keep(sql, prepared);
      const value = reader.getRows()[0]?.[0];
      return value === null || value === undefined ? undefined : String(value);
    } catch (error) {
      prepared.destroySync();
      throw error;
    }
  }
}

const STOP_REPEAT_MS = 20;

/** The schema of a view that `describe` makes, in DuckDB's spelling. */
const VIEWS_PREFIX = '"temp".main.';

/** `ResultType.INVALID`: the type of a result that has failed. */
const FAILED = 0;

/** What the binding's types have of nesting. All of it is optional, by kind. */
interface NestedType {
  readonly valueType?: NativeType;
  readonly keyType?: NativeType;
  readonly entryNames?: readonly string[];
  readonly entryTypes?: readonly NativeType[];
  readonly alias?: string;
}

/** The binding throws where the binder left the type open. */
function parameterType(prepared: DuckDBPreparedStatement, name: string): string | null {
  try {
    return engineType(prepared.parameterType(prepared.parameterIndex(name))).text;
  } catch {
    return null;
  }
}

function engineType(type: NativeType): EngineType {
  const { valueType, keyType, entryNames, entryTypes, alias } = type as unknown as NestedType;
  // BIGNUM and the like have names of their own; JSON is a VARCHAR under an alias.
  const kind = alias === "JSON" ? "JSON" : kindName(type);
  const item = valueType === undefined ? undefined : engineType(valueType);
  // The binding leaves out what an item is called.
  const text = alias ?? (kind === "LIST" && item !== undefined ? `${item.text}[]` : `${type}`);
  if (kind === "STRUCT" && entryTypes !== undefined) {
    return {
      text,
      kind,
      fields: entryTypes.map((entry, i) => ({
        name: entryNames?.[i] ?? "",
        type: engineType(entry),
      })),
    };
  }
  return {
    text,
    kind,
    ...(item === undefined ? {} : { item }),
    ...(keyType === undefined ? {} : { key: engineType(keyType) }),
  };
}

function kindName(type: NativeType): string {
  return KINDS[type.typeId] ?? "OTHER";
}

/** The binding's type numbers, from its header file. */
const KINDS: Readonly<Record<number, string>> = {
  1: "BOOLEAN",
  2: "TINYINT",
  3: "SMALLINT",
  4: "INTEGER",
  5: "BIGINT",
  6: "UTINYINT",
  7: "USMALLINT",
  8: "UINTEGER",
  9: "UBIGINT",
  10: "FLOAT",
  11: "DOUBLE",
  12: "TIMESTAMP",
  13: "DATE",
  14: "TIME",
  15: "INTERVAL",
  16: "HUGEINT",
  17: "VARCHAR",
  18: "BLOB",
  19: "DECIMAL",
  20: "TIMESTAMP_S",
  21: "TIMESTAMP_MS",
  22: "TIMESTAMP_NS",
  23: "ENUM",
  24: "LIST",
  25: "STRUCT",
  26: "MAP",
  27: "UUID",
  31: "TIMESTAMP_TZ",
  32: "UHUGEINT",
  33: "ARRAY",
  36: "SQLNULL",
};

/**
 * The kind of a fault. The binding gives a message only, whose first words are DuckDB's exception
 * type.
 */
export function faultKindOf(message: string): FaultKind {
  for (const [prefix, kind] of FAULTS) if (message.startsWith(prefix)) return kind;
  return "statement";
}

const FAULTS: readonly (readonly [string, FaultKind])[] = [
  ["INTERRUPT", "interrupted"],
  ["Out of Memory", "memory"],
  ["IO Error", "io"],
  ["HTTP Error", "io"],
  // What its reader of Parquet says of a file that was damaged since it was verified.
  ["Invalid Error: Parquet file", "io"],
  ["Invalid Error: TProtocolException", "io"],
  ["Invalid Error: don't know what type", "io"],
  ['Invalid Input Error: Failed to read file "', "io"],
  ["Invalid Input Error: File '", "io"],
  ["Invalid Input Error: Invalid string encoding found in Parquet file", "io"],
  ["Invalid Input Error: No magic bytes found at end of file '", "io"],
  ["INTERNAL", "internal"],
  ["FATAL", "internal"],
  ["TransactionContext", "internal"],
];
