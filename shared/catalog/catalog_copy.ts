/**
 * All that a catalog holds at one moment, as values: what a backup keeps and a restore puts back.
 * The values are texts, so a copy of a SQLite file goes into PostgreSQL and the other way round.
 *
 * Every table of ours is copied but those of `LEFT_OUT`; a table that a later release adds is, too.
 * The rows of our catalog in Iceberg's tables are copied, but not its views.
 *
 * Held in memory as a whole: a catalog is small by what it keeps (`consumed_runs.ts`).
 */

import { OperatingError } from "../base/errors.ts";
import { ordinalOfSegmentName } from "../wal/layout.ts";
import { holds, RUNS_TABLE } from "./consumed_runs.ts";
import { integerOfRow, sql, type SqlDatabase, type SqlRow, textOfRow } from "./sql_database.ts";
import type { SqlStatement, Transaction } from "./sql_database.ts";
import { CATALOG_NAME } from "./sqlite_catalog.ts";
import type { TableIdent } from "../tenant/tenant.ts";

/** Rows of one table; numbers are their digits. */
export interface CopiedRows {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
}

/** A catalog at one moment. */
export type CatalogCopy = readonly CopiedRows[];

/** A table that the copy names, and where its metadata was. */
export interface CopiedTable {
  readonly ident: TableIdent;
  readonly metadataLocation: string;
}

/** Copies a catalog, and puts a copy into an empty one. Errors: the database's. */
export interface CatalogCopier extends AsyncDisposable {
  /** What the catalog holds, from one read transaction. */
  read(): Promise<CatalogCopy>;
  /**
   * Puts all of the copy in, or nothing. Errors: `conflict` when the catalog is not empty;
   * `unimplemented` when it lacks a table or column of the copy, which a newer release made.
   */
  write(copy: CatalogCopy): Promise<void>;
  /** Tables of the database that have rows of a catalog; none when it is empty. */
  filled(): Promise<readonly string[]>;
}

const TABLES_TABLE = "iceberg_tables";
const CONSUMED_TABLE = "svc_wal_consumed";
/**
 * Who is at work just now, batch jobs with their results, scrubs, the layout's version, and how
 * many commits this file has had.
 */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "svc_leases",
  "svc_long_reads",
  "svc_scrubs",
  "svc_damaged_files",
  "svc_jobs",
  "svc_job_results",
  "svc_catalog_version",
  "svc_commits",
]);
/** Tables that other catalogs have a part in. */
const CONDITIONS: Readonly<Record<string, string>> = {
  [TABLES_TABLE]: `catalog_name = '${CATALOG_NAME}' AND ` +
    "(iceberg_type = 'TABLE' OR iceberg_type IS NULL)",
  iceberg_namespace_properties: `catalog_name = '${CATALOG_NAME}'`,
};
/** Copies of rows are made with the rows. */
const IS_OURS = /^(svc_(?!copy_of_)[a-z_]+|iceberg_tables|iceberg_namespace_properties)$/;
const ROWS_AT_ONCE = 500;

/** Which statements a database understands. */
export interface CopyDialect {
  /** First in a transaction, so that all of it reads one moment; none where that is so anyway. */
  readonly isolate: string | undefined;
  /** Columns `table_name`, `column_name` of all tables, in the order of columns. */
  readonly columns: string;
  /** Inserts the rows of `$1`, a JSON array of objects. */
  insert(table: string, columns: readonly string[]): string;
}

export const POSTGRES_COPY: CopyDialect = {
  isolate: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
  columns: "SELECT table_name::text, column_name::text FROM information_schema.columns " +
    "WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position",
  insert: (table, columns) =>
    `INSERT INTO ${table} (${columns.join(", ")}) ` +
    `SELECT ${columns.join(", ")} FROM json_populate_recordset(NULL::${table}, $1::json)`,
};

export const SQLITE_COPY: CopyDialect = {
  isolate: undefined,
  columns: "SELECT tables.name AS table_name, columns.name AS column_name " +
    "FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns " +
    "WHERE tables.type = 'table' ORDER BY tables.name, columns.cid",
  // A column's affinity makes numbers of their digits.
  insert: (table, columns) =>
    `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${
      columns.map((name) => `json_extract(value, '$.${name}')`).join(", ")
    } FROM json_each($1)`,
};

export class SqlCatalogCopier implements CatalogCopier {
  constructor(readonly database: SqlDatabase, readonly dialect: CopyDialect) {}

  read(): Promise<CatalogCopy> {
    const { dialect } = this;
    return this.database.transaction("copy the catalog", function* () {
      if (dialect.isolate !== undefined) yield sql(dialect.isolate);
      const copy: CopiedRows[] = [];
      for (const [table, columns] of columnsOf(yield sql(dialect.columns))) {
        const rows = yield select(table, columns);
        copy.push({ table, columns, rows: rows.map((row) => textsOf(row, columns)) });
      }
      return copy;
    });
  }

