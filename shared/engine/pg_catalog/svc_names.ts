/** The relation `svc_names`, in which functions and casts of the catalog look objects up. */

import {
  INFORMATION_SCHEMA_OID,
  OWN_SCHEMA_OID,
  OWNER_OID,
  PG_CATALOG_OID,
} from "./catalog_oids.ts";
import { descriptionRows } from "./comments.ts";
import type { CatalogView } from "./own_tables.ts";
import { PG_FUNCTIONS } from "./pg_functions.ts";
import { PG_TYPES, pgType, TYPE_ALIASES } from "./pg_types.ts";
import type { CatalogRelation, CatalogRow } from "./relation.ts";

/** `catalog_functions.ts` names the kinds that it is asked for. No client knows this relation. */
export const SVC_NAMES: CatalogRelation = {
  schema: "pg_catalog",
  name: "svc_names",
  columns: `
      svc_kind VARCHAR
      svc_oid UINTEGER
      svc_number INTEGER
      svc_text VARCHAR`,
  rows: nameRows,
};

function nameRows(view: CatalogView): readonly CatalogRow[] {
  const name = (svc_kind: string, svc_oid: number, svc_text: string, svc_number = 0) => ({
    ...{ svc_kind, svc_oid, svc_number, svc_text },
  });
  const rows = [
    ...view.tables.map(({ oid, name: table }) => name("class", oid, table)),
    ...PG_RELATION_OIDS.map(([relation, oid]) => name("class", oid, relation)),
    ...descriptionRows(view).map(({ objoid, objsubid, description }) =>
      name("comment", Number(objoid), String(description), Number(objsubid))
    ),
    ...PG_TYPES.flatMap(({ oid, name: type, shown, array }) => [
      name("type", oid, type),
      ...shown === type ? [] : [name("type", oid, shown)],
      ...array === 0 ? [] : [name("type", array, `_${type}`), name("type", array, `${shown}[]`)],
    ]),
    ...Object.entries(TYPE_ALIASES).map(([alias, type]) => name("type", pgType(type).oid, alias)),
    ...PG_FUNCTIONS.flatMap(({ oid, name: proc, parameters, result }) => [
      name("proc", oid, proc),
      name("arguments", oid, parameters.join(", ")),
      name("result", oid, pgType(result).shown),
    ]),
    name("namespace", PG_CATALOG_OID, "pg_catalog"),
    name("namespace", INFORMATION_SCHEMA_OID, "information_schema"),
    name("namespace", OWN_SCHEMA_OID, view.schema),
    name("role", OWNER_OID, view.session.user),
  ];
  // A cast to regclass and its like takes a number as well as a name.
  const numbers = new Set(
    rows.filter(({ svc_kind }) => OBJECT_KINDS.has(svc_kind)).map(({ svc_kind, svc_oid }) =>
      `${svc_kind}#${svc_oid}`
    ),
  );
  return [
    ...rows,
    ...[...numbers].map((number) => {
      const [kind = "", oid = ""] = number.split("#");
      return name(`${kind}#`, Number(oid), oid);
    }),
  ];
}

/** Kinds of objects that casts name. */
const OBJECT_KINDS: ReadonlySet<string> = new Set(["class", "type", "proc", "namespace", "role"]);

/** OIDs by which clients tell what a row of `pg_description` or `pg_depend` is of. */
const PG_RELATION_OIDS: readonly (readonly [string, number])[] = [
  ["pg_type", 1247],
  ["pg_attribute", 1249],
  ["pg_proc", 1255],
  ["pg_class", 1259],
  ["pg_constraint", 2606],
  ["pg_namespace", 2615],
  ["pg_database", 1262],
  ["pg_trigger", 2620],
];
