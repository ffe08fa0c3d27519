/** All relations of the catalog by name, and those that stand in one statement. */

import type { Relation } from "../duckdb/driver.ts";
import type { Deadline } from "../turns/deadline.ts";
import { BARE_RELATIONS } from "./bare_relations.ts";
import { INFORMATION_SCHEMA } from "./information_schema.ts";
import { ownTables, type OwnTablesSource } from "./own_tables.ts";
import { PG_RELATIONS } from "./pg_relations.ts";
import { type CatalogRelation, emptySelect, rowsSelect } from "./relation.ts";
import { SVC_NAMES } from "./svc_names.ts";
import type { PgSession } from "../types.ts";

const ALL: ReadonlyMap<string, CatalogRelation> = new Map(
  [...PG_RELATIONS, SVC_NAMES, ...BARE_RELATIONS, ...INFORMATION_SCHEMA].map((
    relation,
  ) => [`${relation.schema}.${relation.name}`, relation]),
);

/**
 * Returns the relation that a FROM names; undefined where it names none. Without a schema only
 * those of `pg_catalog` are found, as in PostgreSQL.
 */
export function catalogRelation(schema: string, name: string): CatalogRelation | undefined {
  return ALL.get(`${(schema || "pg_catalog").toLowerCase()}.${name.toLowerCase()}`);
}

/** Names of all relations, with their schemas. */
export function catalogRelationNames(): readonly string[] {
  return [...ALL.keys()];
}

/** A relation of the catalog under the name that a statement has for it. */
export interface CatalogName {
  readonly name: string;
  readonly relation: CatalogRelation;
}

/** A relation that is made for one statement. */
export interface MadeRelation extends Relation {
  /** The SELECT of its columns without a row. */
  readonly empty: string;
}

/** What a session is called where nobody told. */
export function sessionOf(session: PgSession | undefined, namespace: string): PgSession {
  return session ?? {
    ...{ user: "svc", database: namespace, processId: 0 },
    version: SERVER_VERSION_TEXT,
    settings: new Map([["server_version", SERVER_VERSION], ["search_path", namespace]]),
  };
}

/** The version of PostgreSQL whose catalog this is like: tools choose what they ask by it. */
export const SERVER_VERSION = "16.6";
const SERVER_VERSION_TEXT = `PostgreSQL ${SERVER_VERSION} (svc)`;

/** Makes the relations that a statement names. Errors: those of `ownTables`. */
export async function madeRelations(
  names: readonly CatalogName[],
  { source, namespace, session, deadline }: {
    readonly source: OwnTablesSource;
    readonly namespace: string;
    readonly session: PgSession | undefined;
    readonly deadline: Deadline;
  },
): Promise<readonly MadeRelation[]> {
  if (names.length === 0) return [];
  const view = {
    ...{ schema: namespace, session: sessionOf(session, namespace) },
    tables: await ownTables(source, namespace, deadline),
  };
  return names.map(({ name, relation }) => (
    { name, select: rowsSelect(relation, view), empty: emptySelect(relation) }
  ));
}
