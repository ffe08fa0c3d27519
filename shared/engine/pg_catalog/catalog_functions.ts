/**
 * PostgreSQL's functions that clients call on the catalog, each as an expression of DuckDB's. `$1`
 * is the first argument. An expression has each argument at most once, so calls within calls stay
 * as long as they were. What a function looks up is in the relation `svc_names`, whose columns have
 * names that no argument has.
 */

import { quoteText } from "../duckdb/statement_text.ts";
import type { PgSession } from "../types.ts";
import { PG_TYPES } from "./pg_types.ts";

/** What a statement's session is called, for functions that tell it. */
export interface FunctionContext {
  readonly session: PgSession;
  /** The caller's namespace. */
  readonly schema: string;
}

type Template = string | ((context: FunctionContext) => string);

const NO_TEXT = "NULL::VARCHAR";
const NO_NUMBER = "NULL::BIGINT";
const GRANTED = "SELECT|USAGE|CONNECT|EXECUTE|TEMP";

/** Looks up the text of an object by its OID, `$1`. */
export const foundText = (kind: string, number = "0"): string =>
  `(SELECT svc_text FROM pg_catalog.svc_names WHERE svc_kind = '${kind}' AND ` +
  `svc_oid = $1 AND svc_number = ${number})`;

/** Text, perhaps with its schema and in quotes, as names are written. */
const PLAIN_NAME = "regexp_replace(replace($1::VARCHAR, '\"', ''), '^.*\\.', '')";

/** Looks up an object's OID by its name, `$1`. */
export const foundOid = (kind: string, name = PLAIN_NAME): string =>
  `(SELECT svc_oid FROM pg_catalog.svc_names WHERE svc_kind IN ('${kind}', '${kind}#') AND ` +
  `svc_text = ${name})`;

/** `to_regtype($1)`. */
export const TYPE_OID = foundOid("type", "lower(replace($1::VARCHAR, 'pg_catalog.', ''))");
/** `format_type($1, NULL)`. */
export const TYPE_NAME = `CASE $1::BIGINT ${
  PG_TYPES.flatMap(({ oid, shown, array }) => [
    `WHEN ${oid} THEN ${quoteText(shown)}`,
    ...array === 0 ? [] : [`WHEN ${array} THEN ${quoteText(`${shown}[]`)}`],
  ]).join(" ")
} END`;

/** A name as a statement would have it: in quotation marks where it needs them. */
const quotedName = (value: string) =>
  `regexp_replace(replace(${value}::VARCHAR, '"', '""'), ` +
  `'^((?s:.*)[^a-z0-9_$](?s:.*)|[^a-z_](?s:.*)|)$', '"\\1"')`;

const quotedText = (value: string) => `'''' || replace(${value}::VARCHAR, '''', '''''') || ''''`;

/** `format('%I.%s', …)`, whose first argument is written out. Positions (`%1$s`) are not read. */
function formatTemplate(pattern: string): string {
  let at = 1;
  const pieces = pattern.split(/(%[sIL%])/).map((piece) => {
    if (piece === "%%") return "'%'";
    if (!/^%[sIL]$/.test(piece)) return quoteText(piece);
    at += 1;
    if (piece === "%I") return quotedName(`$${at}`);
    return piece === "%L" ? `(${quotedText(`$${at}`)})` : `coalesce($${at}::VARCHAR, '')`;
  });
  return `(${pieces.join(" || ")})`;
}

/**
 * `generate_series(array_lower(x, 1), array_upper(x, 1))`, which psqlODBC selects. It is asked of
 * keys, and no table has one.
 */
export const PLACES_OF_LIST = "unnest([$1, $2])";

const currentSetting = ({ session: { settings } }: FunctionContext) =>
  `CASE lower($1::VARCHAR) ${
    [...settings].map(([name, value]) => `WHEN ${quoteText(name)} THEN ${quoteText(value)}`)
      .join(" ")
  } ELSE NULL END`;

/** Returns a template for each of some names. */
function all(names: string, template: Template): Record<string, Template> {
  return Object.fromEntries(names.trim().split(/\s+/).map((name) => [name, template]));
}

const session = (member: "user" | "database" | "version") => (context: FunctionContext) =>
  quoteText(context.session[member]);
const ownSchema = ({ schema }: FunctionContext) => quoteText(schema);

