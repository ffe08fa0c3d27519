/**
 * The catalog in PostgreSQL, for roles on machines of their own. It has the tables and the promises
 * of the SQLite one; one conformance suite holds both.
 *
 * - A commit is one statement: the pointer moves, and the segments and columns are written, in one
 *   snapshot of the server and one round trip. Two that race wait for each other at the pointer's
 *   row, or at a segment's.
 * - Nothing is retried here: an answer that was lost leaves an open outcome, which `shared/iceberg`
 *   settles by reading back. A commit that is sent twice takes effect once, since each expects the
 *   same pointer.
 * - A reader of a database without our tables sees an empty catalog.
 */

import type { TableSchema } from "../schema/schema.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import type { Catalog, CatalogReader, CommitOutcome, TableCommit, TableView } from "./catalog.ts";
import { consumedAmong, foldSegments, segmentRows } from "./consumed_runs.ts";
import type { DeleteTaskCommit } from "./delete_ledger.ts";
import { type IndexState, type IndexView, NO_INDEX_VIEW } from "./index_catalog.ts";
import { CATALOG_OPTION, sqlStateOf } from "./postgres_errors.ts";
import { PostgresPool } from "./postgres_pool.ts";
import { ensureSchema } from "./postgres_schema.ts";
import { PostgresDatabase } from "./sql_database.ts";
import { IndexStates, READ_STATE, readViews, viewsOf } from "./sql_index_catalog.ts";
import { POSTGRES_DIALECT, POSTGRES_NOW_MS } from "./sql_dialect.ts";
import { CATALOG_NAME } from "./sqlite_catalog.ts";
import { parseTableSchema, tableSchemaText } from "./table_schema_json.ts";

interface OpenOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly uri: string;
  /** For messages: what named it; default `CATALOG_OPTION`. */
  readonly option?: string;
}

/**
 * Opens the catalog; a writer makes its tables. Errors: `unavailable`, `permission_denied`,
 * `corrupt`.
 */
export async function openPostgresCatalog(
  options: OpenOptions & { readonly readOnly?: false },
): Promise<Catalog>;
export async function openPostgresCatalog(
  options: OpenOptions & { readonly readOnly: true },
): Promise<CatalogReader>;
export async function openPostgresCatalog(
  { uri, option = CATALOG_OPTION, readOnly = false }: OpenOptions & { readonly readOnly?: boolean },
): Promise<CatalogReader> {
  const pool = new PostgresPool({ uri, readOnly, purpose: { noun: "catalog", option } });
  if (readOnly) return new PostgresCatalogReader(pool);
  try {
    await pool.withClient("make the tables", ensureSchema);
  } catch (error) {
    await pool.close();
    throw error;
  }
  return new PostgresCatalog(pool);
}

const UNDEFINED_TABLE = "42P01";
const UNIQUE_VIOLATION = "23505";

/** $1 to $3 name a table. */
const POINTER = "SELECT metadata_location FROM iceberg_tables " +
  "WHERE catalog_name = $1 AND table_namespace = $2 AND table_name = $3";

const AMONG = (n: number) => consumedAmong(POSTGRES_DIALECT, n);
const AMONG_OLDER = (n: number) => consumedAmong(POSTGRES_DIALECT, n, { hasRuns: false });

class PostgresCatalogReader implements CatalogReader {
  readonly #states = new IndexStates();

  constructor(protected readonly pool: PostgresPool) {}

  async namespaces(): Promise<string[]> {
    const rows = await this.read<{ text: string }>(
      "list namespaces",
      "SELECT text FROM (SELECT namespace AS text FROM iceberg_namespace_properties " +
        "WHERE catalog_name = $1 UNION SELECT table_namespace FROM iceberg_tables " +
        'WHERE catalog_name = $1) AS names ORDER BY text COLLATE "C"',
      [CATALOG_NAME],
    );
    return rows.map(({ text }) => text);
  }

  async tables(namespace: string): Promise<string[]> {
    const rows = await this.read<{ text: string }>(
      "list tables",
      "SELECT table_name AS text FROM iceberg_tables " +
        "WHERE catalog_name = $1 AND table_namespace = $2 " +
        `AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL) ORDER BY table_name COLLATE "C"`,
      [CATALOG_NAME, namespace],
    );
    return rows.map(({ text }) => text);
  }

  async metadataLocation(ident: TableIdent): Promise<string | undefined> {
    const rows = await this.read<{ metadata_location: string | null }>(
      "read table pointer",
      POINTER,
      [CATALOG_NAME, ident.namespace, ident.name],
    );
    return rows[0]?.metadata_location ?? undefined;
  }

