import assert from "node:assert/strict";
import { isOperatingError } from "../../shared/base/errors.ts";
import type { PgDone, PgSessionView } from "../pg/pg_plan.ts";
import { PG_PLANNER } from "./planner.ts";

interface Session extends PgSessionView {
  readonly forgotten: string[];
}

function openSession(startup: Readonly<Record<string, string>> = {}): Session {
  const forgotten: string[] = [];
  let transaction: PgSessionView["transaction"] = "idle";
  return {
    forgotten,
    caller: { tenant: "default", namespace: "svc" },
    user: "u",
    database: "d",
    processId: 1,
    settings: PG_PLANNER.settings(new Map(Object.entries({ user: "u", ...startup }))),
    get transaction() {
      return transaction;
    },
    begin: () => void (transaction = "open"),
    end: () => void (transaction = "idle"),
    deallocate: (name) => name !== "nosuch" && forgotten.push(name ?? "all") > 0,
    discard: () => void forgotten.push("discard"),
  };
}

/** Asks and does it: the tag with notices, the rows, or `engine`. */
async function ask(session: Session, sql: string): Promise<unknown> {
  const plan = await PG_PLANNER.plan(sql, session);
  if (plan.kind === "rows") return await plan.rows([]);
  if (plan.kind !== "done") return plan.kind;
  const { tag = plan.tag, notices = [] }: PgDone = await plan.apply();
  return [tag, ...notices.map(({ sqlstate }) => sqlstate)].join(" ");
}

const STATEMENTS: readonly (readonly [sql: string, answer: unknown])[] = [
  ["", "empty"],
  [" -- nothing\n /* at all */ ;", "empty"],
  ["SELECT 1", "engine"],
  ["SHOW TABLES", "engine"],
  ["show all tables", "engine"],
  ["SHOW server_version", [["16.6"]]],
  ["show transaction isolation level", [["read committed"]]],
  ["SHOW search_path", [["svc"]]],
  ["SET application_name TO 'it''s'", "SET"],
  ["show application_name;", [["it's"]]],
  ["SET SESSION statement_timeout = '5min' -- why", "SET"],
  ["SHOW statement_timeout", [["5min"]]],
  ["set statement_timeout=1500", "SET"],
  ["SHOW statement_timeout", [["1500ms"]]],
  ['SET LOCAL search_path = a, "B c"', "SET"],
  ["SHOW search_path", [["a, B c"]]],
  ["RESET search_path", "RESET"],
  ["SHOW search_path", [["svc"]]],
  ["SET TIME ZONE 'UTC'", "SET"],
  ["SET timezone = 'Europe/Berlin'", "SET 01000"],
  ["SET my.own = 1", "SET"],
  ["SHOW my.own", [["1"]]],
  ["SET NAMES 'utf8'", "SET"],
  // Sequelize begins with it.
  ["SET TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE", "SET"],
  ["SHOW TimeZone", [["UTC"]]],
  ["SET extra_float_digits = 3", "SET"],
  ["SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "SET"],
  ["COMMIT", "COMMIT 25P01"],
  ["BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "BEGIN"],
  ["BEGIN", "BEGIN 25001"],
  ["SAVEPOINT a", "SAVEPOINT"],
  ["ROLLBACK TO SAVEPOINT a", "ROLLBACK"],
  ["RELEASE SAVEPOINT a", "RELEASE"],
  ["END", "COMMIT"],
  ["START TRANSACTION READ WRITE", "START TRANSACTION"],
  ["ROLLBACK", "ROLLBACK"],
  ["ABORT", "ROLLBACK 25P01"],
  ["DEALLOCATE ALL", "DEALLOCATE ALL"],
  ["DEALLOCATE PREPARE x", "DEALLOCATE"],
  ["LISTEN a", "LISTEN"],
  ["UNLISTEN *", "UNLISTEN"],
  ["DISCARD ALL", "DISCARD ALL"],
  ["SHOW my.own", undefined],
];

Deno.test({
  name: "planner does what a session asks, one statement after the other",
  async fn() {
    const session = openSession();
    for (const [sql, answer] of STATEMENTS) {
      if (answer === undefined) await assert.rejects(ask(session, sql), isOperatingError, sql);
      else assert.deepEqual(await ask(session, sql), answer, sql);
    }
    assert.deepEqual(session.forgotten, ["all", "x", "discard"]);
  },
});

Deno.test({
  name: "planner refuses settings that would change answers, with their SQLSTATE",
  async fn() {
    const session = openSession();
    for (
      const [sql, sqlstate] of [
        ["SET client_encoding = 'LATIN1'", "22023"],
        ["SET TIME ZONE INTERVAL 'x' HOUR TO MINUTE", "22023"],
        ["SET DateStyle = 'German'", "22023"],
        ["SET standard_conforming_strings = off", "22023"],
        ["SET server_version = '17'", "55P02"],
        ["SET statement_timeout = 'soon'", "22023"],
        ["SET nosuch = 1", "42704"],
        ["SHOW nosuch", "42704"],
        ["SAVEPOINT a", "25P01"],
        ["DEALLOCATE nosuch", "26000"],
      ] as const
    ) {
      await assert.rejects(
        ask(session, sql),
        (error) => isOperatingError(error) && error.details?.["sqlstate"] === sqlstate,
        sql,
      );
    }
    for (let at = 0; at < 64; at += 1) await ask(session, `SET a.b${at} = 1`);
    await assert.rejects(ask(session, "SET a.more = 1"), /64 settings of its own/);
  },
});

Deno.test({
  name: "settings of a startup message are what RESET goes back to, and are reported",
  async fn() {
    const session = openSession({
      application_name: "psql",
      options: "-c statement_timeout=2s --my.own=a\\ b",
      DateStyle: "ISO, DMY",
    });
    const { settings } = session;
    assert.equal(settings.applicationName, "psql");
    assert.equal(settings.statementTimeoutMs, 2_000);
    assert.equal(settings.get("my.own"), "a b");
    assert.equal(settings.reported().get("DateStyle"), "ISO, DMY");
    assert.equal(settings.reported().get("client_encoding"), "UTF8");
    await ask(session, "SET application_name = x");
    assert.equal(settings.reported().get("application_name"), "x");
    await ask(session, "RESET ALL");
    assert.equal(settings.applicationName, "psql");
    assert.equal(
      openSession({ client_encoding: "'utf-8'" }).settings.reported().get("client_encoding"),
      "UTF8",
    );
    const long = `SET ${"a".repeat(1_000_000)}.b = 1`;
    await assert.rejects(() => ask(session, long), { details: { sqlstate: "42704" } });
    assert.throws(() => openSession({ client_encoding: "LATIN1" }), isOperatingError);
    const plan = await PG_PLANNER.plan("SELECT set_config('jit', 'on', false)", session);
    assert.equal(settings.get("jit"), "on");
    assert(plan.kind === "engine");
    assert.equal(plan.besides?.session?.settings.get("application_name"), "psql");
  },
});
