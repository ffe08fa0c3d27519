/**
 * Rows that were acknowledged before a delete task was accepted and are still in the WAL: the task
 * waits until they are in its table. Which segments can have such rows is recorded by the first
 * executor that looks. It looks after the acceptance, and so includes all of them. Segments that
 * begin later hold later rows alone.
 *
 * Not covered: segments set aside under `poison/` or quarantined, and WAL volumes that this
 * executor does not see.
 */

import type { CatalogReader } from "../catalog/catalog.ts";
import type { DeleteLedger, DeleteTask } from "../catalog/delete_ledger.ts";
import type { WalClaims } from "../catalog/wal_claims.ts";
import { isOperatingError } from "../base/errors.ts";
import { type LaneId, tenantOf } from "../tenant/tenant.ts";
import type { SegmentInfo, WalReader } from "../wal/types.ts";

export interface DeleteWaitDeps {
  /** The WAL beside this process. */
  readonly wal: WalReader;
  readonly catalog: Pick<CatalogReader, "consumedOf">;
  /** Without it nothing is recorded: for processes that only look. */
  readonly ledger?: Pick<DeleteLedger, "awaitSegments">;
  /** Where ingest servers mirror their WALs to: some of those may be on other machines. */
  readonly mirror?: DeleteMirror;
}

export interface DeleteMirror {
  readonly wal: WalReader;
  readonly claims: Pick<WalClaims, "states">;
  /**
   * It shows a segment once that is sealed and uploaded: some seconds after its last row, unless
   * uploads lag. A task waits so long before it asks what there is.
   */
  readonly graceMs: number;
}

/**
 * Whether every row that the task is about is in the table by now. Errors: the WAL's and the
 * catalog's.
 */
export async function areRowsCommitted(deps: DeleteWaitDeps, task: DeleteTask): Promise<boolean> {
  const { ident, taskId } = task;
  const lane: LaneId = { tenant: tenantOf(ident.namespace), index: ident.name };
  let { awaited } = task;
  if (awaited === undefined) {
    if (task.ageMs < (deps.mirror?.graceMs ?? 0)) return false;
    const found = await segmentsWithRows(deps, lane);
    awaited = await deps.ledger?.awaitSegments(taskId, found) ?? found;
  }
  if (awaited.length === 0) return true;
  const wanted = new Set(awaited);
  // In this order: what leaves the list in between was consumed, and is.
  const listed = (await waitingSegments(deps, lane))
    .map(({ name }) => name).filter((name) => wanted.has(name));
  if (listed.length === 0) return true;
  const consumed = await deps.catalog.consumedOf(listed);
  const states = await deps.mirror?.claims.states(listed);
  return listed.every((name) => consumed.has(name) || states?.get(name)?.isQuarantined === true);
}

/** Segments of the lane that may hold rows and that no table holds. */
async function segmentsWithRows(deps: DeleteWaitDeps, lane: LaneId): Promise<string[]> {
  const { wal, catalog } = deps;
  const listed = await waitingSegments(deps, lane);
  const consumed = await catalog.consumedOf(listed.map(({ name }) => name));
  const names: string[] = [];
  for (const segment of listed) {
    if (consumed.has(segment.name)) continue;
    // One that was opened and never got a row may stay so for ever.
    if (segment.state === "active" && !await hasRows(wal, segment)) continue;
    names.push(segment.name);
  }
  return names;
}

/** Here and in the mirror, each once. */
async function waitingSegments(
  { wal, mirror }: DeleteWaitDeps,
  lane: LaneId,
): Promise<readonly SegmentInfo[]> {
  const states = ["active", "sealed"] as const;
  const own = await wal.list(lane, states);
  if (mirror === undefined) return own;
  const names = new Set(own.map(({ name }) => name));
  const mirrored = await mirror.wal.list(lane, states);
  return [...own, ...mirrored.filter(({ name }) => !names.has(name))];
}

async function hasRows(wal: WalReader, { lane, name }: SegmentInfo): Promise<boolean> {
  try {
    await using segment = await wal.open(lane, name);
    for await (const _ of segment.frames()) return true;
    return false;
  } catch (error) {
    // The segment is damaged or gone: its drain says what became of its rows.
    if (isOperatingError(error)) return true;
    throw error;
  }
}
