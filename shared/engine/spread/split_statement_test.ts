/** Which mode a statement is cut in, and why it is not. */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { SpreadLab } from "../../testing/spread_lab.ts";
import type { Column, ColumnType } from "../../schema/schema.ts";
import { OTHERS_BYTES_MAX, type SpreadMode } from "./types.ts";

const column = (name: string, type: ColumnType, id: number): Column => ({
  ...{ id, name, type, required: false },
});

const EVENTS = {
  name: "events",
  bytes: 2 * OTHERS_BYTES_MAX,
  columns: [column("id", "long", 1), column("host", "string", 2), column("code", "int", 3)],
  rows: `SELECT i::BIGINT AS id, 'h' || i % 3 AS host, (i % 5)::INTEGER AS code
    FROM range(30) AS rows(i)`,
};
const HOSTS = {
  name: "hosts",
  bytes: 1_000,
  columns: [column("host", "string", 1), column("team", "string", 2)],
  rows: "SELECT 'h' || i AS host, 't' || i % 2 AS team FROM range(3) AS rows(i)",
};
const LARGE = {
  name: "large",
  bytes: OTHERS_BYTES_MAX + 1,
  columns: [column("host", "string", 1)],
  rows: "SELECT 'h0' AS host",
};

const CUT: readonly (readonly [mode: SpreadMode, rowsMax: number | undefined, sql: string])[] = [
  ["scan", undefined, "SELECT * FROM events WHERE code > 1"],
  ["scan", undefined, "SELECT host, host FROM events"],
  ["scan", 7, "SELECT id FROM events LIMIT 5 OFFSET 2"],
  ["scan", undefined, "SELECT unnest([id, code]) FROM events"],
  ["scan", undefined, "SELECT id FROM events UNION ALL SELECT code FROM svc.events"],
  ["scan", undefined, "SELECT svc.svc.events.id FROM Svc.svc.events"],
  ["scan", undefined, "SELECT * FROM events e JOIN hosts h USING (host)"],
  [
    "scan",
    undefined,
    "SELECT e.id FROM events e WHERE EXISTS (FROM hosts h WHERE h.host = e.host)",
  ],
  ["ordered_scan", 12, "SELECT id FROM events ORDER BY id DESC LIMIT 2 OFFSET 10"],
  ["ordered_scan", undefined, "SELECT host FROM events ORDER BY code, id DESC NULLS FIRST"],
  ["ordered_scan", 3, "SELECT host FROM events ORDER BY host COLLATE NOCASE, id LIMIT 3"],
  ["ordered_scan", 4, "SELECT *, host FROM events ORDER BY ALL LIMIT 4"],
  ["aggregate", undefined, "SELECT count(*) FROM events"],
  ["aggregate", undefined, "SELECT host, avg(id), stddev(code) FROM events GROUP BY 1"],
  ["aggregate", undefined, "SELECT DISTINCT host FROM events"],
  ["aggregate", undefined, "SELECT host FROM events UNION SELECT host FROM events"],
  [
    "aggregate",
    undefined,
    "SELECT count(DISTINCT host), count(DISTINCT code), sum(id) FROM events",
  ],
  ["aggregate", undefined, "SELECT approx_distinct(id) FILTER (WHERE code > 1) FROM events"],
  [
    "aggregate",
    undefined,
    "SELECT host, code, grouping(host), sum(id) FROM events GROUP BY CUBE (host, code)",
  ],
  [
    "aggregate",
    undefined,
    "SELECT team, count(*) FROM hosts h LEFT JOIN (SELECT 1) ON true JOIN events e USING (host) GROUP BY ALL",
  ],
  [
    "aggregate",
    undefined,
    "WITH a AS (SELECT host, count(*) AS n FROM events GROUP BY host) SELECT x.n FROM a x, a y",
  ],
  ["aggregate", undefined, "SELECT (SELECT max(id) FROM events) + 1 AS n"],
  [
    "scan",
    undefined,
    "SELECT id FROM events WHERE length(host) > (SELECT quantile_disc(length(team), 0.5) FROM hosts)",
  ],
  ["aggregate", 3, "SELECT DISTINCT ON (host) host, id FROM events LIMIT 3"],
  [
    "ordered_aggregate",
    undefined,
    "SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY n DESC LIMIT 2",
  ],
  ["ordered_aggregate", 2, "SELECT DISTINCT host FROM events ORDER BY host LIMIT 2"],
  ["aggregate", undefined, "SELECT host AS a, host AS b, count(*) FROM events GROUP BY a, b"],
  [
    "ship",
    undefined,
    "SELECT host AS a, events.HOST AS b, count(*) FROM events GROUP BY ROLLUP (a, b)",
  ],
  ["ship", undefined, "SELECT median(id) FROM events"],
  ["ship", undefined, "SELECT host, list(id ORDER BY id) FROM events GROUP BY host"],
  ["ship", undefined, "SELECT id, row_number() OVER (ORDER BY id) AS r FROM events QUALIFY r < 5"],
  [
    "ship",
    undefined,
    "SELECT e.host, h.team, quantile_disc(e.id, 0.5) FROM events e JOIN hosts h ON e.host = h.host GROUP BY ALL",
  ],
  ["ship", undefined, "SELECT count(*) FROM (SELECT id FROM events ORDER BY id LIMIT 20%)"],
  ["ship", undefined, "SELECT 'h0' IN (SELECT host FROM events) AS is_there"],
];

