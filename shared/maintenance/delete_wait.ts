/**
 * Rows that were acknowledged before a delete task was accepted and are still in the WAL: the task waits until they are
 * in its table. Which segments those can be is recorded by the first executor that looks, after the acceptance, and so
 * includes all of them; segments that begin later may hold later rows alone.
 *
 * Not covered: segments set aside under `poison/` or quarantined, and WAL volumes that this executor does not see.
 */

import type { CatalogReader } from "../catalog/catalog.ts";
import type { DeleteLedger, DeleteTask } from "../catalog/delete_ledger.ts";
import type { WalClaims } from "../catalog/wal_claims.ts";
import { isOperatingError } from "../base/errors.ts";
import { type LaneId, tenantOf } from "../event/tenant.ts";
import type { SegmentInfo, WalReader } from "../wal/types.ts";

export interface DeleteWaitDeps {
  /** The WAL that is drained to the tables: beside this process, or the mirror. */
  readonly wal: WalReader;
  readonly catalog: Pick<CatalogReader, "consumedOf">;
  /** Without it nothing is recorded: for who only looks. */
  readonly ledger?: Pick<DeleteLedger, "awaitSegments">;
  /** Set where `wal` is the mirror. */
  readonly claims?: Pick<WalClaims, "states">;
}

/**
 * A mirror shows a segment once it is sealed and uploaded: five seconds and an upload after its last row, unless the
 * uploads lag. A task waits this long before it asks the mirror what there is.
 */
export const MIRROR_GRACE_MS = 60_000;

/** Whether every row that the task is about is in the table by now. Errors: the WAL's and the catalog's. */
export async function areRowsCommitted(deps: DeleteWaitDeps, task: DeleteTask): Promise<boolean> {
  const { ident, taskId } = task;
  const lane: LaneId = { tenant: tenantOf(ident.namespace), index: ident.name };
  let { awaited } = task;
  if (awaited === undefined) {
    if (deps.claims !== undefined && task.ageMs < MIRROR_GRACE_MS) return false;
    const found = await segmentsWithRows(deps, lane);
    awaited = await deps.ledger?.awaitSegments(taskId, found) ?? found;
  }
  if (awaited.length === 0) return true;
  const wanted = new Set(awaited);
  // In this order: what leaves the list in between was consumed, and is.
  const listed = (await deps.wal.list(lane, ["active", "sealed"]))
    .map(({ name }) => name).filter((name) => wanted.has(name));
  if (listed.length === 0) return true;
  const consumed = await deps.catalog.consumedOf(listed);
  const states = await deps.claims?.states(listed);
  return listed.every((name) => consumed.has(name) || states?.get(name)?.isQuarantined === true);
}

/** Segments of the lane that may hold rows and that no table holds. */
async function segmentsWithRows(
  { wal, catalog }: DeleteWaitDeps,
  lane: LaneId,
): Promise<string[]> {
  const listed = await wal.list(lane, ["active", "sealed"]);
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

async function hasRows(wal: WalReader, { lane, name }: SegmentInfo): Promise<boolean> {
  try {
    await using segment = await wal.open(lane, name);
    for await (const _ of segment.frames()) return true;
    return false;
  } catch (error) {
    // Damaged or gone: whoever drains it says what became of its rows.
    if (isOperatingError(error)) return true;
    throw error;
  }
}
