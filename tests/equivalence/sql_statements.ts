/**
 * Statements whose answers must be those of a plain DuckDB over a plain copy: written out where
 * the form is the point, made from families where the parameters are. Tables: `sql_lab.ts`.
 */

export interface Statement {
  readonly sql: string;
  /** The question without this service's own functions; by default `sql` itself. */
  readonly plain?: string;
}

const DAY_2 = "TIMESTAMPTZ '2026-09-22 00:00:00Z'";
const DAY_3 = "TIMESTAMPTZ '2026-09-23 14:30:00Z'";

/** WHERE clauses over `events`: time bounds of every form beside other predicates. */
const EVENT_FILTERS: readonly string[] = [
  "true",
  `timestamp >= ${DAY_2}`,
  `timestamp < ${DAY_2}`,
  `timestamp BETWEEN ${DAY_2} AND ${DAY_3}`,
  `timestamp >= ${DAY_2} AND timestamp < ${DAY_3} AND host = 'web-1'`,
  `${DAY_3} > timestamp AND ${DAY_2} <= timestamp`,
  `timestamp > ${DAY_2} OR host = '東京'`,
  `NOT timestamp > ${DAY_2}`,
  "timestamp_ns >= 1790086400000000800",
  "timestamp_ns < 1790003908000000400 AND timestamp_ns >= 1790000977000000000",
  "timestamp = TIMESTAMPTZ '2026-09-21 14:29:37Z'",
  "timestamp >= '2026-09-22' AND timestamp <= '2026-09-22 15:00:00+00'",
  "timestamp > now() - INTERVAL 100 YEAR",
  "timestamp > now() + INTERVAL 100 YEAR",
  "host IN ('Zürich', 'o''neil', 'quo\"te', '')",
  "raw LIKE '%connection%'",
  "raw ILIKE 'ÜBERLAUF%'",
  "raw LIKE '100\\% done\\_%' ESCAPE '\\'",
  "raw NOT LIKE '%e%' AND length(raw) > 0",
  "regexp_matches(raw, '(500|retry=\\d)')",
  "attributes IS NULL",
  "attributes IS NOT NULL AND attributes <> '{}'",
  "starts_with(host, 'web') AND source <> 'otel'",
  "host LIKE 'w%' AND (raw = '' OR \"index\" = 'audit')",
];

const EVENT_SELECTS: readonly string[] = [
  "SELECT * FROM events WHERE $where",
  "SELECT count(*), count(attributes), count(DISTINCT host), min(raw), max(raw) FROM events WHERE $where",
  "SELECT host, sourcetype, count(*) AS n, max(timestamp_ns) FROM events WHERE $where GROUP BY host, sourcetype",
  "SELECT timestamp, timestamp_ns, raw FROM events WHERE $where " +
  'ORDER BY timestamp DESC, timestamp_ns DESC, host, source, sourcetype, "index", raw, attributes LIMIT 25',
  "SELECT date_trunc('hour', timestamp) AS hour, count(*) AS n FROM events WHERE $where GROUP BY 1 ORDER BY 1",
];

const METRIC_FILTERS: readonly string[] = [
  "true",
  "region IS NULL",
  "region = '日本' OR latency > 500",
  "hits > 9007199254740992",
  "hits BETWEEN -7 AND 1 AND ok",
  "value < -100.5",
  "NOT ok",
  "code IN (200, 404) AND name <> 'cpu'",
  `timestamp >= ${DAY_2} AND region IS NOT NULL`,
  "ok IS NULL OR code IS NULL",
];

const METRIC_SELECTS: readonly string[] = [
  "SELECT * FROM metrics WHERE $where",
  "SELECT name, region, count(*), count(latency), sum(value), avg(value), min(hits), max(code) " +
  "FROM metrics WHERE $where GROUP BY ALL",
  "SELECT sum(hits), sum(code), bool_and(ok), bool_or(ok), median(value), stddev_samp(latency) FROM metrics WHERE $where",
  "SELECT name, list(DISTINCT region ORDER BY region) AS regions FROM metrics WHERE $where GROUP BY name ORDER BY name",
];

/** Aggregates over `metrics`, each with and without FILTER. */
const AGGREGATES: readonly string[] = [
  "count(*)",
  "count(DISTINCT region)",
  "sum(hits)",
  "sum(code)",
  "avg(code)",
  "sum(value)",
  "min(value)",
  "max(latency)",
  "any_value(1)",
  "arg_max(name, (hits, timestamp_ns, name))",
  "arg_min(region, (timestamp_ns, region))",
  "string_agg(region, ',' ORDER BY timestamp_ns, region)",
  "array_agg(code ORDER BY code NULLS LAST)",
  "list(ok ORDER BY ok NULLS FIRST)",
  "histogram(code)",
  "mode(1)",
  "quantile_cont(value, 0.9)",
  "quantile_disc(hits, [0.25, 0.5])",
  "bit_xor(code)",
  "var_pop(value)",
  "corr(value, latency)",
  "max(value, 2)",
  "min(hits, 3)",
  "entropy(name)",
];

