import { deepStrictEqual, ok, rejects } from "node:assert/strict";
import { isOperatingError } from "../../base/errors.ts";
import { ALLOWED_FUNCTIONS } from "./allowed_functions.ts";
import { FOREIGN_FUNCTIONS } from "./foreign_functions.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { HOSTILE } from "../../testing/hostile_statements.ts";

/** Verdicts that come before planning; what stops a statement later is in `tests/hostile`. */
const GATE_REASONS: ReadonlySet<string> = new Set([
  "not_one_select",
  "refused_function",
  "refused_syntax",
  "bad_hot_call",
  "statement_too_large",
  "syntax_error",
  "unknown_table",
]);

const REFUSED: readonly (readonly [reason: string, sql: string])[] = Object.values(HOSTILE).flat()
  .flatMap(([verdict, sql]) =>
    typeof verdict === "string" && GATE_REASONS.has(verdict)
      ? [[verdict, sql.replaceAll("$DIR", "/x").replaceAll("$OTHER", "other")] as const]
      : []
  );

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
  [[["a"]], "SELECT svc.events.host FROM svc.events WHERE svc.Events.raw = '1'"],
  [[["a"]], `SELECT "svc"."svc"."events".host FROM "svc"."svc"."events" WHERE events.raw = '1'`],
  [[["events"]], "SELECT table_name FROM SVC.information_schema.tables WHERE table_name < 'f'"],
  [
    [[1]],
    "SELECT svc.svc.events.raw FROM (SELECT {'events': {'raw': 1}} AS svc) AS svc, svc.events LIMIT 1",
  ],
  [[[1]], "SELECT svc.events.raw FROM (SELECT {'raw': 1} AS events) AS svc"],
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
  [
    [[1, 3]],
    "WITH RECURSIVE r(k, n) USING KEY (k) AS (SELECT 1, 1 UNION " +
    "SELECT r.k, a.n + 1 FROM r, recurring.r a WHERE a.n < 3) SELECT * FROM r",
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
  [[[["a", "b c", null, "it's", "[z]"]]], `SELECT '{a,"b c",NULL,it''s,[z]}'::VARCHAR[]`],
  [[[[1, 2], []]], "SELECT '{1,2}'::INTEGER[], CAST('{}' AS DOUBLE[])"],
  [[[2]], "SELECT count(*) FROM events WHERE host = ANY ('{a,c}')"],
  [[["b"]], `SELECT "host" FROM "events" QUALIFY row_number() OVER (ORDER BY host DESC) = 1`],
];

Deno.test({
  name: "gate refuses every statement of the hostile corpus with its reason",
  fn: async (t) => {
    await using lab = await EngineLab.open({ wal: true, engine: { hotCaches: true } });
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
  name: "gate says what to write for what it reads otherwise",
  fn: async () => {
    await using lab = await openLab();
    for (
      const [sql, remedy] of [
        ["SELECT host.upper() FROM events", /at line 1, column 8: .*; write upper\(host, …\)$/],
        ["SELECT host.getenv() FROM events", /it is unknown or not allowed$/],
        ["SELECT lenght(host) FROM events", /it is unknown or not allowed; did you mean length\?$/],
        ["SELECT * FROM json_each('{}')", /; unnest\(json_keys\(x\)\) gives the names, unnest/],
        ["SELECT * FROM repeat('x', 3)", /; FROM may call distinct_values, generate_series, last_/],
        ["SELECT getenv('HOME')", /it is unknown or not allowed$/],
        [
          "SELECT raw FROM events WHERE host = `web-1`",
          /a backtick is not allowed at line 1, column \d+; write names as "name", texts as 'text'$/,
        ],
        ["PIVOT events ON host USING count(*)", /PIVOT without values .* IN \('a', 'b'\)/],
        ["PIVOT events ON host IN x USING count(*)", /PIVOT by a type .* IN \('a', 'b'\)$/],
        ["SELECT * FROM (DESCRIBE events)", /within another statement .*information_schema/],
        ["FROM events USING SAMPLE 200000 ROWS", /a sample of 200000 rows .* USING SAMPLE 1%$/],
        ["SET x = 1", /a setting belongs to a session/],
        ["CREATE VIEW v AS SELECT 1", /write it as a WITH of the SELECT \(dbt: ephemeral\)/],
        ["CREATE TABLE t (n INT GENERATED ALWAYS AS IDENTITY)", /SQL makes no table or view/],
        ["GRANT SELECT ON events TO x", /exactly one SELECT is accepted, and it is another kind/],
        ["EXPLAIN (VERBOSE, FORMAT JSON) SELECT 1", /EXPLAIN has no options here/],
        ["EXPLAIN SELEC (1)", /syntax error at or near "SELEC"/],
      ] as const
    ) {
      await rejects(lab.query(sql), { message: remedy }, sql);
    }
  },
});

Deno.test({
  name: "gate says what to write for functions of other engines, and that can be read",
  fn: async () => {
    await using lab = await openLab();
    for (const [name, instead] of FOREIGN_FUNCTIONS) {
      ok(!ALLOWED_FUNCTIONS.has(name), name);
      const sql = /^\w/.test(name)
        ? `SELECT ${name}(host) FROM events`
        : `SELECT host ${name} 'x' FROM events`;
      await rejects(lab.query(sql), (error: Error) => {
        ok(error.message.endsWith(`; write for example ${instead}`), error.message);
        return true;
      });
      await lab.query(instead.startsWith("FROM ") ? instead : `SELECT ${instead} FROM events`);
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
        `Cannot read table "evnts" at line 1, column 15: there is no such table; there are: ` +
          "events, query_audit, traces",
      );
      return true;
    });
    const message =
      'Cannot read table "SVC.events" at line 1, column 15: there is no such table; statements read ' +
      "those of svc: write events, or svc.events in just these letters";
    await rejects(lab.query("SELECT * FROM SVC.events"), { message });
  },
});

Deno.test({
  name: "gate says where the function or the table that it refuses stands",
  fn: async () => {
    await using lab = await openLab();
    for (
      const [sql, place] of [
        ["SELECT nofn(1)", "line 1, column 8"],
        ["SELECT host,\n  raw || getenv('HOME') FROM svc.events", "line 2, column 10"],
        ["SELECT 'Zürich 東京', getenv('x') FROM events", "line 1, column 21"],
        ["SELECT * FROM events JOIN\n\n nothere USING (host)", "line 3, column 2"],
        ["SELECT count(*) FROM events, read_csv('x')", "line 1, column 30"],
        [
          "WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT x FROM recurring.r) FROM r",
          "line 1, column 54",
        ],
      ] as const
    ) {
      await rejects(lab.query(sql), { message: new RegExp(`^Cannot .* at ${place}: `) }, sql);
    }
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