const UNCUT: readonly (readonly [reason: RegExp, sql: string])[] = [
  [/^it reads no table$/, "SELECT 1"],
  [/^it reads events more than once$/, "SELECT 1 FROM events a JOIN events b ON a.id = b.id"],
  [
    /^it reads events more than once$/,
    "SELECT host FROM events WHERE id = (SELECT max(id) FROM events)",
  ],
  [/^it reads events more than once$/, "SELECT host FROM events EXCEPT SELECT host FROM events"],
  [/^random\(\) gives another value/, "SELECT random() FROM events"],
  [/^uuid\(\) gives another value/, "SELECT count(*) FROM events WHERE host = uuid()::VARCHAR"],
  [/^age\(\) gives another value/, "SELECT age(TIMESTAMP '2026-01-01') FROM events"],
  [/^reservoir_quantile draws a sample/, "SELECT reservoir_quantile(id, 0.5) FROM events"],
  [/^it draws a sample$/, "SELECT count(*) FROM events TABLESAMPLE 10%"],
  [/^it draws a sample$/, "SELECT id FROM events USING SAMPLE 3"],
  [/^it draws a sample$/, "SELECT id FROM events, (SELECT team FROM hosts USING SAMPLE 2)"],
  [/^it draws a sample$/, "SELECT id FROM events JOIN hosts TABLESAMPLE 2 ROWS USING (host)"],
  [
    /^each server could choose other rows/,
    "SELECT count(DISTINCT n) FROM events, (SELECT n % 7 AS n FROM range(99) r(n) GROUP BY 1 LIMIT 2)",
  ],
  [
    /^each server could choose other rows/,
    "WITH few AS (SELECT host FROM hosts LIMIT 20%) SELECT id FROM events SEMI JOIN few USING (host)",
  ],
  [
    /^each server could choose other rows/,
    "SELECT id FROM events WHERE host IN (SELECT DISTINCT ON (team) host FROM hosts)",
  ],
  [
    /^each server could choose other rows/,
    "SELECT r FROM events JOIN (SELECT host, row_number() OVER () AS r FROM hosts) USING (host)",
  ],
  [
    /^each server could choose other rows/,
    "SELECT t FROM events JOIN (SELECT host, any_value(team) AS t FROM hosts GROUP BY 1) USING (host)",
  ],
  [
    /^each server could choose other rows/,
    "SELECT id FROM events WHERE host = (SELECT arg_max(host, team) FROM hosts)",
  ],
  [/^its LEFT JOIN needs all rows/, "SELECT team FROM hosts LEFT JOIN events USING (host)"],
  [/^its FULL JOIN needs all rows/, "SELECT team FROM events FULL JOIN hosts USING (host)"],
  [/^its ANTI JOIN needs all rows/, "SELECT team FROM hosts ANTI JOIN events USING (host)"],
  [/^its POSITIONAL JOIN needs the order/, "SELECT team FROM events POSITIONAL JOIN hosts"],
  [
    /^each server would read \d+ bytes of large/,
    "SELECT count(*) FROM events JOIN large USING (host)",
  ],
  [
    /brought together with hosts$/,
    "SELECT team FROM hosts WHERE host IN (SELECT host FROM events)",
  ],
  [
    /brought together with hosts$/,
    "SELECT * FROM (SELECT host, count(*) FROM events GROUP BY 1) JOIN hosts USING (host)",
  ],
  [
    /^a part of its UNION reads other rows$/,
    "SELECT host FROM events UNION ALL SELECT host FROM hosts",
  ],
  [/^it has a COLLATE within/, "SELECT host COLLATE NOCASE FROM events"],
  [/^it has a COLLATE beside/, "SELECT min(host COLLATE NOCASE) FROM events"],
  [/^it names a column by its place$/, "SELECT #1 FROM events"],
  [/^it has two columns x /, "SELECT id AS x, code AS x FROM events ORDER BY x"],
  [
    /^a WITH and a table are both called/,
    "WITH events AS (SELECT 1) SELECT id FROM svc.events, events e",
  ],
  [/^it uses the name svc_parts$/, "WITH svc_parts AS (SELECT 1) SELECT id FROM events, svc_parts"],
  [/^its answer needs no row/, "WITH unused AS (SELECT * FROM events) SELECT 1"],
  [
    /^a part of it cannot be asked by itself$/,
    "SELECT team, (SELECT max(id) FROM events e WHERE e.host = h.host) FROM hosts h",
  ],
];

