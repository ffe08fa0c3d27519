/**
 * The catalog in one SQLite file, shared by processes: one writer at a time, readers never wait
 * (WAL journal).
 *
 * - A commit is one IMMEDIATE transaction, synced when it returns (`synchronous=FULL`). A lock that
 *   is held longer than the busy timeout is `unavailable`; SQLite waits on this thread, so the
 *   timeout is short.
 * - `readOnly` needs Deno read permission on the file only. SQLite itself also opens `<file>-wal`
 *   and `-shm`, and makes them when no writer has the file open. So the system user must be able to
 *   read the file and write its folder, or a writer must be running. A file that does not exist
 *   (yet) is an empty catalog. It is looked for again at each call, and one that was replaced is
 *   opened anew.
 * - A writer needs Deno read and write permission on the file, and on its folder when `files` shall
 *   make it.
 *
 * SQLite reads and writes the file itself, so `shared/os` cannot stand between; crash tests of the
 * drain take its transactions as atomic and durable.
 *
 * Not covered: network file systems, where SQLite's locks do not hold.
 */

import { statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { messageOf, OperatingError } from "../base/errors.ts";
import type { TableSchema } from "../schema/schema.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { type Clock, SystemClock } from "../os/clock.ts";
import { ensureDirectory } from "../os/durable_directory.ts";
import type { FileSystem } from "../os/file_system.ts";
import type { Catalog, CatalogReader, CommitOutcome, TableCommit, TableView } from "./catalog.ts";
import type { DeleteTaskCommit } from "./delete_ledger.ts";
import { type IndexState, type IndexView, NO_INDEX_VIEW } from "./index_catalog.ts";
import { foldSegments } from "./consumed_runs.ts";
import { runSqliteSteps, sqliteRows } from "./sql_database.ts";
import { sqliteDialect } from "./sql_dialect.ts";
import { IndexStates, READ_STATE, readViews, viewsOf } from "./sql_index_catalog.ts";
import { openConnection } from "./sqlite_connections.ts";
import { guard } from "./sqlite_errors.ts";
import { CommitCount, type Decision, inTransaction } from "./sqlite_commits.ts";
import { CheckedLately } from "./sqlite_copies.ts";
import { CATALOG_COPIES, ensureSchema, hasTable, versionOf } from "./sqlite_schema.ts";
import { consumedIn } from "./sqlite_consumed.ts";
import { dropSchema, putSchema, schemasOf } from "./sqlite_table_schemas.ts";

/** Name under which other Iceberg readers open this catalog. */
export const CATALOG_NAME = "svc";
const BUSY_TIMEOUT_MS = 2_000;
const DIALECT = sqliteDialect();

interface SqliteCatalogOptions {
  /** Path of the database file, or `:memory:` for a catalog of its own that goes with it. */
  readonly path: string;
  /** Milliseconds a call waits for another process's transaction; default 2000. */
  readonly busyTimeoutMs?: number;
}

interface WriterOptions extends SqliteCatalogOptions {
  readonly readOnly?: false;
  /** Makes the file's folder durably when it is missing; without it the folder must exist. */
  readonly files?: FileSystem;
  /** By which claims run out; default: the machine's. */
  readonly clock?: Clock;
}

interface ReaderOptions extends SqliteCatalogOptions {
  readonly readOnly: true;
}

/** Opens the catalog. Errors: `unavailable`, `corrupt` (not a database, or of a newer version). */
export async function openSqliteCatalog(options: WriterOptions): Promise<Catalog>;
export async function openSqliteCatalog(options: ReaderOptions): Promise<CatalogReader>;
export async function openSqliteCatalog(
  options: WriterOptions | ReaderOptions,
): Promise<CatalogReader> {
  const { path, busyTimeoutMs = BUSY_TIMEOUT_MS } = options;
  if (options.readOnly === true) return new SqliteCatalogReader(path, busyTimeoutMs);
  if (options.files !== undefined && path !== ":memory:") {
    await makeFolder(options.files, dirname(path));
  }
  return guard("open the catalog", path, () => {
    const db = new DatabaseSync(path, { timeout: busyTimeoutMs });
    try {
      const commits = new CommitCount(path);
      commits.refuseLost(db);
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
      commits.make();
      ensureSchema(db, commits);
    } catch (error) {
      db.close();
      throw error;
    }
    return new SqliteCatalog(db, path, {
      busyTimeoutMs,
      clock: options.clock ?? new SystemClock(),
    });
  });
}

async function makeFolder(files: FileSystem, path: string): Promise<void> {
  try {
    await ensureDirectory(files, path);
  } catch (cause) {
    throw new OperatingError(
      "unavailable",
      `Cannot make the catalog's folder ${path}: ${
        messageOf(cause)
      }; make it or choose another place`,
      { cause },
    );
  }
}

class SqliteCatalogReader implements CatalogReader {
  protected db: DatabaseSync | undefined;
  protected closed = false;
  protected readonly commits: CommitCount;
  private checked: CheckedLately;
  readonly #states = new IndexStates();
  /** Which file `db` is. */
  private file: string | undefined;

  constructor(protected readonly path: string, private readonly busyTimeoutMs: number) {
    this.commits = new CommitCount(path);
    this.checked = new CheckedLately(CATALOG_COPIES, this.commits);
  }

  namespaces(): Promise<string[]> {
    return this.read("list namespaces", [], (db) =>
      texts(
        db.prepare(
          "SELECT DISTINCT namespace AS text FROM iceberg_namespace_properties WHERE catalog_name = ?1 " +
            "UNION SELECT DISTINCT table_namespace FROM iceberg_tables WHERE catalog_name = ?1 ORDER BY 1",
        ).all(CATALOG_NAME),
      ));
  }

  tables(namespace: string): Promise<string[]> {
    return this.read("list tables", [], (db) =>
      texts(
        db.prepare(
          "SELECT table_name AS text FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? " +
            "AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL) ORDER BY 1",
        ).all(CATALOG_NAME, namespace),
      ));
  }

  metadataLocation(ident: TableIdent): Promise<string | undefined> {
    return this.read("read table pointer", undefined, (db) => pointerOf(db, ident));
  }

  readView(ident: TableIdent, segments: readonly string[]): Promise<TableView> {
    const nothing = { metadataLocation: undefined, consumed: new Set<string>() };
    return this.read<TableView>("read table view", nothing, (db) => {
      // One query needs no transaction to be of one state.
      if (segments.length === 0) return { ...nothing, metadataLocation: pointerOf(db, ident) };
      db.exec("BEGIN");
      try {
        return { metadataLocation: pointerOf(db, ident), consumed: consumedIn(db, segments) };
      } finally {
        db.exec("COMMIT");
      }
    });
  }

  consumedOf(segments: readonly string[]): Promise<ReadonlySet<string>> {
    return this.read("read consumed segments", new Set(), (db) => consumedIn(db, segments));
  }

  tableSchemas(namespace: string): Promise<ReadonlyMap<string, TableSchema>> {
    return this.read<ReadonlyMap<string, TableSchema>>(
      "read table schemas",
      new Map(),
      (db) => schemasOf(db, { catalogName: CATALOG_NAME, namespace }),
    );
  }

  indexState({ namespace, name }: TableIdent): Promise<IndexState> {
    return this.read(
      "read an index",
      this.#states.of(undefined),
      (db) =>
        hasTable(db, "svc_dropped_tables")
          ? this.#states.of(sqliteRows(db, READ_STATE, [namespace, name])[0])
          : this.#states.of(undefined),
    );
  }

  async indexView(namespace: string): Promise<IndexView> {
    const views = await this.#views([namespace]);
    return views.get(namespace) ?? NO_INDEX_VIEW;
  }

  indexViews(): Promise<ReadonlyMap<string, IndexView>> {
    return this.#views([]);
  }

  #views(namespaces: readonly string[]): Promise<ReadonlyMap<string, IndexView>> {
    return this.read<ReadonlyMap<string, IndexView>>("read managed indexes", new Map(), (db) =>
      // A file that an older program made has none.
      hasTable(db, "svc_dropped_tables")
        ? viewsOf(sqliteRows(db, readViews(namespaces.length > 0), namespaces), this.#states)
        : new Map());
  }

  ping(): Promise<void> {
    return this.read("read tables", undefined, (db) => {
      db.prepare("SELECT 1 FROM iceberg_tables LIMIT 1").get();
    });
  }

  close(): Promise<void> {
    this.closed = true;
    if (this.db?.isOpen === true) this.db.close();
    this.db = undefined;
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Runs `action` on the open database; `nothing` when there is no catalog yet. */
  protected read<T>(verb: string, nothing: T, action: (db: DatabaseSync) => T): Promise<T> {
    return guard(`${verb} in the catalog`, this.path, () => {
      if (this.closed) {
        throw new OperatingError("unavailable", `Cannot ${verb}: the catalog is closed`);
      }
      const db = this.current();
      if (db === undefined) return nothing;
      this.checked.look(db);
      return action(db);
    });
  }

  /** Looks for damage before the catalog is changed. Errors: `corrupt`. */
  protected check(db: DatabaseSync): void {
    this.checked.look(db);
  }

  /** The open database; a reader follows the path when another file takes its place. */
  protected current(): DatabaseSync | undefined {
    if (this.db?.isOpen === true && fileAt(this.path) === this.file) return this.db;
    if (this.db?.isOpen === true) this.db.close();
    this.db = undefined;
    // Read first, since a writer may make the catalog just now.
    const recorded = this.commits.recorded();
    this.file = fileAt(this.path);
    if (this.file !== undefined) {
      this.db = this.tryOpen();
      this.checked = new CheckedLately(CATALOG_COPIES, this.commits);
    }
    if (this.db === undefined && recorded > 0) throw this.commits.lost(recorded, 0);
    return this.db;
  }

  private tryOpen(): DatabaseSync | undefined {
    let db;
    try {
      db = openConnection(this.path, { readOnly: true, timeout: this.busyTimeoutMs });
      if (versionOf(db) !== undefined) return db;
    } catch (error) {
      db?.close();
      throw error;
    }
    db.close();
    return undefined;
  }
}

class SqliteCatalog extends SqliteCatalogReader implements Catalog {
  readonly #clock: Clock;

  constructor(
    db: DatabaseSync,
    path: string,
    options: { readonly busyTimeoutMs: number; readonly clock: Clock },
  ) {
    super(path, options.busyTimeoutMs);
    this.db = db;
    this.#clock = options.clock;
  }

  /** A writer stays with the file that it opened. */
  protected override current(): DatabaseSync | undefined {
    return this.db;
  }

  commit(change: TableCommit): Promise<CommitOutcome> {
    const { ident, expected, next, consumed } = change;
    return this.transact<CommitOutcome>("commit table", (db) => {
      if (pointerOf(db, ident) !== expected) return undo("conflict");
      if (consumedIn(db, consumed).size > 0) return undo("consumed");
      if (change.claim !== undefined) {
        const held = endClaim(db, change.claim, { segments: consumed, nowMs: this.#clock.nowMs() });
        if (held < consumed.length) return undo("claim_lost");
      }
      if (change.deletes !== undefined && !endDeletes(db, change.deletes, this.#clock.nowMs())) {
        return undo("claim_lost");
      }
      if (expected === undefined) insertTable(db, ident, next);
      else movePointer(db, ident, expected, next);
      const insert = db.prepare(
        "INSERT INTO svc_wal_consumed (segment_id, table_uuid, snapshot_id) VALUES (?, ?, ?)",
      );
      for (const segment of consumed) insert.run(segment, change.tableUuid, change.snapshotId);
      if (change.schema !== undefined) putSchema(db, ident, change.schema);
      return keep("committed");
    });
  }

  dropTable(
    ident: TableIdent,
    { expected }: { readonly expected?: string } = {},
  ): Promise<boolean> {
    // Consumed segments stay known: their rows went with the table and must not return from the
    // WAL.
    return this.transact("drop table", (db) => {
      const { changes } = db.prepare(
        "DELETE FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? " +
          "AND table_name = ? AND metadata_location = coalesce(?, metadata_location)",
      ).run(CATALOG_NAME, ident.namespace, ident.name, expected ?? null);
      if (changes === 0) return keep(false);
      dropSchema(db, ident);
      return keep(true);
    });
  }

  async foldConsumed(segments: readonly string[]): Promise<void> {
    if (segments.length === 0) return;
    await this.transact("fold consumed segments", (db) => {
      runSqliteSteps(db, foldSegments(segments, DIALECT));
      return keep(undefined);
    });
  }

  /** Runs `action` in one IMMEDIATE transaction, committed when it says so. */
  private transact<T>(verb: string, action: (db: DatabaseSync) => Decision<T>): Promise<T> {
    return guard(`${verb} in the catalog`, this.path, () => {
      const db = this.db;
      if (db === undefined) {
        throw new OperatingError("unavailable", `Cannot ${verb}: the catalog is closed`);
      }
      this.check(db);
      return inTransaction(db, () => action(db), this.commits);
    });
  }
}

function keep<T>(value: T): Decision<T> {
  return { keep: true, value };
}

function undo<T>(value: T): Decision<T> {
  return { keep: false, value };
}

/** Prepared once: every statement over a stored table asks. */
const POINTER_QUERIES = new WeakMap<DatabaseSync, StatementSync>();

function pointerQuery(db: DatabaseSync): StatementSync {
  const known = POINTER_QUERIES.get(db);
  if (known !== undefined) return known;
  const query = db.prepare(
    "SELECT metadata_location AS text FROM iceberg_tables " +
      "WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?",
  );
  POINTER_QUERIES.set(db, query);
  return query;
}

function pointerOf(db: DatabaseSync, ident: TableIdent): string | undefined {
  const row = pointerQuery(db).get(CATALOG_NAME, ident.namespace, ident.name);
  return row === undefined || row.text === null ? undefined : String(row.text);
}

/** Deletes what the claim still holds of `segments`; how many. */
function endClaim(
  db: DatabaseSync,
  token: string,
  { segments, nowMs }: { readonly segments: readonly string[]; readonly nowMs: number },
): number {
  const { changes } = db.prepare(
    "DELETE FROM svc_wal_claims WHERE token = ? AND expires_ms > ? " +
      "AND segment_id IN (SELECT value FROM json_each(?))",
  ).run(token, nowMs, JSON.stringify(segments));
  return Number(changes);
}

/** False when the claim no longer holds the task. */
function endDeletes(
  db: DatabaseSync,
  { taskId, token, rowsDeleted, filesRewritten }: DeleteTaskCommit,
  clockMs: number,
): boolean {
  const nowMs = Math.floor(clockMs);
  const { changes } = db.prepare(
    "UPDATE svc_delete_tasks SET status = 'done', ended_ms = ?3, rows_deleted = ?4, " +
      "files_rewritten = ?5, error = NULL, claimant = NULL, token = NULL " +
      "WHERE task_id = ?1 AND token = ?2 AND ended_ms IS NULL AND expires_ms > ?3",
  ).run(taskId, token, nowMs, rowsDeleted, filesRewritten);
  return changes > 0;
}

function insertTable(db: DatabaseSync, ident: TableIdent, location: string): void {
  // Other catalogs know a namespace by the property `exists`.
  db.prepare(
    "INSERT OR IGNORE INTO iceberg_namespace_properties VALUES (?, ?, 'exists', 'true')",
  ).run(CATALOG_NAME, ident.namespace);
  db.prepare(
    "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, " +
      "previous_metadata_location, iceberg_type) VALUES (?, ?, ?, ?, NULL, 'TABLE')",
  ).run(CATALOG_NAME, ident.namespace, ident.name, location);
}

function movePointer(db: DatabaseSync, ident: TableIdent, expected: string, next: string): void {
  db.prepare(
    "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? " +
      "WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND metadata_location = ?",
  ).run(next, expected, CATALOG_NAME, ident.namespace, ident.name, expected);
}

/**
 * What tells the file at `path` from another one under the same name; undefined when there is none.
 */
function fileAt(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`;
}

function texts(rows: readonly Record<string, unknown>[]): string[] {
  return rows.map((row) => String(row.text));
}
