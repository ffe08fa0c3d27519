import assert from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";

/** Counts over a table of three rows, however the statement names it. */
const CASES: readonly (readonly [expected: unknown[][], sql: string])[] = [
  [[[3]], `SELECT count(*) FROM svc.events`],
  [[[3, 3]], `SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM svc.events)`],
  [[[9]], `SELECT count(*) FROM events a CROSS JOIN svc.events`],
  [[[3]], `WITH events AS (SELECT 1 AS x) SELECT count(*) FROM svc.Events`],
  [[[1]], `WITH events AS (SELECT * FROM events LIMIT 1) SELECT count(*) FROM events`],
  [
    [[3, 1]],
    `WITH "svc.events" AS (SELECT 1 AS x)
    SELECT (SELECT count(*) FROM svc.events), (SELECT count(*) FROM "svc.events")`,
  ],
  [[["h"]], `SELECT events.host FROM svc.events GROUP BY ALL`],
];

Deno.test({
  name: "nameTables a stored table is found under each of its names, and no WITH stands for it",
  fn: async (t) => {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: 1_000n }, { ns: 2_000n }, { ns: 3_000n }]);
    for (const [expected, sql] of CASES) {
      await t.step(sql, async () => assert.deepEqual((await lab.query(sql)).rows, expected));
    }
  },
});
