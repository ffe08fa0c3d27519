/**
 * Drains one lane: sealed WAL segments become data files of the lane's table, exactly once.
 *
 * `applyDrain` writes data files, then one catalog transaction adds them and records the segments as consumed (the
 * marked line), then the segments are moved to `committed`. A drain that ends before the transaction leaves files
 * that no snapshot names; one that ends after it leaves consumed segments, which the next look only moves. Any number
 * of drains may work on one lane: the transaction lets one of them win, and the others remove their files. That holds
 * also when one of them is stopped for longer than the catalog remembers its segments: see `isStillDue`.
 *
 * Memory: the rows of one data file at a time, however many segments wait.
 */

import { isOperatingError } from "../base/errors.ts";
import { type LaneId, tableOf } from "../event/tenant.ts";
import { commitAppend } from "../iceberg/commit_append.ts";
import { removeQuietly } from "../iceberg/staging.ts";
import type { WalConsumerAdmin } from "../wal/types.ts";
import type { DrainObserver } from "./drain_observer.ts";
import { applyExpire, type ExpirePolicy } from "./expire.ts";
import { type DrainGate, type DrainPlan, planDrain } from "./plan_drain.ts";
import {
  type StageDeps,
  type StagedFiles,
  type StageOptions,
  stageSegments,
  UnreadableSegment,
} from "./stage_segments.ts";

export interface DrainDeps extends StageDeps {
  readonly admin: WalConsumerAdmin;
  readonly observer?: DrainObserver;
}

export interface LookOptions {
  readonly gate: DrainGate;
  /** Someone waits for the commit: the gate is open. */
  readonly requested: boolean;
}

/** Lists a lane's sealed segments and decides what to commit. */
export async function lookAtLane(
  deps: DrainDeps,
  lane: LaneId,
  options: LookOptions,
): Promise<DrainPlan> {
  const sealed = await deps.wal.list(lane, ["sealed"]);
  const consumed = await deps.catalog.consumedOf(sealed.map((segment) => segment.name));
  const nowMs = deps.clock.nowMs();
  const waiting = sealed.filter((segment) => !consumed.has(segment.name));
  deps.observer?.lag?.(lane, {
    segments: waiting.length,
    bytes: waiting.reduce((sum, segment) => sum + segment.byteLength, 0),
    ageSecs: Math.max(0, nowMs - (waiting[0]?.modifiedMs ?? nowMs)) / 1_000,
  });
  return planDrain({ sealed, consumed, nowMs, requested: options.requested }, options.gate);
}

/**
 * `committed`: the rows are in the table. `overtaken`: another drain had committed one of the segments.
 * `poisoned`: one of them cannot be read and was set aside. After the last two, look again.
 */
export type DrainOutcome = "idle" | "committed" | "overtaken" | "poisoned";

/** Performs `plan`. Errors: the WAL's, the store's and the catalog's; after one, look again. */
export async function applyDrain(
  deps: DrainDeps,
  lane: LaneId,
  plan: DrainPlan,
  options: StageOptions = {},
): Promise<DrainOutcome> {
  if (plan.mark.length > 0) await deps.admin.markCommitted(lane, plan.mark);
  if (plan.commit.length === 0) return "idle";
  const startMs = deps.clock.monotonicMs();
  const staged = await stage(deps, { lane, names: plan.commit }, options);
  if (staged === "overtaken" || staged === "poisoned") return staged;
  const { files, schema } = staged;
  // The commit point. An error here does not tell on which side of it we are, so the files stay.
  const { outcome, retries } = await commitAppend({ ...deps, ...options }, {
    ident: tableOf(lane),
    schema,
    files,
    consumed: plan.commit,
    isStillDue: () => isStillDue(deps, lane, plan.commit),
  });
  if (outcome === "consumed") {
    await removeQuietly(deps.store, files.map((file) => file.key));
    return overtaken(deps, lane);
  }
  deps.observer?.committed?.(lane, {
    segments: plan.commit.length,
    rows: files.reduce((sum, file) => sum + file.rows, 0),
    files: files.length,
    fileBytes: files.reduce((sum, file) => sum + file.byteLength, 0),
    secs: (deps.clock.monotonicMs() - startMs) / 1_000,
    retries,
  });
  await deps.admin.markCommitted(lane, plan.commit);
  return "committed";
}

async function stage(
  deps: DrainDeps,
  source: { readonly lane: LaneId; readonly names: readonly string[] },
  options: StageOptions,
): Promise<StagedFiles | "overtaken" | "poisoned"> {
  try {
    return await stageSegments(deps, source, options);
  } catch (error) {
    if (error instanceof UnreadableSegment) {
      await deps.admin.markPoison(source.lane, error.segment);
      deps.observer?.poisoned?.(source.lane, error.segment, error.cause);
      return "poisoned";
    }
    // A segment that is gone was swept, so another drain has committed it.
    if (
      isOperatingError(error, "not_found") && !(await isStillDue(deps, source.lane, source.names))
    ) {
      return overtaken(deps, source.lane);
    }
    throw error;
  }
}

function overtaken(deps: DrainDeps, lane: LaneId): "overtaken" {
  deps.observer?.overtaken?.(lane);
  return "overtaken";
}

/**
 * Whether every segment is still sealed and not consumed, asked after the table's pointer was read. A commit that
 * comes later moves the pointer, so ours conflicts and asks again. One that came earlier is recorded as
 * consumed until the sweep has removed the segment's file, and a segment leaves `sealed` before it is removed.
 */
async function isStillDue(
  deps: DrainDeps,
  lane: LaneId,
  names: readonly string[],
): Promise<boolean> {
  const consumed = await deps.catalog.consumedOf(names);
  if (consumed.size > 0) return false;
  const sealed = new Set((await deps.wal.list(lane, ["sealed"])).map((segment) => segment.name));
  return names.every((name) => sealed.has(name));
}

/**
 * Removes the lane's committed segments that no reader needs any more, then lets the catalog forget them: in this
 * order, as a segment that is forgotten while its file is there would count as new rows. A sweep that ends between
 * the two leaves a few bytes in the catalog. Returns the number of segments removed.
 */
export async function sweepLane(deps: DrainDeps, lane: LaneId): Promise<number> {
  const removed = await deps.admin.sweepCommitted(lane, deps.clock.nowMs());
  if (removed.length === 0) return 0;
  await deps.catalog.forgetConsumed(removed);
  deps.observer?.swept?.(lane, removed.length);
  return removed.length;
}

/** Expires old snapshots of the lane's table; returns how many. */
export async function expireLane(
  deps: DrainDeps,
  lane: LaneId,
  policy: ExpirePolicy,
): Promise<number> {
  const expired = await applyExpire(deps, tableOf(lane), policy);
  if (expired > 0) deps.observer?.expired?.(lane, expired);
  return expired;
}
