/**
 * A second copy of each row of the catalog's tables, in the same file. SQLite keeps no checksums of
 * its pages, so a flipped bit of a pointer or a consumed segment's name reads like any other.
 *
 * Triggers keep the copies, so a row that another engine writes has one, too. A row that differs
 * from its copy, a row without one and a copy without its row are damage. What is compared are the
 * columns that this program knows. Tables and columns that another engine adds are its own.
 *
 * Invariants: a table has its copy and its triggers, word for word, or none of them. A file of an
 * earlier release has none until the first writer opens it, and is not checked before that.
 *
 * Not covered: commits that damage of `<file>-wal` takes back as a whole (`sqlite_commits.ts`).
 */

import { DatabaseSync } from "node:sqlite";
import type { CommitCount } from "./sqlite_commits.ts";
import { damagedCatalog } from "./sqlite_errors.ts";

/** A table is compared again when so much time has passed. */
const CHECKED_MS = 10_000;
/** Comparisons take this part of the time at most. */
const SHARE_DIVISOR = 200;

/** A table whose rows are kept twice. */
interface CopiedTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** Columns that name a row. */
  readonly key: readonly string[];
  /** Names of what its copy consists of, with the statements that make it. */
  readonly objects: ReadonlyMap<string, string>;
}

/** The copies of the tables that some statements make. */
export class SqliteCopies {
  readonly #tables: readonly CopiedTable[];

  /** `schema`: CREATE TABLE statements. Tables without a key have no copy. */
  constructor(schema: string) {
    const db = new DatabaseSync(":memory:");
    try {
      db.exec(schema);
      this.#tables = tablesOf(db);
    } finally {
      db.close();
    }
  }

  /** Whether each table has its copy. Errors: `corrupt` where something of one is missing. */
  areComplete(db: DatabaseSync): boolean {
    const found = objectsOf(db);
    return this.#tables.every((table) => isCopied(found, table));
  }

  /** Makes the copies that are missing, in the caller's transaction. Errors: as `areComplete`. */
  ensure(db: DatabaseSync): void {
    const found = objectsOf(db);
    const statements = this.#tables.filter((table) => !isCopied(found, table)).flatMap((table) => {
      const columns = table.columns.join(", ");
      const fill = `INSERT INTO ${copyOf(table)} (${columns}) SELECT ${columns} FROM ${table.name}`;
      return [...table.objects.values(), fill];
    });
    db.exec(statements.join(";\n"));
  }

  /** Compares everything. Errors: `corrupt`; SQLite's own. */
  check(db: DatabaseSync): void {
    const found = objectsOf(db);
    const copied = this.#tables.filter((table) => isCopied(found, table));
    // Rows are found by indexes, which are compared with their tables here.
    const [first] = db.prepare("PRAGMA integrity_check(1)").all();
    if (first?.integrity_check !== "ok") throw damagedCatalog(String(first?.integrity_check));
    const filled = new Set(namesOf(db, filledAmong(copied)));
    for (const table of copied.filter(({ name }) => filled.has(name))) {
      if (db.prepare(differencesOf(table)).get() !== undefined) {
        throw damagedCatalog(`a row of ${table.name} differs from its copy`);
      }
    }
  }
}

/** When a connection compared everything last. */
export class CheckedLately {
  #untilMs = -Infinity;

  constructor(readonly copies: SqliteCopies, readonly commits: CommitCount) {}

