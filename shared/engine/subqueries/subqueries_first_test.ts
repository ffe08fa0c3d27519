/** Which state subqueries read, which slots they hold, and what is told of them. */

import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { assert } from "../../base/assert.ts";
import { textOf } from "../../base/bytes.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import type { QueryRequest } from "../types.ts";
import type { FirstPolicy } from "./subqueries_first.ts";

const ALWAYS: FirstPolicy = { secsMin: 0, shareMax: Infinity };

/** `parts` are the statements that were run for a statement, which calls `onPart` before each. */
async function openLab(onPart: () => Promise<void> = () => Promise.resolve()) {
  const lab = await EngineLab.open({ engine: { subqueriesFirst: ALWAYS } });
  const parts: QueryRequest[] = [];
  const prepare = lab.engine.prepare.bind(lab.engine);
  lab.engine.prepare = async (request) => {
    if (request.frozen !== undefined) {
      parts.push(request);
      await onPart();
    }
    return await prepare(request);
  };
  return { lab, parts };
}

Deno.test("a statement and its subqueries read one state of the table", async () => {
  let ns = 100n;
  const { lab, parts } = await openLab(() => lab.commit([{ ns: ns++, raw: "late", host: "a" }]));
  await using _lab = lab;
  await lab.commit([{ ns: 1n, raw: "x", host: "a" }, { ns: 2n, raw: "y", host: "b" }]);
  const sql = "SELECT count(*) FROM events WHERE host IN (SELECT host FROM events WHERE raw = 'x')";
  deepStrictEqual((await lab.query(sql)).rows, [[1]]);
  strictEqual(parts.length, 2);
  deepStrictEqual((await lab.query(sql)).rows, [[3]]);
});

Deno.test("now() is one moment of a statement and its subqueries", async () => {
  const { lab, parts } = await openLab();
  await using _lab = lab;
  await lab.commit([{ ns: 1n, raw: "x" }]);
  const now = "(epoch_ms(now()))::BIGINT";
  const sql = `SELECT ${now} FROM events WHERE ${now} = (SELECT max(${now}) FROM events)`;
  strictEqual((await lab.query(sql)).rows.length, 1);
  strictEqual(parts.length, 2);
  const random = "SELECT raw FROM events WHERE raw IN (SELECT raw FROM events WHERE random() < 2)";
  deepStrictEqual((await lab.query(random)).rows, [["x"]]);
  strictEqual(parts.length, 2, "what differs each time is run within the statement");
});

Deno.test("a subquery of many rows is run within the statement", async () => {
  const { lab, parts } = await openLab();
  await using _lab = lab;
  await lab.commit(Array.from({ length: 10_001 }, (_, at) => ({ ns: BigInt(at), raw: "r" })));
  const sql = "SELECT count(*) FROM events WHERE raw IN (SELECT raw FROM events)";
  deepStrictEqual((await lab.query(sql)).rows, [[10_001]]);
  strictEqual(parts.length, 1);
  deepStrictEqual((await lab.query(`${sql} AND raw = (SELECT min(raw) FROM events)`)).rows, [[
    10_001,
  ]]);
  strictEqual(parts.length, 4, "the rest has not run it once more");
});

Deno.test("a query of WITH that is named twice is run once", async () => {
  const { lab, parts } = await openLab();
  await using _lab = lab;
  await lab.commit([{ ns: 1n, raw: "x", host: "a" }, { ns: 2n, raw: "y", host: "b" }]);
  const sql = "WITH a AS (SELECT host FROM events WHERE raw = 'x') SELECT e.raw FROM events e " +
    "JOIN a ON e.host = a.host JOIN a AS b ON e.host = b.host";
  deepStrictEqual((await lab.query(sql)).rows, [["x"]]);
  strictEqual(parts.length, 2);
});

Deno.test("a query of WITH that a list stands for is gone, and the list is looked up", async () => {
  const { lab } = await openLab();
  await using _lab = lab;
  for (const host of ["a", "b"]) await lab.commit([{ ns: 1n, raw: "x", host }], { derived: true });
  const sql = "WITH a AS (SELECT max(host) AS h FROM events), b AS (SELECT h FROM a) " +
    "SELECT raw FROM events WHERE host IN (SELECT h FROM b)";
  const { rows, stats } = await lab.query(sql, { fastPaths: false });
  deepStrictEqual(rows, [["x"]]);
  strictEqual(stats.scan?.files_planned, 1);
});

Deno.test("columns and the order of rows are those of the whole statement", async () => {
  const { lab, parts } = await openLab();
  await using _lab = lab;
  await lab.commit([{ ns: 1n, raw: "x", host: "a" }, { ns: 2n, raw: "y", host: "a" }]);
  const few = "FROM events WHERE host IN (SELECT host FROM events)";
  // The name is made of the statement's text, in which DuckDB writes the type anew.
  const named = `SELECT INTERVAL 1 DAY ${few} LIMIT 1`;
  const within = await lab.query(named, { subqueriesFirst: false });
  deepStrictEqual((await lab.query(named)).columns, within.columns);
  strictEqual(parts.length, 2);
  const sql = `WITH a AS (SELECT host AS h ${few}) SELECT raw FROM events ` +
    "WHERE host IN (SELECT h FROM a)";
  await using prepared = await lab.prepare(sql, { defaultOrder: true });
  strictEqual(prepared.defaultOrderApplied, false);
  await prepared.turn();
  strictEqual(parts.at(-1)?.defaultOrder, false);
});

