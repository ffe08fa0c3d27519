/**
 * The DuckDB that runs statements, or two: where expensive statements are to step back behind
 * others, they and batch jobs have one of their own, of low priority. Each is in a process of its
 * own where `DatabaseOptions.processes` says so, which then is replaced when a statement cannot be
 * ended otherwise (`process/`). That of expensive statements is there while there are some. Pool
 * and spill space are divided once, since no setting changes later. Where the priority cannot be
 * had, or the pool is too small to be divided, all share one.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../base/errors.ts";
import type { FileSystem } from "../../os/file_system.ts";
import { yieldingRefusal } from "../../os/thread_priority.ts";
import type { DriverOptions, EngineDatabase, EngineDriver } from "./driver.ts";
import { DIALECT_SETUP } from "../functions/dialect.ts";
import {
  DEAR_FIRST_MS,
  DEAR_IDLE_MS_MAX,
  DIVIDED_POOL_BYTES_MIN,
  LENT_SLOTS_MAX,
  LIGHT_SHARE_DIVISOR,
} from "../limits.ts";
import { nativeDriver } from "./native_driver.ts";
import { processDriver, type ProcessMeter } from "./process/process_driver.ts";
import { headroomBytesFor } from "./process/resident_watch.ts";
import type { Databases } from "../turns/seat.ts";
import type { TurnCounts } from "../turns/turns.ts";

const DEAR_TIMES = { firstMs: DEAR_FIRST_MS, idleMsMax: DEAR_IDLE_MS_MAX };
/** One connection more than statements use, for the probe. */
const PROBE_CONNECTIONS = 1;

/**
 * Names of the databases, each with a process of its own where there are processes. They are labels
 * of metrics.
 */
export const ENGINE_NAMES = ["light", "dear"] as const;
export type EngineName = typeof ENGINE_NAMES[number];

/** DuckDB in processes of its own. */
export interface EngineProcesses {
  /** Is told what becomes of them. */
  readonly meter?: ProcessMeter;
  /** Bytes that each may take beyond its part of the memory pool; default: `headroomBytesFor`. */
  readonly headroomBytes?: number;
  /** Wraps the driver, for tests. */
  readonly asDriver?: (driver: EngineDriver) => EngineDriver;
}

/** Where DuckDB runs and what it may take. */
export interface DatabaseOptions {
  /** Default: the native driver, or that of `processes`. */
  readonly driver?: EngineDriver;
  /**
   * Runs each DuckDB in a process of its own, which is replaced when a statement cannot be ended
   * otherwise. Default: in this process, which such a statement holds for good.
   */
  readonly processes?: EngineProcesses;
  /** For `cacheDir` only. */
  readonly files: FileSystem;
  /**
   * Absolute path for spill files and converted WAL segments; created and emptied at start. One
   * engine per directory.
   */
  readonly cacheDir: string;
  /** Memory pool of DuckDB, in bytes. */
  readonly memoryBytesMax: number;
  /** Bytes that queries may spill to disk, together. */
  readonly spillBytesMax: number;
  /** DuckDB's threads; default: one per core. */
  readonly threads?: number;
  /**
   * How far expensive statements and batch jobs step back behind others where processors are
   * short: 1 to 19, in a DuckDB of their own; needs `processes`. Default 0: they run beside the
   * others.
   */
  readonly dearNiceness?: number;
}

/** What the engine adds to its options when it opens its databases. */
interface DatabaseParts {
  readonly turns: TurnCounts;
  readonly readableDirs: readonly string[];
}

/** What of the engine's room one database has. */
type Share = Pick<DriverOptions, "memoryBytesMax" | "spillBytesMax"> & {
  /** Statements that run at once. */
  readonly statements: number;
};

export async function openDatabases(
  options: DatabaseOptions,
  { turns, readableDirs }: DatabaseParts,
): Promise<Databases> {
  const { files, cacheDir, memoryBytesMax, spillBytesMax } = options;
  const settings = async (
    folder: string,
    { statements, ...room }: Share,
  ): Promise<DriverOptions> => {
    const scratchDir = `${cacheDir}/${folder}`;
    await files.mkdir(scratchDir);
    return {
      ...room,
      readableDirs,
      scratchDir,
      threads: options.threads,
      connections: statements + LENT_SLOTS_MAX + PROBE_CONNECTIONS,
      setup: DIALECT_SETUP,
    };
  };
  const lightRoom = {
    memoryBytesMax: Math.floor(memoryBytesMax / LIGHT_SHARE_DIVISOR),
    spillBytesMax: Math.floor(spillBytesMax / LIGHT_SHARE_DIVISOR),
  };
  const whole = async () => {
    const statements = turns.light + turns.dear + turns.batch + turns.shard;
    const light = await driverFor("light", options).open(
      await settings("engine", { memoryBytesMax, spillBytesMax, statements }),
    );
    return { light, dear: light };
  };
  if (!isDivided(options)) return await whole();
  const [light, dear] = await Promise.allSettled([
    driverFor("light", options).open(
      await settings("light", { ...lightRoom, statements: turns.light }),
    ),
    openDear(
      options,
      await settings("dear", {
        memoryBytesMax: memoryBytesMax - lightRoom.memoryBytesMax,
        spillBytesMax: spillBytesMax - lightRoom.spillBytesMax,
        statements: turns.dear + turns.batch + turns.shard,
      }),
    ),
  ]);
  const opened = dear.status === "fulfilled" ? dear.value : undefined;
  if (light.status === "rejected") {
    await opened?.close();
    throw light.reason;
  }
  if (opened !== undefined) return { light: light.value, dear: opened };
  await light.value.close();
  return await whole();
}

function driverFor(
  engine: EngineName,
  { driver, processes, files, dearNiceness = 0, memoryBytesMax }: DatabaseOptions,
): EngineDriver {
  if (driver !== undefined) return driver;
  if (processes === undefined) return nativeDriver({ readFile: (path) => files.readFile(path) });
  const { meter, headroomBytes = headroomBytesFor(memoryBytesMax), asDriver } = processes;
  const made = processDriver({
    ...{ engine, headroomBytes, files },
    ...(engine === "dear" ? { ...DEAR_TIMES, niceness: dearNiceness } : {}),
    ...(meter === undefined ? {} : { meter }),
  });
  return asDriver === undefined ? made : asDriver(made);
}

function isDivided({ dearNiceness = 0, memoryBytesMax, processes }: DatabaseOptions): boolean {
  if (processes === undefined) return false;
  return dearNiceness > 0 && memoryBytesMax >= DIVIDED_POOL_BYTES_MIN;
}

/**
 * Undefined where expensive statements share the others' engine, which is logged as it was not
 * asked for.
 */
async function openDear(
  options: DatabaseOptions,
  settings: DriverOptions,
): Promise<EngineDatabase | undefined> {
  try {
    const refusal = yieldingRefusal(options.dearNiceness);
    if (refusal !== undefined) throw new Error(refusal);
    return await driverFor("dear", options).open(settings);
  } catch (error) {
    getLogger(["svc", "engine"]).info(
      "expensive statements run beside the others, with the same priority: {reason}",
      { reason: messageOf(error) },
    );
    return undefined;
  }
}
