/**
 * Reads one table as one reader sees it, WAL included. The order of reads makes it exact
 * (docs/decisions.md#one-state-for-a-reader):
 * 1. List the lane's segments.
 * 2. Read the table's pointer, and which of the segments it holds, in one transaction.
 * 3. Take the rows of the snapshot, and of the listed segments that it does not hold.
 *
 * A row that moves from the WAL into the table meanwhile is in exactly one of the two.
 */

import type { CatalogReader } from "../../catalog/catalog.ts";
import type { LaneId, TableIdent } from "../../tenant/tenant.ts";
import { committedSegments } from "../../iceberg/committed_segments.ts";
import type { IcebergReader, LoadedTable } from "../../iceberg/iceberg_reader.ts";
import type { SegmentState, WalReader } from "../../wal/types.ts";

/** Where a table and its WAL are read. `wal` is undefined where there is none. */
export interface SnapshotSource {
  readonly catalog: CatalogReader;
  readonly tables: Pick<IcebergReader, "loadTable" | "selectWithDeletes" | "manifests" | "entries">;
  readonly wal: WalReader | undefined;
}

/** A table at one moment: its snapshot, and the segments beside it. */
export interface TableSnapshot {
  /** The table at its snapshot; undefined before the first commit. */
  readonly table: LoadedTable | undefined;
  /** Segments whose rows are only in the WAL, oldest first. */
  readonly pending: readonly string[];
  /** Segments among `pending` to which nothing is appended any more. */
  readonly complete: ReadonlySet<string>;
  /** Listed segments whose rows the table holds. */
  readonly consumed: ReadonlySet<string>;
}

/**
 * Reads a table and its lane. Errors: the catalog's; `not_found` when the table's metadata was
 * replaced meanwhile.
 */
export async function readSnapshot(
  source: SnapshotSource,
  ident: TableIdent,
  lane: LaneId,
): Promise<TableSnapshot> {
  const listed = await source.wal?.names(lane, ["active", "sealed", "committed"]) ?? [];
  const names = [...new Set(listed.map((segment) => segment.name))].sort();
  const { metadataLocation, consumed: known } = await source.catalog.readView(ident, names);
  const table = metadataLocation === undefined
    ? undefined
    : await source.tables.loadTable(ident, metadataLocation);
  const named = table === undefined ? undefined : committedSegments(table.metadata);
  const consumed = new Set(names.filter((name) => known.has(name) || named?.has(name) === true));
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
