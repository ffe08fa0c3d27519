import { deepStrictEqual, ok } from "node:assert/strict";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS } from "../gate/allowed_functions.ts";
import { misclassified } from "./function_classes.ts";

/** Internals, settings, files, the catalog, the session, collations, types that no column has. */
const REFUSED_FAMILIES =
  /^(?:__internal_|icu_|pg_(?!size_pretty)|has_|st_|read_|duckdb_|pragma_|parquet_|current_(?!date$|local)|enable_|disable_|verify_|enum_|test_|variant_|inet_|json_(?:de)?serialize_)/;

/**
 * Others that DuckDB has and statements have not: `shared/engine/gate/allowed_functions.ts` says
 * why.
 */
const REFUSED_FUNCTIONS: ReadonlySet<string> = new Set(
  `
  add_parquet_key alias all_profiling_output array_reduce array_resize arrow_scan arrow_scan_dumb
  bitstring can_cast_implicitly cast_to_type check_peg_parser checkpoint col_description
  collations combine copy_database create_sort_key currval damerau_levenshtein database_list
  database_size editdist3 equi_width_bins extension_versions finalize force_checkpoint format
  format_pg_type format_type functions generate_subscripts get_block_size get_type getvariable
  glob histogram_values import_database in_search_path is_histogram_other_bin json_each
  json_execute_serialized_sql json_tree levenshtein list_reduce list_resize make_type
  map_to_pg_oid metadata_info nextval obj_description parse_dirname parse_dirpath
  parse_duckdb_log_message parse_filename parse_path platform printf query query_table reduce
  regexp_split_to_table repeat_row replace_type seq_scan session_user setseed shobj_description
  show show_databases show_tables show_tables_expanded sleep_ms sniff_csv sql_auto_complete stats
  storage_info summary table_info timetz_byte_comparable truncate_duckdb_logs txid_current user
  user_agent vector_type version which_secret write_log
`.trim().split(/\s+/),
);

async function openDuckdb(): Promise<DuckDBConnection> {
  return await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
}

async function listOf(duckdb: DuckDBConnection, sql: string): Promise<unknown[][]> {
  return (await duckdb.runAndReadAll(sql)).getRows();
}

Deno.test({
  name: "each allowed function is in one class, and each class holds allowed functions alone",
  fn: () => deepStrictEqual(misclassified(), []),
});

Deno.test({
  name: "each function that DuckDB has is allowed and classified, or is known to be refused",
  fn: async () => {
    const duckdb = await openDuckdb();
    const names = (await listOf(duckdb, "SELECT DISTINCT function_name FROM duckdb_functions()"))
      .map(([name]) => String(name));
    ok(names.length > 900, `${names.length} functions`);
    const unknown = names.filter((name) => {
      const isAllowed = ALLOWED_FUNCTIONS.has(name.toLowerCase()) ||
        ALLOWED_TABLE_FUNCTIONS.has(name);
      const isRefused = REFUSED_FUNCTIONS.has(name) || REFUSED_FAMILIES.test(name);
      return isAllowed === isRefused;
    });
    deepStrictEqual(unknown.sort(), [], "decide about each: classify it, or list it as refused");
    const gone = [...REFUSED_FUNCTIONS].filter((name) => !names.includes(name));
    deepStrictEqual(gone, [], "DuckDB has them no more");
    duckdb.closeSync();
  },
});
