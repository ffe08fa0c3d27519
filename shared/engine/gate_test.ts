import { deepStrictEqual, rejects } from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { EngineLab } from "../testing/engine_lab.ts";

const REFUSED: readonly (readonly [reason: string, sql: string])[] = [
  // More or less than one SELECT.
  ["not_one_select", ""],
  ["not_one_select", "SELECT 1; SELECT 2"],
  ["not_one_select", "SELECT 1; DROP TABLE events"],
  ["not_one_select", "CREATE TABLE t(a int)"],
  ["not_one_select", "CREATE VIEW v AS SELECT 1"],
  ["not_one_select", "CREATE MACRO m() AS 1"],
  ["not_one_select", "INSERT INTO events VALUES (1)"],
  ["not_one_select", "UPDATE events SET host = ''"],
  ["not_one_select", "DELETE FROM events"],
  ["not_one_select", "DROP TABLE events"],
  ["not_one_select", "ATTACH '/tmp/x.db'"],
  ["not_one_select", "COPY events TO '/tmp/x'"],
  ["not_one_select", "COPY (SELECT 1) TO '/tmp/x.csv'"],
  ["not_one_select", "EXPORT DATABASE '/tmp/x'"],
  ["not_one_select", "INSTALL httpfs"],
  ["not_one_select", "LOAD httpfs"],
  ["not_one_select", "SET memory_limit = '1GB'"],
  ["not_one_select", "RESET memory_limit"],
  ["not_one_select", "PRAGMA database_list"],
  ["not_one_select", "CALL pragma_version()"],
  ["not_one_select", "USE memory"],
  ["not_one_select", "BEGIN"],
  ["not_one_select", "PREPARE p AS SELECT 1"],
  ["not_one_select", "EXPLAIN ANALYZE SELECT 1"],
  ["not_one_select", "EXPLAIN DROP TABLE events"],
  ["not_one_select", "PIVOT events ON host USING count(*)"],
  ["refused_syntax", "SHOW TABLES"],
  ["refused_syntax", "DESCRIBE events"],
  ["refused_syntax", "SUMMARIZE events"],
  ["refused_syntax", "SELECT * FROM (DESCRIBE events)"],
  ["refused_syntax", "SELECT * FROM events AT (VERSION => 1)"],
  ["refused_syntax", "SELECT $1"],
  ["refused_syntax", "SELECT ?"],
  ["refused_syntax", "SELECT $name"],
  ["syntax_error", "SELEC 1"],
  ["syntax_error", "SELECT * FROM events)"],
  ["syntax_error", "SELECT 1) UNION ALL (SELECT 2"],
  ["syntax_error", "SELECT \0"],
  ["syntax_error", "WITH x AS (INSERT INTO events VALUES (1) RETURNING *) SELECT * FROM x"],
  ["syntax_error", "WITH x AS (DELETE FROM events RETURNING *) SELECT * FROM x"],
  ["refused_syntax", "SELECT * FROM events PIVOT (count(*) FOR host IN ('a'))"],
  ["refused_syntax", "SELECT * FROM events UNPIVOT (v FOR n IN (host, raw))"],
  // Files.
  ["unknown_table", "SELECT * FROM '/etc/passwd'"],
  ["unknown_table", "SELECT * FROM 'x.parquet'"],
  ["unknown_table", `SELECT * FROM "warehouse/catalog.db"`],
  ["unknown_table", "SELECT * FROM 's3://bucket/x.parquet'"],
  ["unknown_table", "SELECT * FROM 'data/*.csv'"],
  ["refused_function", "SELECT * FROM read_parquet('/x')"],
  ["refused_function", "SELECT * FROM READ_PARQUET(['/x'])"],
  ["refused_function", `SELECT * FROM "read_parquet"('/x')`],
  ["refused_function", "SELECT * FROM parquet_scan('/x')"],
  ["refused_function", "SELECT * FROM parquet_metadata('/x')"],
  ["refused_function", "SELECT * FROM parquet_schema('/x')"],
  ["refused_function", "SELECT * FROM read_csv('/etc/passwd')"],
  ["refused_function", "SELECT * FROM read_csv_auto('/etc/passwd')"],
  ["refused_function", "SELECT * FROM read_json('/x')"],
  ["refused_function", "SELECT * FROM read_ndjson_objects('/x')"],
  ["refused_function", "SELECT * FROM read_text('/etc/passwd')"],
  ["refused_function", "SELECT * FROM read_blob('/etc/passwd')"],
  ["refused_function", "SELECT * FROM glob('/*')"],
  ["refused_function", "SELECT * FROM sniff_csv('/etc/passwd')"],
  ["refused_function", "SELECT (SELECT content FROM read_text('/etc/passwd'))"],
  ["refused_function", "SELECT 1 WHERE EXISTS (SELECT 1 FROM read_text('/etc/passwd'))"],
  ["refused_function", "WITH x AS (SELECT * FROM read_text('/x')) SELECT * FROM x"],
  ["refused_function", "SELECT 1 UNION ALL SELECT content FROM read_text('/x')"],
  ["refused_function", "SELECT * FROM events, LATERAL (SELECT * FROM read_text(raw))"],
  ["refused_function", "SELECT * FROM events JOIN read_text('/x') ON true"],
  // Values of any size from a number, and time that is quadratic in texts.
  ["refused_function", "SELECT len(range(300000000))"],
  ["refused_function", "SELECT unnest(generate_series(1, 300000000))"],
  ["refused_function", "SELECT list_resize([1], 300000000)"],
  ["refused_function", "SELECT array_resize([1], 300000000)"],
  ["refused_function", "SELECT bitstring('1', 300000000)"],
  ["refused_function", "SELECT printf('%300000000d', 1)"],
  ["refused_function", "SELECT format('{:300000000}', 1)"],
  ["refused_function", "SELECT levenshtein(raw, raw) FROM events"],
  ["statement_failed", "SELECT length(repeat('x', 300000000))"],
  ["statement_failed", "SELECT length(repeat(repeat('x', 60000), 60000))"],
  ["statement_failed", "SELECT main.repeat('x', 300000000)"],
  ["statement_failed", "SELECT length(lpad('x', 300000000, 'y'))"],
  ["statement_failed", "SELECT length(rpad(raw, 300000000, 'y')) FROM events"],
  [
    "statement_failed",
    "SELECT replace(repeat('x', 60000), 'x', repeat('y', 60000)) FROM events",
  ],
  // Settings, session, catalog.
  ["refused_function", "SELECT getenv('HOME')"],
  ["refused_function", "SELECT current_setting('memory_limit')"],
  ["refused_function", "SELECT version()"],
  ["refused_function", "SELECT pg_catalog.version()"],
  ["refused_function", "SELECT current_user"],
  ["refused_function", "SELECT CURRENT_SCHEMA"],
  ["refused_function", "SELECT current_database()"],
  ["refused_function", "SELECT txid_current()"],
  ["refused_function", "SELECT current_query()"],
  ["refused_function", "SELECT getvariable('x')"],
  ["refused_function", "SELECT nextval('s')"],
  ["refused_function", "SELECT setseed(0.5)"],
  ["refused_function", "SELECT sleep_ms(1000)"],
  ["refused_function", "SELECT pg_sleep(1)"],
  ["refused_function", "SELECT write_log('x')"],
  ["refused_function", "SELECT json_serialize_sql('SELECT 1')"],
  ["refused_function", "SELECT * FROM json_execute_serialized_sql('{}')"],
  ["refused_function", "SELECT * FROM query('SELECT 1')"],
  ["refused_function", "SELECT * FROM query_table('events')"],
  ["refused_function", "SELECT * FROM duckdb_settings()"],
  ["refused_function", "SELECT * FROM duckdb_views()"],
  ["refused_function", "SELECT * FROM duckdb_secrets()"],
  ["refused_function", "SELECT * FROM duckdb_functions()"],
  ["refused_function", "SELECT * FROM pragma_version()"],
  ["refused_function", "SELECT * FROM pragma_table_info('events')"],
  ["refused_function", "SELECT * FROM which_secret('x', 's3')"],
  ["refused_function", "SELECT * FROM test_all_types()"],
  ["refused_function", "SELECT * FROM repeat_row(1, num_rows = 5)"],
  ["refused_function", "SELECT count(*) FILTER (WHERE getenv('X') = '') FROM events"],
  ["refused_function", "SELECT row_number() OVER (ORDER BY getenv('X')) FROM events"],
  ["refused_function", "SELECT list_transform([1], lambda x: getenv('X'))"],
  ["refused_function", "SELECT * FROM events ORDER BY getenv('X')"],
  ["refused_function", "SELECT * FROM events LIMIT getenv('X')::INT"],
  ["refused_function", "SELECT host FROM events GROUP BY host HAVING getenv('X') = ''"],
  ["refused_function", "SELECT * REPLACE (getenv('X') AS host) FROM events"],
  ["refused_function", "VALUES (getenv('X'))"],
  ["refused_function", "SELECT ('X').getenv()"],
  ["refused_function", "SELECT raw.getenv() FROM events"],
  ["refused_function", "SELECT main.getenv('X')"],
  ["refused_function", "SELECT system.main.getenv('X')"],
  ["refused_function", `SELECT "GETENV"('X')`],
  ["refused_function", "SELECT [getenv(x) for x in ['A']]"],
  ["refused_function", "SELECT CASE WHEN true THEN getenv('X') END"],
  ["refused_function", "SELECT {'a': getenv('X')}"],
  ["refused_function", "SELECT try(getenv('X'))"],
  ["refused_function", "SELECT getenv('X')::INT"],
  [
    "refused_function",
    "SELECT sum(1) OVER (ROWS BETWEEN getenv('X')::INT PRECEDING AND CURRENT ROW)",
  ],
  ["refused_function", "SELECT COLUMNS(c -> getenv(c) = '') FROM events"],
  ["refused_function", "SELECT * FROM range(getenv('X')::INT)"],
  ["refused_function", "SELECT * FROM unnest([getenv('X')])"],
  ["refused_function", "SELECT * FROM histogram_values(events, host)"],
  ["refused_function", "SELECT 1 FROM events a ASOF JOIN events b ON a.raw >= getenv('X')"],
  [
    "refused_function",
    "WITH RECURSIVE r AS (SELECT 1 x UNION ALL SELECT getenv('X')::INT FROM r) SELECT * FROM r",
  ],
  ["unknown_table", "SELECT * FROM duckdb_tables"],
  ["unknown_table", "SELECT * FROM pg_class"],
  ["unknown_table", "SELECT * FROM sqlite_master"],
  ["unknown_table", "SELECT * FROM information_schema.tables"],
  ["unknown_table", "SELECT * FROM pg_catalog.pg_views"],
  ["unknown_table", "SELECT * FROM memory.main.events"],
  ["unknown_table", "SELECT * FROM temp.events"],
  ["unknown_table", "SELECT * FROM main.events"],
  // Other tenants, and names that only look as if WITH had made them.
  ["unknown_table", "SELECT * FROM other.events"],
  ["unknown_table", "SELECT * FROM secrets"],
  ["unknown_table", "WITH pg_class AS (SELECT * FROM pg_class) SELECT * FROM pg_class"],
  ["unknown_table", "WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a"],
  ["unknown_table", "SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) JOIN a ON true"],
  ["unknown_table", "WITH a AS (SELECT 1) SELECT * FROM other.a"],
  ["unknown_table", "SELECT (WITH a AS (SELECT 1) SELECT 1) FROM a"],
  ["statement_too_large", `SELECT '${"x".repeat(300_000)}'`],
  ["statement_too_large", `SELECT ${"abs(".repeat(400)}1${")".repeat(400)}`],
  ["syntax_error", `SELECT ${"(".repeat(50_000)}1${")".repeat(50_000)}`],
];