const WINDOWS: readonly string[] = [
  "row_number() OVER w",
  "rank() OVER (ORDER BY name)",
  "dense_rank() OVER (PARTITION BY region ORDER BY code NULLS LAST)",
  "lag(hits) OVER w",
  "lead(value, 2, 0.0) OVER w",
  "first_value(name) OVER w",
  "nth_value(code, 3) OVER w",
  "ntile(4) OVER w",
  "sum(code) OVER (w ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
  "count(*) OVER (PARTITION BY name)",
  "min(latency) OVER (ORDER BY timestamp RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND INTERVAL 1 HOUR FOLLOWING)",
  "cume_dist() OVER (ORDER BY code)",
  "count(*) FILTER (WHERE ok) OVER (PARTITION BY region)",
  "string_agg(name, '' ORDER BY name) OVER (PARTITION BY code)",
  "sum(code) OVER (PARTITION BY name ORDER BY timestamp_ns GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW)",
];

const JOINS: readonly string[] = [
  "JOIN m ON m.timestamp_ns = e.timestamp_ns",
  "LEFT JOIN m ON m.timestamp_ns = e.timestamp_ns AND m.ok",
  "RIGHT JOIN m ON m.timestamp_ns = e.timestamp_ns",
  "FULL JOIN m USING (timestamp_ns)",
  "SEMI JOIN m ON m.timestamp = e.timestamp",
  "ANTI JOIN m ON m.timestamp = e.timestamp",
  "CROSS JOIN (SELECT DISTINCT name FROM metrics) AS n",
  "NATURAL JOIN (SELECT DISTINCT timestamp_ns FROM metrics) AS n",
];

/** Values of every type the renderer knows, at their edges. */
const VALUES: readonly (readonly string[])[] = [
  ["0::TINYINT", "(-128)::TINYINT", "255::UTINYINT", "65535::USMALLINT", "4294967295::UINTEGER"],
  ["9223372036854775807", "-9223372036854775808", "18446744073709551615::UBIGINT"],
  [
    "170141183460469231731687303715884105727::HUGEINT",
    "(-170141183460469231731687303715884105727)::HUGEINT",
  ],
  ["340282366920938463463374607431768211455::UHUGEINT"],
  [
    "1.10::DECIMAL(4, 2)",
    "-0.001::DECIMAL(10, 3)",
    "12345678901234567890123456789.012345678::DECIMAL(38, 9)",
  ],
  ["0.1::DOUBLE", "1e300", "-1e-300", "5e-324", "1.7976931348623157e308", "0.1 + 0.2::DOUBLE"],
  ["1.5::FLOAT", "16777216::FLOAT", "0.1::FLOAT::DOUBLE"],
  ["'NaN'::DOUBLE", "'inf'::DOUBLE", "'-inf'::FLOAT"],
  ["true", "false", "NULL", "NULL::INTEGER", "NULL::DOUBLE", "NULL::INTEGER[]"],
  ["''", "'a\"b\\c/d'", "'tab\tnew\nline'", "chr(1)", "chr(127)", "chr(8232)", "'🦕'", "'é'"],
  ["DATE '2026-02-28'", "DATE '0044-03-15 (BC)'", "DATE '9999-12-31'"],
  ["TIME '23:59:59.999999'", "TIME '00:00:00'"],
  [
    "TIMESTAMP '2026-11-20 21:04:05.123456'",
    "TIMESTAMP '1969-12-31 23:59:59.999999'",
    "TIMESTAMPTZ '2026-11-20 21:04:05+02'",
  ],
  [
    "TIMESTAMP_S '2026-11-20 21:04:05'",
    "TIMESTAMP_MS '2026-11-20 21:04:05.123'",
    "TIMESTAMP_NS '2026-11-20 21:04:05.123456789'",
  ],
  [
    "INTERVAL '1 year 2 months 3 days 4 seconds'",
    "INTERVAL '-5.25 seconds'",
    "INTERVAL 0 DAY",
    "INTERVAL 90 MINUTE",
  ],
  ["'\\x00\\xFF\\x41'::BLOB", "''::BLOB"],
  ["[1, NULL, 3]", "[]::INTEGER[]", "[[1.50], NULL, []]::DECIMAL(5, 2)[][]", "['a\"', NULL, '']"],
  ["[1.5, 'nan'::DOUBLE, NULL]", "[TIMESTAMPTZ '2026-01-01 00:00:00Z']", "[[true], [NULL]]"],
  ["{'a': 1, 'b c': [1, 2], 'n': NULL, 'd': 1.20::DECIMAL(3, 2)}", "{'s': {'t': {'u': 'v'}}}"],
  ["[{'a': 1, 'b': 'x'}, NULL, {'a': NULL, 'b': NULL}]"],
  ["MAP {'x': 1, 'y': NULL}", "MAP {1: [1.5], 2: NULL}", "MAP {}::MAP(VARCHAR, INTEGER)"],
  ["MAP {'k': {'a': [MAP {'z': 0.10::DECIMAL(4, 2)}]}}"],
  ["[1, 2, 3]::INTEGER[3]", "['a', NULL]::VARCHAR[2]"],
  ['\'{"a":[1,2.50,1e3,null,"x"]}\'::JSON', "json_object('k', 9223372036854775807)"],
  ["'7f3d0f4e-0000-4000-8000-0123456789ab'::UUID", "'10110'::BIT"],
  ["'a'::ENUM('a', 'b')", "row(1, 'x') IS NULL", "{'x': DATE '2026-01-01', 'y': INTERVAL 1 DAY}"],
];

