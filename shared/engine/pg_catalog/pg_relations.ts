/** The relations of `pg_catalog` that have rows. README.md says who asks for which. */

import {
  DATABASE_OID,
  HEAP_OID,
  INFORMATION_SCHEMA_OID,
  OWN_SCHEMA_OID,
  OWNER_OID,
  PG_CATALOG_OID,
} from "./catalog_oids.ts";
import { descriptionRows } from "./comments.ts";
import { PG_TYPES, pgType, pgTypeOf } from "./pg_types.ts";
import type { CatalogRelation, CatalogRow } from "./relation.ts";
import type { CatalogView } from "./own_tables.ts";
import { PG_FUNCTIONS, procOid, typeProcName } from "./pg_functions.ts";

const TYPE_KINDS: Readonly<Record<string, readonly [align: string, storage: string]>> = {
  "-1": ["i", "x"],
  "1": ["c", "p"],
  "2": ["s", "p"],
  "4": ["i", "p"],
  "8": ["d", "p"],
  "16": ["d", "p"],
};

function typeRows(): readonly CatalogRow[] {
  const procs = (name: string) => ({
    typinput: procOid(typeProcName(name, "in")),
    typoutput: procOid(typeProcName(name, "out")),
    typreceive: procOid(typeProcName(name, "recv")),
    typsend: procOid(typeProcName(name, "send")),
  });
  return PG_TYPES.flatMap(({ oid, name, length, category, array, kind }) => {
    const [typalign, typstorage] = TYPE_KINDS[length] ?? ["i", "p"];
    const base: CatalogRow = {
      ...{ oid, typname: name, typlen: length, typcategory: category, typtype: kind, typalign },
      ...{ typstorage, typarray: array, typelem: 0, typbyval: length > 0 && length <= 8 },
      ...procs(name),
    };
    if (array === 0) return [base];
    const list: CatalogRow = {
      ...{ oid: array, typname: `_${name}`, typlen: -1, typcategory: "A", typtype: "b" },
      ...{ typalign, typstorage: "x", typarray: 0, typelem: oid, typbyval: false },
      ...procs("array"),
    };
    return [base, list];
  });
}

function attributeRows({ tables }: CatalogView): readonly CatalogRow[] {
  return tables.flatMap(({ oid, columns }) =>
    columns.map(({ name, type, required }, at) => {
      const { oid: atttypid, length } = pgTypeOf(type);
      return {
        ...{ attrelid: oid, attname: name, atttypid, attlen: length, attnum: at + 1 },
        attnotnull: required,
      };
    })
  );
}

function settingRows({ session }: CatalogView): readonly CatalogRow[] {
  return [...session.settings].map(([name, setting]) => ({ name, setting, reset_val: setting }));
}

