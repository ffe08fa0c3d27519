/**
 * What DuckDB in the page is told before its first statement. No file, extension or setting is
 * within a statement's reach, and the service's functions work as they do on the server. Those of
 * JSON and of time zones are missing, because DuckDB keeps them in extensions.
 */

import { DATE_BIN } from "../../shared/engine/functions/date_bin.ts";
import { KV_EXTRACT } from "../../shared/engine/functions/kv_extract.ts";
import { LOG_PATTERN } from "../../shared/engine/functions/log_pattern.ts";
import { TO_TIMESTAMP_NANOS } from "../../shared/engine/functions/to_timestamp_nanos.ts";

/** The schema of kept tables. */
export const LOCAL_SCHEMA = "local";

/** Instants are TIMESTAMPs in UTC here: with a time zone each calculation would need `icu`. */
const ALIASES = [
  "CREATE MACRO btrim(s) AS trim(s), (s, characters) AS trim(s, characters)",
  "CREATE MACRO nvl(a, b) AS coalesce(a, b)",
  "CREATE MACRO regexp_like(s, pattern) AS regexp_matches(s, pattern)",
  "CREATE MACRO to_timestamp_micros(us) AS make_timestamp(us)",
  "CREATE MACRO to_timestamp_millis(ms) AS make_timestamp(ms::BIGINT * 1000)",
  "CREATE MACRO to_timestamp_seconds(s) AS make_timestamp(s::BIGINT * 1000000)",
  "CREATE MACRO to_unixtime(t) AS (epoch_us(t) // 1000000)",
] as const;

export const LOCAL_SETUP: readonly string[] = [
  "SET enable_external_access = false",
  `CREATE SCHEMA ${LOCAL_SCHEMA}`,
  ...[DATE_BIN, KV_EXTRACT, LOG_PATTERN, TO_TIMESTAMP_NANOS],
  ...ALIASES,
  "SET lock_configuration = true",
];