/** By lower-cased name; `name/2` is the one of two arguments. */
const TEMPLATES: Readonly<Record<string, Template>> = {
  // The session.
  "version": session("version"),
  ...all("current_database current_catalog", session("database")),
  "current_schema": ownSchema,
  "current_schemas": ({ schema }) => `['pg_catalog', ${quoteText(schema)}]`,
  ...all("current_user session_user current_role", session("user")),
  "pg_backend_pid": ({ session: { processId } }) => `${processId}`,
  ...all("inet_client_addr inet_server_addr", NO_TEXT),
  ...all("inet_client_port inet_server_port", "NULL::INTEGER"),
  "pg_is_in_recovery": "false",
  "pg_postmaster_start_time": "NULL::TIMESTAMPTZ",
  ...all("current_setting current_setting/2", currentSetting),
  // What the value would be. The protocol's session sets it before the statement runs.
  "set_config/3": "$2::VARCHAR",
  "pg_advisory_unlock_all": "NULL::VARCHAR",
  ...all("getdatabaseencoding pg_client_encoding pg_encoding_to_char", "'UTF8'"),
  "pg_char_to_encoding": "6",
  "pg_my_temp_schema": "0::UINTEGER",
  "pg_is_other_temp_schema": "false",
  // Names and types.
  "format_type/2": TYPE_NAME,
  "pg_get_userbyid": session("user"),
  "quote_ident": quotedName("$1"),
  "quote_literal": quotedText("$1"),
  "parse_ident": "string_split(replace($1::VARCHAR, '\"', ''), '.')",
  "to_regclass": foundOid("class"),
  "to_regtype": TYPE_OID,
  "to_regnamespace": foundOid("namespace"),
  "to_regproc": foundOid("proc"),
  "to_regrole": foundOid("role"),
  // Comments and definitions.
  ...all("obj_description obj_description/2", foundText("comment")),
  "col_description/2": foundText("comment", "$2"),
  ...all("shobj_description/2", NO_TEXT),
  "pg_get_function_arguments": foundText("arguments"),
  "pg_get_function_identity_arguments": foundText("arguments"),
  "pg_get_function_result": foundText("result"),
  ...all(
    `pg_get_expr/2 pg_get_expr/3 pg_get_constraintdef pg_get_constraintdef/2 pg_get_indexdef
     pg_get_indexdef/3 pg_get_viewdef pg_get_viewdef/2 pg_get_ruledef pg_get_ruledef/2
     pg_get_triggerdef pg_get_triggerdef/2 pg_get_partkeydef pg_get_partition_constraintdef
     pg_get_functiondef pg_get_function_sqlbody pg_get_statisticsobjdef
     pg_get_statisticsobjdef_columns pg_get_serial_sequence/2 pg_describe_object/3
     pg_tablespace_location pg_relation_filepath pg_index_column_has_property/3
     pg_current_logfile`,
    NO_TEXT,
  ),
  // What a caller may do. A table that is seen may be read; nothing may be written by SQL.
  ...all(
    `pg_table_is_visible pg_type_is_visible pg_function_is_visible pg_operator_is_visible
     pg_opclass_is_visible pg_collation_is_visible pg_conversion_is_visible
     pg_statistics_obj_is_visible pg_ts_config_is_visible pg_ts_dict_is_visible
     pg_ts_parser_is_visible pg_ts_template_is_visible pg_opfamily_is_visible`,
    "$1 IS NOT NULL",
  ),
  ...Object.fromEntries(
    `table schema database function sequence any_column type language server tablespace
     foreign_data_wrapper`.trim().split(/\s+/).flatMap((object) => [
      [`has_${object}_privilege/2`, `regexp_matches(upper($2), '${GRANTED}')`],
      [`has_${object}_privilege/3`, `regexp_matches(upper($3), '${GRANTED}')`],
    ]),
  ),
  "has_column_privilege/3": `regexp_matches(upper($3), '${GRANTED}')`,
  "has_column_privilege/4": `regexp_matches(upper($4), '${GRANTED}')`,
  ...all("pg_has_role/2 pg_has_role/3", "true"),
  "row_security_active": "false",
  "pg_relation_is_publishable": "false",
  ...all("pg_relation_is_updatable/2", "0"),
  ...all("pg_column_is_updatable/3", "false"),
  // Sizes and counts, which nobody keeps.
  ...all(
    `pg_relation_size pg_relation_size/2 pg_table_size pg_indexes_size pg_total_relation_size
     pg_database_size pg_tablespace_size pg_stat_get_numscans pg_stat_get_live_tuples
     pg_stat_get_dead_tuples pg_sequence_last_value`,
    NO_NUMBER,
  ),
  // A sum of sizes is a HUGEINT.
  "pg_size_pretty": "format_bytes($1::BIGINT)",
  // Lists.
  ...all("array_upper/2", "array_length($1, $2)"),
  ...all("array_lower/2", "1"),
  ...all("array_remove/2", "list_filter($1, lambda svc_x: svc_x IS DISTINCT FROM $2)"),
  // No table has a key or an index, so this is asked of no list.
  ...all("generate_subscripts/2", "unnest($1)"),
  "_pg_expandarray": "unnest(list_transform($1, lambda svc_x, svc_n: {'x': svc_x, 'n': svc_n}))",
  // Nothing has a list of rights.
  "aclexplode": "unnest(NULL::STRUCT(grantor UINTEGER, grantee UINTEGER, privilege_type VARCHAR, " +
    "is_grantable BOOLEAN)[])",
  ...all(
    `_pg_char_max_length/2 _pg_numeric_precision/2 _pg_numeric_precision_radix/2
     _pg_numeric_scale/2 _pg_datetime_precision/2`,
    "NULL::INTEGER",
  ),
  "array_to_string/3": "array_to_string(list_transform($1, lambda svc_x: coalesce(svc_x, $3)), $2)",
};

/** Functions that are the same with any schema before them, and those without one. */
const BY_NAME: ReadonlyMap<string, Template> = new Map(Object.entries(TEMPLATES));

/** Names that stand without parentheses. */
export const SESSION_WORDS: ReadonlySet<string> = new Set([
  "current_catalog",
  "current_role",
  "current_schema",
  "current_user",
  "session_user",
]);

/**
 * Returns the expression for a call; undefined: it is no function of the catalog's. `first`: its
 * first argument, where that is a text that is written out.
 */
export function templateOf(
  name: string,
  { count, first }: { readonly count: number; readonly first?: string | undefined },
  context: FunctionContext,
): string | undefined {
  if (name === "format" && /%[sIL]/.test(first ?? "")) return formatTemplate(first ?? "");
  const template = BY_NAME.get(`${name}/${count}`) ??
    (count <= 1 ? BY_NAME.get(name) : undefined);
  return typeof template === "function" ? template(context) : template;
}

/** Every template, for tests: by name, with what it is for a session. */
export function templates(context: FunctionContext): ReadonlyMap<string, string> {
  return new Map(
    [...BY_NAME].map(([name, template]) => [
      name,
      typeof template === "function" ? template(context) : template,
    ]),
  );
}
