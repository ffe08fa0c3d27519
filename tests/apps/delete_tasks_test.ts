/**
 * A delete task through three processes, each under its own permission set. Rows that are still in
 * the WAL when it is accepted go with the others, also when the compactor is killed meanwhile.
 * Other readers see the same table.
 */

import assert from "node:assert/strict";
import { readForeign } from "../equivalence/foreign_reader.ts";
import { Stack } from "./stack.ts";

/** The lease of a compactor that was killed amid the task runs out after a minute. */
const DONE_MS_MAX = 180_000;

Deno.test({
  name: "a delete task removes what was acknowledged before it, from WAL and table",
  async fn() {
    await using stack = await Stack.start({
      rollAgeSecs: 2,
      env: { SVC_COMMIT_MAX_AGE_SECS: "1" },
    });
    const bodies = Array.from({ length: 300 }, (_, at) => `row ${at} of user ${at % 3}`);
    assert.ok(await stack.sendLogs(bodies.slice(0, 200), { commit: "force" }));
    assert.ok(await stack.sendLogs(bodies.slice(200), { commit: "wait_for" }));
    await stack.kill("compactor");
    const made = await ask(stack, "", {
      index_id: "events",
      predicate_sql: "raw LIKE '%user 1'",
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { task_id } = made.body;
    assert.equal(made.body.status, "pending");
    await stack.ensure("compactor");
    await new Promise((resolve) => setTimeout(resolve, 500));
    await stack.kill("compactor");
    await stack.ensure("compactor");
    const done = await ended(stack, task_id);
    assert.equal(done.status, "done", JSON.stringify(done));
    const kept = bodies.filter((body) => !body.endsWith("user 1")).sort();
    assert.equal(done.rows_deleted, bodies.length - kept.length);
    assert.ok(done.files_rewritten >= 1);
    const { rows } = await stack.sql("SELECT raw FROM events ORDER BY raw");
    assert.deepEqual(rows.map(([raw]) => raw), kept);
    const foreign = await readForeign(`${stack.dataDir}/warehouse/catalog.db`, {
      namespace: "svc",
      name: "events",
    });
    assert.deepEqual(foreign.rows.map(({ raw }) => raw).sort(), kept);
    assert.equal((await ask(stack, `/${task_id}`)).body.copies.length, 7);
  },
});

interface Reply {
  readonly status: number;
  // deno-lint-ignore no-explicit-any -- a record, asserted member by member
  readonly body: any;
}

async function ask(stack: Stack, path: string, body?: unknown): Promise<Reply> {
  const response = await fetch(`${stack.queryUrl}/api/v1/delete-tasks${path}`, {
    headers: { "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  return { status: response.status, body: await response.json() };
}

async function ended(stack: Stack, taskId: string): Promise<Reply["body"]> {
  const deadline = Date.now() + DONE_MS_MAX;
  for (;;) {
    const { body } = await ask(stack, `/${taskId}`);
    if (body.ended_at !== undefined || Date.now() > deadline) return body;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
