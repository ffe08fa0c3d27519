/** PREPARE, EXECUTE, DECLARE, FETCH and CLOSE as statements; parameters that have no value. */

import assert from "node:assert/strict";
import { concatBytes, textOf, utf8 } from "../../shared/base/bytes.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { startLabServer } from "../../tests/doubles/lab_server.ts";
import {
  answerOf,
  bind,
  execute,
  frame,
  parse,
  PgWireClient,
  SYNC,
  type WireAnswer,
  zero,
} from "../../tests/doubles/pg_wire_client.ts";

interface Asking extends AsyncDisposable {
  readonly client: PgWireClient;
  readonly port: number;
}

async function asking(): Promise<Asking> {
  const resources = new AsyncDisposableStack();
  const lab = resources.use(await WarehouseLab.open());
  await lab.commit(Array.from({ length: 5 }, (_, at) => ({
    ns: BigInt(1_700_000_000 + at) * 1_000_000_000n,
    raw: `row ${at}`,
  })));
  const server = resources.use(await startLabServer(lab, ["--pg-listen", "127.0.0.1:0"]));
  const port = server.server.pgAddress?.port ?? 0;
  const client = resources.use(await PgWireClient.start(port));
  return { client, port, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Rows and tags, or the SQLSTATE; rows by `|`. */
function shown({ rows, tags, error }: WireAnswer): string {
  if (error !== undefined) return error.get("C") ?? "";
  const lines = rows.map((row) => row.map((cell) => cell === null ? "∅" : textOf(cell)).join("|"));
  return [...lines, ...tags].join(" ");
}

/** Statements of one session, in order, and what each answers. */
const SAID: readonly (readonly [sql: string, answer: string])[] = [
  ["PREPARE one AS SELECT 1 AS n", "PREPARE"],
  ["EXECUTE one", "1 SELECT 1"],
  ["EXECUTE one; EXECUTE ONE", "1 1 SELECT 1 SELECT 1"],
  ["EXECUTE one(1)", "42601"],
  ["EXECUTE none", "26000"],
  ["PREPARE one AS SELECT 2", "42P05"],
  ["PREPARE sum (int, numeric(10, 2)) AS SELECT $1 + 1 AS a, $2 * 2 AS b", "PREPARE"],
  ["EXECUTE sum(41, 1.5)", "42|3.0 SELECT 1"],
  ["EXECUTE sum('41'::int, NULL)", "42|∅ SELECT 1"],
  ["EXECUTE sum(-41)", "42601"],
  ["EXECUTE sum(one, 2)", "0A000"],
  ["EXECUTE sum((SELECT 1), 2)", "0A000"],
  ["EXECUTE sum('x', 2)", "22P02"],
  [
    'PREPARE "Found" AS SELECT raw FROM events WHERE timestamp >= $1 AND raw <> $2 ORDER BY raw',
    "PREPARE",
  ],
  ["EXECUTE \"Found\"(TIMESTAMPTZ '2023-11-14 22:13:22Z', 'it''s')", "row 2 row 3 row 4 SELECT 3"],
  ["EXECUTE found(1, 'x')", "26000"],
  ["EXECUTE \"Found\"($$2023-11-14 22:13:24Z$$, ''); -- behind it", "row 4 SELECT 1"],
  ["PREPARE text AS SELECT $1 AS t", "PREPARE"],
  ["EXECUTE text('''; DROP TABLE events; --')", "'; DROP TABLE events; -- SELECT 1"],
  ['DEALLOCATE "Found"', "DEALLOCATE"],
  ["DEALLOCATE PREPARE sum", "DEALLOCATE"],
  ["EXECUTE sum(1, 2)", "26000"],
  ["PREPARE bad (nothing) AS SELECT 1", "42704"],
  ["PREPARE bad AS SELECT nope FROM events WHERE raw = $1", "42703"],
  ["PREPARE bad AS PREPARE worse AS SELECT 1", "25006"],
  ["PREPARE bad AS BEGIN", "42601"],
  ["PREPARE bad AS DELETE FROM events", "25006"],
  ["PREPARE bad", "42601"],
  ["PREPARE shown AS SHOW server_encoding", "PREPARE"],
  ["EXECUTE shown", "UTF8 SHOW"],
  ["DEALLOCATE ALL", "DEALLOCATE ALL"],
  ["EXECUTE one", "26000"],
  ["DECLARE c CURSOR FOR SELECT 1", "25P01"],
  ["BEGIN", "BEGIN"],
  [
    "DECLARE c NO SCROLL CURSOR WITHOUT HOLD FOR SELECT raw FROM events ORDER BY raw",
    "DECLARE CURSOR",
  ],
  ["FETCH 0 IN c", "FETCH 0"],
  ["FETCH c", "row 0 FETCH 1"],
  ["FETCH FORWARD 2 FROM c", "row 1 row 2 FETCH 2"],
  ["FETCH NEXT IN C", "row 3 FETCH 1"],
  ["FETCH ALL FROM c", "row 4 FETCH 1"],
  ["FETCH 3 c", "FETCH 0"],
  ["CLOSE c", "CLOSE CURSOR"],
  ["DECLARE other BINARY CURSOR FOR SELECT 258::int2 AS n", "DECLARE CURSOR"],
  ["FETCH ALL other", "\u0001\u0002 FETCH 1"],
  [
    "DECLARE a CURSOR FOR SELECT 1; DECLARE b CURSOR FOR SHOW server_encoding; FETCH b",
    "UTF8 DECLARE CURSOR DECLARE CURSOR FETCH 1",
  ],
  ["CLOSE ALL", "CLOSE CURSOR ALL"],
  ["FETCH a", "34000"],
  ["ROLLBACK", "ROLLBACK"],
  ["BEGIN; DECLARE c CURSOR FOR SELECT raw FROM events", "BEGIN DECLARE CURSOR"],
  ["DECLARE c CURSOR FOR SELECT 1", "42P03"],
  ["FETCH c", "25P02"],
  ["ROLLBACK", "ROLLBACK"],
  ["FETCH c", "34000"],
  ["CLOSE c", "34000"],
  ["BEGIN; DECLARE c CURSOR FOR SELECT 1; COMMIT", "BEGIN DECLARE CURSOR COMMIT"],
  ["FETCH c", "34000"],
  ["DECLARE c SCROLL CURSOR FOR SELECT 1", "55000"],
  // WITH HOLD outlives a transaction that ends well.
  ["DECLARE h CURSOR WITH HOLD FOR SELECT raw FROM events ORDER BY raw", "DECLARE CURSOR"],
  ["FETCH 2 h", "row 0 row 1 FETCH 2"],
  ["FETCH 0 h", "55000"],
  ["BEGIN; FETCH h; COMMIT", "row 2 BEGIN FETCH 1 COMMIT"],
  ["BEGIN; SELECT nope FROM events", "42703"],
  ["ROLLBACK; FETCH h", "row 3 ROLLBACK FETCH 1"],
  ["BEGIN", "BEGIN"],
  [
    "DECLARE k CURSOR WITH HOLD FOR SELECT 1; DECLARE c CURSOR FOR SELECT 2",
    "DECLARE CURSOR DECLARE CURSOR",
  ],
  ["COMMIT", "COMMIT"],
  ["FETCH c", "34000"],
  ["FETCH k", "1 FETCH 1"],
  ["BEGIN; DECLARE u CURSOR WITH HOLD FOR SELECT 1; ROLLBACK", "BEGIN DECLARE CURSOR ROLLBACK"],
  ["FETCH u", "34000"],
  ["BEGIN", "BEGIN"],
  ["DECLARE u CURSOR WITH HOLD FOR SELECT 1", "DECLARE CURSOR"],
  ["SELECT nope FROM events", "42703"],
  ["ROLLBACK", "ROLLBACK"],
  ["FETCH u", "34000"],
  ["FETCH h; CLOSE k", "row 4 FETCH 1 CLOSE CURSOR"],
  ["DISCARD ALL", "DISCARD ALL"],
  ["FETCH h", "34000"],
  ["FETCH BACKWARD 1 FROM c", "55000"],
  ["FETCH -1 FROM c", "55000"],
  ["SELECT $1", "42P02"],
  ["SELECT 1, $1001", "42P02"],
  ["SELECT $99999999999", "42P02"],
  ["SELECT '$1' AS t", "$1 SELECT 1"],
];

Deno.test({
  name: "PgSession prepares, executes, declares and fetches as statements say",
  fn: async () => {
    await using asked = await asking();
    for (const [sql, answer] of SAID) {
      const told = await asked.client.simple(sql);
      assert.equal(shown(told), answer, `${sql}: ${told.error?.get("M") ?? ""}`);
    }
  },
});

Deno.test({
  name: "PgSession takes the statements of cursors in the extended protocol, with parameters",
  fn: async () => {
    await using asked = await asking();
    const { client } = asked;
    const ask = (sql: string, values: readonly string[] = [], rowsMax = 0) =>
      client.extended(sql, { parameters: values.map((text) => ({ bytes: utf8(text) })), rowsMax });
    await client.simple("BEGIN");
    const made = "DECLARE c CURSOR FOR SELECT raw FROM events WHERE raw > $1 ORDER BY raw";
    assert.equal(shown(await ask(made, ["row 0"])), "DECLARE CURSOR");
    const first = await ask("FETCH FORWARD 2 FROM c");
    assert.equal(shown(first), "row 1 row 2 FETCH 2");
    assert.deepEqual([first.names, first.oids], [["raw"], [25]]);
    await client.write(concatBytes([frame("D", concatBytes([utf8("P"), zero("c")])), SYNC]));
    assert.deepEqual(answerOf(await client.untilReady()).names, ["raw"]);
    await client.write(concatBytes([
      ...[parse("", "FETCH ALL c"), bind("p", ""), execute("p", 1), SYNC],
      ...[execute("p"), SYNC],
    ]));
    assert.equal(answerOf(await client.untilReady()).codes, "12DsZ");
    assert.equal(shown(answerOf(await client.untilReady())), "row 4 FETCH 1");
    assert.equal(shown(await ask("CLOSE c")), "CLOSE CURSOR");
    await client.simple("COMMIT");
    // One name space for both ways to prepare.
    await client.write(concatBytes([parse("p", "SELECT $1::int + 1 AS n"), SYNC]));
    await client.untilReady();
    assert.equal(shown(await ask("EXECUTE p(1)")), "2 SELECT 1");
    assert.equal(shown(await client.simple("EXECUTE p(2)")), "3 SELECT 1");
  },
});

Deno.test({
  name: "PgSession tells what is wrong with the numbers of parameters",
  fn: async () => {
    await using asked = await asking();
    const { client } = asked;
    const cases: readonly (readonly [sql: string, values: number, sqlstate: string])[] = [
      ["SELECT $1001", 0, "54023"],
      ["SELECT $70000", 1, "54023"],
      ["SELECT $99999999999999999999", 0, "54023"],
      ["SELECT $2", 2, "42P18"],
      ["SELECT $0", 0, "42P02"],
      ["SELECT $1", 0, "08P01"],
      ["SELECT $1, $2", 1, "08P01"],
      ["SELECT $1", 2, "08P01"],
    ];
    for (const [sql, values, sqlstate] of cases) {
      const parameters = Array.from({ length: values }, () => ({ bytes: utf8("1") }));
      const { error } = await client.extended(sql, { parameters });
      assert.equal(error?.get("C"), sqlstate, `${sql}: ${error?.get("M")}`);
    }
    assert.equal((await client.simple("SELECT 1, $1")).error?.get("P"), "11");
    const all = Array.from({ length: 1_000 }, (_, at) => ({ bytes: utf8(String(at + 1)) }));
    const sum = all.map((_, at) => `$${at + 1}::int`).join(",");
    assert.equal(
      shown(await client.extended(`SELECT list_sum([${sum}]) AS n`, { parameters: all })),
      "500500 SELECT 1",
    );
  },
});

Deno.test({
  name: "PgSession bounds what PREPARE and DECLARE make it keep",
  fn: async () => {
    await using asked = await asking();
    const { client } = asked;
    const many = (make: (at: number) => string, from: number) =>
      client.simple(Array.from({ length: 64 }, (_, at) => make(from + at)).join(";"));
    for (let from = 0; from < 1_024; from += 64) {
      assert.equal((await many((at) => `PREPARE p${at} AS SELECT 1`, from)).error, undefined);
    }
    assert.equal((await client.simple("PREPARE more AS SELECT 1")).error?.get("C"), "54000");
    await client.simple("BEGIN");
    assert.equal((await many((at) => `DECLARE c${at} CURSOR FOR SELECT 1`, 0)).error, undefined);
    assert.equal(
      (await client.simple("DECLARE more CURSOR FOR SELECT 1")).error?.get("C"),
      "54000",
    );
    await client.simple("ROLLBACK; BEGIN");
    const rows = "CURSOR FOR SELECT i FROM range(9000) r(i)";
    await client.simple(`DECLARE a ${rows}; DECLARE b ${rows}; DECLARE c ${rows}`);
    assert.equal((await client.simple("FETCH a; FETCH b")).error, undefined);
    assert.equal((await client.simple("FETCH c")).error?.get("C"), "53000");
    await client.simple("ROLLBACK");
    assert.equal(shown(await client.simple("SELECT 1")), "1 SELECT 1");
  },
});
