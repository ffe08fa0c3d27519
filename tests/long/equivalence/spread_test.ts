/**
 * A statement that is cut in two gives the rows, types and names that it gives over the whole
 * table, however the table's rows are divided into shards.
 */

import assert from "node:assert/strict";
import type { DuckDBValue } from "@duckdb/node-api";
import { EVENTS_SCHEMA } from "../../../shared/schema/events.ts";
import type { Column, ColumnType } from "../../../shared/schema/schema.ts";
import { SeededRandom } from "../../../shared/testing/seeded_random.ts";
import {
  type SpreadAnswer,
  SpreadLab,
  type SpreadLabTable,
} from "../../../shared/testing/spread_lab.ts";
import { METRICS_SCHEMA_LATER } from "../../equivalence/sql_lab.ts";
import { STATEMENTS as STATEMENTS_OF_SQL } from "../../equivalence/sql_statements.ts";
import { type RandomStatement, SpreadStatements } from "../../equivalence/spread_statements.ts";

const SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 20_261_123);
const STATEMENTS = Number(Deno.env.get("SVC_TEST_STATEMENTS") ?? 80);
/** Every so many of the statements of `tests/equivalence/sql_statements.ts` are cut. */
const EVERY = Number(Deno.env.get("SVC_TEST_EVERY") ?? 5);
const SHARDS = [1, 2, 3, 5, 9] as const;

function columnsOf(text: string): Column[] {
  return text.trim().split(/\s+/).map((one, i) => {
    const [name = "", type = ""] = one.split(":");
    return { id: i + 1, name, type: type as ColumnType, required: false };
  });
}

/** Doubles are eighths, so that their sums are exact in any order. */
function tables(rows: number): readonly SpreadLabTable[] {
  return [{
    name: "events",
    bytes: 1_000_000,
    columns: columnsOf(
      "timestamp:timestamptz id:long host:string code:int hits:long value:double ok:bool raw:string",
    ),
    rows: `SELECT
      TIMESTAMPTZ '2026-09-21 00:00:00Z' + INTERVAL (hash(i) % 20000) SECOND AS timestamp,
      i::BIGINT AS id,
      CASE WHEN hash(i, 1) % 7 = 0 THEN NULL ELSE 'h' || hash(i, 1) % 5 END AS host,
      CASE WHEN hash(i, 2) % 11 = 0 THEN NULL ELSE (hash(i, 2) % 13)::INTEGER - 2 END AS code,
      CASE WHEN hash(i, 3) % 9 = 0 THEN NULL ELSE hash(i, 3)::HUGEINT - 9223372036854775808 END::BIGINT AS hits,
      CASE WHEN hash(i, 4) % 10 = 0 THEN NULL ELSE (hash(i, 4) % 64)::DOUBLE / 8 END AS value,
      CASE WHEN hash(i, 5) % 5 < 4 THEN hash(i, 5) % 2 = 0 END AS ok,
      'row ' || hash(i, 6) % 40 AS raw
      FROM range(${rows}) AS rows(i)`,
  }, {
    name: "hosts",
    bytes: 100,
    columns: columnsOf("host:string team:string weight:int"),
    rows:
      "SELECT 'h' || i AS host, 't' || i % 2 AS team, i::INTEGER AS weight FROM range(4) AS rows(i)",
  }];
}

Deno.test({
  name: "random statements give over 1 to 9 shards what they give over the whole table",
  fn: async () => {
    const cut = new Map<string, number>();
    for (const rows of [300, 0]) {
      const random = new SeededRandom(SEED);
      const statements = new SpreadStatements(random);
      await using lab = await openCut(rows);
      for (let n = 0; n < (rows === 0 ? STATEMENTS / 10 : STATEMENTS); n += 1) {
        const statement = statements.next();
        const what = `statement ${n} of seed ${SEED} over ${rows} rows: ${statement.sql}`;
        const shards = SHARDS[n % SHARDS.length] ?? 1;
        const mode = await check(lab, statement, { what, shards });
        cut.set(mode, (cut.get(mode) ?? 0) + 1);
      }
    }
    for (const mode of ["scan", "ordered_scan", "aggregate", "ordered_aggregate", "ship"]) {
      const times = cut.get(mode) ?? 0;
      assert(times >= STATEMENTS / 50, `${mode}: ${times} of ${JSON.stringify([...cut])}`);
    }
  },
});

