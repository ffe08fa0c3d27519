/** Sessions over a real engine, by messages and by the drivers of npm. */

import assert from "node:assert/strict";
import { configure, reset } from "@logtape/logtape";
// @ts-types="@types/pg"
import pg from "pg";
import postgres from "postgres";
import { concatBytes, textOf, utf8 } from "../../shared/base/bytes.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { AUDIENCE, FakeIssuer } from "../../shared/testing/fake_issuer.ts";
import { until } from "../../shared/testing/until.ts";
import { type LabServer, startLabServer } from "../../tests/doubles/lab_server.ts";
import {
  answerOf,
  bind,
  execute,
  frame,
  int32,
  packet,
  parse,
  PgWireClient,
  SYNC,
  zero,
} from "../../tests/doubles/pg_wire_client.ts";

const HELD_UP = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) " +
  "SELECT count(*) FROM t";

interface PgLab extends AsyncDisposable {
  readonly port: number;
  readonly server: LabServer;
}

async function pgLab(args: readonly string[] = [], events = 0): Promise<PgLab> {
  const lab = await WarehouseLab.open();
  if (events > 0) {
    await lab.commit(
      Array.from({ length: events }, (_, at) => ({
        ns: BigInt(1_700_000_000 + at) * 1_000_000_000n,
        raw: `row ${at}`,
      })),
    );
  }
  const server = await startLabServer(lab, ["--pg-listen", "127.0.0.1:0", ...args]);
  return {
    port: server.server.pgAddress?.port ?? 0,
    server,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    },
  };
}

const texts = (rows: readonly (readonly (Uint8Array | null)[])[]) =>
  rows.map((row) => row.map((cell) => cell === null ? null : textOf(cell)));

async function inFlight({ server }: PgLab): Promise<number> {
  const { port } = server.server.metricsAddress;
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^svc_query_in_flight (\d+)$/m.exec(page)?.[1]);
}

Deno.test({
  name: "PgSession runs each statement of a simple query, and none behind one that failed",
  fn: async () => {
    await using lab = await pgLab([], 3);
    using client = await PgWireClient.start(lab.port);
    const both = await client.simple("SELECT 1 AS a; -- ; not here\nSELECT 'x;y' AS b;");
    assert.equal(both.codes, "TDCTDCZ");
    assert.deepEqual(texts(both.rows), [["1"], ["x;y"]]);
    const failed = await client.simple("SELECT 1; SELECT nope FROM events; SELECT 2");
    assert.equal(failed.codes, "TDCEZ");
    assert.equal(failed.error?.get("C"), "42703");
    assert.equal((await client.simple("  -- nothing\n ;")).codes, "IZ");
    const count = await client.simple("SELECT count(*) AS n FROM events");
    assert.deepEqual(texts(count.rows), [["3"]]);
    const refused = await client.simple("INSERT INTO events VALUES (1)");
    assert.equal(refused.error?.get("C"), "25006");
    const tooDear = await client.simple("SELECT count(*) FROM range(20000000000)");
    assert.equal(tooDear.error?.get("C"), "54000", "a limit of the server, not a wrong value");
    const place = await client.simple("SELECT 1;\nSELECT x FROM nope");
    assert.deepEqual([place.error?.get("C"), place.error?.get("P")], ["42P01", "25"]);
  },
});

Deno.test({
  name: "PgSession passes messages over up to Sync behind an error, and goes on",
  fn: async () => {
    await using lab = await pgLab();
    using client = await PgWireClient.start(lab.port);
    await client.write(concatBytes([
      parse("", "SELECT nope FROM events"),
      bind("", ""),
      execute(""),
      parse("kept", "SELECT 1"),
      SYNC,
      parse("kept", "SELECT $1::int AS x"),
      bind("", "kept", [{ bytes: utf8("5") }]),
      execute(""),
      SYNC,
    ]));
    const first = answerOf(await client.untilReady());
    assert.match(first.codes, /^12?EZ$/);
    const second = answerOf(await client.untilReady());
    assert.equal(second.codes, "12DCZ");
    assert.deepEqual(texts(second.rows), [["5"]]);
  },
});

