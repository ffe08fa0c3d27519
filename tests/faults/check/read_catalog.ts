/**
 * What a SQLite catalog says, by plain SQL: where each table's metadata is, and which segments of
 * the WAL were consumed (`shared/catalog/README.md`).
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface CatalogFacts {
  /** `PRAGMA integrity_check`: `ok`, or what is wrong. */
  readonly integrity: string;
  /** Locations of metadata by table, of the default tenant. */
  readonly tables: ReadonlyMap<string, string>;
  isConsumed(segment: string): boolean;
}

interface Run {
  readonly writer: string;
  readonly numbers: readonly [number, number];
  readonly times: readonly [number, number];
}

const NAMESPACE = "svc";
/** `<created ms>-<sequence>-<writer, 10 digits><number, 6 digits>.seg`. */
const SEGMENT = /^(\d{13})-\d{4}-([0-9a-f]{10})([0-9a-f]{6})(?:\.seg)?$/;

/** Facts of the catalog at `path`, which stays as it is; one that is not there is empty. */
export function readCatalog(path: string): CatalogFacts {
  if (!existsSync(path)) {
    return { integrity: "ok", tables: new Map(), isConsumed: () => false };
  }
  // SQLite writes when it reads what the last writer left in its log: so it gets a copy.
  const folder = Deno.makeTempDirSync({ prefix: "svc-faults-catalog-" });
  try {
    const copy = join(folder, "catalog.db");
    for (const part of ["", "-wal"]) {
      if (existsSync(path + part)) Deno.copyFileSync(path + part, copy + part);
    }
    return factsOf(copy);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

function factsOf(path: string): CatalogFacts {
  const db = new DatabaseSync(path);
  try {
    const known = new Set(rowsOf(db, "SELECT name FROM sqlite_master").map(({ name }) => name));
    const all = (table: string, columns: string) =>
      known.has(table) ? rowsOf(db, `SELECT ${columns} FROM ${table}`) : [];
    const tables = all("iceberg_tables", "table_namespace, table_name, metadata_location")
      .filter(({ table_namespace }) => table_namespace === NAMESPACE)
      .map(({ table_name, metadata_location }): [string, string] => [
        String(table_name),
        String(metadata_location),
      ]);
    const ids = new Set(
      all("svc_wal_consumed", "segment_id").map(({ segment_id }) => bare(String(segment_id))),
    );
    const runs = all("svc_wal_consumed_runs", "*").map((row): Run => ({
      writer: String(row.writer),
      numbers: [Number(row.first_number), Number(row.last_number)],
      times: [Number(row.first_ms), Number(row.last_ms)],
    }));
    return {
      integrity: String(rowsOf(db, "PRAGMA integrity_check")[0]?.integrity_check),
      tables: new Map(tables),
      isConsumed: (segment) => ids.has(bare(segment)) || runs.some((run) => holds(run, segment)),
    };
  } finally {
    db.close();
  }
}

function holds({ writer, numbers, times }: Run, segment: string): boolean {
  const [, ms, segmentWriter, number] = SEGMENT.exec(segment) ?? [];
  if (segmentWriter !== writer || number === undefined) return false;
  const within = ([first, last]: readonly [number, number], value: number) =>
    first <= value && value <= last;
  return within(numbers, Number.parseInt(number, 16)) && within(times, Number(ms));
}

function bare(segment: string): string {
  return segment.replace(/\.seg$/, "");
}

function rowsOf(db: DatabaseSync, statement: string) {
  return db.prepare(statement).all();
}
