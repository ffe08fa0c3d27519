/** Drains everything that is sealed now, once: for `compactor --once`, demos and tests. */

import { type LaneId, laneName } from "../tenant/tenant.ts";
import { applyDrain, type DrainDeps, lookAtLane } from "./drain.ts";
import { DRAIN_GATE_OPEN } from "./plan_drain.ts";

export interface DrainTotals {
  readonly lanes: number;
  readonly rows: number;
  readonly files: number;
  readonly commits: number;
  readonly poisoned: number;
  readonly secs: number;
  /** Lanes that could not be drained, and why; the others were. */
  readonly failures: readonly { readonly lane: string; readonly error: unknown }[];
}

/** Between looks at a lane that another drain is working on as well. */
const OVERTAKEN_PAUSE_MS = 50;

/** Never throws for a lane: see `failures`. Errors: the WAL's when its lanes cannot be listed. */
export async function drainAll(
  deps: DrainDeps,
  options: { readonly signal?: AbortSignal } = {},
): Promise<DrainTotals> {
  const startMs = deps.clock.monotonicMs();
  const totals = { rows: 0, files: 0, commits: 0, poisoned: 0 };
  const counting: DrainDeps = {
    ...deps,
    observer: {
      ...deps.observer,
      committed(lane, report) {
        totals.rows += report.rows;
        totals.files += report.files;
        totals.commits += 1;
        deps.observer?.committed?.(lane, report);
      },
      poisoned(lane, segment, error) {
        totals.poisoned += 1;
        deps.observer?.poisoned?.(lane, segment, error);
      },
    },
  };
  const failures: { lane: string; error: unknown }[] = [];
  const lanes = await deps.wal.lanes();
  for (const lane of lanes) {
    try {
      await drainLane(counting, lane, options);
    } catch (error) {
      options.signal?.throwIfAborted();
      failures.push({ lane: laneName(lane), error });
      deps.observer?.failed?.(lane, error);
    }
  }
  const secs = (deps.clock.monotonicMs() - startMs) / 1_000;
  return { lanes: lanes.length, ...totals, secs, failures };
}

async function drainLane(
  deps: DrainDeps,
  lane: LaneId,
  options: { readonly signal?: AbortSignal },
): Promise<void> {
  for (;;) {
    options.signal?.throwIfAborted();
    const plan = await lookAtLane(deps, lane, { gate: DRAIN_GATE_OPEN, requested: true });
    const outcome = await applyDrain(deps, lane, plan, options);
    if (outcome === "idle") return;
    if (outcome === "overtaken") await deps.clock.sleep(OVERTAKEN_PAUSE_MS);
  }
}