Deno.test({
  name: "PgSession gives back what it planned for a Bind that names another statement",
  fn: async () => {
    await using lab = await pgLab();
    using client = await PgWireClient.start(lab.port);
    const described = [parse("a", "SELECT 1"), frame("D", concatBytes([utf8("S"), zero("a")]))];
    await client.write(concatBytes([...described, bind("", "nope"), execute(""), SYNC]));
    assert.equal(answerOf(await client.untilReady()).codes, "1tTEZ");
    await until(async () => await inFlight(lab) === 0);
    await client.write(concatBytes([bind("", "a"), execute(""), SYNC]));
    assert.deepEqual(texts(answerOf(await client.untilReady()).rows), [["1"]]);
  },
});

Deno.test({
  name: "PgSession refuses a prepared statement whose table gained a column, as PostgreSQL does",
  fn: async () => {
    await using lab = await pgLab();
    using client = await PgWireClient.start(lab.port);
    const put = async (method: string, path: string, fields: readonly string[]) => {
      const time = { name: "timestamp", type: "datetime", required: true };
      const longs = fields.map((name) => ({ name, type: "long" }));
      const response = await fetch(`${lab.server.url}/api/v1/indexes${path}`, {
        method,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          index_id: "grows",
          doc_mapping: { timestamp_field: "timestamp", field_mappings: [time, ...longs] },
        }),
      });
      assert.ok(response.ok, await response.text());
    };
    const describe = (kind: "S" | "P", name: string) =>
      frame("D", concatBytes([utf8(kind), zero(name)]));
    const answered = async (...messages: readonly Uint8Array[]) => {
      await client.write(concatBytes([...messages, SYNC]));
      return answerOf(await client.untilReady());
    };
    await put("POST", "", ["a"]);
    const prepared = await answered(parse("s", "SELECT * FROM grows"), describe("S", "s"));
    assert.equal(prepared.codes, "1tTZ");
    assert.equal((await answered(bind("", "s"), execute(""))).codes, "2CZ");
    await put("PUT", "/grows", ["a", "b"]);
    const { codes, error } = await answered(bind("", "s"), execute(""));
    assert.equal(codes, "2EZ");
    assert.deepEqual(
      ["C", "M", "R"].map((field) => error?.get(field)),
      ["0A000", "cached plan must not change result type", "RevalidateCachedQuery"],
    );
    assert.equal(
      (await answered(bind("", "s"), describe("P", ""), execute(""))).codes,
      "2TCZ",
      "a portal that is described has the columns of now",
    );
    const anew = [
      parse("t", "SELECT * FROM grows"),
      describe("S", "t"),
      bind("", "t"),
      execute(""),
    ];
    assert.equal((await answered(...anew)).codes, "1tT2CZ");
  },
});

Deno.test({
  name: "PgSession tells an error at once to a client that waits with Flush",
  fn: async () => {
    await using lab = await pgLab();
    using client = await PgWireClient.start(lab.port);
    await client.write(concatBytes([
      parse("", "SELECT nope FROM events"),
      frame("D", concatBytes([utf8("S"), zero("")])),
      frame("H", new Uint8Array()),
    ]));
    assert.equal((await client.read())?.code, "1");
    assert.equal((await client.read())?.code, "E");
    await client.write(SYNC);
    assert.equal(answerOf(await client.untilReady()).codes, "Z");
  },
});

Deno.test({
  name: "PgSession holds one slot of the engine, however many portals it describes at once",
  fn: async () => {
    await using lab = await pgLab([], 1);
    using client = await PgWireClient.start(lab.port);
    const names = Array.from({ length: 60 }, (_, at) => `p${at}`);
    await client.write(concatBytes([
      parse("s", "SELECT raw FROM events"),
      ...names.flatMap((name) => [
        bind(name, "s"),
        frame("D", concatBytes([utf8("P"), zero(name)])),
      ]),
      execute("p0"),
      SYNC,
    ]));
    const { codes } = answerOf(await client.untilReady());
    assert.equal(codes, `1${"2T".repeat(names.length)}DCZ`);
  },
});