const ALLOWED: readonly (readonly [answer: unknown, sql: string])[] = [
  [[[1]], "SELECT 1"],
  [[[1]], "SELECT 1;"],
  [[[1]], "SELECT 1 -- the end"],
  [[[1]], "SELECT 1; -- the end"],
  [[["a;b"]], "SELECT 'a;b'"],
  [[[1], [2]], "VALUES (1), (2)"],
  [[[3]], "SELECT count(*) FROM events"],
  [[[3]], "SELECT count(*) FROM EVENTS"],
  [[[3]], "SELECT count(*) FROM svc.events"],
  [[[3]], "WITH events AS (SELECT 1 AS x) SELECT count(*) FROM svc.events"],
  [[["a"]], "SELECT events.host FROM svc.events WHERE events.raw = '1'"],
  [[[3]], "FROM events SELECT count(*)"],
  [[[3]], "WITH events AS (SELECT * FROM events) SELECT count(*) FROM events"],
  [[[3]], "WITH a AS (SELECT * FROM events), b AS (SELECT * FROM a) SELECT count(*) FROM b"],
  [[[9]], "SELECT count(*) FROM events a JOIN events b ON true"],
  [[["b"]], "SELECT host FROM events WHERE host IN (SELECT max(host) FROM events)"],
  [[["a"], ["b"]], "SELECT host FROM events UNION SELECT host FROM events ORDER BY 1"],
  [[["a"]], "SELECT host FROM events EXCEPT SELECT 'b'"],
  [[[2]], "SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY host) n FROM events)"],
  [
    [[5]],
    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 5) SELECT max(x) FROM r",
  ],
  [[[0], [1]], "SELECT * FROM range(2) t(i)"],
  [[[1], [2]], "SELECT unnest([1, 2])"],
  [[["a-c", null]], "SELECT replace('abc', 'b', '-'), replace('a', NULL, 'x')"],
  [[[1], [3]], "SELECT * FROM generate_series(1, 3, 2)"],
  [[["abab", "  a", "a--"]], "SELECT repeat('ab', 2), lpad('a', 3, ' '), rpad('a', 3, '-')"],
  [[[[2, 3]]], "SELECT list_transform([1, 2], lambda x: x + 1)"],
  [[["x"]], "SELECT CASE WHEN true THEN 'x' ELSE 'y' END"],
  [[[2.5]], "SELECT 2.50::DECIMAL(4, 1)"],
  [[["now()"]], "SELECT 'now()'"],
  [[["read_text('/x')"]], "SELECT 'read_text(''/x'')'"],
  [[["A"]], "SELECT upper(host) FROM events WHERE host LIKE 'a%' LIMIT 1"],
  [[[1]], "SELECT coalesce(NULL, 1)"],
  [[[2]], "SELECT count(DISTINCT host) FROM events"],
  [[[1]], "SELECT count(*) FILTER (WHERE host = 'b') FROM events"],
  [[[3]], "SELECT approx_distinct(raw) FILTER (WHERE true) FROM events"],
  [[[2026]], "SELECT DISTINCT extract(year FROM timestamp) FROM events"],
  [[["b"]], `SELECT "host" FROM "events" QUALIFY row_number() OVER (ORDER BY host DESC) = 1`],
];