  write(copy: CatalogCopy): Promise<void> {
    const { dialect } = this;
    return this.database.transaction("put a copy into the catalog", function* () {
      const there = columnsOf(yield sql(dialect.columns));
      const filled = yield* filledTables(there);
      if (filled.length > 0) throw notEmpty(filled);
      for (const { table, columns, rows } of copy) {
        refuseUnknown(there, { table, columns });
        for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
          const objects = rows.slice(start, start + ROWS_AT_ONCE).map((row) =>
            Object.fromEntries(columns.map((name, at) => [name, row[at] ?? null]))
          );
          yield sql(dialect.insert(table, columns), [JSON.stringify(objects)]);
        }
      }
    });
  }

  filled(): Promise<readonly string[]> {
    const { dialect } = this;
    return this.database.transaction("look into the catalog", function* () {
      return yield* filledTables(columnsOf(yield sql(dialect.columns)));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database[Symbol.asyncDispose]();
  }
}

/** Tables of Iceberg that a copy has, in order. */
export function tablesOfCopy(copy: CatalogCopy): CopiedTable[] {
  return recordsOf(copy, TABLES_TABLE).map((row) => ({
    ident: { namespace: textOfRow(row, "table_namespace"), name: textOfRow(row, "table_name") },
    metadataLocation: textOfRow(row, "metadata_location"),
  }));
}

/** Which WAL segments the copy has as consumed: as `Catalog.consumedOf` says at its moment. */
export function consumedInCopy(copy: CatalogCopy): (segment: string) => boolean {
  const kept = new Set(recordsOf(copy, CONSUMED_TABLE).map((row) => textOfRow(row, "segment_id")));
  const runs = recordsOf(copy, RUNS_TABLE).map((row) => ({
    writer: textOfRow(row, "writer"),
    firstNumber: integerOfRow(row, "first_number"),
    lastNumber: integerOfRow(row, "last_number"),
    firstMs: integerOfRow(row, "first_ms"),
    lastMs: integerOfRow(row, "last_ms"),
  }));
  const byWriter = Map.groupBy(runs, ({ writer }) => writer);
  return (segment) => {
    if (kept.has(segment)) return true;
    const ordinal = ordinalOfSegmentName(segment);
    if (ordinal === undefined) return false;
    return (byWriter.get(ordinal.writer) ?? []).some((run) => holds(run, ordinal));
  };
}

function recordsOf(copy: CatalogCopy, table: string): SqlRow[] {
  const { columns = [], rows = [] } = copy.find((one) => one.table === table) ?? {};
  return rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at] ?? null])));
}

/** Columns of the tables that are copied, by table. */
function columnsOf(rows: readonly SqlRow[]): Map<string, string[]> {
  const columns = new Map<string, string[]>();
  for (const row of rows) {
    const table = textOfRow(row, "table_name");
    if (!IS_OURS.test(table) || LEFT_OUT.has(table)) continue;
    const names = columns.get(table) ?? [];
    names.push(textOfRow(row, "column_name"));
    columns.set(table, names);
  }
  return columns;
}

function select(table: string, columns: readonly string[]): SqlStatement {
  const texts = columns.map((name) => `CAST(${name} AS TEXT) AS ${name}`).join(", ");
  return sql(`SELECT ${texts} FROM ${table}${whereOf(table)}`);
}

function whereOf(table: string): string {
  const condition = CONDITIONS[table];
  return condition === undefined ? "" : ` WHERE ${condition}`;
}

function textsOf(row: SqlRow, columns: readonly string[]): (string | null)[] {
  return columns.map((name) => row[name] === null ? null : textOfRow(row, name));
}

function* filledTables(there: ReadonlyMap<string, readonly string[]>): Transaction<string[]> {
  const filled: string[] = [];
  for (const table of there.keys()) {
    const [row] = yield sql(`SELECT 1 AS found FROM ${table}${whereOf(table)} LIMIT 1`);
    if (row !== undefined) filled.push(table);
  }
  return filled;
}

/** What is named here was read from a file: only names that the database has go into statements. */
function refuseUnknown(
  there: ReadonlyMap<string, readonly string[]>,
  { table, columns }: Pick<CopiedRows, "table" | "columns">,
): void {
  const known = there.get(table) ?? [];
  const unknown = columns.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new OperatingError(
    "unimplemented",
    `Cannot put a copy into the catalog: it has the column ${
      JSON.stringify(`${table}.${unknown}`)
    }, which this program does not know; use the release that made the copy, or a newer one`,
    { reason: "catalog_version" },
  );
}

function notEmpty(filled: readonly string[]): OperatingError {
  return new OperatingError(
    "conflict",
    `Cannot put a copy into the catalog: it is not empty, ${
      filled.join(", ")
    } have rows; give an empty one`,
    { reason: "not_empty" },
  );
}
