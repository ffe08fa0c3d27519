/**
 * DuckDB in this process. One in-memory database; a fixed set of connections, because profiling and progress
 * are settings of a connection and settings are locked once the database is set up.
 *
 * Walls: no file outside `readableDirs` and `scratchDir`, no extension is ever loaded from elsewhere, no
 * setting can change after `open`. Needs `ffi` on the binding and nothing of the network.
 */

import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  DuckDBType as NativeType,
} from "@duckdb/node-api";
import { OperatingError } from "../base/errors.ts";
import { messageOf } from "../base/errors.ts";
import {
  type DescribedColumn,
  type DriverOptions,
  type EngineConnection,
  type EngineDatabase,
  type EngineDriver,
  EngineFault,
  type EngineType,
  type FaultKind,
  type RunProfile,
  type TextChunk,
} from "./driver.ts";
import { type ProfileNode, runProfileOf } from "./run_profile.ts";
import { quoteName, quoteText, renderingSql } from "./render.ts";
import { Waiters } from "./waiters.ts";

export interface NativeDriverOptions {
  /** Reads a profile that the database wrote below `scratchDir`. */
  readonly readFile: (path: string) => Promise<Uint8Array>;
}

export function nativeDriver(options: NativeDriverOptions): EngineDriver {
  return { name: "native", open: (database) => openNative(database, options) };
}

async function openNative(
  options: DriverOptions,
  { readFile }: NativeDriverOptions,
): Promise<EngineDatabase> {
  const binding = await loadBinding();
  const instance = await binding.DuckDBInstance.create(":memory:");
  const setup = await instance.connect();
  for (const sql of databaseSettings(options)) await setup.run(sql);
  for (const sql of options.setup) await setup.run(sql);
  const connections: NativeConnection[] = [];
  const free = new Waiters<NativeConnection>();
  for (let i = 0; i < options.connections; i += 1) {
    const native = await instance.connect();
    const profilePath = `${options.scratchDir}/profile-${i}.json`;
    for (const sql of connectionSettings(profilePath)) await native.run(sql);
    const connection = new NativeConnection(native, {
      profile: () => readFile(profilePath),
      giveBack: () => free.give(connection),
    });
    connections.push(connection);
  }
  await setup.run("SET lock_configuration = true");
  setup.closeSync();
  for (const connection of connections) free.give(connection);
  return new NativeDatabase(instance, connections, free);
}

/** Loaded on first use: a process without the `ffi` permission can still import this file. */
async function loadBinding(): Promise<typeof import("@duckdb/node-api")> {
  try {
    return await import("@duckdb/node-api");
  } catch (cause) {
    throw new OperatingError(
      "unavailable",
      `Cannot load the SQL engine's library: ${messageOf(cause)}; grant ffi and read on its folder`,
      { reason: "engine_not_loaded", cause },
    );
  }
}

function databaseSettings(options: DriverOptions): string[] {
  const dirs = [...options.readableDirs, options.scratchDir].map((dir) => quoteText(`${dir}/`));
  const settings: [string, string][] = [
    ["memory_limit", quoteText(`${Math.max(64, Math.floor(options.memoryBytesMax / 2 ** 20))}MiB`)],
    ["temp_directory", quoteText(`${options.scratchDir}/spill`)],
    [
      "max_temp_directory_size",
      quoteText(`${Math.max(1, Math.floor(options.spillBytesMax / 2 ** 20))}MiB`),
    ],
    ["autoinstall_known_extensions", "false"],
    ["autoload_known_extensions", "false"],
    ["parquet_metadata_cache", "true"],
    ["allowed_directories", `[${dirs.join(", ")}]`],
    ["enable_external_access", "false"],
  ];
  if (options.threads !== undefined) settings.unshift(["threads", String(options.threads)]);
  return settings.map(([name, value]) => `SET ${name} = ${value}`);
}

function connectionSettings(profilePath: string): string[] {
  // Progress is counted from the start because no setting can change later; breakers watch it.
  return [
    "SET TimeZone = 'UTC'",
    "SET enable_progress_bar = true",
    "SET enable_progress_bar_print = false",
    "SET progress_bar_time = 0",
    "SET enable_profiling = 'json'",
    `SET profiling_output = ${quoteText(profilePath)}`,
  ];
}

class NativeDatabase implements EngineDatabase {
  constructor(
    private readonly instance: DuckDBInstance,
    private readonly connections: readonly NativeConnection[],
    private readonly free: Waiters<NativeConnection>,
  ) {}

  connect(signal: AbortSignal): Promise<EngineConnection> {
    return this.free.take(signal);
  }

  close(): Promise<void> {
    this.free.close(new OperatingError("unavailable", "The SQL engine is closed"));
    for (const connection of this.connections) connection.closeNow();
    this.instance.closeSync();
    return Promise.resolve();
  }
}

interface ConnectionHooks {
  readonly profile: () => Promise<Uint8Array>;
  readonly giveBack: () => void;
}

class NativeConnection implements EngineConnection {
  #closed = false;
  /** Quoted names of the request's views. */
  readonly #views = new Set<string>();
  /** What `rows` ran last: a profile of anything else is not its measurement. */
  #lastSql = "";