const SHAPES: readonly string[] = [
  // Common table expressions.
  "WITH a AS (SELECT host, count(*) AS n FROM events GROUP BY host) SELECT * FROM a WHERE n > 10",
  "WITH a AS (SELECT * FROM events), b AS (SELECT * FROM a WHERE host <> '') SELECT source, count(*) FROM b GROUP BY 1",
  "WITH a AS MATERIALIZED (SELECT name, code FROM metrics) SELECT x.code, count(*) FROM a x JOIN a y USING (name) GROUP BY 1",
  "WITH events AS (SELECT * FROM metrics) SELECT count(*) FROM events",
  "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 50) SELECT count(*), sum(n) FROM t",
  "WITH RECURSIVE walk(ns, depth) AS (SELECT min(timestamp_ns), 0 FROM events UNION ALL " +
  "SELECT (SELECT min(timestamp_ns) FROM events WHERE timestamp_ns > walk.ns), depth + 1 FROM walk WHERE depth < 5) " +
  "SELECT * FROM walk ORDER BY depth",
  "WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT (x * 3) % 17 FROM r) SELECT x FROM r ORDER BY x",
  "WITH a(h, n) AS (SELECT host, count(*) FROM events GROUP BY 1), b AS (SELECT avg(n) AS m FROM a) " +
  "SELECT h FROM a, b WHERE n > m ORDER BY h",
  // Subqueries.
  "SELECT host FROM events WHERE timestamp_ns = (SELECT max(timestamp_ns) FROM events) ORDER BY host",
  "SELECT count(*) FROM events WHERE host IN (SELECT host FROM events WHERE raw = '')",
  "SELECT count(*) FROM events WHERE host NOT IN (SELECT host FROM events WHERE raw LIKE 'POST%')",
  "SELECT DISTINCT name FROM metrics m WHERE EXISTS (SELECT 1 FROM events e WHERE e.timestamp_ns = m.timestamp_ns)",
  "SELECT DISTINCT name FROM metrics m WHERE NOT EXISTS (SELECT 1 FROM metrics o WHERE o.name = m.name AND o.hits > m.hits)",
  "SELECT name, (SELECT count(*) FROM metrics i WHERE i.name = o.name AND i.code > o.code) AS above FROM metrics o WHERE code = 404",
  "SELECT count(*) FROM metrics WHERE code > ALL (SELECT code FROM metrics WHERE code < 300)",
  "SELECT count(*) FROM metrics WHERE hits = ANY (SELECT hits FROM metrics WHERE region = 'eu')",
  "SELECT * FROM (SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY n DESC, host LIMIT 3) ORDER BY host",
  "SELECT ARRAY(SELECT DISTINCT code FROM metrics WHERE code IS NOT NULL ORDER BY code) AS codes",
  "SELECT (SELECT {'n': count(*), 'last': max(timestamp)} FROM events) AS s",
  "FROM (FROM events SELECT host, raw WHERE raw <> '') SELECT host, max(raw) GROUP BY host",
  // Set operations.
  "SELECT host FROM events UNION SELECT name FROM metrics ORDER BY 1",
  "SELECT timestamp_ns FROM events INTERSECT SELECT timestamp_ns FROM metrics ORDER BY 1",
  "SELECT timestamp_ns FROM events EXCEPT SELECT timestamp_ns FROM metrics ORDER BY 1",
  "SELECT host FROM events EXCEPT ALL SELECT host FROM events WHERE raw <> ''",
  "SELECT source FROM events INTERSECT ALL SELECT source FROM events WHERE host = ''",
  "SELECT name, code FROM metrics UNION ALL BY NAME SELECT host AS name FROM events",
  "(SELECT host FROM events ORDER BY host LIMIT 3) UNION ALL (SELECT name FROM metrics ORDER BY name DESC LIMIT 3)",
  "SELECT 1 AS a UNION SELECT 1.5 UNION SELECT NULL ORDER BY a NULLS FIRST",
  "VALUES (1, 'a'), (2, NULL), (3, 'c')",
  "SELECT * FROM (VALUES (1, 'x'), (2, 'y')) AS v(id, label) JOIN (SELECT DISTINCT name FROM metrics) ON true",
  // Grouping.
  "SELECT host, source, count(*), grouping(host), grouping(source) FROM events GROUP BY GROUPING SETS ((host), (source), ())",
  "SELECT name, region, sum(code) FROM metrics GROUP BY ROLLUP (name, region)",
  "SELECT name, ok, count(*) FROM metrics GROUP BY CUBE (name, ok)",
  "SELECT name, count(*) FROM metrics GROUP BY name HAVING count(*) > 100 AND bool_or(ok)",
  "SELECT count(*) AS n, length(raw) AS l FROM events GROUP BY l ORDER BY l",
  "SELECT host || '/' || source AS k, count(*) FROM events GROUP BY 1 ORDER BY 2 DESC, 1",
  "SELECT count(*) FILTER (WHERE raw LIKE '%500%') AS errors, count(*) FILTER (WHERE raw = '') AS empty FROM events",
  "SELECT string_agg(DISTINCT source, '|' ORDER BY source) FROM events",
  "SELECT sourcetype, list_sort(list(DISTINCT host)) FROM events GROUP BY 1",
  "SELECT max(timestamp) - min(timestamp) AS span, avg(timestamp_ns) FROM events",
  // Distinct, order, limit.
  "SELECT DISTINCT host, source FROM events",
  "SELECT DISTINCT ON (host) host, timestamp_ns, raw FROM events ORDER BY host, timestamp_ns DESC, raw, source, sourcetype",
  "SELECT DISTINCT ON (name, ok) name, ok, hits FROM metrics ORDER BY name, ok NULLS LAST, hits DESC NULLS LAST",
  "SELECT code FROM metrics ORDER BY code NULLS FIRST LIMIT 40 OFFSET 10",
  "SELECT value FROM metrics ORDER BY value DESC NULLS LAST LIMIT 10",
  "SELECT hits, code FROM metrics ORDER BY ALL LIMIT 30",
  "SELECT timestamp, timestamp_ns FROM events ORDER BY timestamp, timestamp_ns LIMIT 60",
  "SELECT timestamp_ns FROM events ORDER BY timestamp DESC, timestamp_ns DESC LIMIT 50 OFFSET 50",
  "SELECT timestamp_ns FROM events WHERE timestamp <= TIMESTAMPTZ '2026-09-22 14:29:37Z' AND timestamp_ns < 1790087377000000800 " +
  "ORDER BY timestamp DESC, timestamp_ns DESC LIMIT 20",
  "SELECT raw FROM events ORDER BY length(raw) DESC, raw LIMIT 12",
  "SELECT count(*) FROM (SELECT * FROM events LIMIT 17)",
  "SELECT count(*) FROM (SELECT * FROM events LIMIT 10%)",
  // LATERAL, UNNEST and lists.
  "SELECT h.host, x.n FROM (SELECT DISTINCT host FROM events) h, LATERAL (SELECT count(*) AS n FROM events e WHERE e.host = h.host) x",
  "SELECT m.name, t.raw FROM (SELECT DISTINCT name FROM metrics) m LEFT JOIN LATERAL " +
  "(SELECT raw FROM events WHERE raw LIKE '%' || m.name || '%') t ON true",
  "SELECT word, count(*) AS n FROM (SELECT unnest(string_split(raw, ' ')) AS word FROM events) GROUP BY 1 ORDER BY n DESC, word LIMIT 15",
  "SELECT name, u FROM metrics, unnest([code, 1]) AS t(u) WHERE name = 'cpu' AND code = 200",
  "SELECT unnest({'a': 1, 'b': [2, 3]}, recursive := true)",
  "SELECT list_transform([1, 2, 3], lambda x: x * 10), list_filter(['a', 'bb'], lambda s: length(s) > 1)",
  "SELECT [x + 1 FOR x IN [1, 2, 3] IF x <> 2] AS l",
  "SELECT i, i * i FROM range(10) t(i) WHERE i % 2 = 0",
  "SELECT d FROM generate_series(DATE '2026-09-20', DATE '2026-09-24', INTERVAL 1 DAY) t(d)",
  "SELECT b.i, count(e.host) FROM range(0, 24, 6) b(i) LEFT JOIN events e ON extract(hour FROM e.timestamp) // 6 * 6 = b.i GROUP BY 1 ORDER BY 1",
  // Expressions.
  "SELECT CASE WHEN code >= 500 THEN 'bad' WHEN code IS NULL THEN NULL ELSE 'fine' END AS c, count(*) FROM metrics GROUP BY 1",
  "SELECT coalesce(region, 'none') AS r, nullif(name, 'cpu') AS n, count(*) FROM metrics GROUP BY ALL",
  "SELECT try_cast(raw AS INTEGER) AS i, count(*) FROM events GROUP BY 1",
  "SELECT upper(host), lower(host), reverse(host), length(host), strlen(host), md5(host) FROM (SELECT DISTINCT host FROM events)",
  "SELECT substr(host, 2, 3), left(host, 2), right(host, 2), host[1], host[2:3], lpad(host, 6, '*') FROM (SELECT DISTINCT host FROM events)",
  "SELECT regexp_replace(raw, '\\d+', '#', 'g') AS shape, count(*) AS n FROM events GROUP BY 1 ORDER BY n DESC, shape",
  "SELECT regexp_extract(raw, 'took=(\\d+)ms', 1) AS ms FROM events WHERE raw LIKE 'row%'",
  "SELECT attributes->>'user' AS u, attributes->'nested'->'deep' AS d, json_keys(attributes) AS k FROM events WHERE attributes IS NOT NULL",
  "SELECT json_extract_string(attributes, '$.tags[1]') AS t, json_type(attributes, '$.big') AS b, count(*) FROM events GROUP BY ALL",
  "SELECT extract(dow FROM timestamp) AS d, extract(hour FROM timestamp) AS h, count(*) FROM events GROUP BY ALL",
  "SELECT strftime(timestamp, '%Y-%m-%d %H') AS h, count(*) FROM events GROUP BY 1 ORDER BY 1",
  "SELECT time_bucket(INTERVAL 15 MINUTE, timestamp) AS b, count(*) FROM events GROUP BY 1 ORDER BY 1",
  "SELECT timestamp::DATE AS d, (timestamp AT TIME ZONE 'Europe/Prague')::TIME AS t FROM events WHERE host = '東京'",
  "SELECT date_trunc('month', timestamp), date_trunc('week', e.timestamp), count(*) FROM events e " +
  "GROUP BY date_trunc('month', e.timestamp), 2 HAVING date_trunc('month', timestamp) > '2020-01-01' ORDER BY 1, 2",
  "SELECT time_bucket(INTERVAL '1 month', timestamp) AS b, time_bucket(INTERVAL '1 day', timestamp) AS d, count(*) FROM events GROUP BY ALL",
  "SELECT timestamp - lag(timestamp) OVER w AS gap, timestamp - min(timestamp) OVER () AS since, " +
  "age(timestamp, TIMESTAMPTZ '2020-02-29 10:00:00Z') AS a FROM events " +
  'WINDOW w AS (ORDER BY timestamp_ns, host, source, "index", raw)',
  "SELECT date_diff('hour', timestamp, max(timestamp) OVER ()), date_sub('day', timestamp, TIMESTAMPTZ '2030-01-31'), raw FROM events",
  "SELECT timestamp + INTERVAL '1 month', timestamp - INTERVAL '90 minutes', INTERVAL '1 day' + timestamp, raw FROM events",
  "SELECT date_trunc('day', timestamp + INTERVAL '2 hours') AS d, last_day(timestamp), dayname(timestamp), count(*) FROM events GROUP BY ALL",
  "SELECT DISTINCT ON (timestamp::DATE) timestamp::DATE, min(raw) OVER (PARTITION BY date_trunc('day', timestamp)) FROM events ORDER BY timestamp::DATE",
  "SELECT * FROM (SELECT hour(timestamp), timestamp AT TIME ZONE 'UTC', timestamp::TIMESTAMP FROM events) ORDER BY ALL LIMIT 40",
  "WITH d AS (SELECT date_trunc('day', timestamp), count(*) AS n FROM events GROUP BY ALL) " +
  'SELECT a.*, b.n FROM d a JOIN d b ON date_trunc(\'year\', a."date_trunc(\'day\', ""timestamp"")") = date_trunc(\'year\', b."date_trunc(\'day\', ""timestamp"")")',
  "SELECT count(*) FROM events WHERE date_trunc('day', timestamp) = '2026-09-22' AND hour(timestamp) BETWEEN 3 AND 20",
  "SELECT list_transform([timestamp], lambda x: date_trunc('day', x)), (SELECT date_trunc('month', max(timestamp)) FROM metrics m WHERE m.timestamp <= e.timestamp) FROM events e",
  "SELECT age(TIMESTAMP '2026-03-01', TIMESTAMP '2025-01-15'), date_diff('day', DATE '2026-01-01', DATE '2026-09-21')",
  "SELECT hits // 2, hits % 5, -hits, abs(code), value::INTEGER, round(value, 1), code & 255, code ^ 2 FROM metrics WHERE hits BETWEEN -10 AND 50",
  "SELECT hits::HUGEINT * hits::HUGEINT AS big FROM metrics WHERE hits IS NOT NULL ORDER BY big, name LIMIT 40",
  "SELECT sum(hits::HUGEINT), sum(value::DECIMAL(18, 3)), avg(value::DECIMAL(18, 3)) FROM metrics",
  "SELECT value::DECIMAL(12, 3) AS d, value::DECIMAL(12, 3) * 1.10 AS e FROM metrics WHERE value IS NOT NULL",
  "SELECT {'host': host, 'times': list(timestamp ORDER BY timestamp_ns)} AS s FROM events WHERE host IN ('', 'db-1') GROUP BY host",
  "SELECT map_from_entries(list((host, n) ORDER BY host)) FROM (SELECT host, count(*) AS n FROM events GROUP BY host)",
  "SELECT * EXCLUDE (attributes, raw) FROM events WHERE host = 'db-1'",
  "SELECT * REPLACE (upper(host) AS host) FROM events WHERE source = 'shop'",
  "SELECT COLUMNS('time.*') FROM events WHERE host = 'db-1'",
  "SELECT min(COLUMNS(* EXCLUDE (timestamp, attributes))) FROM events",
  "SELECT #1, #2 FROM (SELECT host, count(*) FROM events GROUP BY host)",
  "SELECT e.* FROM events e WHERE e.host = 'o''neil'",
  'SELECT events.host AS "Host Name", "raw" AS "select", 1 AS "a""b" FROM events WHERE host = \'quo"te\'',
  "SELECT host AS h, length(h) AS l FROM events WHERE l > 4",
  'SELECT 1 AS x, 2 AS x, 3 AS "X"',
  "SELECT NULL, 'a', 1",
  "SELECT name, hits FROM metrics QUALIFY row_number() OVER (PARTITION BY name ORDER BY hits DESC NULLS LAST, timestamp_ns, value) <= 2",
  "SELECT m1.name, count(*) FROM metrics m1 ASOF JOIN (SELECT timestamp_ns FROM events) e ON m1.timestamp_ns >= e.timestamp_ns GROUP BY 1",
  "SELECT count(*) FROM events a JOIN events b ON a.timestamp_ns = b.timestamp_ns WHERE a.timestamp >= TIMESTAMPTZ '2026-09-22 00:00:00Z'",
  "SELECT count(*) FROM events a LEFT JOIN events b ON a.timestamp_ns = b.timestamp_ns + 400 WHERE b.timestamp < TIMESTAMPTZ '2026-09-22 00:00:00Z'",
  "SELECT timestamp_ns FROM events WHERE timestamp > (SELECT max(timestamp) - INTERVAL 1 HOUR FROM events)",
  "-- a comment\nSELECT /* another; */ count(*) -- the end\nFROM events;",
  // GROUP BY ALL groups by what HAVING names, too, where an alias goes before a column.
  "SELECT date_trunc('day', timestamp) AS d, count(*) FROM events GROUP BY ALL HAVING d > TIMESTAMPTZ '2026-09-21 00:00:00Z'",
  "SELECT date_trunc('day', timestamp) AS timestamp, count(*) FROM events GROUP BY ALL HAVING timestamp > TIMESTAMPTZ '2026-09-21 15:00:00Z'",
  "SELECT source AS host, host AS source, count(*) FROM events GROUP BY ALL HAVING host > 'o'",
  "SELECT count(*) FROM events GROUP BY ALL HAVING upper(host) > 'M' AND count(*) > 1",
  "TABLE metrics",
  "FROM metrics",
  "SELECT name FROM metrics GROUP BY name ORDER BY sum(value::DECIMAL(18, 3)) DESC",
  // Stars, and what columns without a name are called.
  "SELECT coalesce(*COLUMNS(*), 2e0) FROM (SELECT value, latency FROM metrics)",
  "SELECT * FROM (SELECT COLUMNS(['value', 'latency']) * 2e0 FROM metrics)",
  "SELECT min(COLUMNS(['value', 'latency'])) + 1e0 FROM metrics",
  "SELECT * EXCLUDE (hits) REPLACE (value + 1e0 AS value) FROM metrics",
  'SELECT * RENAME (value AS v, hits AS "h h") FROM metrics',
  "SELECT m.* EXCLUDE (hits) RENAME (value AS v) FROM metrics m",
  "SELECT * SIMILAR TO '.*o.*' FROM events",
  "SELECT COLUMNS('(h|s)o(.*)') AS 'new_\\2' FROM events",
  "SELECT COLUMNS(lambda c: c LIKE 'time%') FROM events",
  "SELECT * FROM events WHERE COLUMNS(['host', 'source']) <> 'otel'",
  "SELECT s.*, unnest(s) FROM (SELECT {'a': host, 'b': 2e0} AS s FROM events)",
  "SELECT timestamp - INTERVAL 1 HOUR, date_trunc('day', timestamp), hits + 1e0, value::DOUBLE FROM metrics",
  "SELECT regexp_replace(raw, 'e', 'a replacement that has to be measured') FROM events",
  "SELECT .5, -.05::DECIMAL(2, 2), [.5], {'a': .5}, 5., 1e22, 1e-300, -2e0 ^ 2, 1 - -2e0",
  'SELECT 1 AS "a b", 2 AS "ünï", 3 AS "SELECT", 4 AS "a""b", 5 AS "a.b", 6 AS "東京"',
  "SELECT x: 1e0, y: host FROM e: events",
  // Forms that are seldom written.
  "WITH RECURSIVE t(k, v) USING KEY (k) AS (SELECT * FROM (VALUES (1, 1), (2, 5)) UNION " +
  "SELECT t.k, a.v + 1 FROM t, recurring.t a WHERE t.k = a.k AND a.v < 7) SELECT * FROM t ORDER BY k",
  "WITH m AS MATERIALIZED (SELECT * FROM metrics WHERE value > 1e0) SELECT a.name, count(*) FROM m a, m b GROUP BY 1",
  "SELECT m.name, e.host FROM metrics m ASOF LEFT JOIN (SELECT timestamp_ns, min(host) AS host FROM events GROUP BY ALL) e " +
  "USING (timestamp_ns)",
  "SELECT * FROM (SELECT name FROM metrics ORDER BY ALL LIMIT 5) POSITIONAL JOIN (SELECT host FROM events ORDER BY ALL LIMIT 3)",
  "SELECT name, ok, count(*), grouping_id(name, ok) FROM metrics GROUP BY CUBE (name, ok) HAVING grouping(name) = 0",
  "SELECT hits FROM metrics ORDER BY ALL LIMIT 12.5%",
  "SELECT hits FROM metrics ORDER BY hits NULLS FIRST LIMIT (SELECT 5) OFFSET (SELECT 2)",
  "SELECT * FROM range(100) t(i) USING SAMPLE reservoir(5 ROWS) REPEATABLE (42)",
  "SELECT count(*) FROM metrics TABLESAMPLE reservoir(20%)",
  "SELECT [x + 1e0 FOR x IN [1, 2, 3] IF x > 1], [x FOR x, i IN [4, 5] IF i = 1]",
  "SELECT name, lag(code IGNORE NULLS) OVER (PARTITION BY name ORDER BY timestamp_ns, value, hits, code) FROM metrics",
  "SELECT count(*) FROM events WHERE timestamp >= TIMESTAMPTZ '2026-09-21 16:20:00 Europe/Prague'",
  "SELECT count(*) FROM events WHERE timestamp >= '2026-09-21 16:20:00+02'",
  "SELECT count(*) FROM events WHERE timestamp BETWEEN DATE '2026-09-22' AND DATE '2026-09-23'",
];