  /**
   * Compares everything, and the count of commits, unless it did so lately. Errors: as
   * `SqliteCopies.check` and `CommitCount.refuseLost`.
   */
  look(db: DatabaseSync): void {
    const beganMs = performance.now();
    if (beganMs < this.#untilMs) return;
    this.commits.refuseLost(db);
    this.copies.check(db);
    const endedMs = performance.now();
    this.#untilMs = endedMs + Math.max(CHECKED_MS, SHARE_DIVISOR * (endedMs - beganMs));
  }
}

function tablesOf(db: DatabaseSync): CopiedTable[] {
  return tableNames(db).map((name) => {
    const described = db.prepare("SELECT name, pk FROM pragma_table_info(?)").all(name);
    const columns = described.map((column) => String(column.name));
    const keyed = described.filter(({ pk }) => Number(pk) > 0);
    const key = keyed.map((column) => String(column.name));
    return { name, columns, key, objects: objectsFor({ name, columns, key }) };
  }).filter(({ key }) => key.length > 0);
}

/** Names of all tables. */
export function tableNames(db: DatabaseSync): string[] {
  return namesOf(db, "SELECT name FROM sqlite_schema WHERE type = 'table'");
}

function namesOf(db: DatabaseSync, sql: string): string[] {
  return db.prepare(sql).all().map(({ name }) => String(name));
}

function copyOf({ name }: Pick<CopiedTable, "name">): string {
  return `svc_copy_of_${name}`;
}

function objectsFor({ name, columns, key }: Omit<CopiedTable, "objects">): Map<string, string> {
  const copy = copyOf({ name });
  const drop = (row: string) =>
    `DELETE FROM ${copy} WHERE ${key.map((one) => `${one} IS ${row}.${one}`).join(" AND ")}; `;
  const put = `INSERT INTO ${copy} (${columns.join(", ")}) ` +
    `VALUES (${columns.map((one) => `new.${one}`).join(", ")}); `;
  const trigger = (event: string, steps: string): [string, string] => [
    `${copy}_${event}`,
    `CREATE TRIGGER ${copy}_${event} AFTER ${event.toUpperCase()} ON ${name} BEGIN ${steps}END`,
  ];
  return new Map([
    [copy, `CREATE TABLE ${copy} (${columns.join(", ")}, PRIMARY KEY (${key.join(", ")}))`],
    // A row that REPLACE took away tells no trigger, so its copy may be left.
    trigger("insert", drop("new") + put),
    trigger("update", drop("old") + drop("new") + put),
    trigger("delete", drop("old")),
  ]);
}

/** Statements of the schema by name. */
function objectsOf(db: DatabaseSync): ReadonlyMap<string, string> {
  const rows = db.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").all();
  return new Map(rows.map(({ name, sql }) => [String(name), String(sql)]));
}

/** Whether a table has its copy. Errors: `corrupt` where it has a part of one. */
function isCopied(found: ReadonlyMap<string, string>, table: CopiedTable): boolean {
  const objects = [...table.objects];
  if (objects.every(([name]) => !found.has(name))) return false;
  const isWhole = found.has(table.name) && objects.every(([name, sql]) => found.get(name) === sql);
  if (!isWhole) {
    throw damagedCatalog(`the copy of ${table.name}, or what keeps it, is not as it was made`);
  }
  return true;
}

/**
 * A query for the names of tables that have rows, or whose copies do. Empty ones need no
 * comparison, each of which takes a tenth of a millisecond to prepare.
 */
function filledAmong(tables: readonly CopiedTable[]): string {
  const has = (name: string) => `EXISTS (SELECT 1 FROM ${name})`;
  const queries = tables.map((table) =>
    `SELECT '${table.name}' AS name WHERE ${has(table.name)} OR ${has(copyOf(table))}`
  );
  return ["SELECT NULL AS name WHERE false", ...queries].join(" UNION ALL ");
}

/** A query with a row where a table and its copy differ. */
function differencesOf(table: CopiedTable): string {
  const rowsOf = (name: string) => `SELECT ${table.columns.join(", ")} FROM ${name}`;
  const [rows, copies] = [rowsOf(table.name), rowsOf(copyOf(table))];
  return `SELECT 1 FROM (SELECT * FROM (${rows} EXCEPT ${copies}) ` +
    `UNION ALL SELECT * FROM (${copies} EXCEPT ${rows})) LIMIT 1`;
}
