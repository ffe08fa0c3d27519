/**
 * Drains one lane: sealed WAL segments become data files of the lane's table, exactly once.
 *
 * `applyDrain` writes data files, then one catalog transaction adds them and records the segments
 * as consumed (the marked line), then the segments are moved to `committed`. A drain that ends
 * before the transaction leaves files that no snapshot names; one that ends after it leaves
 * consumed segments, which the next look only moves. Any number of drains may work on one lane: the
 * transaction lets one of them win, and the others remove their files, however long they were
 * stopped. The catalog tells for ever what was consumed.
 *
 * Memory: the rows of one data file at a time, however many segments wait.
 */

import { isOperatingError, messageOf } from "../base/errors.ts";
import { totalRows } from "../base/total_rows.ts";
import type { IndexCatalog } from "../catalog/index_catalog.ts";
import type { Removals } from "../catalog/removals.ts";
import type { ClaimState } from "../catalog/wal_claims.ts";
import { epochOfSchemaMessage } from "../columns/ipc.ts";
import { withSidecars } from "../derived/sidecar.ts";
import { type LaneId, tableOf } from "../tenant/tenant.ts";
import { commitAppend } from "../iceberg/commit_append.ts";
import { removeQuietly } from "../iceberg/staging.ts";
import type { SegmentInfo, WalConsumerAdmin } from "../wal/types.ts";
import { weighed } from "./backlog.ts";
import type { DrainObserver, DrainStep } from "./drain_observer.ts";
import { type ClaimPolicy, claimSegments, type HeldClaim, planClaim } from "./held_claim.ts";
import { type DrainGate, type DrainPlan, planDrain } from "./plan_drain.ts";
import {
  type StageDeps,
  type StagedFiles,
  stageSegments,
  type StageSource,
  UnreadableSegment,
} from "./stage_segments.ts";
import { dropGhost } from "./drop_ghost.ts";
import { epochOf, type TableTarget, tableTarget } from "./table_target.ts";

export interface DrainDeps extends StageDeps {
  readonly admin: WalConsumerAdmin;
  /**
   * Where an index that a template makes is recorded; without it no template is applied, no dropped
   * table swept.
   */
  readonly indexes?: Pick<IndexCatalog, "create" | "droppedTables" | "forgetDropped">;
  /** With `indexes`: where files of dropped tables are entered that were to go one by one. */
  readonly removals?: Pick<Removals, "entered" | "forget">;
  readonly observer?: DrainObserver;
  /**
   * How segments are shared with other drains that have no WAL volume; without it none is claimed.
   */
  readonly claiming?: ClaimPolicy;
  /**
   * Where `store` may hold copies of the WAL's segments, which drains elsewhere take for new ones.
   */
  readonly mirrorPrefix?: string;
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
  { gate, requested }: LookOptions,
): Promise<DrainPlan> {
  const { sealed, consumed, states } = await lookAtLag(deps, lane);
  const nowMs = deps.clock.nowMs();
  const free = sealed.filter(({ name }) => {
    const state = states.get(name);
    return state?.isQuarantined !== true && state?.isHeld !== true;
  });
  const segments = await weighed(deps.wal, free, { gate, consumed });
  const plan = planDrain({ sealed: segments, consumed, nowMs, requested }, gate);
  return planClaim(plan, states);
}

interface SealedOfLane {
  readonly sealed: readonly SegmentInfo[];
  readonly consumed: ReadonlySet<string>;
  readonly states: ReadonlyMap<string, ClaimState>;
}

/** What of a lane is sealed, and tells the observer how much of it waits. */
export async function lookAtLag(deps: DrainDeps, lane: LaneId): Promise<SealedOfLane> {
  const sealed = await deps.wal.list(lane, ["sealed"]);
  let consumed;
  try {
    consumed = await deps.catalog.consumedOf(sealed.map((segment) => segment.name));
  } catch (error) {
    // Nothing can be committed, and whoever watches the lag is to see it.
    tellLag(deps, lane, sealed);
    throw error;
  }
  const unconsumed = sealed.filter((segment) => !consumed.has(segment.name));
  const states = await deps.claiming?.claims.states(unconsumed.map((segment) => segment.name)) ??
    new Map<string, ClaimState>();
  tellLag(deps, lane, unconsumed.filter(({ name }) => states.get(name)?.isQuarantined !== true));
  return { sealed, consumed, states };
}

function tellLag(
  { observer }: DrainDeps,
  lane: LaneId,
  waiting: readonly SegmentInfo[],
): void {
  const oldestMs = waiting.reduce((ms, { modifiedMs }) => Math.min(ms, modifiedMs), Infinity);
  observer?.lag?.(lane, {
    segments: waiting.length,
    bytes: waiting.reduce((sum, segment) => sum + segment.byteLength, 0),
    oldestMs: waiting.length === 0 ? undefined : oldestMs,
  });
}

