/** The relations of `information_schema`. */

import { bareColumns } from "./bare_relations.ts";
import { pgTypeOf } from "./pg_types.ts";
import type { CatalogRelation, CatalogRow } from "./relation.ts";
import type { CatalogView } from "./own_tables.ts";

/** Relations that never have a row: tables have no keys, and there are no views or domains. */
const BARE: Readonly<Record<string, string>> = {
  key_column_usage:
    "VARCHAR: constraint_catalog constraint_schema constraint_name table_catalog table_schema table_name column_name; " +
    "INTEGER: ordinal_position position_in_unique_constraint",
  table_constraints:
    "VARCHAR: constraint_catalog constraint_schema constraint_name table_catalog table_schema table_name " +
    "constraint_type is_deferrable initially_deferred enforced nulls_distinct",
  referential_constraints:
    "VARCHAR: constraint_catalog constraint_schema constraint_name unique_constraint_catalog unique_constraint_schema " +
    "unique_constraint_name match_option update_rule delete_rule",
  constraint_column_usage:
    "VARCHAR: table_catalog table_schema table_name column_name constraint_catalog constraint_schema constraint_name",
  constraint_table_usage:
    "VARCHAR: table_catalog table_schema table_name constraint_catalog constraint_schema constraint_name",
  check_constraints: "VARCHAR: constraint_catalog constraint_schema constraint_name check_clause",
  views:
    "VARCHAR: table_catalog table_schema table_name view_definition check_option is_updatable is_insertable_into " +
    "is_trigger_updatable is_trigger_deletable is_trigger_insertable_into",
  sequences:
    "VARCHAR: sequence_catalog sequence_schema sequence_name data_type start_value minimum_value maximum_value increment cycle_option; " +
    "INTEGER: numeric_precision numeric_precision_radix numeric_scale",
  domains: "VARCHAR: domain_catalog domain_schema domain_name data_type domain_default udt_name",
  element_types:
    "VARCHAR: object_catalog object_schema object_name object_type collection_type_identifier data_type udt_name",
  triggers:
    "VARCHAR: trigger_catalog trigger_schema trigger_name event_manipulation event_object_catalog event_object_schema " +
    "event_object_table action_condition action_statement action_orientation action_timing; INTEGER: action_order",
  parameters:
    "VARCHAR: specific_catalog specific_schema specific_name parameter_mode parameter_name data_type udt_name; INTEGER: ordinal_position",
  routines:
    "VARCHAR: specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name routine_type " +
    "data_type type_udt_name routine_body routine_definition external_language security_type is_deterministic",
  routine_privileges:
    "VARCHAR: grantor grantee specific_catalog specific_schema specific_name routine_catalog routine_schema " +
    "routine_name privilege_type is_grantable",
  column_privileges:
    "VARCHAR: grantor grantee table_catalog table_schema table_name column_name privilege_type is_grantable",
  role_table_grants:
    "VARCHAR: grantor grantee table_catalog table_schema table_name privilege_type is_grantable with_hierarchy",
  foreign_tables:
    "VARCHAR: foreign_table_catalog foreign_table_schema foreign_table_name foreign_server_catalog foreign_server_name",
};

function columnRows({ schema, session, tables }: CatalogView): readonly CatalogRow[] {
  return tables.flatMap(({ name: table, columns }) =>
    columns.map(({ name, type, required }, at) => {
      const { shown, name: udt } = pgTypeOf(type);
      const numeric = NUMERIC[udt];
      return {
        ...{ table_catalog: session.database, table_schema: schema, table_name: table },
        ...{ column_name: name, ordinal_position: at + 1, data_type: shown, udt_name: udt },
        is_nullable: required ? "NO" : "YES",
        udt_catalog: session.database,
        numeric_precision: numeric,
        numeric_precision_radix: numeric === undefined ? undefined : 2,
        numeric_scale: numeric === undefined || udt === "float8" ? undefined : 0,
        datetime_precision: udt === "timestamptz" ? 6 : undefined,
        character_octet_length: udt === "text" ? 2 ** 30 : undefined,
      };
    })
  );
}

/** Bits of precision. */
const NUMERIC: Readonly<Record<string, number>> = { int4: 32, int8: 64, float8: 53 };

