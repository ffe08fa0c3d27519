/**
 * Every statement of the hostile corpus against a running server of two tenants. Each ends as it
 * must, no answer shows a canary, a path or another tenant's name, and the server goes on
 * answering.
 */

import assert from "node:assert/strict";
import { HOSTILE, type HostileCase } from "../../shared/testing/hostile_statements.ts";
import { turnsFor } from "../../shared/engine/turns/turns.ts";
import { CANARY, HostileLab, OTHER, THREADS } from "./hostile_lab.ts";

/** From the wall clock of a statement to its refusal: a busy machine included. */
const ENDED_MS_MAX = 20_000;
/** The wall clock of a statement without end, which takes all processors until then. */
const ENDLESS_SECS = 0.5;
/** The server has so many turns for expensive statements, so none waits for another's end. */
const AT_ONCE = turnsFor(THREADS).dear;

Deno.test({
  name: "the hostile corpus has at least 150 statements, no two alike",
  fn: () => {
    const statements = Object.values(HOSTILE).flat().map(([, sql]) => sql);
    assert(statements.length >= 150, String(statements.length));
    assert.equal(new Set(statements).size, statements.length);
  },
});

Deno.test({
  name: "POST /api/v1/sql refuses or stops every hostile statement and shows nobody else's",
  fn: async (t) => {
    await using lab = await HostileLab.open();
    for (const [category, cases] of Object.entries(HOSTILE)) {
      await t.step(category, async () => {
        const [endless, others] = [
          cases.filter(mayBeEndless),
          cases.filter((one) => !mayBeEndless(one)),
        ];
        for (const one of others) await attack(lab, one);
        // Each takes all processors for its time, and as many together no longer.
        for (let at = 0; at < endless.length; at += AT_ONCE) {
          await Promise.all(endless.slice(at, at + AT_ONCE).map((one) => attack(lab, one)));
        }
        assert(await lab.healthy());
        const own = await lab.ask("SELECT count(*) FROM events", { timeoutSeconds: 30 });
        assert.deepEqual(JSON.parse(own.text).rows, [[41]]);
      });
    }
  },
});

Deno.test({
  name:
    "the canaries are there: their owner reads them, the corpus' answers are not empty by chance",
  fn: async () => {
    await using lab = await HostileLab.open();
    for (const table of ["events", `${OTHER}.events`, "secrets"]) {
      const sql = `SELECT raw FROM ${table}`;
      const { text } = await lab.ask(sql, { tenant: OTHER, timeoutSeconds: 30 });
      assert.deepEqual(JSON.parse(text).rows, [[CANARY], [CANARY]], sql);
    }
    const { verdict } = await lab.ask("SELECT * FROM svc.events", { tenant: OTHER });
    assert.equal(verdict, "unknown_table");
  },
});

Deno.test({
  name: "POST /api/v1/sql/explain and ndjson refuse as a records request does",
  fn: async (t) => {
    await using lab = await HostileLab.open();
    for (const [category, cases] of Object.entries(HOSTILE)) {
      await t.step(category, async () => {
        for (const [verdict, sql] of cases) {
          if (typeof verdict !== "string" || !GATE_VERDICTS.has(verdict)) continue;
          for (const form of [{ path: "/api/v1/sql/explain" }, { format: "ndjson" }]) {
            const answer = await lab.ask(lab.aimed(sql), form);
            assert.equal(answer.verdict, verdict, `${sql}: ${answer.text}`);
            assertNothingShown(lab, { sql: lab.aimed(sql), text: answer.text });
          }
        }
      });
    }
  },
});

/** Whether a statement may end by its wall clock, and by its memory, which others take, too. */
function mayBeEndless([verdict]: HostileCase): boolean {
  return verdict.includes("timeout") && verdict.includes("pool_exhausted");
}

/** Refusals that come before planning. */
const GATE_VERDICTS: ReadonlySet<string> = new Set([
  "not_one_select",
  "refused_function",
  "refused_syntax",
  "bad_hot_call",
  "unknown_table",
  "syntax_error",
]);

async function attack(lab: HostileLab, one: HostileCase): Promise<void> {
  const [verdict, statement] = one;
  const sql = lab.aimed(statement);
  const startMs = performance.now();
  const verdicts = ([] as string[]).concat(verdict);
  let answer = await lab.ask(sql, mayBeEndless(one) ? { timeoutSeconds: ENDLESS_SECS } : {});
  const tookMs = performance.now() - startMs;
  if (answer.verdict === "timeout" && !verdicts.includes("timeout")) {
    // A machine that stood still may use up the second of a statement that is done at once.
    answer = await lab.ask(sql, { timeoutSeconds: 10 });
  }
  const shown = `${sql.slice(0, 300)}: ${answer.text.slice(0, 300)}`;
  assert(verdicts.includes(answer.verdict), `${answer.verdict} of ${shown}`);
  assertNothingShown(lab, { sql, text: answer.text });
  assert(tookMs < ENDED_MS_MAX, `${Math.round(tookMs)} ms: ${shown}`);
}

/** What the caller wrote may come back to the caller. */
function assertNothingShown(
  lab: HostileLab,
  { sql, text }: { readonly sql: string; readonly text: string },
): void {
  assert(!text.includes(CANARY), `canary in the answer to ${sql}: ${text}`);
  for (const secret of [lab.dir, OTHER, Deno.env.get("HOME") ?? "/root"]) {
    assert(
      sql.includes(secret) || !text.includes(secret),
      `${secret} in the answer to ${sql}: ${text}`,
    );
  }
}
