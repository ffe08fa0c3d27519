/**
 * Names that users of other databases expect. Each is one expression of DuckDB's own functions.
 */
export const ALIASES: readonly string[] = [
  "CREATE MACRO btrim(s) AS trim(s), (s, characters) AS trim(s, characters)",
  "CREATE MACRO nvl(a, b) AS coalesce(a, b)",
  "CREATE MACRO regexp_like(s, pattern) AS regexp_matches(s, pattern)",
  "CREATE MACRO to_timestamp_micros(us) AS make_timestamptz(us)",
  "CREATE MACRO to_timestamp_millis(ms) AS make_timestamptz(ms::BIGINT * 1000)",
  "CREATE MACRO to_timestamp_seconds(s) AS make_timestamptz(s::BIGINT * 1000000)",
  "CREATE MACRO to_unixtime(t) AS (epoch_us(t) // 1000000)",
];