/** Words of `raw` in a plain engine's words: of scripts that put spaces between them. */
const WORDS = String.raw`string_split_regex(lower(raw), '[^\p{L}\p{N}\p{M}_]+')`;

/**
 * `match_*` of docs/api/query.md#functions beside lists of words, and beside LIKE where each letter
 * is a word.
 */
const OWN_SEARCHES: readonly Statement[] = [
  ["match_terms(raw, 'refused CONNECTION')", `list_has_all(${WORDS}, ['refused', 'connection'])`],
  ["match(raw, 'ÜBERLAUF')", `list_contains(${WORDS}, 'überlauf')`],
  ["match_terms(raw, 'café naïve')", `list_has_all(${WORDS}, ['café', 'naïve'])`],
  ["match_terms(raw, 'underscore')", `list_contains(${WORDS}, 'underscore')`],
  ["match_terms(raw, '_underscore_')", `list_contains(${WORDS}, '_underscore_')`],
  ["match_any(raw, 'anna 12ms')", `list_has_any(${WORDS}, ['anna', '12ms'])`],
  ["NOT match_any(raw, 'get post')", `NOT list_has_any(${WORDS}, ['get', 'post'])`],
  [
    "match_phrase(raw, 'connection refused')",
    `' ' || array_to_string(${WORDS}, ' ') || ' ' LIKE '% connection refused %'`,
  ],
  [
    "match_phrase(raw, 'refused connection')",
    `' ' || array_to_string(${WORDS}, ' ') || ' ' LIKE '% refused connection %'`,
  ],
  ["match_phrase(raw, '据库')", "raw LIKE '%据库%'"],
  ["match_terms(raw, '库数')", "raw LIKE '%库%' AND raw LIKE '%数%'"],
  [
    "match_prefix(raw, 'CONN') OR host = 'h1'",
    `len(list_filter(${WORDS}, lambda w: starts_with(w, 'conn'))) > 0 OR host = 'h1'`,
  ],
].map(([own = "", plain = ""]) => ({
  sql: `SELECT host, raw, count(*) AS n FROM events WHERE ${own} GROUP BY ALL ORDER BY ALL`,
  plain: `SELECT host, raw, count(*) AS n FROM events WHERE ${plain} GROUP BY ALL ORDER BY ALL`,
}));