/**
 * How many of the statements of `tests/equivalence/sql_statements.ts` are not cut, at most, as a
 * part of all.
 */
const UNCUT_PART_MAX = 0.45;

Deno.test({
  name:
    "the statements of tests/equivalence give over 1 to 5 shards what they give over the tables",
  fn: async () => {
    await using lab = await SpreadLab.open(EQUIVALENCE_TABLES);
    for (const { name } of EQUIVALENCE_TABLES) {
      for (const shards of [1, 2, 3, 5]) {
        await lab.cut(name, shards, `timestamp_ns % ${shards > 2 ? shards - 1 : shards}`);
      }
    }
    let [asked, uncut] = [0, 0];
    for (const [i, { sql }] of STATEMENTS_OF_SQL.entries()) {
      if (i % EVERY !== 0) continue;
      asked += 1;
      const isOrdered = /\bORDER BY (?:(?!\bOVER\b)[^()]|\([^()]*\))*$/i.test(sql);
      const shards = [1, 2, 3, 5][asked % 4] ?? 1;
      const statement = { sql, ...(isOrdered ? { keys: [] } : {}) };
      const mode = await check(lab, statement, { what: `${i}: ${sql}`, shards });
      if (mode === "whole") uncut += 1;
    }
    assert(uncut <= UNCUT_PART_MAX * asked, `${uncut} of ${asked} statements are not cut`);
  },
});

/** Rows like those of `tests/equivalence/sql_lab.ts`. */
const EQUIVALENCE_TABLES: readonly SpreadLabTable[] = [{
  name: "events",
  bytes: 1_000_000,
  columns: EVENTS_SCHEMA.columns,
  rows: `SELECT make_timestamptz(ns // 1000) AS timestamp, ns AS timestamp_ns,
    ['web-1', 'web-2', 'db-1', 'Zürich', '東京', '', 'o''neil', 'quo"te'][(1 + hash(i, 2) % 8)::BIGINT] AS host,
    ['shop', 'otel', 'billing'][(1 + hash(i, 3) % 3)::BIGINT] AS source,
    ['nginx', 'app:json', 'syslog'][(1 + hash(i, 4) % 3)::BIGINT] AS sourcetype,
    ['main', 'audit'][(1 + hash(i, 5) % 2)::BIGINT] AS "index",
    ['GET /index.html 200 12ms', 'POST /api/v1/orders 500 timeout=30s user=anna', 'row ' || i || ' took=' || i % 90 || 'ms',
      'level=error msg="connection refused" retry=3', '数据库连接失败 错误', '100% done _underscore_', ''][(1 + hash(i, 6) % 7)::BIGINT] AS raw,
    [NULL, '{}', '{"user":"anna","status":200,"ratio":0.25}', '{"user":"bob","status":500,"tags":["a","b",null],"nested":{"deep":{"x":1}}}',
      '{"http.method":"GET","user":null,"big":9223372036854775807}'][(1 + hash(i, 7) % 5)::BIGINT] AS attributes
    FROM (SELECT i, 1790000000000000000 + (hash(i, 8) % 3)::BIGINT * 86400000000000 + (hash(i, 9) % 40)::BIGINT * 977000000000
      + (hash(i) % 6)::BIGINT * 400 AS ns FROM range(400) AS rows(i))`,
}, {
  name: "metrics",
  bytes: 500_000,
  columns: METRICS_SCHEMA_LATER.columns,
  rows: `SELECT make_timestamptz(ns // 1000) AS timestamp, ns AS timestamp_ns,
    ['cpu', 'mem', 'disk', 'net'][(1 + hash(i, 2) % 4)::BIGINT] AS name,
    CASE WHEN hash(i, 3) % 5 > 0 THEN (hash(i, 3) % 2000000)::DOUBLE / 1000 - 500 END AS value,
    [0, 1, -7, 9007199254740993, -9223372036854775807, 42, NULL][(1 + hash(i, 4) % 7)::BIGINT]::BIGINT AS hits,
    [200, 404, 500, -2147483647, NULL][(1 + hash(i, 5) % 5)::BIGINT]::INTEGER AS code,
    [true, false, NULL][(1 + hash(i, 6) % 3)::BIGINT] AS ok,
    ['eu', 'us', '日本', NULL][(1 + hash(i, 7) % 4)::BIGINT] AS region,
    CASE WHEN hash(i, 8) % 5 > 0 THEN (hash(i, 8) % 9999)::DOUBLE / 8 END AS latency
    FROM (SELECT i, 1790000000000000000 + (hash(i, 10) % 3)::BIGINT * 86400000000000 + (hash(i, 11) % 40)::BIGINT * 977000000000
      + (hash(i, 1) % 6)::BIGINT * 400 AS ns FROM range(400) AS rows(i))`,
}];

