import assert from "node:assert/strict";
import { DuckDBInstance } from "@duckdb/node-api";
import { isOperatingError } from "../../base/errors.ts";
import { EngineLab } from "../../testing/engine_lab.ts";

const NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const HOSTS = ["a", "b", "b", "c", "c", "c"];

async function openLab(): Promise<EngineLab> {
  const lab = await EngineLab.open();
  await lab.commit(HOSTS.map((host, at) => ({
    ...{ ns: NS + BigInt(at) * 1_000_000n, host, raw: `line ${at}` },
    attributes: at === 0 ? null : JSON.stringify({ n: at }),
  })));
  return lab;
}

/** Statements, and the rows that they give. */
const CASES: readonly (readonly [sql: string, rows: unknown])[] = [
  ["SHOW TABLES", [["events"], ["query_audit"], ["traces"]]],
  ["DESCRIBE SELECT host, count(*) AS n FROM events GROUP BY host", [
    ["host", "VARCHAR", "YES", null, null, null],
    ["n", "BIGINT", "YES", null, null, null],
  ]],
  ["FROM events SELECT host LIMIT 1", [["a"]]],
  ["PIVOT events ON host IN ('a', 'b', 'c') USING count(*) GROUP BY source", [["s", 1, 2, 3]]],
  ["FROM events PIVOT (count(*) FOR host IN ('c', 'a') GROUP BY source)", [["s", 3, 1]]],
  [
    "SELECT source, x FROM (FROM events PIVOT (count(*) FOR host IN ('c' AS x) GROUP BY source))",
    [["s", 3]],
  ],
  ["UNPIVOT (SELECT host, raw FROM events WHERE host = 'a') ON host, raw", [
    ["host", "a"],
    ["raw", "line 0"],
  ]],
  [
    "PIVOT (SELECT attr_get(attributes, 'n') AS n, source FROM events) ON n IN ('1', '2') USING count(*)",
    [["s", 1, 1]],
  ],
];

Deno.test({
  name: "shown statements, PIVOT and UNPIVOT give their rows",
  async fn() {
    await using lab = await openLab();
    for (const [sql, rows] of CASES) assert.deepEqual((await lab.query(sql)).rows, rows, sql);
    const described = await lab.query("DESCRIBE events");
    assert.deepEqual(described.rows.map(([name, type]) => `${name} ${type}`), [
      "timestamp TIMESTAMP WITH TIME ZONE",
      "timestamp_ns BIGINT",
      ...["host", "source", "sourcetype", "index", "raw", "attributes"].map((name) =>
        `${name} VARCHAR`
      ),
    ]);
    assert.equal(described.stats.rows_scanned, 0);
  },
});

Deno.test({
  name: "SUMMARIZE has what DuckDB's own has of the same rows",
  async fn() {
    await using lab = await openLab();
    const selects = [
      "SELECT * FROM (VALUES (1, 'x', 1.5::DOUBLE, true, DATE '2026-01-01'), (3, NULL, 2.5, false, NULL), " +
      "(NULL, 'y', NULL, NULL, DATE '2026-03-01')) t(i, s, d, b, day)",
      "SELECT 1.25::DECIMAL(9, 2) AS m, TIMESTAMP '2026-01-01 00:00:00' AS at, [1, 2] AS l",
      "SELECT 1 AS none WHERE false",
    ];
    const own = await (await DuckDBInstance.create(":memory:")).connect();
    for (const select of selects) {
      const expected = await own.runAndReadAll(`SUMMARIZE ${select}`);
      const answer = await lab.query(`SUMMARIZE ${select}`);
      assert.deepEqual(answer.columns, expected.columnNames());
      // A list has no order that anybody asks for.
      const known = expected.getRowsJson().filter(([, type]) => !String(type).endsWith("]"));
      const rows = answer.rows.filter(([, type]) => !String(type).endsWith("]"));
      assert.deepEqual(rows.map(texts), known.map(texts), select);
    }
    own.closeSync();
    const scanned = await lab.query("SUMMARIZE events");
    assert.equal(scanned.stats.rows_scanned, HOSTS.length);
    const host = scanned.rows.find(([name]) => name === "host");
    assert.deepEqual(host?.slice(2, 5), ["a", "c", 3]);
  },
});

function texts(row: readonly unknown[]): string[] {
  return row.map((value) =>
    typeof value === "number" || /^\d+\.\d+$/.test(String(value))
      ? String(Number(value))
      : String(value)
  );
}

