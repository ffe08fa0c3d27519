/**
 * Statements over a table with promoted columns answer as they do without, from the column where
 * they can.
 */

import assert from "node:assert/strict";
import { INLINE_DERIVER } from "../../derived/deriver.ts";
import { textColumnsOf } from "../../derived/text_columns.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { parsePromotion, unaskedColumn, withPromoted } from "../../schema/promoted.ts";
import type { Column } from "../../schema/schema.ts";
import { commitAppend, ensureTable } from "../../iceberg/commit_append.ts";
import { INLINE_PARQUET_ENCODER } from "../../parquet/parquet_encoder.ts";
import { batchOfRows, type RowObject } from "../../columns/rows.ts";
import { DataFileWriter } from "../../tables/data_file_writer.ts";
import { fitTo } from "../../tables/fit_schema.ts";
import { applyMigration } from "../../tables/migrate.ts";
import type { ObjectStore } from "../../storage/object_store.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { RemoteStore } from "../../testing/remote_store.ts";
import { waysAt } from "../../testing/ways_at.ts";

const NS = 1_763_700_000_000_000_000n;
const PROMOTED = ["status:int", "user.id:string", "hit:bool", "took:double", "big:long"]
  .map(parsePromotion);
const UNASKED = ["status", "user.id", "hit", "took", "big"].flatMap((name) =>
  unaskedColumn(name) ?? []
);

/** Attributes of one row each: canonical, not canonical, of another type, absent. */
const ATTRIBUTES: readonly (string | null)[] = [
  '{"status":503,"user.id":"ann","hit":true,"took":1.5,"big":9007199254740993}',
  '{"status":200,"user.id":"bob","hit":false,"took":5,"big":7}',
  '{"status":"503","user.id":7,"hit":"true","took":"1.5","big":"7"}',
  '{"status":"0503","user.id":1.50,"hit":1,"took":true,"big":1e3}',
  '{"status":503.0,"user.id":null,"hit":null,"took":null,"big":null}',
  '{"status":{"a":1},"user.id":["x"],"hit":[],"took":{},"big":-0}',
  '{"other":1}',
  "{}",
  null,
];

const PREDICATES: readonly string[] = [
  "attr_get(attributes, 'status') = '503'",
  "attr_get(attributes, 'status') <> '503'",
  "attr_get(attributes, 'status') IN ('503', '0503', '{\"a\":1}')",
  "attr_get(attributes, 'status') IS NULL",
  "TRY_CAST(attr_get(attributes, 'status') AS DOUBLE) IS NOT NULL AND attr_get(attributes, 'user.id') LIKE '%n%'",
  "TRY_CAST(attr_get(attributes, 'status') AS INT) > 300",
  "attr_get(attributes, 'user.id') = 'ann' OR attr_get(attributes, 'user.id') = '7'",
  "attr_get(events.attributes, 'user.id') IS NOT NULL",
  "NOT (attr_get(attributes, 'hit') = 'true')",
  "attr_get(attributes, 'hit') IN ('1', 'false')",
  "attr_get(attributes, 'took') = '1.5' OR attr_get(attributes, 'took') = '5'",
  "attr_get(attributes, 'big') = '9007199254740993' OR attr_get(attributes, 'big') = '7'",
  "length(attr_get(attributes, 'big')) > 1",
  "attr_get(attributes, 'other') = '1'",
  "attr_get(attributes, raw) = '503'",
  "raw IN (SELECT raw FROM (SELECT raw, attributes FROM events) AS t WHERE attr_get(attributes, 'status') = '503')",
];