async function openCut(rows: number): Promise<SpreadLab> {
  const lab = await SpreadLab.open(tables(rows));
  for (const shards of SHARDS) {
    // One of more than two shards is empty.
    const full = shards > 2 ? shards - 1 : shards;
    await lab.cut("events", shards, `(hash(id, ${shards}) % ${full} + ${shards - full})`);
  }
  return lab;
}

/** Returns the mode, or `whole` for a statement that is not cut. */
async function check(
  lab: SpreadLab,
  { sql, keys, unlimited }: RandomStatement,
  { what, shards }: { readonly what: string; readonly shards: number },
): Promise<string> {
  const split = await lab.split(sql).catch((error) => assert.fail(`${what}: ${error}`));
  if ("reason" in split) return "whole";
  const told =
    `${what}\n${split.mode} over ${shards} shards\n${split.workerSql}\n${split.mergeSql}`;
  const expected = await lab.whole(sql).catch((error) => assert.fail(`${told}: ${error}`));
  const actual = await lab.spread(split, shards).catch((error) => assert.fail(`${told}: ${error}`));
  assert.deepEqual(actual.columns, expected.columns, told);
  if (unlimited === undefined) {
    assertSameRows(sorted(actual), sorted(expected), told);
  } else {
    const all = (await lab.whole(unlimited)).rows.map(keyOf);
    for (const row of actual.rows) {
      const place = all.indexOf(keyOf(row));
      assert(place >= 0, `${told}\nrow ${keyOf(row)}`);
      all.splice(place, 1);
    }
    assert.equal(actual.rows.length, expected.rows.length, told);
  }
  // Rows that are equal in all that they are ordered by come in any order.
  const inOrder = ({ rows }: SpreadAnswer) =>
    keys === undefined || keys.length === 0
      ? rows
      : rows.map((row) => keys.map((key) => row[key] ?? null));
  if (keys !== undefined) assertSameRows(inOrder(actual), inOrder(expected), told);
  return split.mode;
}

type Rows = readonly (readonly DuckDBValue[])[];

function assertSameRows(actual: Rows, expected: Rows, told: string): void {
  assert.deepEqual(actual.map(keyOf), expected.map(keyOf), told);
}

function sorted({ rows }: SpreadAnswer): Rows {
  return rows.toSorted((a, b) => keyOf(a) < keyOf(b) ? -1 : 1);
}

/** Sums and deviations of doubles differ in the last bits, as they do between threads. */
function keyOf(value: unknown): string {
  return JSON.stringify(value, (_member, inner) => {
    if (typeof inner === "bigint") return `#${inner}`;
    if (typeof inner !== "number") return inner;
    return Number.isFinite(inner) ? Number(inner.toPrecision(11)) : String(inner);
  });
}
