/**
 * Refuses a database that is no catalog of ours, which readers take for an empty catalog, and a
 * file that cannot be written, which SQLite opens for reading.
 */

import { closeSync, constants, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { OperatingError } from "../base/errors.ts";
import { diskError } from "../os/disk_failure.ts";
import { isPostgresUri } from "./catalog_uri.ts";
import { catalogPlace, PostgresPool } from "./postgres_pool.ts";
import { commitsPathOf } from "./sqlite_commits.ts";
import { guard } from "./sqlite_errors.ts";
import { hasTable } from "./sqlite_schema.ts";

const TABLE = "svc_wal_consumed";

/**
 * `place` is as `openCatalogReader` takes it, and `option` named it. Errors: `not_found`;
 * `unavailable`, `permission_denied`, `corrupt` of the database.
 */
export async function requireCatalogTables(place: string, option: string): Promise<void> {
  const isThere = isPostgresUri(place)
    ? await isInPostgres(place, option)
    : await isInSqlite(place);
  if (isThere) return;
  throw new OperatingError(
    "not_found",
    `Cannot use ${option} ${catalogPlace(place, option)}: no server has ` +
      "made its tables there; give what is --catalog-uri of the servers",
  );
}

/**
 * To be called before the process opens the catalog: once one connection found a file that can only
 * be read, no later one of the process writes. The file beside the catalog is tried, since closing
 * the catalog's own would end the locks of this process. A catalog that is yet to be made is not
 * refused. Errors: `unavailable`.
 */
export function requireWritableCatalog(place: string): void {
  if (isPostgresUri(place)) return;
  try {
    closeSync(openSync(commitsPathOf(place), constants.O_WRONLY));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return;
    throw diskError(`write catalog ${place}`, error);
  }
}

async function isInPostgres(uri: string, option: string): Promise<boolean> {
  const purpose = { noun: "catalog", option };
  await using pool = new PostgresPool({ uri, readOnly: true, purpose });
  const sql = "SELECT to_regclass($1) IS NOT NULL AS found";
  const [row] = await pool.query<{ found: boolean }>("look for tables", sql, [TABLE]);
  return row?.found === true;
}

function isInSqlite(path: string): Promise<boolean> {
  return guard("open the catalog", path, () => {
    const db = new DatabaseSync(path, { readOnly: true });
    try {
      return hasTable(db, TABLE);
    } finally {
      db.close();
    }
  });
}
