/** `Leases` and `Removals` for both databases; the tables are in `sqlite_schema.ts`. */

import type { Leases } from "./leases.ts";
import type { LongReads } from "./long_reads.ts";
import type { Removals } from "./removals.ts";
import type { Scrubs } from "./scrubs.ts";
import { sql, type SqlDatabase, textOfRow } from "./sql_database.ts";
import { hasRunOut, type SqlDialect } from "./sql_dialect.ts";
import { SqlScrubs } from "./sql_scrubs.ts";

/** What maintenance keeps in the catalog beside the tables. */
export interface MaintenanceCatalog extends AsyncDisposable {
  readonly leases: Leases;
  readonly removals: Removals;
  readonly longReads: LongReads;
  readonly scrubs: Scrubs;
}

/** Closes `database` with it. */
export function sqlMaintenanceCatalog(
  database: SqlDatabase,
  dialect: SqlDialect,
): MaintenanceCatalog {
  return {
    leases: new SqlLeases(database, dialect),
    removals: new SqlRemovals(database, dialect),
    longReads: new SqlLongReads(database, dialect),
    scrubs: new SqlScrubs(database, dialect),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

class SqlLeases implements Leases {
  constructor(readonly database: SqlDatabase, readonly dialect: SqlDialect) {}

  take(name: string, token: string, leaseMs: number): Promise<boolean> {
    const now = this.dialect.nowMs();
    const isFree = hasRunOut(this.dialect, "svc_leases.expires_ms");
    return this.database.transaction("take a lease", function* () {
      const rows = yield sql(
        "INSERT INTO svc_leases (name, token, expires_ms) " +
          `VALUES ($1, $2, ${now} + CAST($3 AS BIGINT)) ON CONFLICT (name) DO UPDATE SET ` +
          "token = excluded.token, expires_ms = excluded.expires_ms " +
          `WHERE ${isFree} OR svc_leases.token = excluded.token ` +
          "RETURNING name",
        [name, token, leaseMs],
      );
      return rows.length > 0;
    });
  }

  release(name: string, token: string): Promise<void> {
    return this.database.transaction("release a lease", function* () {
      yield sql("DELETE FROM svc_leases WHERE name = $1 AND token = $2", [name, token]);
    });
  }
}

class SqlRemovals implements Removals {
  constructor(readonly database: SqlDatabase, readonly dialect: SqlDialect) {}

  enter(folder: string, keys: readonly string[], graceMs: number): Promise<void> {
    if (keys.length === 0) return Promise.resolve();
    const { nowMs, texts } = this.dialect;
    return this.database.transaction("enter files to remove", function* () {
      yield sql(
        "INSERT INTO svc_removals (object_key, folder, due_ms) " +
          `SELECT value, $2, ${nowMs()} + CAST($3 AS BIGINT) FROM ${texts(1)} WHERE true ` +
          "ORDER BY value ON CONFLICT (object_key) DO UPDATE SET due_ms = excluded.due_ms " +
          "WHERE svc_removals.due_ms < excluded.due_ms",
        [JSON.stringify([...keys].sort()), folder, graceMs],
      );
    });
  }

  due(
    folder: string,
    { max, graceMs }: { readonly max: number; readonly graceMs: number },
  ): Promise<readonly string[]> {
    const { nowMs } = this.dialect;
    return this.database.transaction("list files to remove", function* () {
      // A file that was entered with a longer grace counts as entered later: it stays longer.
      const rows = yield sql(
        "SELECT object_key FROM svc_removals " +
          `WHERE folder = $1 AND due_ms <= ${nowMs()} AND NOT EXISTS (` +
          `SELECT 1 FROM svc_long_reads WHERE expires_ms > ${nowMs()} ` +
          "AND since_ms <= svc_removals.due_ms - CAST($3 AS BIGINT)) " +
          "ORDER BY due_ms, object_key LIMIT $2",
        [folder, max, graceMs],
      );
      return rows.map((row) => textOfRow(row, "object_key"));
    });
  }

  entered(folder: string): Promise<ReadonlySet<string>> {
    return this.database.transaction("list files to remove", function* () {
      const rows = yield sql("SELECT object_key FROM svc_removals WHERE folder = $1", [folder]);
      return new Set(rows.map((row) => textOfRow(row, "object_key")));
    });
  }

  forget(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return Promise.resolve();
    const { texts } = this.dialect;
    return this.database.transaction("forget removed files", function* () {
      yield sql(
        `DELETE FROM svc_removals WHERE object_key IN (SELECT value FROM ${texts(1)})`,
        [JSON.stringify(keys)],
      );
    });
  }
}

class SqlLongReads implements LongReads {
  constructor(readonly database: SqlDatabase, readonly dialect: SqlDialect) {}

  hold(id: string, leaseMs: number): Promise<void> {
    const now = this.dialect.nowMs();
    return this.database.transaction("enter a long statement", function* () {
      yield sql(`DELETE FROM svc_long_reads WHERE expires_ms <= ${now}`, []);
      yield sql(
        "INSERT INTO svc_long_reads (id, since_ms, expires_ms) " +
          `VALUES ($1, ${now}, ${now} + CAST($2 AS BIGINT)) ` +
          "ON CONFLICT (id) DO UPDATE SET expires_ms = excluded.expires_ms",
        [id, leaseMs],
      );
    });
  }

  end(id: string): Promise<void> {
    return this.database.transaction("end a long statement", function* () {
      yield sql("DELETE FROM svc_long_reads WHERE id = $1", [id]);
    });
  }
}