  constructor(
    private readonly native: DuckDBConnection,
    private readonly hooks: ConnectionHooks,
  ) {}

  async serialize(sql: string): Promise<string> {
    return (await this.call("SELECT json_serialize_sql(?::VARCHAR)", sql)) ?? "{}";
  }

  async deserialize(tree: string): Promise<string> {
    return (await this.call("SELECT json_deserialize_sql(?::JSON)", tree)) ?? "";
  }

  async createView(name: string, select: string): Promise<void> {
    const quoted = quoteName(name);
    this.#views.add(quoted);
    await attempt(() => this.native.run(`CREATE OR REPLACE TEMP VIEW ${quoted} AS ${select}`));
  }

  async texts(sql: string): Promise<(string | null)[][]> {
    const reader = await attempt(() => this.native.runAndReadAll(sql));
    return reader.getRows().map((row) => row.map((value) => value === null ? null : String(value)));
  }

  async describe(sql: string): Promise<readonly DescribedColumn[]> {
    const prepared = await attempt(() => this.native.prepare(sql));
    try {
      return Array.from(
        { length: prepared.columnCount },
        (_, i) => ({ name: prepared.columnName(i), type: engineType(prepared.columnType(i)) }),
      );
    } finally {
      prepared.destroySync();
    }
  }

  async explain(sql: string): Promise<string> {
    const rows = await this.texts(`EXPLAIN ${sql}`);
    return rows.map((row) => row[1] ?? "").join("\n");
  }

  async *rows(
    sql: string,
    options: Parameters<EngineConnection["rows"]>[1],
  ): AsyncGenerator<TextChunk> {
    this.#lastSql = renderingSql(sql, options);
    const prepared = await attempt(() => this.native.prepare(this.#lastSql));
    const result = await attempt(() => prepared.stream()).finally(() => prepared.destroySync());
    for (;;) {
      const chunk = await attempt(() => result.fetchChunk());
      if (chunk === null || chunk.rowCount === 0) return;
      yield { texts: () => textsOf(chunk) };
    }
  }

  interrupt(): void {
    if (!this.#closed) this.native.interrupt();
  }

  async profile(): Promise<RunProfile | undefined> {
    try {
      const text = new TextDecoder().decode(await this.hooks.profile());
      const profile = JSON.parse(text) as ProfileNode;
      return profile.query_name === this.#lastSql ? runProfileOf(profile) : undefined;
    } catch {
      // No profile is no measurement; the caller leaves the figures out.
      return undefined;
    }
  }

  async release(): Promise<void> {
    if (this.#closed) return;
    try {
      for (const view of this.#views) await this.native.run(`DROP VIEW IF EXISTS temp.${view}`);
      this.#views.clear();
    } finally {
      this.hooks.giveBack();
    }
  }

  closeNow(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.native.interrupt();
    this.native.closeSync();
  }

  /** Runs a one-value statement with one text parameter. */
  private async call(sql: string, argument: string): Promise<string | undefined> {
    const prepared = await attempt(() => this.native.prepare(sql));
    try {
      prepared.bindVarchar(1, argument);
      const reader = await attempt(() => prepared.runAndReadAll());
      const value = reader.getRows()[0]?.[0];
      return value === null || value === undefined ? undefined : String(value);
    } finally {
      prepared.destroySync();
    }
  }
}

function textsOf(chunk: DuckDBDataChunk): string[] {
  const vector = chunk.getColumnVector(0);
  const texts = new Array<string>(chunk.rowCount);
  for (let i = 0; i < texts.length; i += 1) texts[i] = vector.getItem(i) as string;
  return texts;
}

/** What the binding's types have of nesting; all of it optional, by kind. */
interface NestedType {
  readonly valueType?: NativeType;
  readonly entryNames?: readonly string[];
  readonly entryTypes?: readonly NativeType[];
  readonly alias?: string;
}

function engineType(type: NativeType): EngineType {
  const { valueType, entryNames, entryTypes, alias } = type as unknown as NestedType;
  // BIGNUM and the like have names of their own; JSON is a VARCHAR under an alias.
  const kind = alias === "JSON" ? "JSON" : kindName(type);
  const text = alias ?? type.toString();
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
  return valueType === undefined ? { text, kind } : { text, kind, item: engineType(valueType) };
}

function kindName(type: NativeType): string {
  return KINDS[type.typeId] ?? "OTHER";
}

/** The binding's type numbers, as its header file has them. */
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

/** Runs a call of the binding; what it throws becomes an `EngineFault`. */
async function attempt<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    const message = messageOf(cause);
    throw new EngineFault(faultKindOf(message), message, { cause });
  }
}

/** The binding gives a message only; its first words are the engine's exception type. */
export function faultKindOf(message: string): FaultKind {
  for (const [prefix, kind] of FAULTS) if (message.startsWith(prefix)) return kind;
  return "statement";
}

const FAULTS: readonly (readonly [string, FaultKind])[] = [
  ["INTERRUPT", "interrupted"],
  ["Out of Memory", "memory"],
  ["IO Error", "io"],
  ["HTTP Error", "io"],
  ["INTERNAL", "internal"],
  ["FATAL", "internal"],
  ["TransactionContext", "internal"],
];