Deno.test({
  name: "gate refuses every statement of the hostile corpus with its reason",
  fn: async (t) => {
    await using lab = await openLab();
    for (const [reason, sql] of REFUSED) {
      await t.step(sql.slice(0, 80).replaceAll("\0", "U+0000") || "(empty)", async () => {
        await rejects(lab.query(sql), (error) => {
          deepStrictEqual(
            isOperatingError(error) ? [error.code, error.reason] : error,
            ["invalid_argument", reason],
          );
          return true;
        });
      });
    }
  },
});

Deno.test({
  name: "gate lets ordinary statements through and they run",
  fn: async (t) => {
    await using lab = await openLab();
    for (const [answer, sql] of ALLOWED) {
      await t.step(sql.slice(0, 80), async () => {
        deepStrictEqual((await lab.query(sql)).rows, answer);
      });
    }
  },
});

Deno.test({
  name: "textOfTree answers as the statement's own text does",
  fn: async (t) => {
    await using lab = await openLab();
    for (const [answer, sql] of ALLOWED) {
      // A semicolon before the end makes the engine write the statement anew.
      const rewritten = `${sql.replace(/(;?) --.*$|;$/, "")}; -- end`;
      await t.step(sql.slice(0, 80), async () => {
        deepStrictEqual((await lab.query(rewritten)).rows, answer);
      });
    }
  },
});

Deno.test({
  name: "gate unknown table names the tables of the caller's namespace and no other",
  fn: async () => {
    await using lab = await openLab();
    await rejects(lab.query("SELECT * FROM evnts"), (error: Error) => {
      deepStrictEqual(
        error.message,
        `Cannot read table "evnts": there is no such table; there are: events, traces`,
      );
      return true;
    });
  },
});

async function openLab(): Promise<EngineLab> {
  const lab = await EngineLab.open();
  const start = 1_790_000_000_000_000_000n;
  await lab.commit([
    { ns: start, host: "a", raw: "1" },
    { ns: start + 1n, host: "a", raw: "2" },
    { ns: start + 2n, host: "b", raw: "3" },
  ]);
  return lab;
}
