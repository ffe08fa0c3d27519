/** What maintenance does to every table, as a table: how often, and what one turn of it is. */

import type { Removals } from "../catalog/removals.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { readerOf } from "../iceberg/commit_table.ts";
import { applyExpire, type ExpirePolicy, hasExpired } from "../tables/expire.ts";
import { applyForeignDeletes } from "./apply_deletes.ts";
import { type LeaseDeps, underLease } from "./held_lease.ts";
import type { ObjectStore } from "../storage/object_store.ts";
import { MergeSweep, type MergeSweepDeps, type MergeSweepOptions } from "./merge_sweep.ts";
import { applyOrphans, lookForOrphans } from "./orphans.ts";
import { applyRetention, lookForRetention, retentionOf } from "./retention.ts";
import { RollupSweep } from "./rollup_sweep.ts";
import { SummarySweep } from "./summary_sweep.ts";
import { hasDueRemovals, sweepRemovals } from "./sweep_removals.ts";

/** One kind of maintenance: how often it is due, and one turn of it. */
export interface TableSweep {
  readonly name: string;
  readonly intervalMs: number;
  /** One turn; true: it has more to do, and wants another turn at once. */
  run(ident: TableIdent, signal: AbortSignal): Promise<boolean>;
}

export interface TableSweepDeps extends MergeSweepDeps {
  readonly removals: Removals;
  /**
   * Where the files of merges, sidecars and roll-ups are stored, which can wait until the disk has
   * room; default `store`.
   */
  readonly roomKeeping?: ObjectStore;
}

export interface TableSweepOptions {
  /** Between two looks at the summaries of a table's files. */
  readonly summariesIntervalMs: number;
  readonly expire: ExpirePolicy;
  readonly merge?: MergeSweepOptions;
}

const MERGE_INTERVAL_MS = 5_000;
/** See docs/api/follow.md#subscribe. */
const EXPIRE_INTERVAL_MS = 60_000;
const RETENTION_INTERVAL_MS = 60_000;
const ROLLUPS_INTERVAL_MS = 300_000;
const ORPHANS_INTERVAL_MS = 6 * 3_600_000;

/** In the order in which they take turns: what shrinks a table comes before what merges it. */
export function tableSweeps(deps: TableSweepDeps, options: TableSweepOptions): TableSweep[] {
  const patient = { ...deps, store: deps.roomKeeping ?? deps.store };
  const merges = new MergeSweep(patient, options.merge);
  const summaries = new SummarySweep(patient);
  const rollups = new RollupSweep(patient);
  return [
    {
      name: "deletes",
      intervalMs: MERGE_INTERVAL_MS,
      run: leased(deps, "deletes", { isDue: mayHaveDeletes(deps), run: deletesTurn(deps) }),
    },
    {
      name: "retention",
      intervalMs: RETENTION_INTERVAL_MS,
      run: leased(deps, "retention", { isDue: isPastRetention(deps), run: retentionTurn(deps) }),
    },
    {
      name: "expire",
      intervalMs: EXPIRE_INTERVAL_MS,
      run: leased(deps, "expire", {
        isDue: async (ident) =>
          await hasExpired(deps, ident, options.expire) || await hasDueRemovals(deps, ident),
        run: expireTurn(deps, options.expire),
      }),
    },
    {
      name: "orphans",
      intervalMs: ORPHANS_INTERVAL_MS,
      run: leased(deps, "orphans", { run: orphansTurn(deps) }),
    },
    {
      name: "merge",
      intervalMs: MERGE_INTERVAL_MS,
      run: (ident, signal) => merges.run(ident, signal),
    },
    {
      name: "summaries",
      intervalMs: options.summariesIntervalMs,
      run: leased(deps, "summaries", { run: (ident, signal) => summaries.run(ident, signal) }),
    },
    {
      name: "rollups",
      intervalMs: ROLLUPS_INTERVAL_MS,
      run: leased(deps, "rollups", {
        isDue: (ident) => rollups.isDue(ident),
        run: (ident, signal) => rollups.run(ident, signal),
      }),
    },
  ];
}

