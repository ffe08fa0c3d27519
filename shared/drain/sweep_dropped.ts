/**
 * Frees the storage of tables that were dropped: every object of the table's folder, once no
 * statement can read it any more. It also removes what the catalog knows of files that were to go
 * one by one. A sweep that ends in the middle goes on where it was: the table is forgotten last.
 */

import { getLogger } from "@logtape/logtape";
import type { DroppedTable, IndexCatalog } from "../catalog/index_catalog.ts";
import type { Removals } from "../catalog/removals.ts";
import { keyOfMetadata, tableLocationKey } from "../iceberg/locations.ts";
import type { ObjectStore } from "../storage/object_store.ts";

export interface SweepDroppedDeps {
  readonly store: ObjectStore;
  readonly indexes: Pick<IndexCatalog, "droppedTables" | "forgetDropped">;
  readonly removals: Pick<Removals, "entered" | "forget">;
}

export interface SweepDroppedOptions {
  readonly nowMs: number;
  /**
   * Tables that were dropped later are left: a statement may have begun before. Default: six hours
   * and a bit.
   */
  readonly ageMsMin?: number;
}

/** A batch statement may run for six hours: docs/api/query.md#limits. */
const AGE_MS_MIN = 6 * 3_600_000 + 600_000;
const TABLES_MAX = 100;
const DELETES_MAX = 1_000;
const UUID_LENGTH = 32;

/** Returns how many objects it removed. Errors: the catalog's and the store's. */
export async function sweepDropped(
  { store, indexes, removals }: SweepDroppedDeps,
  { nowMs, ageMsMin = AGE_MS_MIN }: SweepDroppedOptions,
): Promise<number> {
  let removed = 0;
  for (const table of await indexes.droppedTables(TABLES_MAX)) {
    if (nowMs - table.droppedMs < ageMsMin) break; // The oldest come first.
    const folder = folderOf(store, table);
    if (!isOwn(table, folder)) {
      getLogger(["svc", "maintenance"]).warn(
        "files of the dropped table {table} stay where they are, at {location}: they are not in a folder of its own",
        { table: table.ident.name, location: table.metadataLocation },
      );
    } else {
      removed += await removeFolder(store, `${folder}/`);
    }
    await removals.forget([...await removals.entered(folder)]);
    await indexes.forgetDropped(table.metadataLocation);
  }
  return removed;
}

/**
 * `<namespace>/<table>-<uuid>`, or with a folder of the table's name between; `metadata/<file>` is
 * in it.
 */
function folderOf(store: ObjectStore, { metadataLocation }: DroppedTable): string {
  return keyOfMetadata(store.rootUri, metadataLocation).split("/").slice(0, -2).join("/");
}

/**
 * Whether the folder is that of a table that this service made: its name and 32 hex digits. Another
 * may share its folder with unknown files.
 */
function isOwn({ ident }: DroppedTable, folder: string): boolean {
  const uuid = folder.slice(-UUID_LENGTH);
  return /^[0-9a-f]{32}$/.test(uuid) && tableLocationKey(ident, uuid) === folder;
}

async function removeFolder(store: ObjectStore, folder: string): Promise<number> {
  let removed = 0;
  let keys: string[] = [];
  for await (const { key } of store.list(folder)) {
    keys.push(key);
    if (keys.length < DELETES_MAX) continue;
    await store.delete(keys);
    removed += keys.length;
    keys = [];
  }
  await store.delete(keys);
  return removed + keys.length;
}