/** With rows. */
export const PG_RELATIONS: readonly CatalogRelation[] = [
  {
    schema: "pg_catalog",
    name: "pg_namespace",
    columns: `
      oid UINTEGER
      nspname VARCHAR
      nspowner UINTEGER = ${OWNER_OID}
      nspacl VARCHAR = NULL`,
    rows: ({ schema }) => [
      { oid: PG_CATALOG_OID, nspname: "pg_catalog" },
      { oid: INFORMATION_SCHEMA_OID, nspname: "information_schema" },
      { oid: OWN_SCHEMA_OID, nspname: schema },
    ],
  },
  {
    schema: "pg_catalog",
    name: "pg_class",
    columns: `
      oid UINTEGER
      relname VARCHAR
      relnamespace UINTEGER = ${OWN_SCHEMA_OID}
      reltype UINTEGER = 0
      reloftype UINTEGER = 0
      relowner UINTEGER = ${OWNER_OID}
      relam UINTEGER = ${HEAP_OID}
      relfilenode UINTEGER = 0
      reltablespace UINTEGER = 0
      relpages INTEGER = 0
      reltuples FLOAT = -1
      relallvisible INTEGER = 0
      reltoastrelid UINTEGER = 0
      relhasindex BOOLEAN = false
      relisshared BOOLEAN = false
      relpersistence VARCHAR = 'p'
      relkind VARCHAR = 'r'
      relnatts SMALLINT
      relchecks SMALLINT = 0
      relhasrules BOOLEAN = false
      relhastriggers BOOLEAN = false
      relhassubclass BOOLEAN = false
      relrowsecurity BOOLEAN = false
      relforcerowsecurity BOOLEAN = false
      relispopulated BOOLEAN = true
      relreplident VARCHAR = 'n'
      relispartition BOOLEAN = false
      relrewrite UINTEGER = 0
      relfrozenxid BIGINT = 0
      relminmxid BIGINT = 0
      relhasoids BOOLEAN = false
      relacl VARCHAR[] = NULL
      reloptions VARCHAR[] = NULL
      relpartbound VARCHAR = NULL
      xmin BIGINT = 0
      tableoid UINTEGER = 1259`,
    rows: ({ tables }) =>
      tables.map(({ oid, name, columns }) => ({ oid, relname: name, relnatts: columns.length })),
  },
  {
    schema: "pg_catalog",
    name: "pg_attribute",
    columns: `
      attrelid UINTEGER
      attname VARCHAR
      atttypid UINTEGER
      attstattarget INTEGER = -1
      attlen SMALLINT
      attnum SMALLINT
      attndims INTEGER = 0
      attcacheoff INTEGER = -1
      atttypmod INTEGER = -1
      attbyval BOOLEAN = false
      attalign VARCHAR = 'i'
      attstorage VARCHAR = 'x'
      attcompression VARCHAR = ''
      attnotnull BOOLEAN
      atthasdef BOOLEAN = false
      atthasmissing BOOLEAN = false
      attidentity VARCHAR = ''
      attgenerated VARCHAR = ''
      attisdropped BOOLEAN = false
      attislocal BOOLEAN = true
      attinhcount INTEGER = 0
      attcollation UINTEGER = 0
      attacl VARCHAR[] = NULL
      attoptions VARCHAR[] = NULL
      attfdwoptions VARCHAR[] = NULL
      xmin BIGINT = 0`,
    rows: attributeRows,
  },
  {
    schema: "pg_catalog",
    name: "pg_type",
    columns: `
      oid UINTEGER
      typname VARCHAR
      typnamespace UINTEGER = ${PG_CATALOG_OID}
      typowner UINTEGER = ${OWNER_OID}
      typlen SMALLINT
      typbyval BOOLEAN
      typtype VARCHAR
      typcategory VARCHAR
      typispreferred BOOLEAN = false
      typisdefined BOOLEAN = true
      typdelim VARCHAR = ','
      typrelid UINTEGER = 0
      typsubscript UINTEGER = 0
      typelem UINTEGER
      typarray UINTEGER
      typinput UINTEGER
      typoutput UINTEGER
      typreceive UINTEGER
      typsend UINTEGER
      typmodin UINTEGER = 0
      typmodout UINTEGER = 0
      typanalyze UINTEGER = 0
      typalign VARCHAR
      typstorage VARCHAR
      typnotnull BOOLEAN = false
      typbasetype UINTEGER = 0
      typtypmod INTEGER = -1
      typndims INTEGER = 0
      typcollation UINTEGER = 0
      typdefaultbin VARCHAR = NULL
      typdefault VARCHAR = NULL
      typacl VARCHAR[] = NULL`,
    rows: typeRows,
  },
  {
    schema: "pg_catalog",
    name: "pg_proc",
    columns: `
      oid UINTEGER
      proname VARCHAR
      pronamespace UINTEGER
      proowner UINTEGER = ${OWNER_OID}
      prolang UINTEGER = 12
      procost FLOAT = 1
      prorows FLOAT = 0
      provariadic UINTEGER = 0
      prosupport UINTEGER = 0
      prokind VARCHAR = 'f'
      prosecdef BOOLEAN = false
      proleakproof BOOLEAN = false
      proisstrict BOOLEAN = false
      proretset BOOLEAN = false
      provolatile VARCHAR = 'i'
      proparallel VARCHAR = 's'
      pronargs SMALLINT
      pronargdefaults SMALLINT = 0
      prorettype UINTEGER
      proargtypes UINTEGER[] = NULL
      proallargtypes UINTEGER[] = NULL
      proargmodes VARCHAR[] = NULL
      proargnames VARCHAR[] = NULL
      proargdefaults VARCHAR = NULL
      prosrc VARCHAR = ''
      probin VARCHAR = NULL
      proacl VARCHAR[] = NULL`,
    rows: () =>
      PG_FUNCTIONS.map(({ oid, name, isOwn, parameters, result }) => ({
        ...{ oid, proname: name, pronargs: parameters.length },
        pronamespace: isOwn ? OWN_SCHEMA_OID : PG_CATALOG_OID,
        prorettype: pgType(result).oid,
      })),
  },
  {
    schema: "pg_catalog",
    name: "pg_description",
    columns: `
      objoid UINTEGER
      classoid UINTEGER
      objsubid INTEGER
      description VARCHAR`,
    rows: descriptionRows,
  },
  {
    schema: "pg_catalog",
    name: "pg_database",
    columns: `
      oid UINTEGER
      datname VARCHAR
      datdba UINTEGER = ${OWNER_OID}
      encoding INTEGER = 6
      datlocprovider VARCHAR = 'c'
      datistemplate BOOLEAN = false
      datallowconn BOOLEAN = true
      datconnlimit INTEGER = -1
      datlastsysoid UINTEGER = 0
      dattablespace UINTEGER = 1663
      datcollate VARCHAR = 'C'
      datctype VARCHAR = 'C'
      daticulocale VARCHAR = NULL
      datlocale VARCHAR = NULL
      daticurules VARCHAR = NULL
      datcollversion VARCHAR = NULL
      datacl VARCHAR[] = NULL`,
    rows: ({ session }) => [{ oid: DATABASE_OID, datname: session.database }],
  },
  {
    schema: "pg_catalog",
    name: "pg_roles",
    columns: `
      oid UINTEGER
      rolname VARCHAR
      rolsuper BOOLEAN = false
      rolinherit BOOLEAN = true
      rolcreaterole BOOLEAN = false
      rolcreatedb BOOLEAN = false
      rolcanlogin BOOLEAN = true
      rolreplication BOOLEAN = false
      rolconnlimit INTEGER = -1
      rolpassword VARCHAR = NULL
      rolvaliduntil TIMESTAMPTZ = NULL
      rolbypassrls BOOLEAN = false
      rolconfig VARCHAR[] = NULL`,
    rows: ({ session }) => [{ oid: OWNER_OID, rolname: session.user }],
  },
  {
    schema: "pg_catalog",
    name: "pg_user",
    columns: `
      usesysid UINTEGER
      usename VARCHAR
      usecreatedb BOOLEAN = false
      usesuper BOOLEAN = false
      userepl BOOLEAN = false
      usebypassrls BOOLEAN = false
      passwd VARCHAR = NULL
      valuntil TIMESTAMPTZ = NULL
      useconfig VARCHAR[] = NULL`,
    rows: ({ session }) => [{ usesysid: OWNER_OID, usename: session.user }],
  },
  {
    schema: "pg_catalog",
    name: "pg_settings",
    columns: `
      name VARCHAR
      setting VARCHAR
      unit VARCHAR = NULL
      category VARCHAR = ''
      short_desc VARCHAR = ''
      extra_desc VARCHAR = NULL
      context VARCHAR = 'user'
      vartype VARCHAR = 'string'
      source VARCHAR = 'session'
      min_val VARCHAR = NULL
      max_val VARCHAR = NULL
      enumvals VARCHAR[] = NULL
      boot_val VARCHAR = NULL
      reset_val VARCHAR
      sourcefile VARCHAR = NULL
      sourceline INTEGER = NULL
      pending_restart BOOLEAN = false`,
    rows: settingRows,
  },
  {
    schema: "pg_catalog",
    name: "pg_tables",
    columns: `
      schemaname VARCHAR
      tablename VARCHAR
      tableowner VARCHAR
      tablespace VARCHAR = NULL
      hasindexes BOOLEAN = false
      hasrules BOOLEAN = false
      hastriggers BOOLEAN = false
      rowsecurity BOOLEAN = false`,
    rows: ({ schema, session, tables }) =>
      tables.map(({ name }) => ({
        schemaname: schema,
        tablename: name,
        tableowner: session.user,
      })),
  },
  {
    schema: "pg_catalog",
    name: "pg_am",
    columns: `
      oid UINTEGER
      amname VARCHAR
      amhandler UINTEGER = 0
      amtype VARCHAR`,
    rows: () => [{ oid: HEAP_OID, amname: "heap", amtype: "t" }],
  },
  {
    schema: "pg_catalog",
    name: "pg_language",
    columns: `
      oid UINTEGER
      lanname VARCHAR
      lanowner UINTEGER = ${OWNER_OID}
      lanispl BOOLEAN = false
      lanpltrusted BOOLEAN = false
      lanplcallfoid UINTEGER = 0
      laninline UINTEGER = 0
      lanvalidator UINTEGER = 0
      lanacl VARCHAR[] = NULL
      tableoid UINTEGER = 2612`,
    rows: () => [{ oid: 12, lanname: "internal" }],
  },
  {
    schema: "pg_catalog",
    name: "pg_tablespace",
    columns: `
      oid UINTEGER
      spcname VARCHAR
      spcowner UINTEGER = ${OWNER_OID}
      spcacl VARCHAR[] = NULL
      spcoptions VARCHAR[] = NULL`,
    rows: () => [{ oid: 1663, spcname: "pg_default" }],
  },
];
