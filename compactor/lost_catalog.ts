/**
 * Tells at the start that the catalog has no table although the warehouse has files of some. Then
 * it was lost, or `--catalog-uri` names another one. Either goes on quietly: rows become new
 * tables, and statements find no old row.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError } from "../shared/base/errors.ts";
import type { CatalogReader } from "../shared/catalog/catalog.ts";
import type { ReadableStore } from "../shared/storage/object_store.ts";

/** Objects that are looked at. Other things than tables may be in a bucket. */
const OBJECTS_MAX = 1_000;
/** A table's folder ends with the table's UUID. */
const TABLE_FILE = /^([^/]+\/[^/]+-[0-9a-f]{32})\/(data|metadata)\//;

/** `place` is the catalog's, for people. A store that does not answer is for others to tell. */
export async function tellLostCatalog(
  { catalog, store }: {
    readonly catalog: Pick<CatalogReader, "namespaces" | "tables">;
    readonly store: Pick<ReadableStore, "list" | "rootUri">;
  },
  place: string,
): Promise<void> {
  for (const namespace of await catalog.namespaces()) {
    if ((await catalog.tables(namespace)).length > 0) return;
  }
  const folder = await firstTableFolder(store);
  if (folder === undefined) return;
  getLogger(["svc", "compactor"]).warn(
    "the catalog {place} has no table, but {warehouse} has files of one in {folder}: if you did not drop it, " +
      "stop the servers and give the --catalog-uri of before, or restore a backup",
    { place, warehouse: store.rootUri, folder },
  );
}

async function firstTableFolder(store: Pick<ReadableStore, "list">): Promise<string | undefined> {
  let looked = 0;
  try {
    for await (const { key } of store.list("")) {
      const [, folder] = TABLE_FILE.exec(key) ?? [];
      looked += 1;
      if (folder !== undefined || looked === OBJECTS_MAX) return folder;
    }
  } catch (error) {
    if (!isOperatingError(error)) throw error;
  }
  return undefined;
}
