/**
 * DuckDB in this process: one in-memory database with a fixed set of connections. The set is fixed
 * because profiling and progress are settings of a connection, and settings are locked once the
 * database is set up.
 *
 * Walls: no file outside `readableDirs` and `scratchDir`, no extension is ever loaded from
 * elsewhere, no setting can change after `open`. It needs `ffi` on the binding and nothing of the
 * network.
 */

import type { DuckDBInstance } from "@duckdb/node-api";
import { messageOf, OperatingError } from "../../base/errors.ts";
import type { DriverOptions, EngineConnection, EngineDatabase, EngineDriver } from "./driver.ts";
import type { ArrowBinding } from "./arrow_chunk.ts";
import { Company, type PendingBinding } from "./awaited_result.ts";
import type { ChunkBinding } from "./chunk_texts.ts";
import { STREAM_BUFFER_BYTES } from "../limits.ts";
import { NativeConnection } from "./native_connection.ts";
import { quoteText } from "./statement_text.ts";
import { type PlaceInLine, Waiters } from "../turns/waiters.ts";

/** What the driver needs of the file system. */
export interface NativeDriverOptions {
  /** Reads a profile that the database wrote below `scratchDir`. */
  readonly readFile: (path: string) => Promise<Uint8Array>;
}

type NativeBinding = ChunkBinding & ArrowBinding & PendingBinding;

/**
 * The driver of a DuckDB in this process. Errors of `open`: `unavailable` when the library cannot
 * be loaded.
 */
export function nativeDriver(options: NativeDriverOptions): EngineDriver {
  return { open: (database) => openNative(database, options) };
}

async function openNative(
  options: DriverOptions,
  { readFile }: NativeDriverOptions,
): Promise<EngineDatabase> {
  const { api, binding } = await loadBinding();
  const instance = await api.DuckDBInstance.create(":memory:");
  try {
    return await setUp(instance, options, { readFile, binding });
  } catch (error) {
    instance.closeSync();
    throw error;
  }
}

async function setUp(
  instance: DuckDBInstance,
  options: DriverOptions,
  { readFile, binding }: NativeDriverOptions & { readonly binding: NativeBinding },
): Promise<EngineDatabase> {
  const setup = await instance.connect();
  // One text: each call would hop to another thread, and there are more than a hundred.
  // In one transaction, and not optimized: a quarter less time.
  const made = ["PRAGMA disable_optimizer", "BEGIN", ...options.setup, "COMMIT"];
  await setup.run([...databaseSettings(options), ...made].join(";\n"));
  const connections: NativeConnection[] = [];
  const free = new Waiters<NativeConnection>();
  // One of DuckDB's threads is whichever executes a statement.
  const hasThreads = (options.threads ?? navigator.hardwareConcurrency) > 1;
  const company = hasThreads ? new Company() : undefined;
  for (let i = 0; i < options.connections; i += 1) {
    const [running, asking] = [await instance.connect(), await instance.connect()];
    const profilePath = `${options.scratchDir}/profile-${i}.json`;
    await running.run(connectionSettings(profilePath).join(";\n"));
    const connection = new NativeConnection({ running, asking }, {
      profile: () => readFile(profilePath),
      binding,
      company,
      giveBack: () => free.give(connection),
    });
    connections.push(connection);
  }
  await setup.run("SET lock_configuration = true");
  setup.closeSync();
  for (const connection of connections) free.give(connection);
  return new NativeDatabase(instance, connections, free);
}

/**
 * The binding is loaded on first use: a process without the `ffi` permission can still import this
 * file.
 */
async function loadBinding(): Promise<
  { readonly api: typeof import("@duckdb/node-api"); readonly binding: NativeBinding }
> {
  try {
    const { default: binding } = await import("@duckdb/node-bindings");
    return { api: await import("@duckdb/node-api"), binding };
  } catch (cause) {
    throw new OperatingError(
      "unavailable",
      `Cannot load DuckDB's library: ${messageOf(cause)}; grant ffi and read on its folder`,
      { reason: "engine_not_loaded", cause },
    );
  }
}

/** With less DuckDB cannot decode a row group. */
const POOL_MIB_MIN = 32;

function databaseSettings(options: DriverOptions): string[] {
  const dirs = [...options.readableDirs, options.scratchDir].map((dir) => quoteText(`${dir}/`));
  const settings: [string, string][] = [
    [
      "memory_limit",
      quoteText(`${Math.max(POOL_MIB_MIN, Math.floor(options.memoryBytesMax / 2 ** 20))}MiB`),
    ],
    ["temp_directory", quoteText(`${options.scratchDir}/spill`)],
    [
      "max_temp_directory_size",
      quoteText(`${Math.max(1, Math.floor(options.spillBytesMax / 2 ** 20))}MiB`),
    ],
    ["autoinstall_known_extensions", "false"],
    ["autoload_known_extensions", "false"],
    ["parquet_metadata_cache", "true"],
    // What statements freed goes back to the system within a second. Otherwise it stays until the
    // next one: 147 MiB in place of 34 after some scans, for the same processor time.
    ["allocator_background_threads", "true"],
    ["allowed_directories", `[${dirs.join(", ")}]`],
    ["enable_external_access", "false"],
    // For all connections: one statement instead of one for each of some forty.
    ["GLOBAL TimeZone", "'UTC'"],
  ];
  if (options.threads !== undefined) settings.unshift(["threads", String(options.threads)]);
  return settings.map(([name, value]) => `SET ${name} = ${value}`);
}

function connectionSettings(profilePath: string): string[] {
  // Progress is counted from the start because no setting can change later. Breakers watch it.
  return [
    "SET enable_progress_bar = true",
    "SET enable_progress_bar_print = false",
    "SET progress_bar_time = 0",
    "SET enable_profiling = 'json'",
    `SET profiling_output = ${quoteText(profilePath)}`,
    `SET custom_profiling_settings = ${quoteText(JSON.stringify(PROFILE_METRICS))}`,
    `SET streaming_buffer_size = '${STREAM_BUFFER_BYTES / 2 ** 20}MiB'`,
  ];
}

/**
 * The metrics that `run_profile.ts` reads. Every other metric costs time at the end of each
 * statement.
 */
const PROFILE_METRICS = {
  OPERATOR_NAME: "true",
  OPERATOR_CARDINALITY: "true",
  EXTRA_INFO: "true",
  SYSTEM_PEAK_TEMP_DIR_SIZE: "true",
};

class NativeDatabase implements EngineDatabase {
  constructor(
    private readonly instance: DuckDBInstance,
    private readonly connections: readonly NativeConnection[],
    private readonly free: Waiters<NativeConnection>,
  ) {}

  connect(signal: AbortSignal, line?: PlaceInLine): Promise<EngineConnection> {
    return this.free.take(signal, line);
  }

  async close(): Promise<void> {
    this.free.close(new OperatingError("unavailable", "DuckDB is closed"));
    await Promise.all(this.connections.map((connection) => connection.close()));
    this.instance.closeSync();
  }
}
