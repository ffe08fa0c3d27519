import assert from "node:assert/strict";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { unaskedColumn } from "../../schema/promoted.ts";
import { present } from "../../base/assert.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { templates } from "./catalog_functions.ts";
import { plainSpelling } from "./postgres_text.ts";
import { catalogRelationNames, sessionOf } from "./relations.ts";

const NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z

Deno.test({
  name: "each relation of the catalog can be read, and says its own columns without a row",
  async fn() {
    await using lab = await EngineLab.open();
    for (const name of catalogRelationNames()) {
      const { columns } = await lab.query(`SELECT * FROM ${name}`);
      const empty = await lab.query(`SELECT * FROM ${name} WHERE false`);
      assert.deepEqual(empty.columns, columns, name);
    }
  },
});

Deno.test({
  name: "each function of the catalog has its arguments at most once, and binds",
  async fn() {
    await using lab = await EngineLab.open();
    for (
      const [name, template] of templates({ schema: "svc", session: sessionOf(undefined, "svc") })
    ) {
      const places = [...template.matchAll(/\$(\d)/g)].map(([place]) => place);
      assert.equal(new Set(places).size, places.length, name);
      const [called = "", count = places.length === 0 ? "0" : "1"] = name.split("/");
      // Lists are asked of indexes, and no table has one.
      if (/^array_|^_pg_|^generate_subscripts|^unnest/.test(called)) continue;
      const values = Array.from({ length: Number(count) }, (_, at) => at === 0 ? "'16'" : "NULL");
      await lab.query(`SELECT pg_catalog.${called}(${values.join(", ")})`);
    }
  },
});

Deno.test({
  name: "a type's functions are numbers in conditions, and names in answers and as texts",
  async fn() {
    await using lab = await EngineLab.open();
    const { columns, rows } = await lab.query(
      "SELECT typreceive, t.typsend AS sends FROM pg_type t " +
        "WHERE typreceive <> 0 AND typreceive::TEXT = 'date_recv'",
    );
    assert.deepEqual([columns, rows], [["typreceive", "sends"], [["date_recv", "date_send"]]]);
    const own = await lab.query(
      "SELECT typsend, typsend::VARCHAR AS text FROM (SELECT 5 AS typsend)",
    );
    assert.deepEqual([own.columns, own.rows], [["typsend", "text"], [[5, "5"]]]);
  },
});

Deno.test({
  name: "catalog tells of the caller's own tables and seen columns alone",
  async fn() {
    await using lab = await EngineLab.open({ engine: { hiddenTables: ["query_audit"] } });
    const hidden = present(unaskedColumn("secret"));
    const schema = {
      ...EVENTS_SCHEMA,
      columns: [...EVENTS_SCHEMA.columns, hidden],
      promoted: [hidden.name],
    };
    const row = {
      ...{ timestamp: NS / 1_000n, timestamp_ns: NS, host: "h", source: "s", sourcetype: "t" },
      ...{ index: "main", raw: "r", attributes: null, [hidden.name]: "x" },
    };
    await lab.commitRows([row], { ident: { namespace: "svc", name: "own" }, schema });
    await lab.commitRows([row], { ident: { namespace: "other", name: "theirs" }, schema });
    for (
      const sql of [
        "SELECT relname FROM pg_class ORDER BY 1",
        "SELECT table_name FROM information_schema.tables ORDER BY 1",
        "SELECT tablename FROM pg_tables ORDER BY 1",
        "SELECT DISTINCT table_name FROM information_schema.columns ORDER BY 1",
        "SHOW TABLES",
      ]
    ) {
      assert.deepEqual((await lab.query(sql)).rows, [["events"], ["own"], ["traces"]], sql);
    }
    const names = await lab.query("SELECT svc_text FROM pg_catalog.svc_names");
    assert(!JSON.stringify(names.rows).includes("theirs"));
    const columns = await lab.query(
      "SELECT attname FROM pg_attribute WHERE attrelid = 'own'::regclass",
    );
    assert.equal(columns.rows.length, EVENTS_SCHEMA.columns.length);
    const asOther = await lab.query("SELECT relname FROM pg_class ORDER BY 1", {
      namespace: "other",
      tenant: "other",
    });
    assert.deepEqual(asOther.rows, [["events"], ["theirs"], ["traces"]]);
    assert.deepEqual((await lab.query("SELECT 'theirs'::regclass, 'query_audit'::regclass")).rows, [
      [null, null],
    ]);
  },
});

