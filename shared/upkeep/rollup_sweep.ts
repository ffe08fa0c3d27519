/**
 * Keeps roll-ups of a table's days (`shared/derived/summary/rollup.ts`). It makes one where a day
 * has many files and the newest is of others. It removes those that a newer one stands for, and
 * those of days without files. No commit: they are no part of the table.
 */

import { isOperatingError, messageOf } from "../base/errors.ts";
import { getLogger } from "@logtape/logtape";
import {
  folderOfRollup,
  readRollup,
  type Rollup,
  rollupFolder,
  rollupKey,
  writtenMsOfRollup,
} from "../derived/summary/rollup.ts";
import type { CatalogReader } from "../catalog/catalog.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { IcebergReader, type LoadedTable } from "../iceberg/iceberg_reader.ts";
import type { DataFile } from "../iceberg/types.ts";
import type { Clock } from "../os/clock.ts";
import { type Random, uuidV4 } from "../os/random.ts";
import type { ObjectStore } from "../storage/object_store.ts";
import type { MaintenanceObserver } from "./maintenance_observer.ts";
import { buildRollup } from "./build_rollup.ts";

export interface RollupDeps {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
}

/** Files of a day from which on it has a roll-up: fewer are read as fast. */
export const ROLLED_FILES_MIN = 8;
/**
 * A roll-up is made anew when it lacks more of the day's files than these, and this share of them.
 */
const OTHERS_MIN = 8;
const OTHERS_SHARE = 1 / 8;
/** A roll-up that another stands for stays for servers that have found it and are reading. */
const SUPERSEDED_MS = 600_000;

export interface RollupReport {
  readonly made: number;
  readonly removed: number;
  /** Superseded, and not yet old enough to be removed. */
  readonly waiting: number;
}

export interface RollupSweepOptions {
  readonly signal?: AbortSignal;
  /** Every roll-up is read, and one that is damaged made anew. */
  readonly checks?: boolean;
  /** Default `ROLLED_FILES_MIN`. */
  readonly filesMin?: number;
}

/** Errors: the store's; `signal`'s reason, between two days. */
export async function sweepRollups(
  deps: RollupDeps,
  { table, files }: { readonly table: LoadedTable; readonly files: readonly DataFile[] },
  { signal, checks = false, filesMin = ROLLED_FILES_MIN }: RollupSweepOptions = {},
): Promise<RollupReport> {
  const { store, clock, random } = deps;
  const days = Map.groupBy(files, ({ key }) => rollupFolder(key) ?? "");
  days.delete("");
  const known = await rollupsOf(store, table.locationKey);
  let made = 0;
  for (const [folder, own] of days) {
    signal?.throwIfAborted();
    if (own.length < filesMin) continue;
    const newest = known.get(folder)?.at(-1);
    if (newest !== undefined && await isFit(store, newest, { files: own, checks })) continue;
    const bytes = await buildRollup(store, own, {
      schema: table.schema,
      ...(signal === undefined ? {} : { signal }),
    });
    if (bytes === undefined) continue;
    // Newer by its name, too, where the clocks of two compactors differ.
    const before = newest === undefined ? 0 : writtenMsOfRollup(newest);
    const nowMs = Math.max(clock.nowMs(), before + 1);
    const key = rollupKey(folder, { nowMs, uuid: uuidV4(random) });
    await store.putNew(key, bytes);
    known.set(folder, [...known.get(folder) ?? [], key]);
    made += 1;
  }
  const before = clock.nowMs() - SUPERSEDED_MS;
  const superseded = [...known].flatMap(([folder, keys]) => {
    const isRolled = (days.get(folder)?.length ?? 0) >= filesMin;
    return isRolled ? keys.slice(0, -1) : keys;
  });
  // Since the next one was made; the last one of a day has none.
  const old = superseded.filter((key) => {
    const keys = known.get(folderOfRollup(key) ?? "") ?? [];
    const next = keys[keys.indexOf(key) + 1];
    return next === undefined || writtenMsOfRollup(next) < before;
  });
  await store.delete(old);
  return { made, removed: old.length, waiting: superseded.length - old.length };
}

/** By folder, oldest first. */
async function rollupsOf(store: ObjectStore, locationKey: string): Promise<Map<string, string[]>> {
  const keys: string[] = [];
  for await (const { key } of store.list(`${locationKey}/rollups/`)) keys.push(key);
  const known = Map.groupBy(keys.sort(), (key) => folderOfRollup(key) ?? "");
  known.delete("");
  return known;
}

async function isFit(
  store: ObjectStore,
  key: string,
  { files, checks }: { readonly files: readonly DataFile[]; readonly checks: boolean },
): Promise<boolean> {
  let rollup: Rollup;
  try {
    rollup = await readRollup(store, key);
    if (checks) await rollup.summary.check();
  } catch (error) {
    if (!isOperatingError(error, "corrupt") && !isOperatingError(error, "not_found")) throw error;
    getLogger(["svc", "maintenance"]).warn("{key} is made anew: {error}", {
      key,
      error: messageOf(error),
    });
    return false;
  }
  const rolled = new Set(rollup.files.map((file) => file.key));
  const live = files.filter((file) => rolled.has(file.key)).length;
  const others = files.length - live + (rolled.size - live);
  return others <= Math.max(OTHERS_MIN, OTHERS_SHARE * files.length);
}

/**
 * For the maintenance loop: a table that has not changed since all was as it should be is not
 * looked at again.
 */
export class RollupSweep {
  readonly #deps: RollupSweepDeps;
  /** Metadata of tables of which nothing is to be done, by name. */
  readonly #settled = new Map<string, string>();

  constructor(deps: RollupSweepDeps) {
    this.#deps = deps;
  }

  /** Whether the table has changed since nothing was to be done. Errors: the catalog's. */
  async isDue(ident: TableIdent): Promise<boolean> {
    const location = await this.#deps.catalog.metadataLocation(ident);
    return location !== undefined && this.#settled.get(nameOf(ident)) !== location;
  }

  /** Never has more to do at once. Errors: the catalog's and those of `sweepRollups`. */
  async run(ident: TableIdent, signal: AbortSignal): Promise<boolean> {
    const { catalog, store, observer } = this.#deps;
    const name = nameOf(ident);
    const location = await catalog.metadataLocation(ident);
    if (location === undefined || this.#settled.get(name) === location) return false;
    this.#settled.delete(name);
    const reader = new IcebergReader(store);
    const table = await reader.loadTable(ident, location);
    const { files } = await reader.selectWithDeletes(table);
    const report = await sweepRollups(this.#deps, { table, files }, { signal });
    if (report.made + report.removed > 0) observer?.rolledUp?.(ident, report);
    if (report.made === 0 && report.waiting === 0) this.#settled.set(name, location);
    return false;
  }
}

function nameOf({ namespace, name }: TableIdent): string {
  return `${namespace}.${name}`;
}

export interface RollupSweepDeps extends RollupDeps {
  readonly catalog: Pick<CatalogReader, "metadataLocation">;
  readonly observer?: MaintenanceObserver;
}
