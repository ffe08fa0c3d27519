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
import type { IndexCatalog } from "../catalog/index_catalog.ts";
import { epochOfSchemaMessage } from "../columns/ipc.ts";
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
  type StageSource,
  UnreadableSegment,
} from "./stage_segments.ts";
import { epochOf, type TableTarget, tableTarget } from "./table_target.ts";

export interface DrainDeps extends StageDeps {
  readonly admin: WalConsumerAdmin;
  /** Where an index that a template makes is recorded; without it no template is applied. */
  readonly indexes?: Pick<IndexCatalog, "create">;
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
 * `poisoned`: one of them cannot be read and was set aside. `discarded`: some belonged to a table that was dropped.
 * After the last three, look again.
 */
export type DrainOutcome = "idle" | "committed" | "overtaken" | "poisoned" | "discarded";

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
  const target = await tableTarget(deps, lane);
  if (await discardDropped(deps, { lane, names: plan.commit }, target)) return "discarded";
  const staged = await stage(
    deps,
    { lane, names: plan.commit, mapping: target.mapping },
    options,
  );
  if (staged === "overtaken" || staged === "poisoned") return staged;
  const { files, schema } = staged;
  // The commit point. An error here does not tell on which side of it we are, so the files stay.
  const { outcome, retries } = await commitAppend({ ...deps, ...options }, {
    ident: tableOf(lane),
    schema,
    files,
    consumed: plan.commit,
    isStillDue: () => isStillDue(deps, { lane, names: plan.commit }, target),
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
  source: StageSource,
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
      isOperatingError(error, "not_found") && !(await areSealed(deps, source))
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
 * Takes the segments that were written before the table was last dropped out of the lane: their rows were dropped with
 * it. True when there were any.
 */
async function discardDropped(
  deps: DrainDeps,
  { lane, names }: StageSource,
  { epoch }: TableTarget,
): Promise<boolean> {
  if (epoch === 0) return false;
  const dropped: string[] = [];
  for (const name of names) {
    try {
      await using segment = await deps.wal.open(lane, name);
      if (epochOfSchemaMessage(segment.schemaMessage) < epoch) dropped.push(name);
    } catch (error) {
      // Staging finds the same, and knows what to do.
      if (!isOperatingError(error)) throw error;
    }
  }
  if (dropped.length === 0) return false;
  await deps.admin.markCommitted(lane, dropped);
  deps.observer?.discarded?.(lane, dropped.length);
  return true;
}

/** Whether the commit may go on: see `areSealed`; also, the table was not dropped meanwhile. */
async function isStillDue(
  deps: DrainDeps,
  source: StageSource,
  { epoch }: TableTarget,
): Promise<boolean> {
  if (!await areSealed(deps, source)) return false;
  return await epochOf(deps.catalog, source.lane) === epoch;
}

/**
 * Whether every segment is still sealed and not consumed, asked after the table's pointer was read. A commit that
 * comes later moves the pointer, so ours conflicts and asks again. One that came earlier is recorded as
 * consumed until the sweep has removed the segment's file, and a segment leaves `sealed` before it is removed.
 */
async function areSealed(deps: DrainDeps, { lane, names }: StageSource): Promise<boolean> {
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