Deno.test({
  name: "PgSession sends a portal's rows in parts, and holds no statement once it ended",
  fn: async () => {
    await using lab = await pgLab();
    using client = await PgWireClient.start(lab.port);
    await client.simple("BEGIN");
    await client.write(concatBytes([
      parse("", "SELECT i FROM range(5000) r(i) ORDER BY i"),
      bind("p", ""),
      execute("p", 2),
      SYNC,
    ]));
    const first = answerOf(await client.untilReady());
    assert.equal(first.codes, "12DDsZ");
    await client.write(concatBytes([execute("p", 3), SYNC]));
    const second = answerOf(await client.untilReady());
    assert.deepEqual(texts(second.rows), [["2"], ["3"], ["4"]]);
    await client.write(concatBytes([execute("p", 0), SYNC]));
    const rest = answerOf(await client.untilReady());
    assert.equal(rest.rows.length, 4_995);
    assert.deepEqual(rest.tags, ["SELECT 4995"]);
    await client.write(concatBytes([
      parse("", "SELECT i FROM range(5000) r(i)"),
      bind("p", ""),
      execute("p", 1),
      SYNC,
    ]));
    await client.untilReady();
    assert.equal(await inFlight(lab), 1);
    assert.deepEqual((await client.simple("COMMIT")).tags, ["COMMIT"]);
    assert.equal(await inFlight(lab), 0);
  },
});

Deno.test({
  name: "PgSession tells types of parameters and columns before it has values",
  fn: async () => {
    await using lab = await pgLab();
    using client = await PgWireClient.start(lab.port);
    const cases: readonly [sql: string, parameters: number[], columns: number[]][] = [
      ["SELECT timestamp FROM events WHERE timestamp > $1 AND host = $2 LIMIT $3", [1184, 25, 20], [
        1184,
      ]],
      ["SELECT $1::int[] AS a, $2 AS b", [1007, 25], [1007, 25]],
      ["SELECT $2::date AS a, $1::float8 AS b", [701, 1082], [1082, 701]],
      ["SELECT $1::int + $2::bigint AS a, $3::date < now() AS b", [23, 20, 1082], [20, 16]],
      ["SELECT $2::smallint + 1.5 AS a, $1 AS b, $2 AS c", [25, 21], [1700, 25, 21]],
      ["SELECT 1 AS a FROM events WHERE timestamp > $1::timestamp", [1114], [23]],
      ["SELECT host || $1 AS a, 1 AS b, $1 || 'x' AS c FROM events", [25], [25, 23, 25]],
      ["SELECT $1::numeric + 1 AS a, date_trunc($2, now()) AS b, 7 AS c", [1700, 25], [
        ...[1700, 1184, 23],
      ]],
      ["SELECT date_trunc($1, now()) AS a, 7 AS b", [25], [1184, 23]],
      ["SELECT $1 + 1.5 AS a, $2 * 2 AS b, $3::int AS c", [1700, 23, 23], [1700, 23, 23]],
      ["SELECT sum(length(host) * $1) AS a, 10 / $2 AS b FROM events", [20, 701], [1700, 701]],
      ["SELECT timestamp - $1 AS a, timestamp + $2 AS b FROM events", [1184, 1186], [1186, 1184]],
      ["SELECT $1 - INTERVAL 1 DAY AS a, INTERVAL 1 DAY * $2 AS b", [1186, 701], [1186, 1186]],
      ["SELECT oid, list(typelem) AS l FROM pg_type WHERE oid = any($1::oid[]) GROUP BY oid", [
        1028,
      ], [
        ...[26, 1028],
      ]],
      ["SELECT $1::oid AS a, 7::UINTEGER AS b", [26], [20, 20]],
      ["SELECT round($1, 2) AS a, abs($2) AS b, -$3 AS c", [701, 701, 701], [701, 701, 701]],
      ["SELECT date_trunc('hour', $1) AS a, year($2) AS b", [1184, 1184], [1184, 20]],
      ["SELECT regexp_extract(host, $1, $2) AS a FROM events", [25, 23], [25]],
      ["SELECT quantile_cont(length(host), $1) AS a FROM events", [701], [701]],
      ["SELECT i FROM range($1, $2) r(i)", [20, 20], [20]],
      ["SELECT 1 AS a FROM events WHERE (timestamp, host) < ($1, $2)", [1184, 25], [23]],
      ["SHOW server_version", [], [25]],
      // A function of the catalog takes no notice of its argument.
      ["SELECT pg_get_constraintdef(oid, $1) AS a, $2::int AS b FROM pg_constraint", [25, 23], [
        ...[25, 23],
      ]],
      ["SELECT oid FROM pg_class WHERE oid = $1::regclass", [25], [26]],
    ];
    for (const [sql, parameters, columns] of cases) {
      await client.write(concatBytes([
        parse("", sql),
        frame("D", concatBytes([utf8("S"), zero("")])),
        SYNC,
      ]));
      const told = answerOf(await client.untilReady());
      assert.equal(told.error, undefined, `${sql}: ${told.error?.get("M")}`);
      assert.deepEqual([told.parameterOids, told.oids], [parameters, columns], sql);
    }
  },
});

