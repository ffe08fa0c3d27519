/**
 * What the catalog relations tell of: the tables of the caller's own namespace, with the columns
 * that statements see. Hidden tables and hidden columns are not among them.
 */

import type { CatalogReader } from "../../catalog/catalog.ts";
import type { IcebergReader } from "../../iceberg/iceberg_reader.ts";
import { BUILT_IN_TABLES } from "../../schema/built_in_tables.ts";
import type { DocMapping } from "../../schema/doc_mapping.ts";
import { indexSchema } from "../../schema/index_schema.ts";
import { seenColumns } from "../../schema/promoted.ts";
import type { Column, TableSchema } from "../../schema/schema.ts";
import type { Deadline } from "../turns/deadline.ts";
import type { PgSession } from "../types.ts";

/** A table of the caller's. */
export interface OwnTable {
  readonly oid: number;
  readonly name: string;
  readonly columns: readonly Column[];
  /** What the table holds; undefined: nobody said. */
  readonly comment: string | undefined;
}

/** All that the relations are made of. */
export interface CatalogView {
  /** The schema in which the tables are: the caller's namespace. */
  readonly schema: string;
  readonly session: PgSession;
  /** By name. */
  readonly tables: readonly OwnTable[];
}

/** Where the tables are found. */
export interface OwnTablesSource {
  readonly catalog: Pick<
    CatalogReader,
    "indexView" | "tables" | "tableSchemas" | "metadataLocation"
  >;
  readonly tables: Pick<IcebergReader, "loadTable">;
  /** Names that no statement may know. */
  readonly hidden: ReadonlySet<string>;
}

/** The most tables that the relations tell of, the first by name. */
const OWN_TABLES_MAX = 1_000;

const COMMENTS: Readonly<Record<string, string>> = {
  events: "Log records",
  traces: "Spans of traces",
  query_audit: "Statements that ended",
};

/** Reads the tables. Errors: the catalog's, the store's, the deadline's. */
export async function ownTables(
  source: OwnTablesSource,
  namespace: string,
  deadline: Deadline,
): Promise<readonly OwnTable[]> {
  const { catalog, hidden } = source;
  const [{ indexes }, committed, schemas] = await Promise.all([
    catalog.indexView(namespace),
    catalog.tables(namespace),
    catalog.tableSchemas(namespace),
  ]);
  const all = new Set([...BUILT_IN_TABLES.keys(), ...indexes.keys(), ...committed]);
  const names = [...all].filter((name) => !hidden.has(name)).sort().slice(0, OWN_TABLES_MAX);
  const isCommitted = new Set(committed);
  const oids = oidsOf(names);
  const tables: OwnTable[] = [];
  for (const name of names) {
    deadline.check();
    const stored = schemas.get(name) ??
      (isCommitted.has(name) ? await loaded(source, { namespace, name }) : undefined);
    const schema = shownSchema(name, stored, indexes.get(name)?.config.doc_mapping);
    const columns = seenColumns(schema.columns);
    tables.push({ oid: oids.get(name) ?? 0, name, columns, comment: COMMENTS[name] });
  }
  return tables;
}

async function loaded(
  { catalog, tables }: OwnTablesSource,
  ident: { readonly namespace: string; readonly name: string },
): Promise<TableSchema | undefined> {
  const location = await catalog.metadataLocation(ident);
  return location === undefined ? undefined : (await tables.loadTable(ident, location)).schema;
}

/** The columns that a statement sees, before and after the first commit. */
function shownSchema(
  name: string,
  stored: TableSchema | undefined,
  mapping: DocMapping | undefined,
): TableSchema {
  const schema = stored ?? BUILT_IN_TABLES.get(name);
  if (mapping === undefined) return schema ?? { columns: [], tags: [] };
  return schema === undefined ? indexSchema(mapping) : indexSchema(mapping, schema);
}

/** OIDs below are PostgreSQL's own. */
const OID_MIN = 16_384;
const OID_SPAN = 2 ** 30;

/**
 * An OID follows from the table's name, as clients ask for it in one statement and use it in
 * another. Where two names have the same one, the second in order gets the next.
 */
function oidsOf(names: readonly string[]): ReadonlyMap<string, number> {
  const taken = new Set<number>();
  return new Map(names.map((name) => {
    let oid = OID_MIN + hashOf(name) % OID_SPAN;
    while (taken.has(oid)) oid += 1;
    taken.add(oid);
    return [name, oid];
  }));
}

/** FNV-1a over UTF-16 units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  }
  return hash;
}