/** Statements, and the rows that they give. */
const CASES: readonly (readonly [sql: string, rows: unknown])[] = [
  ["WITH pg_class AS (SELECT 1 AS x) SELECT x FROM pg_class", [[1]]],
  ["WITH pg_class AS (SELECT 1 AS x) SELECT count(*) FROM pg_catalog.pg_class", [[3]]],
  ["SELECT 'ab' ~ 'b', 'ab' !~ '^b'", [[false, true]]],
  ["SELECT relname ~ 'vent' FROM pg_class WHERE relname = 'events'", [[true]]],
  ["SELECT version() LIKE 'PostgreSQL 16%', current_user, current_schema", [[true, "svc", "svc"]]],
  ["SELECT 1184::regtype, 'text'::regtype::oid, 'int4[]'::regtype::oid", [[
    "timestamp with time zone",
    25,
    null,
  ]]],
  ["SELECT '1184'::regtype::text, 'integer[]'::regtype::oid", [["timestamp with time zone", 1007]]],
  ["SELECT c.oid::regclass FROM pg_class c WHERE c.oid = 'svc.events'::regclass", [["events"]]],
  ["SELECT format('%I.%s%%', 'A b', 'c'), quote_literal('it''s')", [['"A b".c%', "'it''s'"]]],
  ["SELECT 7::int / 2, current_setting('server_version_num', true)", [[3, null]]],
  ["SELECT '{a,b}'::text[] FROM pg_class LIMIT 1", [[["a", "b"]]]],
  ["SELECT count(*), min(relname) FROM pg_catalog.pg_class, events", [[3, "events"]]],
  [
    "SELECT d.description FROM pg_description d WHERE d.objsubid = 7 AND d.objoid = 'events'::regclass",
    [
      ["log body"],
    ],
  ],
  ["SELECT E'it\\'s::pg_catalog.x', 'a::pg_catalog.text', '1'::pg_catalog.int4", [[
    "it's::pg_catalog.x",
    "a::pg_catalog.text",
    1,
  ]]],
];

Deno.test({
  name: "catalog statements mean what PostgreSQL means by them, others what they meant before",
  async fn() {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: NS }]);
    for (const [sql, rows] of CASES) assert.deepEqual((await lab.query(sql)).rows, rows, sql);
    assert.deepEqual((await lab.query("SELECT pg_catalog.count(*), version()")).columns, [
      "count",
      "version",
    ]);
    assert.deepEqual((await lab.query("SELECT 7::int / 2")).rows, [[3.5]]);
    assert.deepEqual((await lab.query("SELECT 'ab' ~ 'b'")).rows, [[false]]);
    await assert.rejects(lab.query("SELECT\n nope FROM pg_catalog.pg_class c"), {
      message: /LINE 2: {2}nope FROM pg_catalog\.pg_class c\n {9}\^$/,
    });
  },
});

Deno.test({
  name: "plainSpelling blanks what DuckDB does not read, and nothing in texts",
  fn() {
    for (
      const [sql, plain] of [
        ["a OPERATOR(pg_catalog.~) b", "a                     ~  b".slice(0, 22) + "~  b"],
        ["x::pg_catalog.text", "x::           text"],
        ["CAST(x AS pg_catalog.text)", "CAST(x AS            text)"],
        ["'x::pg_catalog.text'", "'x::pg_catalog.text'"],
        ["$q$ x::pg_catalog.text $q$", "$q$ x::pg_catalog.text $q$"],
        ['"a::pg_catalog.b" -- ::pg_catalog.c', '"a::pg_catalog.b" -- ::pg_catalog.c'],
        ["SELECT * FROM pg_catalog.pg_class", "SELECT * FROM pg_catalog.pg_class"],
        [
          "EXISTS (SELECT FROM x), 'EXISTS (SELECT FROM x)'",
          "EXISTS (SELECT*FROM x), 'EXISTS (SELECT FROM x)'",
        ],
        [
          "SELECT at.x, y.at.z FROM pg_type AS at -- at. it",
          "SELECT _t.x, y.at.z FROM pg_type AS _t -- at. it",
        ],
        [
          "SELECT at.x, now() AT TIME ZONE 'at.x' FROM t at",
          "SELECT at.x, now() AT TIME ZONE 'at.x' FROM t at",
        ],
      ] as const
    ) {
      assert.equal(plainSpelling(sql), plain);
      assert.equal(plainSpelling(sql).length, sql.length);
    }
  },
});
