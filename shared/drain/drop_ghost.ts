/**
 * What a drain leaves behind when its index is dropped while it works: a table of the index, made
 * for its first rows.
 */

import { type LaneId, tableOf } from "../tenant/tenant.ts";
import { type CommitDeps, readerOf } from "../iceberg/commit_table.ts";
import { keyOfMetadata } from "../iceberg/locations.ts";
import { removeQuietly } from "../iceberg/staging.ts";
import { epochOf, type TableTarget } from "./table_target.ts";

/**
 * Drops the lane's table when it never had a row and the epoch that it was made in is over.
 * Otherwise the mapping that was dropped would keep the name. A drain of the new epoch that made it
 * meanwhile makes it again. Errors: the catalog's and the store's.
 */
export async function dropGhost(
  deps: CommitDeps,
  lane: LaneId,
  { epoch }: Pick<TableTarget, "epoch">,
): Promise<void> {
  if (await epochOf(deps.catalog, lane) === epoch) return;
  const ident = tableOf(lane);
  const location = await deps.catalog.metadataLocation(ident);
  if (location === undefined) return;
  const { snapshotId, metadata } = await readerOf(deps).loadTable(ident, location);
  if (snapshotId !== undefined) return;
  if (!await deps.catalog.dropTable(ident, { expected: location })) return;
  // One more for each time that the table got columns.
  const earlier = metadata["metadata-log"].map((entry) => entry["metadata-file"]);
  const keys = [location, ...earlier].map((one) => keyOfMetadata(deps.store.rootUri, one));
  await removeQuietly(deps.store, keys);
}
