/**
 * Calls of times as they are written and as they are exchanged, side by side in DuckDB. Values,
 * types and errors are the same over instants of all kinds, and over times without a zone.
 */

import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import assert from "node:assert/strict";
import {
  nodeAt,
  nodesAt,
  parseTree,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { DIALECT_SETUP } from "./dialect.ts";
import { exchangeTimeCalls } from "./utc_calls.ts";

/**
 * Microseconds: within the years that are exchanged, around Christ's birth, and as far as instants
 * go.
 */
const INSTANTS = `
  SELECT make_timestamptz(us) AS t, make_timestamptz((hash(us) % 4000000000000000)::BIGINT) AS u FROM (
    SELECT (hash(i) % 4000000000000000)::BIGINT - 1000000000000000 AS us FROM range(400) AS near(i)
    UNION ALL SELECT (hash(i, 1) % 120000000000000000)::BIGINT - 61000000000000000 FROM range(200) AS far(i)
    UNION ALL SELECT (i * 86400000000) + (hash(i) % 3)::BIGINT - 1 FROM range(-700, 700, 7) AS edges(i)
    UNION ALL SELECT unnest([0, 1, -1, 59999999, -60000000, 951782400000000, -62135596800000000,
      -62135596800000001, -62167219200000001, -12219292800000000, -9223372036854775, 9223372036854775, 253402214400000000, 253402214400000001])
  ) UNION ALL SELECT NULL, NULL
  UNION ALL SELECT TIMESTAMPTZ 'infinity', TIMESTAMPTZ '2026-01-01 00:00:00Z'
  UNION ALL SELECT TIMESTAMPTZ '-infinity', TIMESTAMPTZ 'infinity'`;

const UNITS = [
  ...["microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter"],
  ...["year", "decade", "century", "millennium", "isoyear"],
];

const STRIDES = [
  ...["7 seconds", "90 minutes", "1 day", "10 days", "1 week", "1 month", "5 months", "1 quarter"],
  ...["1 year", "7 years", "0 days", "-1 hour", "1 month 2 days", "1 day 3 hours"],
];

const INTERVALS = [
  "1 hour",
  "-90 minutes",
  "1 day",
  "40 days",
  "1 month",
  "13 months",
  "100 years",
];

/** Expressions of `t`, and of `u`. */
const OF_ONE = [
  ...UNITS.flatMap((unit) => [`date_trunc('${unit}', t)`, `date_part('${unit}', t)`]),
  ...["dow", "isodow", "doy", "yearweek", "days", "epoch", "era"].map((part) =>
    `date_part('${part}', t)`
  ),
  "extract(month FROM t)",
  "datetrunc('month', t)",
  ...["year", "month", "day", "decade", "century", "millennium", "quarter", "week", "weekofyear"]
    .map((name) => `${name}(t)`),
  ...["weekday", "dayofweek", "isodow", "isoyear", "dayofyear", "dayofmonth", "yearweek", "hour"]
    .map((name) => `${name}(t)`),
  ...["minute", "second", "millisecond", "microsecond", "last_day", "dayname", "monthname"]
    .map((name) => `${name}(t)`),
  "strftime(t, '%Y-%m-%dT%H:%M:%S.%f %a %A %b %B %c %d %I %j %p %U %u %V %G %W %w %x %X %y %-m %% %g')",
  "strftime(t, '%H %Z')",
  "t AT TIME ZONE 'UTC'",
  "t AT TIME ZONE 'Europe/Berlin'",
  ...["DATE", "TIMESTAMP", "VARCHAR", "TIMESTAMP_NS"].map((type) => `t::${type}`),
  "TRY_CAST(t AS DATE)",
  ...INTERVALS.flatMap((i) => [`t + INTERVAL '${i}'`, `t - INTERVAL '${i}'`]),
  "t + INTERVAL 5 MONTH",
  "t - INTERVAL '1 year 2 months 3 days 4 hours'",
  "date_trunc('day', t + INTERVAL '2 hours')",
  "strftime(date_trunc('month', t - INTERVAL '1 day'), '%Y-%m')",
  ...STRIDES.flatMap((stride) => [
    `time_bucket(INTERVAL '${stride}', t)`,
    `time_bucket(INTERVAL '${stride}', t, TIMESTAMP '2020-02-29 12:34:56.789')`,
    `time_bucket(INTERVAL '${stride}', t, INTERVAL '3 days')`,
  ]),
  "time_bucket(INTERVAL '1 month', t, 'Europe/Berlin')",
  ...["5 minutes", "1 month", "10 days", "01:30:00"].flatMap((stride) => [
    `time_bucket('${stride}', t)`,
    `time_bucket(INTERVAL '${stride}', t)`,
    `t + INTERVAL '${stride}'`,
  ]),
  "time_bucket('1 hour', t, TIMESTAMP '2020-02-29 12:34:56.789')",
  "strftime('%Y-%m-%d %H:%M', t)",
  "strftime('%Y-%m-%d %Z', t)",
  "date_trunc('hour', CASE WHEN hour(t) > 3 THEN t END)",
  "date_trunc('hour', CASE WHEN hour(t) > 3 THEN t ELSE t - INTERVAL '1 day' END)",
  "date_trunc('hour', greatest(t, t - INTERVAL '1 day'))",
  "date_trunc('day', date_trunc('hour', t))",
];

const OF_TWO = [
  "CASE WHEN isfinite(t) AND isfinite(u) THEN t - u END",
  "age(t, u)",
  // ISO years are what the calendar falls over, whatever the instants are.
  ...UNITS.filter((unit) => unit !== "isoyear").flatMap((unit) => [
    `date_diff('${unit}', t, u)`,
    `date_sub('${unit}', t, u)`,
  ]),
  "CASE WHEN isfinite(t) THEN t - TIMESTAMPTZ '2020-02-29 12:34:56.789Z' END",
  "CASE WHEN isfinite(t) THEN t - '2020-02-29' END",
];

interface Lab extends AsyncDisposable {
  /** Without this service's macros. */
  readonly plain: DuckDBConnection;
  readonly dialect: DuckDBConnection;
  /** A statement as it is run. */
  exchanged(sql: string): Promise<string>;
}

async function openLab(): Promise<Lab> {
  const [plainOnes, ours] = [
    await DuckDBInstance.create(":memory:"),
    await DuckDBInstance.create(":memory:"),
  ];
  const [plain, dialect] = [await plainOnes.connect(), await ours.connect()];
  for (const connection of [plain, dialect]) {
    await connection.run("SET TimeZone = 'UTC'");
    await connection.run(`CREATE TABLE times AS ${INSTANTS}`);
  }
  for (const sql of DIALECT_SETUP) await dialect.run(sql);
  const text = async (sql: string, value: string) => {
    const reader = await dialect.runAndReadAll(sql, [value]);
    return String(reader.getRows()[0]?.[0]);
  };
  return {
    plain,
    dialect,
    async exchanged(sql) {
      const document = parseTree(await text("SELECT json_serialize_sql($1::VARCHAR)", sql));
      const root = nodeAt(nodesAt(document, "statements")[0] ?? {}, "node") ?? {};
      const instants = instantsBelow(root);
      await exchangeTimeCalls(root, {
        instants: () => instants,
        textOf: () => Promise.resolve(""),
        isNamedApart: true,
      });
      return await text("SELECT json_deserialize_sql($1::JSON)", JSON.stringify(document));
    },
    [Symbol.asyncDispose]() {
      for (const connection of [plain, dialect]) connection.closeSync();
      for (const instance of [plainOnes, ours]) instance.closeSync();
      return Promise.resolve();
    },
  };
}

/** `t` and `u` of `times`. */
function instantsBelow(root: TreeNode): ReadonlySet<TreeNode> {
  const found = new Set<TreeNode>();
  walk(root, (node) => {
    if (textAt(node, "class") === "COLUMN_REF") found.add(node);
  });
  return found;
}

/** Rows as texts with their types, or that it fails: what with differs. */
async function outcome(connection: DuckDBConnection, sql: string): Promise<string> {
  try {
    const reader = await connection.runAndReadAll(
      `SELECT typeof(x), count(*), md5(string_agg(coalesce(x::VARCHAR, 'null'), ' ' ORDER BY n)) ` +
        `FROM (${sql}) GROUP BY ALL`,
    );
    return JSON.stringify(reader.getRowsJson());
  } catch (error) {
    assert.doesNotMatch(String(error), /INTERNAL|FATAL|Parser/);
    return "fails";
  }
}

function statement(expression: string, from: string): string {
  return `SELECT ${expression} AS x, row_number() OVER () AS n FROM ${from}`;
}

Deno.test("times as they are exchanged are what DuckDB makes of them", async (t) => {
  await using lab = await openLab();
  let answered = 0;
  for (const expression of [...OF_ONE, ...OF_TWO]) {
    await t.step(expression, async () => {
      const sql = statement(expression, "times");
      const expected = await outcome(lab.plain, sql);
      assert.equal(await outcome(lab.dialect, await lab.exchanged(sql)), expected);
      if (expected.startsWith("[")) answered += 1;
    });
  }
  // Strides that mix units, and are not positive, have no buckets.
  assert.ok(answered > 130, `only ${answered} have values`);
});

Deno.test("differences of far instants do not cost the database", async () => {
  await using lab = await openLab();
  const far = ["290309-12-22 (BC) 00:00:00Z", "294247-01-10 04:00:54Z", "2026-01-01 00:00:00Z"];
  for (const name of ["date_diff", "datediff", "date_sub", "datesub"]) {
    for (const unit of UNITS.filter((unit) => unit !== "isoyear")) {
      for (const [one, other] of far.flatMap((t) => far.map((u) => [t, u]))) {
        const sql = await lab.exchanged(
          `SELECT ${name}('${unit}', TIMESTAMPTZ '${one}', TIMESTAMPTZ '${other}')`,
        );
        await lab.dialect.run(sql)
          .catch((error) => assert.doesNotMatch(String(error), /INTERNAL|FATAL/));
      }
    }
  }
  await lab.dialect.run("SELECT 1");
});

Deno.test("differences by ISO year, era or a computed unit are refused", async () => {
  await using lab = await EngineLab.open();
  await lab.commit([{ ns: 1_790_000_000_000_000_000n, raw: "isoyear" }]);
  const times = "timestamp, timestamp - INTERVAL '3 years'";
  for (const unit of ["'isoyear'", "'ISOYEAR'", "'era'", "raw"]) {
    for (const name of ["date_diff", "datediff", "date_sub", "datesub"]) {
      const sql = `SELECT ${name}(${unit}, ${times}) FROM events`;
      await assert.rejects(lab.query(sql), { reason: "refused_function" }, sql);
    }
  }
  assert.deepEqual((await lab.query(`SELECT date_diff('year', ${times}) FROM events`)).rows, [[
    -3,
  ]]);
});

Deno.test("columns of a stored table are instants through WITH, subqueries, aliases and joins", async () => {
  await using lab = await EngineLab.open();
  await lab.commit([{ ns: 1_790_000_000_000_000_000n, raw: "one" }]);
  const statements: [sql: string, isExchanged: boolean][] = [
    ["SELECT date_bin('1 month', timestamp) FROM events", true],
    ["SELECT time_bucket(INTERVAL '1 month', e.timestamp) FROM events e", true],
    ["SELECT date_trunc('month', t) FROM (SELECT timestamp AS t, raw FROM events)", true],
    ["WITH w AS (SELECT * FROM events) SELECT hour(timestamp) FROM w", true],
    ["SELECT a.timestamp - lag(a.timestamp) OVER () FROM events a, events b", true],
    ["SELECT date_diff('day', min(timestamp), max(timestamp)) FROM events", true],
    [
      "SELECT date_trunc('month', t) FROM (SELECT TIMESTAMP '2026-01-01' + INTERVAL 1 DAY AS t FROM events)",
      false,
    ],
    [
      "SELECT hour(timestamp) FROM events JOIN (SELECT DATE '2026-01-01' AS timestamp) USING (timestamp)",
      false,
    ],
    ["SELECT raw FROM events WHERE date_trunc('day', timestamp) = '2026-09-21'", false],
    ["SELECT raw FROM events WHERE date_trunc('day', timestamp) = date_trunc('day', now())", false],
    ["SELECT raw FROM events WHERE date_trunc('day', timestamp) = timestamp", true],
    [
      "SELECT raw FROM events e WHERE EXISTS (SELECT 1 FROM events f " +
      "WHERE date_trunc('day', f.timestamp) = date_trunc('day', e.timestamp))",
      true,
    ],
    [
      "SELECT date_trunc('hour', t) FROM (SELECT max(timestamp) AS t, raw FROM events GROUP BY raw)",
      true,
    ],
    [
      "SELECT date_trunc('hour', t) FROM (SELECT timestamp AS t FROM events " +
      "UNION ALL SELECT timestamp - INTERVAL '1 day' FROM events)",
      true,
    ],
    [
      "SELECT date_trunc('hour', t) FROM (SELECT timestamp AS t FROM events " +
      "UNION ALL SELECT timestamp::TIMESTAMP FROM events)",
      false,
    ],
    [
      "WITH w(t) AS (SELECT CASE WHEN raw = 'one' THEN timestamp END FROM events) " +
      "SELECT max(strftime('%H', t)) FROM w GROUP BY ALL",
      true,
    ],
    ["SELECT max(raw) FROM events GROUP BY time_bucket('5 minutes', timestamp)", true],
  ];
  for (const [sql, isExchanged] of statements) {
    const plan = (await lab.query(`EXPLAIN ${sql}`)).rows[0]?.[0];
    assert.equal(/epoch_us/.test(String(plan)), isExchanged, `${sql}\n${plan}`);
  }
});

Deno.test("bins of months, differences and truncations take a fraction of the calendar's time", async () => {
  await using lab = await openLab();
  await lab.dialect.run(
    "CREATE TABLE rows AS SELECT make_timestamptz(1790000000000000 + i * 7000013) AS t FROM range(15000) AS r(i)",
  );
  // What they take is 20 to 300 times as long; the bound leaves room for a busy machine.
  for (
    const expression of [
      "time_bucket(INTERVAL '1 month', t)",
      "date_bin('1 month', t)",
      "date_bin('1 month', t, TIMESTAMP '2026-01-01')",
      "t - TIMESTAMPTZ '2026-01-01 00:00:00Z'",
    ]
  ) {
    const sql = `SELECT max(${expression}) FROM rows`;
    const took = async (text: string) => {
      const startMs = performance.now();
      await lab.dialect.run(text);
      return performance.now() - startMs;
    };
    const exchanged = await lab.exchanged(sql);
    const ours = Math.min(await took(exchanged), await took(exchanged), await took(exchanged));
    assert.ok(ours * 4 < await took(sql), `${expression} takes ${ours} ms`);
  }
});