Deno.test({
  name: "PgSession reads texts as the types that operators, functions and rows take",
  fn: async () => {
    await using lab = await pgLab();
    using client = await PgWireClient.start(lab.port);
    const cases: readonly [sql: string, value: string, answer: string][] = [
      ["SELECT $1 + 1", "2", "3"],
      ["SELECT 1.5 + $1", "2.25", "3.75"],
      ["SELECT 2::BIGINT * $1", "-3", "-6"],
      ["SELECT 10 / $1", "4", "2.5"],
      ["SELECT TIMESTAMP '2024-02-29' + $1", "1 day", "2024-03-01 00:00:00"],
      ["SELECT TIMESTAMP '2024-02-29' - $1", "2024-02-28", "1 day"],
      ["SELECT round($1, 1)", "1.26", "1.3"],
      ["SELECT coalesce(round( $1 ), 0)", "1.26", "1"],
      ["SELECT date_trunc('month', $1)", "2024-02-29 12:00:00+00", "2024-02-01 00:00:00+00"],
      ["SELECT (DATE '2024-02-29', 2) <= ($1, 2)", "2024-02-29", "t"],
      ["SELECT count(*) FROM range($1)", "3", "3"],
      ["SELECT quantile_disc(i, $1) FROM range(5) r(i)", "0.5", "2"],
      ["SELECT length($1) WHERE 'ab' IN ($1) AND ($1) = 'ab'", "ab", "2"],
      ["SELECT $1::timestamptz", "2024-02-29 12:00:00.5 +01:00", "2024-02-29 11:00:00.5+00"],
      ["SELECT TIMESTAMPTZ '2024-02-29' < $1", "2024-02-29 00:00:01 +0000", "t"],
      [
        "SELECT DISTINCT attrelid::regclass::text FROM pg_attribute WHERE attrelid = $1::regclass",
        "events",
        "events",
      ],
    ];
    for (const [sql, value, answer] of cases) {
      const back = await client.extended(sql, { parameters: [{ bytes: utf8(value) }] });
      assert.deepEqual(texts(back.rows), [[answer]], sql);
    }
  },
});

