/** The three roles as processes over one PostgreSQL catalog, through the death of its server. */

import assert from "node:assert/strict";
import { POSTGRES, PostgresProcess } from "../../shared/testing/postgres_process.ts";
import { Stack } from "./stack.ts";

const COUNT = "SELECT count(*), count(DISTINCT raw) FROM events";

Deno.test({
  name: "A stack on PostgreSQL commits, answers, and goes on after its catalog was gone",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn() {
    await using postgres = await PostgresProcess.start();
    const catalogUri = await postgres.newDatabase();
    await using stack = await Stack.start({ catalogUri, rollAgeSecs: 1 });

    assert.equal(await stack.sendLogs(["first", "second"], { commit: "force" }), true);
    assert.deepEqual((await stack.sql(COUNT)).rows, [[2, 2]]);
    const { rows } = await stack.sql("SELECT raw FROM events ORDER BY raw");
    assert.deepEqual(rows, [["first"], ["second"]]);

    await postgres.kill();
    // Rows are acknowledged by the WAL alone: the catalog is not on that path.
    assert.equal(await stack.sendLogs(["third"], { commit: "wait_for" }), true);
    await assert.rejects(stack.sql(COUNT), /^Error: 503 .*"code":503/);

    await postgres.resume();
    await stack.ensure("query");
    assert.deepEqual((await stack.sql(COUNT)).rows, [[3, 3]]);
    assert.equal(await stack.sendLogs(["fourth"], { commit: "force" }), true);
    assert.deepEqual((await stack.sql(COUNT)).rows, [[4, 4]]);

    for (const role of ["query", "compactor", "ingest"] as const) {
      assert.doesNotMatch(await stack.stop(role), /NotCapable|svc@/);
    }
  },
});
