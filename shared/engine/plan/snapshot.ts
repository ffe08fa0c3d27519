/**
 * One table as one reader sees it, WAL included. The order is what makes it exact
 * (docs/decisions.md#one-state-for-a-reader): list the lane's segments; read the table's pointer
 * and which of them it holds in one transaction; the rows are the snapshot and the listed segments
 * that it does not hold. A row that moves from the WAL into the table meanwhile is in exactly one
 * of the two.
 */

import type { CatalogReader } from "../../catalog/catalog.ts";
import type { LaneId, TableIdent } from "../../tenant/tenant.ts";
import type { IcebergReader, LoadedTable } from "../../iceberg/iceberg_reader.ts";
import type { SegmentState, WalReader } from "../../wal/types.ts";

export interface SnapshotSource {
  readonly catalog: CatalogReader;
  readonly tables: Pick<IcebergReader, "loadTable" | "selectFiles" | "manifests" | "entries">;
  readonly wal: WalReader | undefined;
}

export interface TableSnapshot {
  /** undefined before the first commit. */
  readonly table: LoadedTable | undefined;
  /** Segments whose rows are only in the WAL, oldest first. */
  readonly pending: readonly string[];
  /** Those of `pending` that nothing is appended to any more. */
  readonly complete: ReadonlySet<string>;
  /** Listed segments whose rows the table holds. */
  readonly consumed: ReadonlySet<string>;
}

/** Errors: the catalog's, `not_found` when the table's metadata was replaced meanwhile. */
export async function readSnapshot(
  source: SnapshotSource,
  ident: TableIdent,
  lane: LaneId,
): Promise<TableSnapshot> {
  const listed = await source.wal?.list(lane, ["active", "sealed", "committed"]) ?? [];
  const names = [...new Set(listed.map((segment) => segment.name))].sort();
  const { metadataLocation, consumed } = await source.catalog.readView(ident, names);
  const table = metadataLocation === undefined
    ? undefined
    : await source.tables.loadTable(ident, metadataLocation);
  const namesIn = (state: SegmentState) =>
    new Set(listed.filter((segment) => segment.state === state).map((segment) => segment.name));
  const active = namesIn("active");
  const committed = namesIn("committed");
  // A segment is moved to `committed` after its commit, and forgotten by the catalog when it is
  // swept.
  const pending = names.filter((name) => !consumed.has(name) && !committed.has(name));
  const complete = new Set(pending.filter((name) => !active.has(name)));
  return { table, pending, complete, consumed: consumed.union(committed) };
}
