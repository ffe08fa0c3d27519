/** Predicates of delete tasks: what is one, what is none, and where it says so. */

import assert from "node:assert/strict";
import { isOperatingError } from "../../base/errors.ts";
import { EngineLab } from "../../testing/engine_lab.ts";

const NS = 1_763_700_000_000_000_000n;

/** Predicates over rows of `events` that are taken. */
const TAKEN: readonly string[] = [
  "host = 'a'",
  "true",
  "\n  host = 'a' -- all of it\n",
  "host IN ('a', 'b') AND raw LIKE '%x%' OR NOT (source IS NULL)",
  "attr_get(attributes, 'user.id') = '7'",
  "match_terms(raw, 'boom bang')",
  "match(raw, 'boom')",
  "timestamp >= TIMESTAMPTZ '2026-11-20 00:00:00Z' AND timestamp_ns % 2 = 0",
  "timestamp BETWEEN '2026-11-20' AND '2026-11-21'",
  "events.host = 'a'",
  "\"index\" = 'main'",
  "regexp_matches(raw, '^(a|b)+$')",
  "CASE WHEN host = 'a' THEN true ELSE false END",
  "raw = 'it''s; -- no /* comment'",
  "age(timestamp, TIMESTAMPTZ '2026-11-20 00:00:00Z') > INTERVAL 1 DAY",
];

/** With what the message must say. */
const REFUSED: readonly (readonly [string, RegExp])[] = [
  ["", /empty/],
  [" \n\t", /empty/],
  ["-- host = 'a'", /syntax error/],
  ["host = 'a' OR", /syntax error .*line 1/],
  ["true AND\n  host = = 'a'", /syntax error .*at line 2, column 10/],
  ["host = 'a') OR (true", /syntax error/],
  ["host = 'a'; DROP TABLE events", /without a ;|syntax/],
  ["host = 'a'; SELECT 1", /without a ;/],
  ["true ORDER BY 1", /ORDER BY/],
  ["true LIMIT 0", /LIMIT/],
  ["true GROUP BY host", /GROUP BY/],
  ["true HAVING false", /HAVING/],
  ["true QUALIFY true", /QUALIFY/],
  ["true USING SAMPLE 10%", /SAMPLE/],
  ["true UNION SELECT 1", /UNION/],
  ["true UNION ALL SELECT secret FROM other", /UNION/],
  ["host IN (SELECT host FROM events)", /subquery.*line 1, column 6/],
  ["EXISTS (SELECT 1 FROM traces)", /subquery/],
  ["host = (FROM traces SELECT name LIMIT 1)", /subquery/],
  ["\n row_number() OVER () > 1", /window .*line 2, column/],
  ["count(*) > 1", /aggregate/],
  ["COLUMNS(*) IS NOT NULL", /name the columns/],
  ["#1 IS NULL", /position/],
  ["host = $1", /parameter/],
  ["host = ?", /parameter/],
  ["random() < 0.5", /random .*line 1, column 1/],
  ["timestamp < now() - INTERVAL 1 DAY", /now .*column 13/],
  ["timestamp < current_timestamp", /current_timestamp|get_current_timestamp/],
  ["timestamp < CURRENT_DATE", /current_date at line 1, column 13/i],
  ["age(timestamp) > INTERVAL 1 DAY", /age/],
  ["uuid() = host", /uuid/],
  ["read_text('/etc/passwd') IS NOT NULL", /read_text/],
  ["getenv('HOME') = host", /getenv/],
  ["current_setting('threads') = 1", /current_setting/],
  ["query('DROP TABLE x') IS NULL", /query/],
  ["current_user = 'x'", /current_user/],
  ["main.read_blob('x') IS NULL", /read_blob/],
  ["system.main.getenv('HOME') = host", /getenv/],
  ["nosuch = 1", /nosuch/],
  ["traces.name = 'x'", /traces/],
  ["file_row_number > 1", /file_row_number/],
  ["filename = 'x'", /filename/],
  ["host", /VARCHAR/],
  ["timestamp_ns + 1", /BIGINT/],
  ["NULL", /true or false/],
  ["host = 1 AND length(timestamp) > 1", /length/],
  [`host = '${"x".repeat(70_000)}'`, /at most 65536/],
  [`${"(".repeat(500)}true${")".repeat(500)} AND ${"NOT ".repeat(400)}true`, /nested|stack|depth/],
];

Deno.test({
  name: "checkPredicate takes boolean expressions over the table's columns",
  async fn(t) {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: NS }]);
    for (const predicate of TAKEN) {
      await t.step(predicate, async () => {
        const { tableUuid } = await check(lab, predicate);
        assert.match(tableUuid ?? "", /^[0-9a-f-]{36}$/);
      });
    }
  },
});

Deno.test({
  name: "checkPredicate refuses whatever is more or less than that, and says where",
  async fn(t) {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: NS }]);
    for (const [predicate, message] of REFUSED) {
      await t.step(predicate.slice(0, 60), async () => {
        await assert.rejects(check(lab, predicate), (error: unknown) => {
          assert(isOperatingError(error, "invalid_argument"), String(error));
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /parquet|SELECT 1 FROM/);
          return true;
        });
      });
    }
    const still = await lab.query("SELECT count(*) FROM events");
    assert.deepEqual(still.rows, [[1]]);
  },
});

Deno.test({
  name: "checkPredicate quotes the predicate where a column is unknown",
  async fn() {
    await using lab = await EngineLab.open();
    await assert.rejects(check(lab, "host = 'a'\nAND nosuch = 1"), (error: unknown) => {
      assert(isOperatingError(error, "invalid_argument"), String(error));
      assert.match(error.message, /LINE 2: AND nosuch = 1\n {12}\^/);
      return true;
    });
  },
});

Deno.test({
  name: "checkPredicate knows built-in tables before their first commit, and no others",
  async fn() {
    await using lab = await EngineLab.open();
    assert.deepEqual(await check(lab, "name = 'x'", "traces"), { tableUuid: undefined });
    for (const table of ["nosuch", 'x" WHERE true; --', "svc.events"]) {
      await assert.rejects(
        check(lab, "true", table),
        (error: unknown) =>
          isOperatingError(error, "not_found") && error.reason === "unknown_index" &&
          !/at line/.test(error.message),
      );
    }
  },
});

Deno.test({
  name: "checkPredicate sees the tables of its namespace alone",
  async fn() {
    await using lab = await EngineLab.open();
    await lab.commitRows([{ timestamp: NS / 1000n, timestamp_ns: NS }], {
      ident: { namespace: "acme", name: "orders" },
      schema: {
        columns: [
          { id: 1, name: "timestamp", type: "timestamptz", required: true },
          { id: 2, name: "timestamp_ns", type: "long", required: true },
        ],
        tags: [],
      },
    });
    await assert.rejects(check(lab, "true", "orders"), /there is no such table/);
    const found = await lab.engine.checkPredicate({
      predicate: "true",
      namespace: "acme",
      tenant: "acme",
      table: "orders",
      deadlineMs: 20_000,
    });
    assert.notEqual(found.tableUuid, undefined);
  },
});

function check(lab: EngineLab, predicate: string, table = "events") {
  return lab.engine.checkPredicate({
    predicate,
    namespace: "svc",
    tenant: "default",
    table,
    deadlineMs: 20_000,
  });
}