/**
 * `committed`: the rows are in the table. `overtaken`: another drain had committed one of the
 * segments. `poisoned`: one of them cannot be read and was set aside. `discarded`: some belonged to
 * a table that was dropped. `claim_lost`: this drain was stopped for longer than its lease, and
 * nothing was committed. After the last four, look again.
 */
export type DrainOutcome =
  | "idle"
  | "committed"
  | "overtaken"
  | "poisoned"
  | "discarded"
  | "claim_lost";

export interface DrainOptions {
  /** Heeded between batches of rows, and before the commit. */
  readonly signal?: AbortSignal;
  /** Told which step of the turn begins. */
  readonly onStep?: (step: DrainStep) => void;
}

/** Performs `plan`. Errors: the WAL's, the store's and the catalog's; after one, look again. */
export async function applyDrain(
  deps: DrainDeps,
  lane: LaneId,
  plan: DrainPlan,
  options: DrainOptions = {},
): Promise<DrainOutcome> {
  if (plan.mark.length > 0) {
    options.onStep?.("mark");
    await deps.admin.markCommitted(lane, plan.mark);
  }
  if (plan.commit.length === 0) return "idle";
  const { claiming } = deps;
  const { commit: names, commitBytes: bytes } = plan;
  const batch = { lane, names, bytes };
  return claiming === undefined
    ? await drainSegments(deps, batch, options)
    : await drainClaimed({ ...deps, claiming }, batch, options);
}

/** Segments of one commit, and the claim under which they are worked on, if any. */
interface Batch extends Pick<StageSource, "lane" | "names" | "bytes"> {
  readonly claim?: HeldClaim;
}

/** Drains those of `batch` that this drain can claim. */
async function drainClaimed(
  deps: DrainDeps & { readonly claiming: ClaimPolicy },
  { lane, names, bytes }: Batch,
  options: DrainOptions,
): Promise<DrainOutcome> {
  options.onStep?.("claim");
  const { claim, quarantined } = await claimSegments(
    { ...deps, policy: deps.claiming },
    lane,
    names,
  );
  tellQuarantined(deps, lane, quarantined);
  // Between the look and the claim another was faster: the next look leaves those out.
  if (claim.names.length === 0) return quarantined.length > 0 ? "poisoned" : "overtaken";
  claim.keep(options.signal);
  const signal = options.signal === undefined
    ? claim.lost
    : AbortSignal.any([claim.lost, options.signal]);
  try {
    const outcome = await drainSegments(
      deps,
      { lane, names: claim.names, bytes, claim },
      { ...options, signal },
    );
    if (outcome === "committed") await claim.end();
    // An attempt like another: segments that always take longer than the lease must not come back
    // for ever.
    else if (outcome === "claim_lost") await claim.release(ranOut());
    else await claim.release();
    return outcome;
  } catch (error) {
    if (claim.lost.aborted) {
      await claim.release(ranOut());
      return claimLost(deps, lane);
    }
    const isAbandoned = options.signal?.aborted === true;
    tellQuarantined(deps, lane, await claim.release(isAbandoned ? undefined : error));
    throw error;
  }
}

function ranOut(): Error {
  return new Error("the lease ran out before the commit");
}

function tellQuarantined(deps: DrainDeps, lane: LaneId, segments: readonly string[]): void {
  for (const segment of segments) deps.observer?.quarantined?.(lane, segment);
}

function claimLost(deps: DrainDeps, lane: LaneId): "claim_lost" {
  deps.observer?.claimLost?.(lane);
  return "claim_lost";
}

async function drainSegments(
  bare: DrainDeps,
  batch: Batch,
  options: DrainOptions,
): Promise<DrainOutcome> {
  const { lane, names, claim } = batch;
  using ahead = bare.wal.ahead?.(lane, names);
  const deps = { ...bare, wal: ahead ?? bare.wal };
  const startMs = deps.clock.monotonicMs();
  options.onStep?.("stage");
  const target = await tableTarget(deps, lane);
  if (await discardDropped(deps, batch, target)) return "discarded";
  const staged = await stage(deps, batch, { target, signal: options.signal });
  if (staged === "overtaken" || staged === "poisoned") return staged;
  const { files, schema, damage, mended } = staged;
  if (!await keepDamage(deps, batch, damage)) {
    await removeQuietly(deps.store, withSidecars(files.map((file) => file.key)));
    return overtaken(deps, lane);
  }
  options.onStep?.("commit");
  // The commit point. An error here does not tell on which side of it we are, so the files stay.
  const { outcome, forgotten, retries } = await commitAppend({ ...deps, ...options }, {
    ident: tableOf(lane),
    schema,
    files,
    consumed: names,
    isStillDue: () => isStillDue(deps, batch, target),
    ...(claim === undefined ? {} : { claim: claim.token }),
  });
  if (outcome !== "committed") {
    await removeQuietly(deps.store, withSidecars(files.map((file) => file.key)));
    await dropGhost(deps, lane, target);
    await remindCatalog(deps, lane, forgotten);
    return outcome === "consumed" ? overtaken(deps, lane) : claimLost(deps, lane);
  }
  deps.observer?.committed?.(lane, {
    segments: names.length,
    rows: totalRows(files),
    files: files.length,
    fileBytes: files.reduce((sum, file) => sum + file.byteLength, 0),
    secs: (deps.clock.monotonicMs() - startMs) / 1_000,
    retries,
  });
  for (const [segment, frames] of mended) deps.observer?.mended?.(lane, segment, frames);
  for (const [segment, lost] of damage) deps.observer?.damaged?.(lane, segment, lost);
  options.onStep?.("mark");
  await deps.admin.markCommitted(lane, names);
  return "committed";
}