Deno.test({
  name: "PgSession means by operators, names and texts what PostgreSQL does",
  fn: async () => {
    await using lab = await pgLab([], 3);
    using client = await PgWireClient.start(lab.port, { database: "Logs" });
    const cases: readonly [sql: string, ...answer: string[]][] = [
      // The database is what the client named, and may stand before the schema, as dbt writes it.
      ['SELECT count(*) FROM "Logs"."svc"."events"', "3"],
      ["SELECT max(logs.svc.events.raw) FROM logs.svc.events", "row 2"],
      [
        "SELECT table_name FROM \"Logs\".information_schema.tables WHERE table_name < 'f'",
        "events",
      ],
      // `~` looks for a match anywhere, in any case with `*`. The function wants the whole text.
      ["SELECT 'abc' ~ 'b', 'abc' !~ 'b', 'abc' ~* 'B', 'abc' !~* 'B'", "t", "f", "t", "f"],
      ["SELECT 'é' || ('aé' ~ 'é'), regexp_full_match('abc', 'b')", "étrue", "f"],
      ["SELECT count(*) FROM events WHERE raw ~ '[12]$' AND NOT raw ~* 'ROW 2'", "1"],
      // A time may have a blank before its offset. Elsewhere that is a text like any other.
      ["SELECT count(*) FROM events WHERE timestamp > '2023-11-14 23:13:20.000 +01:00'", "2"],
      [
        "SELECT count(*) FROM events WHERE events.timestamp " +
        "BETWEEN '2023-11-14 22:13:20 +00:00' AND '2023-11-14 22:13:21 +00'",
        "2",
      ],
      ["SELECT '10:00:00 +00:00' = '10:00:00+00:00'", "f"],
      // Lists in braces.
      ["SELECT count(*) FROM events WHERE raw = ANY ('{row 1,\"row 2\",x}'::text[])", "2"],
      ["SELECT count(*) FROM events WHERE raw = ANY ('{row 1,x}')", "1"],
      ["SELECT * FROM current_schema()", "svc"],
      ["SELECT substring('a=12;b' FROM 'a=(\\d+)'), substring('x12' FROM '[0-9(]+')", "12", "12"],
      [
        "SELECT coalesce(substring('x' FROM 'y'), 'none'), substring('abc', 2), substring('abc' FROM 'x*')",
        "none",
        "bc",
        "",
      ],
    ];
    for (const [sql, ...answer] of cases) {
      const told = await client.simple(sql);
      assert.deepEqual(texts(told.rows), [answer], `${sql}: ${told.error?.get("M") ?? ""}`);
    }
    const other = await client.simple("SELECT * FROM svc.svc.events");
    assert.equal(other.error?.get("C"), "42P01");
  },
});

Deno.test({
  name: "PgSession writes intervals in the style that is set, which Rails does",
  fn: async () => {
    await using lab = await pgLab();
    using client = await PgWireClient.start(lab.port);
    const sql = "SELECT INTERVAL '1 year 2 months -3 days 4:05:06.5', INTERVAL '-26:00:00.05', " +
      "INTERVAL '0 s', [INTERVAL '1 day'], INTERVAL '-1 month'";
    const postgres = [
      "1 year 2 mons -3 days +04:05:06.5",
      "-26:00:00.05",
      "00:00:00",
      '{"1 day"}',
      "-1 mons",
    ];
    assert.deepEqual(texts((await client.simple(sql)).rows), [postgres]);
    await client.simple("SET intervalstyle = iso_8601");
    const iso = ["P1Y2M-3DT4H5M6.5S", "PT-26H-0.05S", "PT0S", "{P1D}", "P-1M"];
    assert.deepEqual(texts((await client.simple(sql)).rows), [iso]);
    assert.deepEqual(texts((await client.extended(sql)).rows), [iso]);
    const refused = await client.simple("SET intervalstyle = sql_standard");
    assert.equal(refused.error?.get("C"), "22023");
  },
});

Deno.test({
  name: "PgSession never reads a value as SQL",
  fn: async () => {
    await using lab = await pgLab([], 2);
    using client = await PgWireClient.start(lab.port);
    for (const text of ["'; SELECT 1; --", "x' OR '1'='1", "$1", "a\\'b", '"', "%"]) {
      const back = await client.extended("SELECT $1 AS x, length($1) AS n", {
        parameters: [{ bytes: utf8(text) }],
      });
      assert.deepEqual(texts(back.rows), [[text, String([...text].length)]], text);
    }
    const zeroed = await client.extended("SELECT $1", { parameters: [{ bytes: utf8("a\0b") }] });
    assert.equal(zeroed.error?.get("C"), "08P01");
  },
});

