/**
 * That a statement has something to ask: in a mistyped folder it would find tables without rows.
 */

import type { CatalogReader } from "../shared/catalog/catalog.ts";
import { OperatingError } from "../shared/base/errors.ts";
import { tenantOf } from "../shared/tenant/tenant.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { isS3Url } from "../shared/storage/s3_settings.ts";
import type { WalReader } from "../shared/wal/types.ts";

export interface AskedPlace {
  /** A folder or an `s3://` URL. */
  readonly place: string;
  readonly catalog: CatalogReader;
  readonly namespace: string;
  /** Whose rows are asked, too; undefined: only tables are. */
  readonly wal?: WalReader;
  /** What to do where there is nothing. */
  readonly remedy: string;
}

const NAMES_MAX = 10;

/**
 * Errors: `not_found` when the place is not there or has no table, index or WAL of the namespace;
 * the catalog's.
 */
export async function requireTables(asked: AskedPlace): Promise<void> {
  const { place, catalog, namespace, wal } = asked;
  if (!isS3Url(place) && !await new DenoFileSystem().exists(place)) {
    throw nothing(asked, "there is no such folder");
  }
  if ((await catalog.tables(namespace)).length > 0) return;
  if ((await catalog.indexView(namespace)).indexes.size > 0) return;
  const tenant = tenantOf(namespace);
  if (wal !== undefined && (await wal.lanes()).some((lane) => lane.tenant === tenant)) return;
  const none = `it holds no table of the namespace ${namespace}` +
    (wal === undefined ? "" : ", and no row waits in its WAL");
  const others = await catalog.namespaces();
  throw nothing(asked, others.length === 0 ? none : `${none}; it has ${listed(others)}`);
}

function listed(namespaces: readonly string[]): string {
  const more = namespaces.length - NAMES_MAX;
  return namespaces.slice(0, NAMES_MAX).join(", ") + (more > 0 ? ` and ${more} more` : "") +
    ": choose with --tenant-namespace";
}

function nothing({ place, remedy }: AskedPlace, why: string): OperatingError {
  return new OperatingError("not_found", `Cannot query ${place}: ${why}. ${remedy}`);
}
