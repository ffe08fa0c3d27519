/**
 * What clients ask when they connect and browse, as they send it. Each statement goes by the
 * planner and the engine, and must give the rows that the client needs. `statements/*.json` have
 * the statements, and where they are from. `$EVENTS` stands for the OID of the table.
 */

import assert from "node:assert/strict";
import type { PgPlan, PgSessionView } from "../../query/pg/pg_plan.ts";
import { PG_PLANNER } from "../../query/pg_catalog/planner.ts";
import type { ParameterValue } from "../../shared/engine/types.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";

const NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z

interface ClientStatements {
  /** Where the statements are from. */
  readonly source: string;
  readonly statements: readonly ClientStatement[];
}

interface ClientStatement {
  /** Lines. */
  readonly sql: readonly string[];
  readonly parameters?: readonly ParameterValue[];
  /** What the client must be told: a command's tag, or how many rows. */
  readonly tag?: string;
  readonly rows?: number;
  /** The first row. */
  readonly first?: readonly unknown[];
}

Deno.test({
  name: "catalog answers each client's statements with the rows that it needs",
  async fn(t) {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: NS, host: "h", raw: "r" }]);
    const oid = (await lab.query("SELECT 'events'::regclass")).rows[0]?.[0] as number;
    const folder = new URL("./statements/", import.meta.url);
    for await (const { name } of Deno.readDir(folder)) {
      const { statements } = JSON.parse(
        (await Deno.readTextFile(new URL(name, folder))).replaceAll('"$EVENTS"', String(oid))
          .replaceAll("$EVENTS", String(oid)),
      ) as ClientStatements;
      const session = sessionOf();
      for (const [at, statement] of statements.entries()) {
        const sql = statement.sql.join("\n");
        await t.step(`${name.replace(".json", "")} ${at + 1}: ${sql.slice(0, 60)}`, async () => {
          await checkStatement(lab, { ...statement, sql: [sql] }, session);
        });
      }
    }
  },
});

async function checkStatement(
  lab: EngineLab,
  { sql: [sql = ""], parameters = [], tag, rows, first }: ClientStatement,
  session: PgSessionView,
): Promise<void> {
  const plan = await PG_PLANNER.plan(sql, session);
  if (plan.kind === "done") {
    assert.equal((await plan.apply()).tag ?? plan.tag, tag);
    return;
  }
  const answer = await rowsOf(lab, plan, parameters);
  assert.deepEqual(answer.length, rows, JSON.stringify(answer).slice(0, 2_000));
  if (first !== undefined) assert.deepEqual(answer[0], first);
}

async function rowsOf(
  lab: EngineLab,
  plan: PgPlan,
  parameters: readonly ParameterValue[],
): Promise<readonly (readonly unknown[])[]> {
  if (plan.kind === "rows") return await plan.rows(parameters);
  assert(plan.kind === "engine", plan.kind);
  const { sql, besides } = plan;
  const asked = parameters.length === 0 ? {} : { parameters };
  return (await lab.query(sql, { ...besides, ...asked })).rows;
}

/** A session that nobody else has. */
function sessionOf(): PgSessionView {
  let transaction: PgSessionView["transaction"] = "idle";
  return {
    caller: { tenant: "default", namespace: "svc" },
    user: "somebody",
    database: "svc",
    processId: 7,
    settings: PG_PLANNER.settings(new Map([["user", "somebody"], ["database", "svc"]])),
    get transaction() {
      return transaction;
    },
    begin: () => void (transaction = "open"),
    end: () => void (transaction = "idle"),
    deallocate: () => true,
    discard: () => {},
  };
}
