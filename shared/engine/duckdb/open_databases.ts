/**
 * The DuckDB that runs statements, or two: where expensive statements are to step back behind
 * others, they and batch jobs have one of their own, of low priority. Each is in a process of its
 * own where `EngineOptions.processes` says so, which then is replaced when a statement cannot be
 * ended otherwise (`process/`). Pool and spill space are divided once, since no setting changes
 * later. Where the priority cannot be had, or the pool is too small to be divided, all share one.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../base/errors.ts";
import { yieldingRefusal } from "../../os/thread_priority.ts";
import type { DriverOptions, EngineDatabase, EngineDriver } from "./driver.ts";
import { DIALECT_SETUP } from "../functions/dialect.ts";
import { HELD_SCHEMA } from "../held_rows/held_rows.ts";
import { DIVIDED_POOL_BYTES_MIN, LIGHT_SHARE_DIVISOR, PAUSED_STREAMS_MAX } from "../limits.ts";
import { nativeDriver } from "./native_driver.ts";
import type { EngineOptions } from "../open_engine.ts";
import { processDriver } from "./process/process_driver.ts";
import { headroomBytesFor } from "./process/resident_watch.ts";
import type { Databases } from "../turns/seat.ts";
import type { TurnCounts } from "../turns/turns.ts";

/** One connection more than statements use, for the probe. */
const PROBE_CONNECTIONS = 1;

/**
 * Names of the databases, each with a process of its own where there are processes. They are labels
 * of metrics.
 */
export const ENGINE_NAMES = ["light", "dear"] as const;
export type EngineName = typeof ENGINE_NAMES[number];

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
  options: EngineOptions,
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
      connections: statements + PAUSED_STREAMS_MAX + PROBE_CONNECTIONS,
      setup: [...DIALECT_SETUP, `CREATE SCHEMA ${HELD_SCHEMA}`],
    };
  };
  const lightRoom = {
    memoryBytesMax: Math.floor(memoryBytesMax / LIGHT_SHARE_DIVISOR),
    spillBytesMax: Math.floor(spillBytesMax / LIGHT_SHARE_DIVISOR),
  };
  const whole = async () => {
    const statements = turns.light + turns.dear + turns.batch;
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
        statements: turns.dear + turns.batch,
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
  { driver, processes, files, dearNiceness = 0, memoryBytesMax }: EngineOptions,
): EngineDriver {
  if (driver !== undefined) return driver;
  if (processes === undefined) return nativeDriver({ readFile: (path) => files.readFile(path) });
  const { meter, headroomBytes = headroomBytesFor(memoryBytesMax), asDriver } = processes;
  const made = processDriver({
    ...{ engine, headroomBytes, files },
    niceness: engine === "dear" ? dearNiceness : 0,
    ...(meter === undefined ? {} : { meter }),
  });
  return asDriver === undefined ? made : asDriver(made);
}

function isDivided({ dearNiceness = 0, memoryBytesMax, processes }: EngineOptions): boolean {
  if (processes === undefined) return false;
  return dearNiceness > 0 && memoryBytesMax >= DIVIDED_POOL_BYTES_MIN;
}

/**
 * Undefined where expensive statements share the others' engine, which is logged as it was not
 * asked for.
 */
async function openDear(
  options: EngineOptions,
  settings: DriverOptions,
): Promise<EngineDatabase | undefined> {
  try {
    const refusal = yieldingRefusal();
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