Deno.test({
  name: "COPY TO STDOUT sends text, csv and binary as PostgreSQL does",
  fn: async () => {
    await using lab = await pgLab([], 3);
    using client = await PgWireClient.start(lab.port);
    const messagesOf = async (sql: string) => {
      await client.write(frame("Q", zero(sql)));
      const messages = await client.untilReady();
      const error = answerOf(messages).error;
      assert.equal(error, undefined, `${sql}: ${error?.get("M")}`);
      return messages.filter(({ code }) => code === "d").map(({ body }) => body);
    };
    const copied = async (sql: string) => concatBytes(await messagesOf(sql));
    const values = "SELECT * FROM (VALUES (1, 'a\tb'), (2, NULL), (3, 'c\\d'), (4, '')) v(n, t)";
    assert.equal(
      textOf(await copied(`COPY (${values}) TO STDOUT`)),
      "1\ta\\tb\n2\t\\N\n3\tc\\\\d\n4\t\n",
    );
    assert.equal(
      textOf(await copied(`COPY (${values}) TO STDOUT WITH (FORMAT csv, HEADER)`)),
      'n,t\n1,a\tb\n2,\n3,c\\d\n4,""\n',
    );
    assert.equal(
      textOf(await copied(`copy (${values}) to stdout csv delimiter ';' null 'NIL' force quote *`)),
      '"1";"a\tb"\n"2";NIL\n"3";"c\\d"\n"4";""\n',
    );
    // PostgreSQL sends the signature with the first row, and tokio-postgres needs it there.
    const signature = "5047434f50590aff0d0a00" + "00000000" + "00000000";
    const binary = async (select: string) =>
      (await messagesOf(`COPY (${select}) TO STDOUT (FORMAT binary)`)).map((body) => body.toHex());
    assert.deepEqual(await binary("SELECT 7::int2 AS n"), [
      signature + "0001" + "00000002" + "0007",
      "ffff",
    ]);
    assert.deepEqual(await binary("SELECT 7::int2 AS n WHERE false"), [signature + "ffff"]);
    const many = await binary("SELECT repeat('x', 100) AS t FROM range(5000)");
    const row = "0001" + "00000064" + "78".repeat(100);
    assert.deepEqual(many, [signature + row, ...Array(4_999).fill(row), "ffff"]);
    // Only a LIMIT makes the order decide which rows there are.
    const all = textOf(await copied("COPY events (raw) TO STDOUT"));
    assert.deepEqual(all.split("\n").toSorted(), ["", "row 0", "row 1", "row 2"]);
    const newest = await copied("COPY (SELECT raw FROM events LIMIT 2) TO STDOUT");
    assert.equal(textOf(newest), "row 2\nrow 1\n");
    // PHP's PDO writes STDIN, which PostgreSQL takes for the same.
    const php = await copied(
      `COPY "events" ("raw") TO STDIN WITH DELIMITER E'\t' NULL AS E'\\\\N'`,
    );
    assert.deepEqual(textOf(php).split("\n").toSorted(), ["", "row 0", "row 1", "row 2"]);
    const refused = await client.simple("COPY events FROM STDIN");
    assert.equal(refused.error?.get("C"), "0A000");
  },
});

Deno.test({
  name: "PgSession sends many binary rows as few, however many are asked for at once",
  fn: async () => {
    await using lab = await pgLab();
    using client = await PgWireClient.start(lab.port);
    const sql = "SELECT n, CASE WHEN n % 3 > 0 THEN 'row ' || n END FROM range(5000) r(n)";
    const { rows } = await client.extended(sql, { format: 1 });
    assert.equal(rows.length, 5_000);
    for (const [at, [number, text]] of rows.entries()) {
      assert.equal(number?.toHex(), at.toString(16).padStart(16, "0"));
      assert.equal(
        text === null ? null : textOf(text ?? utf8("none")),
        at % 3 > 0 ? `row ${at}` : null,
      );
    }
    await client.write(concatBytes([
      ...[parse("", sql), bind("", "", [], 1)],
      ...[execute("", 3_000), execute("", 1), execute("")],
      SYNC,
    ]));
    const parts = answerOf(await client.untilReady());
    assert.deepEqual(parts.rows, rows);
    assert.match(parts.codes, /^12D{3000}sDsD{1999}CZ$/);
  },
});

Deno.test({
  name: "a cancel request stops the statement of the session that it names, with its secret alone",
  fn: async () => {
    await using lab = await pgLab();
    using client = await PgWireClient.start(lab.port, { version: 0x30002 });
    assert.equal(client.secret.byteLength, 32);
    await client.write(frame("Q", zero(HELD_UP)));
    await until(async () => await inFlight(lab) === 1);
    for (const secret of [new Uint8Array(32), client.secret.subarray(0, 4), client.secret]) {
      using asking = await PgWireClient.open(lab.port);
      await asking.write(
        packet(concatBytes([int32(80_877_102), int32(client.processId), secret])),
      );
      assert.equal(await asking.read(), undefined);
      if (secret !== client.secret) assert.equal(await inFlight(lab), 1);
    }
    const answer = answerOf(await client.untilReady());
    assert.equal(answer.error?.get("C"), "57014");
    assert.deepEqual(texts((await client.simple("SELECT 1")).rows), [["1"]]);
  },
});