/** Whether rows of a shard may be sent before those of others are there. */
const BY_SHARD: readonly (readonly [isByShard: boolean, sql: string])[] = [
  [true, "SELECT * FROM events WHERE code > 1"],
  [true, "SELECT id FROM events LIMIT 5"],
  [true, "SELECT id FROM events UNION ALL SELECT code FROM svc.events"],
  [false, "SELECT id FROM events LIMIT 5 OFFSET 2"],
  [false, "SELECT id FROM events OFFSET 2"],
  [false, "SELECT id FROM events ORDER BY id"],
  [false, "SELECT count(*) FROM events"],
  [false, "SELECT count(*) FROM (SELECT * FROM events LIMIT 20)"],
  [false, "SELECT id FROM (SELECT * FROM events OFFSET 1) WHERE id > 1"],
  [false, "SELECT host, count(*) FROM (SELECT * FROM events LIMIT 20) GROUP BY host"],
];

/** Too many bytes to ship. */
const SHIP_BYTES_MAX = 1_000;
const UNSHIPPED = [
  "median has no partial form",
  "list has no partial form",
  "a window function needs all rows",
  "its LIMIT is a share of all rows",
  "what is around its subquery needs all rows",
];

Deno.test({
  name: "splitStatement cuts statements by their forms, and says why it does not",
  fn: async (t) => {
    await using lab = await SpreadLab.open([EVENTS, HOSTS, LARGE]);
    await lab.cut("events", 3, "id % 2");
    for (const [mode, rowsMax, sql] of CUT) {
      await t.step(`${mode}: ${sql}`, async () => {
        const split = await lab.split(sql);
        if ("reason" in split) throw new Error(split.reason);
        deepStrictEqual([split.mode, split.rowsMax, split.table], [mode, rowsMax, "events"]);
        const answer = await lab.spread(split, 3);
        const whole = await lab.whole(sql);
        deepStrictEqual(answer.columns, whole.columns);
        strictEqual(answer.rows.length, whole.rows.length);
      });
    }
    for (const [isByShard, sql] of BY_SHARD) {
      await t.step(`${isByShard ? "by shard" : "as a whole"}: ${sql}`, async () => {
        const split = await lab.split(sql);
        if ("reason" in split) throw new Error(split.reason);
        strictEqual(split.isByShard, isByShard);
      });
    }
    for (const [reason, sql] of UNCUT) {
      await t.step(`not cut: ${sql}`, async () => {
        const split = await lab.split(sql);
        ok("reason" in split, JSON.stringify(split));
        match(split.reason, reason);
      });
    }
    await t.step("rows are shipped up to a bound", async () => {
      const reasons = new Set<string>();
      for (const [mode, , sql] of CUT) {
        const split = await lab.split(sql, { shipBytesMax: SHIP_BYTES_MAX });
        strictEqual("reason" in split, mode === "ship", sql);
        if ("reason" in split) {
          reasons.add(split.reason.replace(/, and \d+ bytes of events .*/, ""));
        }
      }
      for (const reason of UNSHIPPED) ok(reasons.has(reason), `${reason}: ${[...reasons]}`);
    });
  },
});

Deno.test({
  name: "splitStatement bounds what workers give by the rows that are wanted",
  fn: async () => {
    await using lab = await SpreadLab.open([EVENTS]);
    const wanted = { rowsMax: 100 };
    const rowsOf = async (sql: string) => {
      const split = await lab.split(sql, wanted);
      return "reason" in split ? split.reason : split.rowsMax;
    };
    strictEqual(await rowsOf("SELECT id FROM events"), 100);
    strictEqual(await rowsOf("SELECT id FROM events ORDER BY id OFFSET 5"), 105);
    strictEqual(await rowsOf("SELECT id FROM events ORDER BY id LIMIT 3"), 3);
    // A subquery's rows are not the answer's.
    strictEqual(await rowsOf("SELECT count(*) FROM (SELECT DISTINCT id FROM events)"), undefined);
    strictEqual(await rowsOf("SELECT count(*) FROM events"), undefined);
  },
});