/**
 * This service's own functions, names and forms, asked in a plain engine's words. See
 * docs/api/query.md#functions.
 */
const OWN_WORDS: readonly Statement[] = [
  {
    // The plain engine's client keeps one of the members without names.
    sql: "SELECT (timestamp, name) AS pair FROM metrics WHERE code = 500 ORDER BY pair LIMIT 5",
    plain:
      "SELECT [strftime(timestamp AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ'), name] AS pair FROM metrics " +
      "WHERE code = 500 ORDER BY timestamp, name LIMIT 5",
  },
  {
    sql: "SELECT source, approx_distinct(host) AS n FROM events GROUP BY source",
    plain: "SELECT source, approx_count_distinct(host) AS n FROM events GROUP BY source",
  },
  {
    sql: "SELECT name, approx_median(value) FILTER (WHERE ok) AS m FROM metrics GROUP BY name",
    plain: "SELECT name, median(value) FILTER (WHERE ok) AS m FROM metrics GROUP BY name",
  },
  {
    sql:
      "SELECT attr_get(NULL, 'a') AS a, attr_get('{}', 'a') AS b, kv_extract(NULL, 'a') AS c, kv_extract('', 'a') AS d",
    plain: "SELECT NULL AS a, NULL AS b, NULL AS c, NULL AS d",
  },
  {
    sql:
      "SELECT attr_get(attributes, 'user') AS u, host FROM events WHERE attr_get(attributes, 'status') = '500' ORDER BY ALL",
    plain:
      "SELECT attributes->>'$.user' AS u, host FROM events WHERE attributes->>'$.status' = '500' ORDER BY ALL",
  },
  {
    sql:
      "SELECT e.host, count(*) AS n FROM svc.events e WHERE kv_extract(e.raw, 'user') IS NOT NULL GROUP BY ALL",
    plain: "SELECT e.host, count(*) AS n FROM events e WHERE e.raw LIKE '%user=%' GROUP BY ALL",
  },
  {
    sql:
      "SELECT max(to_timestamp_nanos(timestamp_ns)) - min(to_timestamp_nanos(timestamp_ns)) AS span FROM events",
    plain:
      "SELECT max(make_timestamp_ns(timestamp_ns)) - min(make_timestamp_ns(timestamp_ns)) AS span FROM events",
  },
  {
    sql:
      "SELECT date_bin('90 minutes', timestamp, TIMESTAMPTZ '2026-09-21 00:07:00Z') AS b, host, count(*) FROM events GROUP BY ALL",
    plain:
      "SELECT time_bucket(INTERVAL '90 minutes', timestamp, TIMESTAMPTZ '2026-09-21 00:07:00Z') AS b, host, count(*) " +
      "FROM events GROUP BY ALL",
  },
  {
    sql: "WITH events AS (SELECT count(*) AS n FROM svc.events) SELECT n FROM events",
    plain: "SELECT count(*) AS n FROM events",
  },
  {
    sql: "SELECT svc.events.host FROM svc.events WHERE svc.events.source = 'shop'",
    plain: "SELECT host FROM events WHERE source = 'shop'",
  },
  {
    sql:
      `SELECT svc.svc.events.host, count(*) AS n FROM "svc"."svc"."events" WHERE events.source = 'shop' GROUP BY ALL`,
    plain: "SELECT host, count(*) AS n FROM events WHERE source = 'shop' GROUP BY ALL",
  },
  {
    sql:
      "SELECT count(*) FROM svc.events, metrics WHERE events.timestamp_ns = metrics.timestamp_ns",
    plain: "SELECT count(*) FROM events, metrics WHERE events.timestamp_ns = metrics.timestamp_ns",
  },
  ...["user", "status", "ratio", "http.method", "ok", "text", "absent", "nested", "tags", "big"]
    .map((name) => ({
      sql: `SELECT attr_get(attributes, '${name}') AS v, count(*) FROM events GROUP BY 1`,
      plain: `SELECT attributes->>'$."${name}"' AS v, count(*) FROM events GROUP BY 1`,
    })),
  {
    sql: "SELECT raw FROM events WHERE attr_get(attributes, 'user') = 'anna'",
    plain: "SELECT raw FROM events WHERE attributes->>'$.user' = 'anna'",
  },
  {
    sql: "SELECT count(*) FROM events WHERE attr_get(attributes, 'user') IS NULL",
    plain: "SELECT count(*) FROM events WHERE attributes->>'$.user' IS NULL",
  },
  ...["took", "level", "retry", "timeout", "user", "absent"].map((name) => ({
    sql: `SELECT kv_extract(raw, '${name}') AS v, count(*) FROM events GROUP BY 1`,
    plain:
      `SELECT CASE WHEN raw ~ '.*\\b${name}=.*' THEN regexp_extract(raw, '\\b${name}=(\\S+)', 1) END AS v, ` +
      "count(*) FROM events GROUP BY 1",
  })),
  {
    sql: "SELECT kv_extract(raw, 'msg') AS v, count(*) FROM events GROUP BY 1",
    plain:
      "SELECT CASE WHEN raw LIKE '%msg=\"%' THEN 'connection refused' END AS v, count(*) FROM events GROUP BY 1",
  },
  {
    sql: "SELECT to_timestamp_nanos(timestamp_ns) AS t FROM events",
    plain: "SELECT make_timestamp_ns(timestamp_ns) AS t FROM events",
  },
  ...["5 minutes", "1 hour", "7 hours", "1 day"].map((stride) => ({
    sql:
      `SELECT date_bin(INTERVAL '${stride}', timestamp) AS b, count(*) FROM events GROUP BY 1 ORDER BY 1`,
    plain:
      `SELECT time_bucket(INTERVAL '${stride}', timestamp, TIMESTAMPTZ '1970-01-01 00:00:00Z') AS b, count(*) ` +
      "FROM events GROUP BY 1 ORDER BY 1",
  })),
  {
    sql: "SELECT date_bin(INTERVAL '1 month', timestamp) AS b, count(*) FROM events GROUP BY 1",
    plain: "SELECT date_trunc('month', timestamp) AS b, count(*) FROM events GROUP BY 1",
  },
  {
    sql:
      "SELECT to_timestamp_millis(1790000000123) AS a, to_timestamp_micros(1790000000123456) AS b, to_timestamp_seconds(17) AS c",
    plain:
      "SELECT TIMESTAMPTZ '2026-09-21 14:13:20.123Z' AS a, TIMESTAMPTZ '2026-09-21 14:13:20.123456Z' AS b, " +
      "TIMESTAMPTZ '1970-01-01 00:00:17Z' AS c",
  },
  {
    sql:
      "SELECT to_unixtime(timestamp) AS s, btrim(' a ') AS b, nvl(NULL, 1) AS n, regexp_like(raw, 'e+') AS r FROM events",
    plain:
      "SELECT floor(epoch(timestamp))::BIGINT AS s, 'a' AS b, 1 AS n, regexp_matches(raw, 'e+') AS r FROM events",
  },
];