Deno.test({
  name: "a client that leaves ends its statement, and a timeout that it sets ends it, too",
  fn: async () => {
    await using lab = await pgLab();
    const client = await PgWireClient.start(lab.port);
    await client.write(frame("Q", zero(HELD_UP)));
    await until(async () => await inFlight(lab) === 1);
    client[Symbol.dispose]();
    await until(async () => await inFlight(lab) === 0);
    using other = await PgWireClient.start(lab.port);
    await other.simple("SET statement_timeout = '200ms'");
    const { error } = await other.simple(HELD_UP);
    assert.equal(error?.get("C"), "57014");
    assert.match(error?.get("M") ?? "", /raise statement_timeout$/);
  },
});

Deno.test({
  name: "a client that leaves amid an answer is no bug, and leaves nothing",
  fn: async () => {
    const logged: string[] = [];
    await using lab = await pgLab();
    await configure({
      reset: true,
      sinks: { logged: ({ message }) => void logged.push(message.join("")) },
      loggers: [
        { category: ["svc", "query"], sinks: ["logged"], lowestLevel: "error" },
        { category: ["logtape", "meta"], sinks: [], lowestLevel: "error" },
      ],
    });
    try {
      for (let round = 0; round < 5; round += 1) {
        const client = await PgWireClient.start(lab.port);
        await client.write(frame("Q", zero("SELECT repeat('x', 1000) FROM range(50000)")));
        while ((await client.read())?.code !== "D");
        client[Symbol.dispose]();
        await until(async () => await inFlight(lab) === 0);
      }
      using other = await PgWireClient.start(lab.port);
      assert.deepEqual(texts((await other.simple("SELECT 1")).rows), [["1"]]);
      assert.deepEqual(logged, []);
    } finally {
      await reset();
    }
  },
});

Deno.test({
  name: "a session past the bound is refused in words, and the others go on",
  fn: async () => {
    await using lab = await pgLab(["--pg-max-sessions", "3"]);
    const open = await Promise.all([0, 1, 2].map(() => PgWireClient.start(lab.port)));
    await assert.rejects(PgWireClient.start(lab.port), /FATAL.*53300.*--pg-max-sessions/);
    assert.deepEqual(texts((await open[0]?.simple("SELECT 1"))?.rows ?? []), [["1"]]);
    open[1]?.[Symbol.dispose]();
    await until(() =>
      PgWireClient.start(lab.port).then((client) => (client[Symbol.dispose](), true), () => false)
    );
    for (const client of open) client[Symbol.dispose]();
  },
});