  /** One statement reads one snapshot of the database. */
  async readView(ident: TableIdent, segments: readonly string[]): Promise<TableView> {
    const [row] = await this.#readConsumed<{ location: string | null; consumed: string[] }>(
      "read table view",
      (among) => `SELECT (${POINTER}) AS location, ARRAY(${among(4)}) AS consumed`,
      [CATALOG_NAME, ident.namespace, ident.name, segmentRows(segments)],
    );
    return {
      metadataLocation: row?.location ?? undefined,
      consumed: new Set(row?.consumed),
    };
  }

  async consumedOf(segments: readonly string[]): Promise<ReadonlySet<string>> {
    if (segments.length === 0) return new Set();
    const rows = await this.#readConsumed<{ segment_id: string }>(
      "read consumed segments",
      (among) => among(1),
      [segmentRows(segments)],
    );
    return new Set(rows.map((row) => row.segment_id));
  }

  /**
   * Reads as `read` does, also from tables that an older program made: these have no runs of
   * consumed segments.
   */
  async #readConsumed<R extends Record<string, unknown>>(
    verb: string,
    sqlOf: (among: (n: number) => string) => string,
    values: readonly unknown[],
  ): Promise<R[]> {
    try {
      return await this.pool.query<R>(verb, sqlOf(AMONG), values);
    } catch (error) {
      if (sqlStateOf(error) !== UNDEFINED_TABLE) throw error;
    }
    return await this.read<R>(verb, sqlOf(AMONG_OLDER), values);
  }

  async tableSchemas(namespace: string): Promise<ReadonlyMap<string, TableSchema>> {
    const rows = await this.read<{ name: string; schema: string }>(
      "read table schemas",
      "SELECT table_name AS name, schema FROM svc_table_schemas JOIN iceberg_tables " +
        "USING (table_namespace, table_name) WHERE catalog_name = $1 AND table_namespace = $2",
      [CATALOG_NAME, namespace],
    );
    return new Map(rows.map(({ name, schema }) => [name, parseTableSchema(name, schema)]));
  }

  async indexState({ namespace, name }: TableIdent): Promise<IndexState> {
    const [row] = await this.read("read an index", READ_STATE, [namespace, name]);
    return this.#states.of(row);
  }

  async indexView(namespace: string): Promise<IndexView> {
    const views = await this.#views([namespace]);
    return views.get(namespace) ?? NO_INDEX_VIEW;
  }

  indexViews(): Promise<ReadonlyMap<string, IndexView>> {
    return this.#views([]);
  }

  async #views(namespaces: readonly string[]): Promise<ReadonlyMap<string, IndexView>> {
    const sql = readViews(namespaces.length > 0);
    return viewsOf(await this.read("read managed indexes", sql, namespaces), this.#states);
  }

  async ping(): Promise<void> {
    await this.read("read tables", "SELECT 1 FROM iceberg_tables LIMIT 1");
  }

  close(): Promise<void> {
    return this.pool.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Rows of a statement; none where our tables are not there yet. */
  protected async read<R extends Record<string, unknown>>(
    verb: string,
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<R[]> {
    try {
      return await this.pool.query<R>(verb, sql, values);
    } catch (error) {
      if (sqlStateOf(error) === UNDEFINED_TABLE) return [];
      throw error;
    }
  }
}

/**
 * Parameters: $1 catalog, $2 namespace, $3 table, $4 expected, $5 next, $6 segments, $7 table uuid,
 * $8 snapshot, $9 columns, $10 claim, $11 delete task. Further: $12 its claim, $13 rows deleted,
 * $14 files rewritten, $15 segments as `segmentRows`.
 *
 * `moved` is the commit: what follows it happens for the rows it returns, or not at all.
 */
const WRITE_BESIDE_POINTER = `
  marked AS (
    INSERT INTO svc_wal_consumed (segment_id, table_uuid, snapshot_id)
    SELECT segment, $7, $8::bigint FROM moved, unnest($6::text[]) AS segment
  ),
  described AS (
    INSERT INTO svc_table_schemas (table_namespace, table_name, schema)
    SELECT $2, $3, $9 FROM moved WHERE $9::text IS NOT NULL
    ON CONFLICT (table_namespace, table_name) DO UPDATE SET schema = excluded.schema
      WHERE svc_table_schemas.schema <> excluded.schema
  ),
  ended AS (
    DELETE FROM svc_wal_claims WHERE token = $10 AND segment_id = ANY($6::text[])
      AND EXISTS (SELECT 1 FROM moved)
  ),
  deleted AS (
    UPDATE svc_delete_tasks SET status = 'done', ended_ms = ${POSTGRES_NOW_MS},
      rows_deleted = $13::bigint, files_rewritten = $14::bigint, error = NULL, claimant = NULL,
      token = NULL
    WHERE task_id = $11 AND EXISTS (SELECT 1 FROM moved)
  )
SELECT 1 FROM moved`;

/** Segments that the claim holds: locked, so that none changes hands before the commit is over. */
const HELD = `held AS (
    SELECT segment_id FROM svc_wal_claims WHERE token = $10 AND segment_id = ANY($6::text[])
      AND expires_ms > ${POSTGRES_NOW_MS} ORDER BY segment_id FOR UPDATE
  )`;

/** The delete task, while its claim holds it: locked like those. */
const TASKED = `tasked AS (
    SELECT task_id FROM svc_delete_tasks WHERE task_id = $11 AND token = $12
      AND ended_ms IS NULL AND expires_ms > ${POSTGRES_NOW_MS} FOR UPDATE
  )`;

const HOLDS_ALL =
  "($10::text IS NULL OR (SELECT count(*) FROM held) = coalesce(cardinality($6::text[]), 0)) " +
  "AND ($11::text IS NULL OR EXISTS (SELECT 1 FROM tasked))";

const NOT_CONSUMED = `NOT EXISTS (${AMONG(15)})`;

const MOVE_POINTER = `WITH ${HELD}, ${TASKED}, moved AS (
    UPDATE iceberg_tables SET metadata_location = $5, previous_metadata_location = $4
    WHERE catalog_name = $1 AND table_namespace = $2 AND table_name = $3
      AND metadata_location = $4 AND ${NOT_CONSUMED} AND ${HOLDS_ALL}
    RETURNING 1
  ),${WRITE_BESIDE_POINTER}`;

/** Other catalogs know a namespace by the property `exists`. */
const CREATE_POINTER = `WITH ${HELD}, ${TASKED}, moved AS (
    INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location,
      previous_metadata_location, iceberg_type)
    SELECT $1, $2, $3, $5, $4, 'TABLE' WHERE ${NOT_CONSUMED} AND ${HOLDS_ALL}
    ON CONFLICT DO NOTHING
    RETURNING 1
  ),
  known AS (
    INSERT INTO iceberg_namespace_properties SELECT $1, $2, 'exists', 'true' FROM moved
    ON CONFLICT DO NOTHING
  ),${WRITE_BESIDE_POINTER}`;

class PostgresCatalog extends PostgresCatalogReader implements Catalog {
  async commit(change: TableCommit): Promise<CommitOutcome> {
    const { ident, expected, next, consumed, tableUuid, snapshotId, schema, deletes } = change;
    const values = [
      CATALOG_NAME,
      ident.namespace,
      ident.name,
      expected ?? null,
      next,
      consumed,
      tableUuid,
      String(snapshotId),
      schema === undefined ? null : tableSchemaText(schema),
      change.claim ?? null,
      deletes?.taskId ?? null,
      deletes?.token ?? null,
      deletes?.rowsDeleted ?? 0,
      deletes?.filesRewritten ?? 0,
      segmentRows(consumed),
    ];
    const sql = expected === undefined ? CREATE_POINTER : MOVE_POINTER;
    try {
      const moved = await this.pool.query("commit table", sql, values);
      if (moved.length > 0) return "committed";
    } catch (error) {
      // Another commit consumed one of the segments between our look and our writing.
      if (sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
    }
    return await this.#refusalOf(change);
  }

  /**
   * Why nothing changed. Neither cause can go away: pointers are never used again, nor are
   * segments.
   */
  async #refusalOf(change: TableCommit): Promise<CommitOutcome> {
    const { ident, expected, consumed, claim, deletes } = change;
    const view = await this.readView(ident, consumed);
    if (view.metadataLocation !== expected) return "conflict";
    if (view.consumed.size > 0) return "consumed";
    if (claim !== undefined && await this.#held(claim, consumed) < consumed.length) {
      return "claim_lost";
    }
    if (deletes !== undefined && !await this.#isTasked(deletes)) return "claim_lost";
    // Both were undone meanwhile (a table dropped, segments forgotten): the next attempt finds them
    // as they are.
    return "conflict";
  }

  async #held(claim: string, segments: readonly string[]): Promise<number> {
    const held = await this.pool.query(
      "read a claim",
      "SELECT 1 FROM svc_wal_claims WHERE token = $1 AND segment_id = ANY($2::text[]) " +
        `AND expires_ms > ${POSTGRES_NOW_MS}`,
      [claim, segments],
    );
    return held.length;
  }

  async #isTasked({ taskId, token }: DeleteTaskCommit): Promise<boolean> {
    const held = await this.pool.query(
      "read the claim of a delete task",
      "SELECT 1 FROM svc_delete_tasks WHERE task_id = $1 AND token = $2 AND ended_ms IS NULL " +
        `AND expires_ms > ${POSTGRES_NOW_MS}`,
      [taskId, token],
    );
    return held.length > 0;
  }

  async dropTable(
    ident: TableIdent,
    { expected }: { readonly expected?: string } = {},
  ): Promise<boolean> {
    // Consumed segments stay known: their rows went with the table and must not return from the
    // WAL.
    const dropped = await this.pool.query(
      "drop table",
      `WITH gone AS (
        DELETE FROM iceberg_tables
        WHERE catalog_name = $1 AND table_namespace = $2 AND table_name = $3
          AND metadata_location = coalesce($4, metadata_location) RETURNING 1
      ), forgotten AS (
        DELETE FROM svc_table_schemas WHERE table_namespace = $2 AND table_name = $3
          AND EXISTS (SELECT 1 FROM gone)
      )
      SELECT 1 FROM gone`,
      [CATALOG_NAME, ident.namespace, ident.name, expected ?? null],
    );
    return dropped.length > 0;
  }

  async foldConsumed(segments: readonly string[]): Promise<void> {
    if (segments.length === 0) return;
    await new PostgresDatabase(this.pool).transaction(
      "fold consumed segments",
      () => foldSegments(segments, POSTGRES_DIALECT),
    );
  }
}