Deno.test({
  name: "attr_get over promoted columns, filled, unfilled and mixed, is attr_get",
  async fn(t) {
    await using plain = await labOf([ATTRIBUTES, ATTRIBUTES], []);
    await using promoted = await labOf([ATTRIBUTES, ATTRIBUTES], [1]);
    await using filled = await labOf([ATTRIBUTES, ATTRIBUTES], [0]);
    await using unasked = await labOf([ATTRIBUTES, ATTRIBUTES], [1], UNASKED);
    await using unaskedFilled = await labOf([ATTRIBUTES, ATTRIBUTES], [0], UNASKED);
    // Over columns that statements see, some of these mean another thing.
    const more = [
      (where: string) => `SELECT * FROM events WHERE ${where} ORDER BY raw`,
      (where: string) =>
        `SELECT e.*, 1 AS one FROM events e WHERE ${
          where.replaceAll("events.attr", "e.attr")
        } ORDER BY raw`,
      (where: string) => `SELECT COLUMNS('a.*'), events FROM events WHERE ${where} ORDER BY raw`,
      (where: string) =>
        `SELECT attr_get(attributes, 'status') AS status, count(*) FROM events WHERE ${where} GROUP BY status ORDER BY ALL`,
      (where: string) =>
        `SELECT attr_get(attributes, 'hit'), count(*) AS n FROM events WHERE ${where} GROUP BY attr_get(attributes, 'hit') ORDER BY ALL`,
      (where: string) =>
        `SELECT upper(attr_get(attributes, 'user.id')) AS u, max(attr_get(attributes, 'big')) AS b FROM events WHERE ${where} GROUP BY 1 HAVING min(attr_get(attributes, 'took')) IS NULL OR u = 'ANN' ORDER BY count(attr_get(attributes, 'hit')), u`,
    ];
    const shapes = [
      (where: string) => `SELECT raw FROM events WHERE ${where} ORDER BY raw`,
      (where: string) =>
        `SELECT attr_get(attributes, 'status') AS s, count(*) FROM events WHERE ${where} GROUP BY ALL ORDER BY ALL`,
      (where: string) =>
        `SELECT "raw" AS status, 1 AS "user.id" FROM events AS events WHERE ${where} ORDER BY ALL LIMIT 3`,
      (where: string) => `WITH e AS (SELECT * FROM events WHERE ${where}) SELECT count(*) FROM e`,
    ];
    for (const [at, where] of PREDICATES.entries()) {
      await t.step(where, async () => {
        for (const [form, shape] of shapes.entries()) {
          const expected = (await plain.query(shape(where))).texts;
          for (const lab of waysAt([promoted, filled], at + form)) {
            assert.deepEqual((await lab.query(shape(where))).texts, expected, shape(where));
          }
        }
        for (const [form, shape] of more.entries()) {
          const { columns, types, texts } = await plain.query(shape(where));
          for (const lab of waysAt([unasked, unaskedFilled], at + form)) {
            const answer = await lab.query(shape(where));
            assert.deepEqual(
              { columns: answer.columns, types: answer.types, texts: answer.texts },
              { columns, types, texts },
              shape(where),
            );
          }
        }
      });
    }
  },
});