interface LeasedTurn {
  /** Asked without the lease; default: always. */
  readonly isDue?: (ident: TableIdent) => Promise<boolean>;
  readonly run: TableSweep["run"];
}

/**
 * One turn at a time over all compactors. A compactor that finds the lease taken leaves the turn to
 * the other. A lease costs two synced writes of the catalog, so none is taken where nothing is to
 * do. With 1,000 tables that nobody wrote to, leases were half of a processor's time.
 */
function leased(deps: LeaseDeps, name: string, { isDue, run }: LeasedTurn): TableSweep["run"] {
  return async (ident, signal) => {
    if (isDue !== undefined && !await isDue(ident)) return false;
    const lease = `${name}/${ident.namespace}.${ident.name}`;
    const more = await underLease(deps, lease, { signal, work: (held) => run(ident, held) });
    return more === true;
  };
}

/** A table without deletes has none until its metadata changes. */
function mayHaveDeletes(deps: TableSweepDeps): (ident: TableIdent) => Promise<boolean> {
  const without = new Map<string, string>();
  return async (ident) => {
    const name = `${ident.namespace}.${ident.name}`;
    const location = await deps.catalog.metadataLocation(ident);
    if (location === undefined) without.delete(name);
    if (location === undefined || without.get(name) === location) return false;
    const reader = readerOf(deps);
    if (await reader.hasDeletes(await reader.loadTable(ident, location))) return true;
    without.set(name, location);
    return false;
  };
}

function deletesTurn(deps: TableSweepDeps): TableSweep["run"] {
  // By table: in which files another engine's deletes take nothing out.
  const checked = new Map<string, Set<string>>();
  return async (ident, signal) => {
    const name = `${ident.namespace}.${ident.name}`;
    const own = checked.get(name) ?? new Set();
    const applied = await applyForeignDeletes(deps, ident, { checked: own, signal });
    if (own.size === 0) checked.delete(name);
    else checked.set(name, own);
    if (applied === undefined) return false;
    if (applied.outcome === "applied") deps.observer?.applied?.(ident, applied);
    return applied.more || applied.outcome === "superseded";
  };
}

function isPastRetention(deps: TableSweepDeps): (ident: TableIdent) => Promise<boolean> {
  return async (ident) => {
    const retention = await retentionOf(deps, ident);
    if (retention === undefined) return false;
    const plan = await lookForRetention(deps, ident, retention);
    return plan !== undefined && plan.files.length + plan.cut.length > 0;
  };
}

function retentionTurn(deps: TableSweepDeps): TableSweep["run"] {
  return async (ident, signal) => {
    const retention = await retentionOf(deps, ident);
    if (retention === undefined) return false;
    const plan = await lookForRetention(deps, ident, retention);
    if (plan === undefined || plan.files.length + plan.cut.length === 0) return false;
    const report = await applyRetention(deps, plan, { signal });
    deps.observer?.retained?.(ident, report);
    return report.outcome === "superseded" || (plan.more && report.outcome === "dropped");
  };
}

function expireTurn(deps: TableSweepDeps, policy: ExpirePolicy): TableSweep["run"] {
  return async (ident) => {
    // First, because it needs no space: on a full disk nothing else could be written until it ran.
    const removed = await sweepRemovals(deps, ident);
    if (removed > 0) deps.observer?.removed?.("replaced", removed);
    const expired = await applyExpire(deps, ident, policy);
    if (expired > 0) deps.observer?.expired?.(ident, expired);
    return false;
  };
}

function orphansTurn(deps: TableSweepDeps): TableSweep["run"] {
  return async (ident) => {
    const plan = await lookForOrphans(deps, ident);
    if (plan === undefined || plan.orphans.length === 0) return false;
    await applyOrphans(deps, plan);
    deps.observer?.removed?.("orphan", plan.orphans.length);
    return false;
  };
}