Deno.test({
  name: "a tenant gets half of the sessions that other tenants leave, and its own go on",
  fn: async () => {
    await using issuer = await FakeIssuer.start();
    await using lab = await pgLab([
      ...["--pg-max-sessions", "6", "--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE],
      ...["--oidc-tenant-claim", "org"],
    ]);
    using open = new DisposableStack();
    const start = async (org: string) => {
      const password = await issuer.token({ org });
      return open.use(await PgWireClient.start(lab.port, { password }));
    };
    const first = await start("quokka");
    for (let more = 1; more < 3; more += 1) await start("quokka");
    const refused = /FATAL.*53300.*this tenant has 3 open already/;
    await assert.rejects(start("quokka"), refused);
    await start("zebra");
    await assert.rejects(start("zebra"), /this tenant has 1 open already/);
    await start("yaffa");
    await assert.rejects(start("quokka"), refused);
    assert.deepEqual(texts((await first.simple("SELECT 1")).rows), [["1"]]);
  },
});

Deno.test({
  name: "a version or an option of the protocol that is unknown is negotiated",
  fn: async () => {
    await using lab = await pgLab();
    using client = await PgWireClient.open(lab.port);
    const seen = await client.begin({
      version: 0x3270f,
      parameters: { user: "u", "_pq_.test_protocol_negotiation": "" },
    });
    assert.equal(seen[0]?.code, "v");
    assert.equal(seen[0]?.body.subarray(0, 8).toHex(), "0003000200000001");
    await assert.rejects(PgWireClient.start(lab.port, { version: 0x20000 }), /0A000/);
  },
});

Deno.test({
  name: "a token is asked for as the password, and decides alone",
  fn: async () => {
    await using lab = await pgLab(["--tokens", "good-token"]);
    const start = (password: string) => PgWireClient.start(lab.port, { password });
    await assert.rejects(start("bad-token"), /FATAL.*28P01/);
    await assert.rejects(start(""), /FATAL.*28P01/);
    await assert.rejects(start("good-token\r\nx: y"), /FATAL.*28P01/);
    using client = await start("good-token");
    assert.deepEqual(texts((await client.simple("SELECT 1")).rows), [["1"]]);
  },
});

Deno.test({
  name: "a server that stops ends idle sessions in words",
  fn: async () => {
    const lab = await pgLab();
    using client = await PgWireClient.start(lab.port);
    const stopped = lab[Symbol.asyncDispose]();
    const last = await client.read();
    assert.equal(last?.code, "E");
    assert.match(textOf(last?.body ?? new Uint8Array()), /57P01/);
    await stopped;
  },
});

Deno.test({
  name: "pg asks with parameters, names and a cursor's rows",
  fn: async () => {
    await using lab = await pgLab([], 5);
    const client = new pg.Client({ host: "127.0.0.1", port: lab.port, user: "u", database: "svc" });
    await client.connect();
    try {
      const found = await client.query(
        "SELECT raw, timestamp FROM events WHERE timestamp >= $1 AND raw = ANY($2) ORDER BY raw",
        [new Date(1_700_000_001_000), ["row 0", "row 1", "row 3"]],
      );
      assert.deepEqual(found.rows, [
        { raw: "row 1", timestamp: new Date(1_700_000_001_000) },
        { raw: "row 3", timestamp: new Date(1_700_000_003_000) },
      ]);
      for (const n of [1, 2]) {
        const named = await client.query({
          name: "n",
          text: "SELECT $1::int + 1 AS x",
          values: [n],
        });
        assert.deepEqual(named.rows, [{ x: n + 1 }]);
      }
      await assert.rejects(client.query("SELECT nope FROM events"), { code: "42703" });
      const types = await client.query(
        "SELECT [1, NULL] AS list, {'a': 1} AS object, '\\x01'::BLOB AS bytes, 1.50::DECIMAL(5,2) AS d",
      );
      const [row] = types.rows;
      assert.deepEqual({ ...row, bytes: row?.bytes.toString("hex") }, {
        list: [1, null],
        object: { a: 1 },
        bytes: "01",
        d: "1.50",
      });
    } finally {
      await client.end();
    }
  },
});

Deno.test({
  name: "postgres asks with parameters, transactions, a cursor and COPY",
  fn: async () => {
    await using lab = await pgLab([], 5);
    const sql = postgres({
      ...{ host: "127.0.0.1", port: lab.port, username: "u", database: "svc", max: 2 },
      fetch_types: false,
    });
    try {
      const since = new Date(1_700_000_003_000);
      const rows = await sql`SELECT raw FROM events WHERE timestamp >= ${since} ORDER BY raw`;
      assert.deepEqual(rows.map(({ raw }) => raw), ["row 3", "row 4"]);
      const sums = await sql.begin(async (inner) => [
        await inner`SELECT ${1}::int + ${2}::int AS n`,
        await inner`SELECT ${true}::bool AS b, ${"x"} AS t`,
      ]);
      assert.deepEqual(sums.map(([row]) => row), [{ n: 3 }, { b: true, t: "x" }]);
      const seen: number[] = [];
      await sql`SELECT i::int AS i FROM range(10) r(i) ORDER BY i`.cursor(4, (part) => {
        seen.push(...part.map(({ i }) => i));
      });
      assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      const stream = await sql`COPY (SELECT raw FROM events ORDER BY raw) TO STDOUT`.readable();
      let copied = "";
      for await (const chunk of stream) copied += String(chunk);
      assert.equal(copied, "row 0\nrow 1\nrow 2\nrow 3\nrow 4\n");
    } finally {
      await sql.end();
    }
  },
});