Deno.test({
  name: "attr_get of an attribute that each row has does not read the attributes",
  async fn() {
    const rows = Array.from({ length: 50 }, (_, at) => `{"status":${at % 5}}`);
    await using filled = await labOf([rows], [0]);
    await using half = await labOf([rows, rows], [1]);
    const sql = "SELECT count(*) FROM events WHERE attr_get(attributes, 'status') = '3'";
    assert.deepEqual((await filled.query(sql)).rows, [[10]]);
    assert.deepEqual((await half.query(sql)).rows, [[20]]);
    const [scanned, mixed] = [await scanText(filled, sql), await scanText(half, sql)];
    assert.match(scanned, /Filters:\W+\(CAST\(status AS VARCHAR/);
    assert.doesNotMatch(scanned, /json|COALESCE/i);
    assert.match(mixed, /json_extract/);
    assert.match(mixed, /COALESCE/i);
    // The file that has all is a scan of its own, which the condition is a part of.
    assert.match(mixed, /UNION[^]*Filters:[^]*\(CAST\(status AS VARCHAR\) =/);
  },
});

Deno.test({
  name:
    "attr_get of an attribute that got its column unasked reads that column, and * does not show it",
  async fn() {
    const rows = Array.from({ length: 50 }, (_, at) => `{"status":${at % 5}}`);
    await using filled = await labOf([rows], [0], UNASKED);
    const condition = "attr_get(attributes, 'status') = '3'";
    const counted = await planText(filled, `SELECT count(*) FROM events WHERE ${condition}`);
    assert.match(counted, /attributes:status/);
    assert.doesNotMatch(counted, /attributes\b(?!:)/);
    const all = `SELECT * FROM events WHERE ${condition}`;
    assert.match(await planText(filled, all), /attributes:status/);
    const { columns, rows: found } = await filled.query(all);
    assert.deepEqual(columns, EVENTS_SCHEMA.columns.map(({ name }) => name));
    assert.equal(found.length, 10);
  },
});

Deno.test({
  name:
    "attr_get that a statement groups by reads the column, and mistakes are told of what the caller wrote",
  async fn() {
    const rows = Array.from({ length: 50 }, (_, at) => `{"status":${at % 5}}`);
    await using plain = await labOf([rows, rows], []);
    await using filled = await labOf([rows], [0], UNASKED);
    await using mixed = await labOf([rows, rows], [1], UNASKED);
    const grouped = "SELECT attr_get(attributes, 'status') AS status, count(*) AS n FROM events " +
      "WHERE raw <> '' GROUP BY status ORDER BY status";
    assert.match(await planText(filled, grouped), /attributes:status/);
    assert.doesNotMatch(await planText(filled, grouped), /json_extract/);
    assert.match(await planText(mixed, grouped), /UNION/);
    assert.deepEqual((await mixed.query(grouped)).texts, (await plain.query(grouped)).texts);
    const counted = "SELECT attr_get(attributes, 'status') AS status, count(*) AS n FROM events " +
      "WHERE attr_get(attributes, 'status') >= '2' GROUP BY status ORDER BY status";
    const { texts, stats } = await filled.query(counted);
    assert.equal(stats.served_by, "tier1_inline", "summaries count it by value");
    assert.deepEqual(texts, ['["2",10]', '["3",10]', '["4",10]']);
    assert.deepEqual((await filled.query(counted, { fastPaths: false })).texts, texts);
    const listed = "SELECT attr_get(attributes, 'status') AS s FROM events";
    assert.match(await planText(filled, listed), /attributes:status/);
    assert.doesNotMatch(await planText(filled, listed), /json/);
    const wrong = "SELECT attr_get(attributes, 'status') AS s, count(*) FROM events GROUP BY host";
    const message = await messageOf(plain.query(wrong));
    for (const lab of [filled, mixed]) assert.equal(await messageOf(lab.query(wrong)), message);
  },
});

const NUMBERS = [
  unaskedColumn("status", "integer"),
  unaskedColumn("took", "number"),
  unaskedColumn("user.id"),
].flatMap((column) => column ?? []);

/** Statements of which none has to look into the attributes of complete files. */
const COLUMN_STATEMENTS: readonly string[] = [
  "SELECT attr_get(attributes, 'user.id') AS u FROM events",
  "SELECT attributes->>'$.\"user.id\"' AS u, raw FROM events ORDER BY json_extract_string(attributes, '/status')",
  "SELECT attributes->>'status' AS s FROM events WHERE attributes->>'$.status' > '2'",
  "SELECT avg(attr_get(attributes, 'took')::DOUBLE) AS a, sum(CAST(attr_get(attributes, 'status') AS INT)) AS b FROM events GROUP BY host",
  "SELECT approx_quantile(attr_get(attributes, 'took')::DOUBLE, 0.95) AS p FROM events",
  "SELECT raw, row_number() OVER (PARTITION BY attr_get(attributes, 'user.id')) AS r FROM events",
  "SELECT count(*) FILTER (WHERE attr_get(attributes, 'status') = '3') AS n, CASE WHEN max(attr_get(attributes, 'user.id')) > '' THEN 1 END AS c FROM events",
  "SELECT a.raw FROM events a JOIN events b ON attr_get(a.attributes, 'user.id') = attr_get(b.attributes, 'user.id')",
  "WITH e AS (SELECT * FROM events WHERE raw <> ''), f AS (SELECT raw AS r, attributes AS a FROM e) SELECT attr_get(a, 'status') AS s, count(*) FROM f GROUP BY ALL",
  "SELECT attr_get(u.attributes, 'status') AS s FROM (SELECT attributes FROM events UNION ALL SELECT attributes FROM events) u",
  "SELECT raw FROM events o WHERE EXISTS (SELECT 1 FROM events i WHERE attr_get(i.attributes, 'status') = attr_get(o.attributes, 'status'))",
  "SELECT raw FROM events WHERE raw IN (SELECT raw FROM events WHERE attr_get(attributes, 'status') = '3')",
  "SELECT date_trunc('minute', timestamp) AS m, attributes->>'user.id' AS u, count(*) FROM events GROUP BY ALL",
];

Deno.test({
  name: "attributes named in any clause, below subqueries and in joins are read from columns alone",
  async fn() {
    const rows = Array.from(
      { length: 50 },
      (_, at) => at === 7 ? "{}" : `{"status":${at % 5},"took":${at / 4},"user.id":"u${at % 3}"}`,
    );
    await using plain = await labOf([rows], []);
    await using complete = await labOf([rows], [0], NUMBERS);
    for (const sql of COLUMN_STATEMENTS) {
      const text = await scanText(complete, sql);
      assert.doesNotMatch(text, /json|attr_get|│ +attributes +│/i, sql);
      const { columns, types, texts } = await complete.query(sql);
      const expected = await plain.query(sql);
      assert.deepEqual([columns, types], [expected.columns, expected.types]);
      assert.deepEqual(texts.toSorted(), expected.texts.toSorted(), sql);
    }
  },
});

Deno.test({
  name:
    "a cast of an attribute that is no number fails with the message that it has without columns",
  async fn() {
    const rows = ['{"status":1}', '{"status":"odd"}', '{"status":3000000000}'];
    for (const type of ["BIGINT", "INTEGER", "DOUBLE"]) {
      const sql = `SELECT attr_get(attributes, 'status')::${type} FROM events`;
      for (const some of [[rows[0], rows[2]], [rows[0], rows[1]]]) {
        const batch = some.filter((text) => text !== undefined);
        await using plain = await labOf([batch], []);
        await using columns = await labOf([batch], [0], NUMBERS);
        const expected = await outcomeOf(plain, sql);
        assert.equal(await outcomeOf(columns, sql), expected, sql);
      }
    }
  },
});

Deno.test({
  name: "EXPLAIN says where attributes are looked up in JSON, and why",
  async fn() {
    const odd = ['{"status":1}', '{"status":{"a":1}}', "{}"];
    await using lab = await labOf([["{}"], odd, ['{"status":1}']], [1], NUMBERS, { wal: true });
    const explained = async (sql: string) => {
      await using prepared = await lab.prepare(sql);
      return await prepared.explain();
    };
    const read = "SELECT raw, attr_get(attributes, 'status') AS s FROM events";
    assert.match(
      await explained(read),
      /events: JSON is read for attribute "status": 1 file from before its column, 1 file with values that the column cannot hold/,
    );
    await lab.append([{ ns: NS + 1_000_000_000n, attributes: '{"status":1}' }]);
    assert.doesNotMatch(await explained(read), /WAL/);
    await lab.append([{ ns: NS + 1_000_000_001n, attributes: '{"status":{"a":1}}' }]);
    assert.match(await explained(read), /cannot hold, 1 piece of the WAL/);
    for (
      const [sql, why] of [
        ["SELECT attr_get(attributes, 'other') FROM events", /"other": no column holds it/],
        [
          "SELECT events, attr_get(attributes, 'status') FROM events",
          /"status": the statement would/,
        ],
        [
          "SELECT raw AS attributes FROM events WHERE attr_get(attributes, 'status') = '1'",
          /"status": it is not certain/,
        ],
      ] as const
    ) assert.match(await explained(sql), why, sql);
  },
});

/** Rows as text, or the message of the error. */
async function outcomeOf(lab: EngineLab, sql: string): Promise<string> {
  try {
    return (await lab.query(sql)).texts.join();
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
}

async function messageOf(failing: Promise<unknown>): Promise<string> {
  try {
    await failing;
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
  throw new Error("it did not fail");
}

const STEPS = [
  "SELECT raw FROM events WHERE attr_get(attributes, 'status') LIKE '5%' ORDER BY timestamp DESC LIMIT 3",
  "SELECT raw, attributes FROM events WHERE attr_get(attributes, 'user.id') IS NOT NULL ORDER BY timestamp LIMIT 4",
  "SELECT count(*) FROM events WHERE attr_get(attributes, 'took') IN ('5', '1.5') OR attr_get(attributes, 'big') = '7'",
  "SELECT min(raw) FROM events WHERE length(attr_get(attributes, 'status')) > 2 GROUP BY host",
];

for (const [name, columns] of [["asked for", PROMOTED], ["unasked", UNASKED]] as const) {
  Deno.test({
    name:
      `attr_get over columns ${name} is attr_get where the WAL has rows, and where files come from an object store`,
    async fn() {
      const files = [ATTRIBUTES, ATTRIBUTES, ATTRIBUTES.slice(0, 2)];
      for (const options of [{ wal: true }, { store: () => new RemoteStore() }]) {
        await using plain = await labOf(files, [], [], options);
        await using mixed = await labOf(files, [1], columns, options);
        for (const lab of "wal" in options ? [plain, mixed] : []) {
          await lab.append(ATTRIBUTES.map((text, at) => ({
            ns: NS + BigInt(50_000 + at) * 1_000_000n,
            raw: `waiting ${at}`,
            attributes: text,
          })));
        }
        for (const sql of STEPS) {
          const expected = (await plain.query(sql)).texts;
          assert.ok(expected.length > 0);
          assert.deepEqual((await mixed.query(sql)).texts, expected, sql);
        }
      }
    },
  });
}

/** The physical plan of the rows' scan. */
function scanText(lab: EngineLab, sql: string): Promise<string> {
  return planText(lab, sql, { fastPaths: false });
}

/** The physical plan alone. */
async function planText(
  lab: EngineLab,
  sql: string,
  options: Parameters<EngineLab["prepare"]>[1] = {},
): Promise<string> {
  await using prepared = await lab.prepare(sql, options);
  const text = await prepared.explain();
  return text.slice(text.indexOf("┌"));
}

/**
 * Commits each of `files`; attributes are promoted before the file whose place `promotedBefore`
 * names.
 */
async function labOf(
  files: readonly (readonly (string | null)[])[],
  promotedBefore: readonly number[],
  columns: readonly Column[] = PROMOTED,
  { wal = false, store }: { readonly wal?: boolean; readonly store?: () => ObjectStore } = {},
): Promise<EngineLab> {
  const lab = await EngineLab.open({ wal, ...(store === undefined ? {} : { store: store() }) });
  const { catalog, clock, random } = lab;
  const deps = {
    ...{ store: lab.store, catalog, clock, random },
    encoder: INLINE_PARQUET_ENCODER,
    // So that summaries answer what they can.
    deriver: INLINE_DERIVER,
  };
  const ident = { namespace: "svc", name: "events" };
  for (const [at, attributes] of files.entries()) {
    const isPromoted = promotedBefore.includes(at);
    await ensureTable(deps, { ident, schema: EVENTS_SCHEMA });
    if (isPromoted) await applyMigration(deps, ident, columns);
    const table = await ensureTable(deps, { ident, schema: EVENTS_SCHEMA });
    if (isPromoted) {
      assert.deepEqual(
        table.schema.columns.slice(8),
        withPromoted(EVENTS_SCHEMA, columns).columns.slice(8),
      );
    }
    const writer = new DataFileWriter(deps, table, {
      text: textColumnsOf(EVENTS_SCHEMA, undefined),
    });
    const rows = attributes.map((text, row) => eventRow(text, at * 1_000 + row));
    await writer.add(fitTo(table.schema, EVENTS_SCHEMA.columns)(batchOfRows(EVENTS_SCHEMA, rows)));
    const change = { ident, schema: EVENTS_SCHEMA, consumed: [] };
    await commitAppend(deps, { ...change, files: await writer.finish() });
  }
  return lab;
}

function eventRow(attributes: string | null, number: number): RowObject {
  const ns = NS + BigInt(number) * 1_000_000n;
  return {
    timestamp: ns / 1_000n,
    timestamp_ns: ns,
    host: "h",
    source: "s",
    sourcetype: "t",
    index: "main",
    raw: `status${number}`,
    attributes,
  };
}

const CASES = Array.from(
  { length: 400 },
  (_, at) => `{"User":"x${at % 3}","user":${at % 5},"took":${5.4 + at / 1_000}}`,
);
const CASE_COLUMNS = [
  unaskedColumn("User"),
  unaskedColumn("user", "integer"),
  unaskedColumn("took", "number"),
].filter((column) => column !== undefined);
const CASE_STATEMENTS = [
  "SELECT attr_get(attributes, 'User') a, attr_get(attributes, 'user') b FROM events ORDER BY raw",
  "SELECT raw FROM events WHERE attr_get(attributes, 'User') = 'x1' " +
  "AND attr_get(attributes, 'user') = '1' ORDER BY raw",
  "SELECT count(*) FROM events WHERE CAST(attr_get(attributes, 'took') AS BIGINT) = 5",
  "SELECT count(*) FROM events WHERE TRY_CAST(attr_get(attributes, 'took') AS INTEGER) < 6",
  `SELECT 'q' AS "attributes:User", count(*) FROM events ` +
  `WHERE attr_get(attributes, 'User') LIKE 'x%' GROUP BY "attributes:User"`,
];

Deno.test({
  name:
    "promoted columns tell attributes apart by case, round as casts do, and take no alias's place",
  fn: async () => {
    await using plain = await labOf([CASES, CASES], []);
    for (const promotedBefore of [[0], [1]]) {
      await using lab = await labOf([CASES, CASES], promotedBefore, CASE_COLUMNS);
      for (const sql of CASE_STATEMENTS) {
        assert.deepEqual((await lab.query(sql)).texts, (await plain.query(sql)).texts, sql);
      }
    }
  },
});