Deno.test("EXISTS stays as it is where its subquery is not run first", async () => {
  const { lab, parts } = await openLab();
  await using _lab = lab;
  await lab.commit([{ ns: 7n, raw: "x", host: "007" }]);
  const sql = "SELECT e.raw FROM events e WHERE e.host IN (SELECT host FROM events) AND " +
    "EXISTS (SELECT 1 FROM events f WHERE f.timestamp_ns = e.host::BIGINT)";
  deepStrictEqual((await lab.query(sql)).rows, [["x"]]);
  assert(parts.at(-1)?.sql.includes("EXISTS"));
});

Deno.test("a statement that is disposed of ends its subquery", async () => {
  const { lab } = await openLab();
  await using _lab = lab;
  await lab.commit(Array.from({ length: 9_000 }, (_, at) => ({ ns: BigInt(at), raw: `r${at}` })));
  const prepared = await lab.prepare(
    "SELECT raw FROM events WHERE raw = (SELECT max(a.raw || b.raw || c.raw) FROM events a, " +
      "events b, events c)",
  );
  const failed = rejects(prepared.run(), /went away/);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await prepared[Symbol.asyncDispose]();
  assert(lab.engine.isIdle);
  await failed;
});

Deno.test("rows that a subquery found are looked up, and both are in the statistics", async () => {
  const { lab } = await openLab();
  await using _lab = lab;
  const row = (at: number) => ({ ns: BigInt(at) * 1_000_000_000n, raw: `r${at}` });
  for (let at = 0; at < 4; at += 1) await lab.commit([row(2 * at), row(2 * at + 1)]);
  const sql = "SELECT raw FROM events WHERE timestamp >= (SELECT max(timestamp) FROM events)";
  const first = await lab.query(sql, { fastPaths: false });
  deepStrictEqual(first.rows, [["r7"]]);
  strictEqual(first.stats.scan?.files_planned, 1, "the file of that time");
  strictEqual(first.stats.rows_scanned, 10, "of the subquery and of the rest");
  const within = await lab.query(sql, { fastPaths: false, subqueriesFirst: false });
  deepStrictEqual(within.rows, [["r7"]]);
  strictEqual(within.stats.scan?.files_planned, 4);
});

Deno.test("statements that wait for their subqueries hold no slot", async () => {
  const { lab } = await openLab();
  await using _lab = lab;
  await lab.commit([{ ns: 1n, raw: "x", host: "a" }]);
  const sql = "SELECT raw FROM events WHERE host IN (SELECT host FROM events)";
  const analyzed = `EXPLAIN ANALYZE ${sql}`;
  const asked = Array.from({ length: 24 }, (_, at) => lab.query(at % 2 === 0 ? sql : analyzed));
  strictEqual((await Promise.all(asked)).length, 24);
  deepStrictEqual(lab.engine.waiting(), { light: 0, dear: 0, batch: 0, shard: 0 });
});

Deno.test("errors of a subquery are those of its statement", async () => {
  const { lab } = await openLab();
  await using _lab = lab;
  await lab.commit([{ ns: 1n, raw: "x", host: "a" }, { ns: 2n, raw: "y", host: "a" }]);
  const failing = [
    ["SELECT 1 FROM events WHERE host = (SELECT host FROM events)", /More than one row/],
    ["SELECT 1 FROM events WHERE host IN (SELECT raw::INTEGER::VARCHAR FROM events)", /INT32/],
    ["SELECT 1 FROM events WHERE host IN (SELECT nope FROM events)", /nope/],
  ] as const;
  for (const [sql, message] of failing) {
    await rejects(lab.query(sql), (error: Error) => {
      assert(message.test(error.message), error.message);
      return true;
    });
  }
});

Deno.test("EXPLAIN ANALYZE counts the time of subqueries", async () => {
  const { lab } = await openLab(() => new Promise((done) => setTimeout(done, 50)));
  await using _lab = lab;
  await lab.commit([{ ns: 1n, raw: "x", host: "a" }]);
  const sql = "SELECT raw FROM events WHERE host IN (SELECT host FROM events)";
  await using prepared = await lab.prepare(`EXPLAIN ANALYZE ${sql}`);
  await prepared.turn();
  await using running = await prepared.run();
  let text = "";
  for await (const chunk of running.chunks("objects")) text += textOf(chunk.bytes());
  const micros = Number(/"run_micros","value":"(\d+)"/.exec(text)?.[1]);
  assert(micros >= 100_000, `${micros} microseconds, of two parts`);
});

Deno.test("a name that an item of the SELECT takes over is not that of a column", async () => {
  const { lab } = await openLab();
  await using _lab = lab;
  await lab.commit([
    { ns: 1_000_000_000n, raw: "p", host: "a" },
    { ns: 2_000_000_000n, raw: "q", host: "a" },
  ]);
  for (const items of ["raw AS host", "host, timestamp_ns % 7 AS timestamp", "host, raw"]) {
    const sql = `SELECT DISTINCT ON (host) ${items} FROM events ORDER BY host, timestamp DESC`;
    const within = await lab.query(sql, { subqueriesFirst: false });
    deepStrictEqual((await lab.query(sql)).rows, within.rows, sql);
  }
});