/**
 * A damaged catalog may forget what was consumed, which snapshots know for some minutes more. Told
 * again, it keeps the segments out for ever, and the next look takes them out of the lane.
 */
async function remindCatalog(
  { catalog, observer }: DrainDeps,
  lane: LaneId,
  forgotten: readonly string[],
): Promise<void> {
  if (forgotten.length === 0) return;
  await catalog.foldConsumed(forgotten);
  observer?.forgotten?.(lane, forgotten);
}

/**
 * Keeps what will not be committed, before the rest is: after the commit the segment is swept.
 * False: one of the segments is gone, so another drain has committed it.
 */
async function keepDamage(
  { admin }: DrainDeps,
  { lane }: Batch,
  damage: StagedFiles["damage"],
): Promise<boolean> {
  try {
    for (const [name, lost] of damage) await admin.setDamageAside(lane, name, lost);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function stage(
  deps: DrainDeps,
  batch: Batch,
  { target, signal }: { readonly target: TableTarget; readonly signal: AbortSignal | undefined },
): Promise<StagedFiles | "overtaken" | "poisoned"> {
  const { lane, names, bytes, claim } = batch;
  const { mapping, indexAtFlush } = target;
  // What a drain elsewhere has is a copy. The WAL may have the segment whole, and nobody reads it
  // there any more once it was committed in part.
  const passesDamage = claim === undefined;
  try {
    const source = { lane, names, bytes, mapping, indexAtFlush, passesDamage };
    return await stageSegments(deps, source, signal);
  } catch (error) {
    if (error instanceof UnreadableSegment) {
      await setAside(deps, batch, error);
      deps.observer?.poisoned?.(lane, error.segment, error.cause);
      return "poisoned";
    }
    // A segment that is gone was swept, so another drain has committed it.
    if (isOperatingError(error, "not_found") && !await areSealed(deps, batch)) {
      return overtaken(deps, lane);
    }
    throw error;
  }
}

/** Under `poison/` of the WAL, or in the catalog where it is claimed: the mirror is not changed. */
async function setAside(
  { admin, claiming }: DrainDeps,
  { lane, claim }: Batch,
  { segment, cause }: UnreadableSegment,
): Promise<void> {
  if (claim === undefined) return await admin.markPoison(lane, segment);
  await claiming?.claims.quarantine(claim.token, segment, messageOf(cause));
}

function overtaken(deps: DrainDeps, lane: LaneId): "overtaken" {
  deps.observer?.overtaken?.(lane);
  return "overtaken";
}

/**
 * Takes the segments that were written before the table was last dropped out of the lane: their
 * rows were dropped with it. True when there were any.
 */
async function discardDropped(
  deps: DrainDeps,
  { lane, names, claim }: Batch,
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
  if (claim === undefined) await deps.admin.markCommitted(lane, dropped);
  else await deps.claiming?.claims.discard(claim.token, dropped);
  deps.observer?.discarded?.(lane, dropped.length);
  return true;
}

/** Whether the commit may go on: see `areSealed`; also, the table was not dropped meanwhile. */
async function isStillDue(
  deps: DrainDeps,
  batch: Batch,
  { epoch }: TableTarget,
): Promise<boolean> {
  if (!await areSealed(deps, batch)) return false;
  return await epochOf(deps.catalog, batch.lane) === epoch;
}

/**
 * Whether every segment is still sealed and not consumed, asked after the table's pointer was read.
 * A commit that comes later moves the pointer, so ours conflicts and asks again. One that was set
 * aside is not sealed any more.
 */
async function areSealed(deps: DrainDeps, { lane, names }: Batch): Promise<boolean> {
  const consumed = await deps.catalog.consumedOf(names);
  if (consumed.size > 0) return false;
  const sealed = new Set((await deps.wal.names(lane, ["sealed"])).map((segment) => segment.name));
  return names.every((name) => sealed.has(name));
}
