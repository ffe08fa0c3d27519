/**
 * The SQL engine that runs statements, or two: where dear statements are to step back behind others, they and batch jobs have
 * one of their own, on threads of low priority (`thread_driver.ts`). Pool and spill space are then divided once, since no
 * setting changes later. Where there can be no such threads, or the pool is too small to be divided, all share one.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../base/errors.ts";
import { yieldingRefusal } from "../os/thread_priority.ts";
import type { DriverOptions, EngineDatabase } from "./driver.ts";
import { DIALECT_SETUP } from "./functions/dialect.ts";
import { HELD_SCHEMA } from "./held_rows/held_rows.ts";
import { DIVIDED_POOL_BYTES_MIN, LIGHT_SHARE_DIVISOR, PAUSED_STREAMS_MAX } from "./limits.ts";
import { nativeDriver } from "./native_driver.ts";
import type { EngineOptions } from "./open_engine.ts";
import type { Databases } from "./seat.ts";
import { threadDriver } from "./thread_driver.ts";
import type { TurnCounts } from "./turns.ts";

/** One more than statements use, for the probe. */
const PROBE_CONNECTIONS = 1;

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
  const dear = await openDear(options, () =>
    settings("dear", {
      memoryBytesMax: memoryBytesMax - lightRoom.memoryBytesMax,
      spillBytesMax: spillBytesMax - lightRoom.spillBytesMax,
      statements: turns.dear + turns.batch,
    }));
  const driver = options.driver ?? nativeDriver({ readFile: (path) => files.readFile(path) });
  if (dear === undefined) {
    const statements = turns.light + turns.dear + turns.batch;
    const light = await driver.open(
      await settings("engine", { memoryBytesMax, spillBytesMax, statements }),
    );
    return { light, dear: light };
  }
  try {
    const share = { ...lightRoom, statements: turns.light };
    return { light: await driver.open(await settings("engine", share)), dear };
  } catch (error) {
    await dear.close();
    throw error;
  }
}

/** Undefined where dear statements share the others' engine, which is logged where it was not asked for. */
async function openDear(
  { dearNiceness = 0, memoryBytesMax }: EngineOptions,
  settings: () => Promise<DriverOptions>,
): Promise<EngineDatabase | undefined> {
  if (dearNiceness === 0 || memoryBytesMax < DIVIDED_POOL_BYTES_MIN) return undefined;
  try {
    const refusal = yieldingRefusal();
    if (refusal !== undefined) throw new Error(refusal);
    return await threadDriver({ niceness: dearNiceness }).open(await settings());
  } catch (error) {
    getLogger(["svc", "engine"]).info(
      "dear statements run beside the others, with the same priority: {reason}",
      { reason: messageOf(error) },
    );
    return undefined;
  }
}
