import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";

const START_NS = 1_790_000_000_000_000_000n;

/** Each is written anew when it has a semicolon before its end. */
const STATEMENTS = [
  "SELECT 0.1e0",
  "SELECT 1e3, -1e3, 1e300, 5e-324, 0.1",
  "SELECT i * 0.1e0 FROM range(3) AS t(i)",
  "SELECT sum(0.1e0) FROM range(10)",
  "SELECT 0.12345678901234568e0 AS x, 1.7976931348623157e308",
  "SELECT i * 1e0 FROM range(3) AS t(i) GROUP BY i * 1e0 ORDER BY i * 1e0 DESC",
  'SELECT "(i * 0.5)" + 1 FROM (SELECT i * 0.5e0 FROM range(2) AS t(i))',
  "SELECT (SELECT 2e0), [1e0, 2], {'a': 3e0}, CASE WHEN true THEN 1e1 END",
  "WITH a AS (SELECT 0.1e0) SELECT * FROM a UNION ALL SELECT 2e0",
  "SELECT * FROM (VALUES (1e0), (2e0)) AS v(x) WHERE x > 1.5e0 LIMIT 1e1",
  "SELECT quantile_cont(i, 0.5e0) FROM range(9) AS t(i)",
  "SELECT COLUMNS(*) * 2e0 FROM (SELECT 1 AS a, 2 AS b)",
  "SELECT coalesce(*COLUMNS(*), 2e0), max(COLUMNS('a')) + 1e0 FROM (SELECT 1 AS a, 2 AS b) GROUP BY a, b",
  'SELECT "COALESCE(t.a, 2.0)" FROM (SELECT coalesce(*COLUMNS(*), 2e0) FROM (SELECT 1 AS a) AS t)',
  "SELECT 'it''s 0.1e0', 1e2::VARCHAR",
  "SELECT -2e0 ^ 2, 1 - -2e0, - 2e0 * 3, abs(-1e0), -0.0e0",
  "SELECT 'double 1', 'a double 2', 1e0, 'x''' || 3e0 || '''double 4'",
];

Deno.test("doubles of a statement that is written anew stay doubles, under the names that they had", async (t) => {
  await using lab = await EngineLab.open();
  for (const sql of STATEMENTS) {
    await t.step(sql, async () => {
      const { columns, types, texts } = await lab.query(sql);
      const anew = await lab.query(`${sql}; -- end`);
      deepStrictEqual(anew.types, types);
      deepStrictEqual(anew.texts, texts);
      deepStrictEqual(anew.columns, columns);
    });
  }
});

Deno.test("a column with a double and a call that is exchanged is named after what was written", async () => {
  await using lab = await EngineLab.open();
  await lab.commit([{ ns: START_NS, raw: "some words" }]);
  const { columns, types, texts } = await lab.query(
    "SELECT match_any(raw, 'words') AND timestamp_ns * 0.1e0 > 1 FROM events",
  );
  deepStrictEqual(columns, ["(match_any(raw, 'words') AND ((timestamp_ns * 0.1) > 1))"]);
  deepStrictEqual([types, texts], [["BOOLEAN"], ["[true]"]]);
});

Deno.test("doubles stay doubles where the implicit order was added, and errors point at them", async () => {
  await using lab = await EngineLab.open();
  await lab.commit([{ ns: START_NS }, { ns: START_NS + 1_000n }]);
  const sql = "SELECT timestamp_ns * 0.1e0 FROM events";
  const { columns, types, texts } = await lab.query(sql, { defaultOrder: true });
  deepStrictEqual(columns, ["(timestamp_ns * 0.1)"]);
  deepStrictEqual(types, ["DOUBLE"]);
  strictEqual(texts.length, 2);
  const wrong = lab.query("SELECT host,\n 0.1e0 + nope FROM events", { defaultOrder: true });
  match(
    String(await wrong.catch((error) => error)),
    /nope[^]*LINE 2: {2}0\.1e0 \+ nope FROM events\n {17}\^/,
  );
});