const plainly = (sql: string): Statement => ({ sql });

export const STATEMENTS: readonly Statement[] = [
  ...EVENT_FILTERS.flatMap((where) => EVENT_SELECTS.map((sql) => sql.replace("$where", where))),
  ...METRIC_FILTERS.flatMap((where) => METRIC_SELECTS.map((sql) => sql.replace("$where", where))),
  ...AGGREGATES.flatMap((aggregate) => [
    `SELECT ${aggregate} AS a FROM metrics`,
    `SELECT name, ${aggregate} FILTER (WHERE code = 200) AS a FROM metrics GROUP BY name`,
  ]),
  ...WINDOWS.map((window) =>
    `SELECT name, timestamp_ns, ${window} AS w FROM metrics ` +
    "WINDOW w AS (PARTITION BY region ORDER BY timestamp_ns, name, value, hits, code, ok, latency)"
  ),
  ...JOINS.map((join) =>
    `WITH m AS (SELECT * FROM metrics) SELECT * FROM (SELECT timestamp, timestamp_ns, host FROM events) e ${join}`
  ),
  ...VALUES.map((values) => `SELECT ${values.join(", ")}`),
  ...VALUES.map((values) =>
    `SELECT name, [x] AS l FROM (SELECT DISTINCT name FROM metrics), ` +
    `(SELECT {${values.map((value, i) => `'v${i}': ${value}`).join(", ")}} AS x)`
  ),
  ...SHAPES,
].map(plainly).concat(OWN_WORDS, OWN_SEARCHES);