Deno.test({
  name: "EXPLAIN ANALYZE tells how a statement was served, what it cost, and its plan",
  async fn() {
    await using lab = await openLab();
    const scan = await lab.query("EXPLAIN ANALYZE SELECT raw FROM events WHERE host = 'c'");
    assert.deepEqual(scan.columns, ["name", "value", "unit"]);
    const of = (name: string) => scan.rows.find((row) => row[0] === name)?.[1];
    assert.equal(of("served_by"), "scan");
    assert.equal(of("rows"), "3");
    assert.equal(of("rows_scanned"), String(scan.stats.rows_scanned));
    assert.equal(of("cost.files_to_scan"), "1");
    assert.match(String(of("table events")), /^snapshot \d+, 1 files$/);
    assert(
      scan.rows.some(([name, value]) => name === "plan" && String(value).includes("READ_PARQUET")),
    );
    assert(scan.stats.rows_scanned >= 3);
    const counted = await lab.query("EXPLAIN ANALYZE SELECT count(*) FROM events");
    assert(counted.rows.some(([name, value]) => name === "served_by" && value === "tier1_inline"));
    await assert.rejects(
      lab.query("EXPLAIN ANALYZE SELECT CAST(host AS INTEGER) FROM events"),
      (error) => isOperatingError(error) && error.reason === "statement_failed",
    );
  },
});

Deno.test({
  name: "samples with a seed are the same each time, and are of the rows that are there",
  async fn() {
    await using lab = await EngineLab.open();
    const rows = Array.from({ length: 5_000 }, (_, at) => ({ ns: NS + BigInt(at), raw: `${at}` }));
    await lab.commit(rows);
    for (
      const sample of [
        "SELECT raw FROM events USING SAMPLE reservoir(50 ROWS) REPEATABLE (7)",
        "SELECT raw FROM events TABLESAMPLE reservoir(50 ROWS) REPEATABLE (7) ORDER BY timestamp DESC",
      ]
    ) {
      const [one, other] = [await lab.query(sample), await lab.query(sample)];
      assert.equal(one.rows.length, 50, sample);
      assert.equal(new Set(one.rows.map(String)).size, 50);
      assert.deepEqual(one.rows.map(String).sort(), other.rows.map(String).sort());
    }
    const counted = await lab.query("SELECT count(*) FROM events TABLESAMPLE bernoulli(50%)");
    const count = Number(counted.rows[0]?.[0]);
    assert(count > 2_000 && count < 3_000, `${count} of 5000`);
    assert.equal(counted.stats.served_by, "scan");
    const newest = await lab.query(
      "SELECT raw FROM events TABLESAMPLE bernoulli(50%) ORDER BY timestamp DESC LIMIT 100",
    );
    assert.equal(newest.rows.length, 100);
    // The newest hundred are drawn from about the newest two hundred.
    assert(Number(newest.rows.at(-1)?.[0]) < 4_900);
  },
});

/** Statements that are refused, and what is said to write instead. */
const REFUSED: readonly (readonly [sql: string, remedy: RegExp])[] = [
  ["PIVOT events ON host USING count(*)", /write them: PIVOT t ON column IN/],
  ["SELECT * FROM (PIVOT events ON host USING count(*))", /write them: PIVOT t ON column IN/],
  ["EXPLAIN (FORMAT JSON) SELECT 1", /EXPLAIN ANALYZE SELECT …/],
  ["PREPARE p AS SELECT $1", /"parameters" in the request/],
  ["BEGIN", /leave the transaction out/],
  ["INSERT INTO events VALUES (1)", /POST \/v1\/logs/],
  ["/* one */ -- two\n UPDATE events SET raw = ''", /delete-tasks/],
  ["DROP TABLE events", /delete-tasks/],
  ["ALTER TABLE events ADD COLUMN n INTEGER", /attr_get/],
  ["ATTACH 'other.db'", /SHOW TABLES/],
  ["PRAGMA table_info('events')", /DESCRIBE events/],
  ["COPY events TO 'file.csv'", /"format" in the request/],
];

Deno.test({
  name: "statements that are refused say what to write instead",
  async fn() {
    await using lab = await openLab();
    for (const [sql, remedy] of REFUSED) {
      await assert.rejects(lab.query(sql), (error) => {
        assert(isOperatingError(error, "invalid_argument"), sql);
        assert.equal(error.reason, "not_one_select", sql);
        assert.match(error.message, remedy, sql);
        return true;
      });
    }
  },
});
