/** `Scrubs` for both databases; the tables are in `sqlite_schema.ts`. */

import type { DamagedObject, ScrubPass, Scrubs } from "./scrubs.ts";
import { integerOfRow, sql, type SqlDatabase, type SqlRow, textOfRow } from "./sql_database.ts";
import type { SqlDialect } from "./sql_dialect.ts";

export class SqlScrubs implements Scrubs {
  constructor(readonly database: SqlDatabase, readonly dialect: SqlDialect) {}

  passes(): Promise<ReadonlyMap<string, ScrubPass>> {
    return this.database.transaction("read scrubs", function* () {
      const rows = yield sql("SELECT * FROM svc_scrubs");
      return new Map(rows.map((row) => [textOfRow(row, "folder"), passOf(row)]));
    });
  }

  keep(folder: string, pass: ScrubPass): Promise<void> {
    const { beganMs, cursor = null, files, bytes, unsummed, wholeMs = null } = pass;
    return this.database.transaction("keep a scrub", function* () {
      yield sql(
        "INSERT INTO svc_scrubs (folder, began_ms, cursor_key, files, bytes, unsummed, whole_ms) " +
          "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (folder) DO UPDATE SET " +
          "began_ms = excluded.began_ms, cursor_key = excluded.cursor_key, " +
          "files = excluded.files, bytes = excluded.bytes, unsummed = excluded.unsummed, " +
          "whole_ms = excluded.whole_ms",
        [folder, beganMs, cursor, files, bytes, unsummed, wholeMs],
      );
    });
  }

  damaged(folder: string): Promise<readonly DamagedObject[]> {
    return this.database.transaction("read damaged files", function* () {
      const rows = yield sql(
        "SELECT object_key, damage, found_ms FROM svc_damaged_files WHERE folder = $1 " +
          "ORDER BY object_key",
        [folder],
      );
      return rows.map((row) => ({
        key: textOfRow(row, "object_key"),
        damage: textOfRow(row, "damage"),
        foundMs: integerOfRow(row, "found_ms"),
      }));
    });
  }

  damagedCounts(): Promise<ReadonlyMap<string, number>> {
    return this.database.transaction("count damaged files", function* () {
      const rows = yield sql(
        "SELECT folder, count(*) AS files FROM svc_damaged_files GROUP BY folder",
      );
      return new Map(rows.map((row) => [textOfRow(row, "folder"), integerOfRow(row, "files")]));
    });
  }

  found(folder: string, { key, damage, foundMs }: DamagedObject): Promise<void> {
    return this.database.transaction("note a damaged file", function* () {
      yield sql(
        "INSERT INTO svc_damaged_files (object_key, folder, damage, found_ms) " +
          "VALUES ($1, $2, $3, $4) ON CONFLICT (object_key) DO UPDATE SET damage = excluded.damage",
        [key, folder, damage, foundMs],
      );
    });
  }

  forgetDamage(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return Promise.resolve();
    const { texts } = this.dialect;
    return this.database.transaction("forget damaged files", function* () {
      yield sql(
        `DELETE FROM svc_damaged_files WHERE object_key IN (SELECT value FROM ${texts(1)})`,
        [JSON.stringify(keys)],
      );
    });
  }

  forgetTables(folders: readonly string[]): Promise<void> {
    if (folders.length === 0) return Promise.resolve();
    const { texts } = this.dialect;
    const these = `folder IN (SELECT value FROM ${texts(1)})`;
    return this.database.transaction("forget scrubs", function* () {
      const values = [JSON.stringify(folders)];
      yield sql(`DELETE FROM svc_damaged_files WHERE ${these}`, values);
      yield sql(`DELETE FROM svc_scrubs WHERE ${these}`, values);
    });
  }
}

function passOf(row: SqlRow): ScrubPass {
  return {
    beganMs: integerOfRow(row, "began_ms"),
    cursor: row["cursor_key"] === null ? undefined : textOfRow(row, "cursor_key"),
    files: integerOfRow(row, "files"),
    bytes: integerOfRow(row, "bytes"),
    unsummed: integerOfRow(row, "unsummed"),
    wholeMs: row["whole_ms"] === null ? undefined : integerOfRow(row, "whole_ms"),
  };
}
