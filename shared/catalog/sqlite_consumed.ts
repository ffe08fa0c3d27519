/** Which segments the catalog in a SQLite file has as consumed. */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { consumedAmong, RUNS_TABLE, segmentRows } from "./consumed_runs.ts";
import { textOfRow } from "./sql_database.ts";
import { sqliteDialect } from "./sql_dialect.ts";
import { hasTable } from "./sqlite_schema.ts";

const DIALECT = sqliteDialect();

/** Which of `segments` are consumed. Throws what SQLite throws. */
export function consumedIn(db: DatabaseSync, segments: readonly string[]): ReadonlySet<string> {
  if (segments.length === 0) return new Set();
  const rows = consumedQuery(db).all(segmentRows(segments));
  return new Set(rows.map((row) => textOfRow(row, "segment_id")));
}

/** Prepared once: every statement over a table that has a WAL asks. */
const CONSUMED_QUERIES = new WeakMap<DatabaseSync, StatementSync>();

function consumedQuery(db: DatabaseSync): StatementSync {
  const known = CONSUMED_QUERIES.get(db);
  if (known !== undefined) return known;
  // A file that an older program made has no runs, until a writer makes them.
  const hasRuns = hasTable(db, RUNS_TABLE);
  const query = db.prepare(consumedAmong(DIALECT, 1, { hasRuns }).replaceAll("$1", "?1"));
  if (hasRuns) CONSUMED_QUERIES.set(db, query);
  return query;
}