/** All relations of the schema. */
export const INFORMATION_SCHEMA: readonly CatalogRelation[] = [
  {
    schema: "information_schema",
    name: "schemata",
    columns: `
      catalog_name VARCHAR
      schema_name VARCHAR
      schema_owner VARCHAR
      default_character_set_catalog VARCHAR = NULL
      default_character_set_schema VARCHAR = NULL
      default_character_set_name VARCHAR = NULL
      sql_path VARCHAR = NULL`,
    rows: ({ schema, session: { database, user } }) =>
      ["information_schema", "pg_catalog", schema].map((schema_name) => (
        { catalog_name: database, schema_name, schema_owner: user }
      )),
  },
  {
    schema: "information_schema",
    name: "tables",
    columns: `
      table_catalog VARCHAR
      table_schema VARCHAR
      table_name VARCHAR
      table_type VARCHAR = 'BASE TABLE'
      self_referencing_column_name VARCHAR = NULL
      reference_generation VARCHAR = NULL
      user_defined_type_catalog VARCHAR = NULL
      user_defined_type_schema VARCHAR = NULL
      user_defined_type_name VARCHAR = NULL
      is_insertable_into VARCHAR = 'NO'
      is_typed VARCHAR = 'NO'
      commit_action VARCHAR = NULL
      table_comment VARCHAR`,
    rows: ({ schema, session, tables }) =>
      tables.map(({ name, comment }) => ({
        ...{ table_catalog: session.database, table_schema: schema, table_name: name },
        table_comment: comment,
      })),
  },
  {
    schema: "information_schema",
    name: "columns",
    columns: `
      table_catalog VARCHAR
      table_schema VARCHAR
      table_name VARCHAR
      column_name VARCHAR
      ordinal_position INTEGER
      column_default VARCHAR = NULL
      is_nullable VARCHAR
      data_type VARCHAR
      character_maximum_length INTEGER = NULL
      character_octet_length INTEGER
      numeric_precision INTEGER
      numeric_precision_radix INTEGER
      numeric_scale INTEGER
      datetime_precision INTEGER
      interval_type VARCHAR = NULL
      interval_precision INTEGER = NULL
      character_set_catalog VARCHAR = NULL
      character_set_schema VARCHAR = NULL
      character_set_name VARCHAR = NULL
      collation_catalog VARCHAR = NULL
      collation_schema VARCHAR = NULL
      collation_name VARCHAR = NULL
      domain_catalog VARCHAR = NULL
      domain_schema VARCHAR = NULL
      domain_name VARCHAR = NULL
      udt_catalog VARCHAR
      udt_schema VARCHAR = 'pg_catalog'
      udt_name VARCHAR
      scope_catalog VARCHAR = NULL
      scope_schema VARCHAR = NULL
      scope_name VARCHAR = NULL
      maximum_cardinality INTEGER = NULL
      dtd_identifier VARCHAR = NULL
      is_self_referencing VARCHAR = 'NO'
      is_identity VARCHAR = 'NO'
      identity_generation VARCHAR = NULL
      identity_start VARCHAR = NULL
      identity_increment VARCHAR = NULL
      identity_maximum VARCHAR = NULL
      identity_minimum VARCHAR = NULL
      identity_cycle VARCHAR = 'NO'
      is_generated VARCHAR = 'NEVER'
      generation_expression VARCHAR = NULL
      is_updatable VARCHAR = 'NO'`,
    rows: columnRows,
  },
  {
    schema: "information_schema",
    name: "table_privileges",
    columns: `
      grantor VARCHAR
      grantee VARCHAR
      table_catalog VARCHAR
      table_schema VARCHAR
      table_name VARCHAR
      privilege_type VARCHAR = 'SELECT'
      is_grantable VARCHAR = 'NO'
      with_hierarchy VARCHAR = 'YES'`,
    rows: ({ schema, session: { database, user }, tables }) =>
      tables.map(({ name }) => ({
        ...{ grantor: user, grantee: user, table_catalog: database, table_schema: schema },
        table_name: name,
      })),
  },
  {
    schema: "information_schema",
    name: "enabled_roles",
    columns: "role_name VARCHAR",
    rows: ({ session }) => [{ role_name: session.user }],
  },
  {
    schema: "information_schema",
    name: "applicable_roles",
    columns: `
      grantee VARCHAR
      role_name VARCHAR
      is_grantable VARCHAR = 'NO'`,
    rows: ({ session }) => [{ grantee: session.user, role_name: session.user }],
  },
  {
    schema: "information_schema",
    name: "information_schema_catalog_name",
    columns: "catalog_name VARCHAR",
    rows: ({ session }) => [{ catalog_name: session.database }],
  },
  {
    schema: "information_schema",
    name: "character_sets",
    columns: `
      character_set_catalog VARCHAR = NULL
      character_set_schema VARCHAR = NULL
      character_set_name VARCHAR
      character_repertoire VARCHAR = 'UCS'
      form_of_use VARCHAR = 'UTF8'
      default_collate_catalog VARCHAR = NULL
      default_collate_schema VARCHAR = NULL
      default_collate_name VARCHAR = NULL`,
    rows: () => [{ character_set_name: "UTF8" }],
  },
  ...Object.entries(BARE).map(([name, declared]): CatalogRelation => (
    { schema: "information_schema", name, columns: bareColumns(declared) }
  )),
];
