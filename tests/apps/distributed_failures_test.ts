/** Servers that share statements: callers that leave, and servers that ask each other at once. */

import assert from "node:assert/strict";
import { leastOf } from "../../shared/testing/least_of.ts";
import { processorMsOf } from "../../shared/testing/processes.ts";
import { until } from "../../shared/testing/until.ts";
import { ask, FLEET_ARGS, inFlight, openSharedEvents, STATEMENTS } from "./shared_events.ts";
import { QueryFleet } from "./query_fleet.ts";

Deno.test({
  name:
    "a caller that leaves ends its statement on all servers, and servers ask each other at once",
  async fn(t) {
    await using lab = await openSharedEvents();
    await using fleet = await QueryFleet.start({ dataDir: lab.dir, count: 3, args: FLEET_ARGS });
    await t.step("the statement ends within 1 s of the servers' processor time", async () => {
      // What they do besides counts, too: of some tries the least.
      const tookMs = await leastOf(1_000, () => leave(fleet));
      assert(tookMs < 1_000, `${tookMs} ms`);
    });
    await t.step("two servers that share statements with each other both answer", async () => {
      const sql = STATEMENTS[0] ?? "";
      const { rows } = await ask(fleet.at(0).url, "/local", sql);
      const asked = Array.from(
        { length: 48 },
        (_, at) => ask(fleet.at(at % 2).url, "/distributed", sql),
      );
      for (const answer of await Promise.all(asked)) {
        assert.deepEqual(answer.rows, rows);
        assert.equal(answer.stats.phases.distributed?.mode, "aggregate");
      }
    });
    await t.step("a server whose peers are gone is ready and answers", async () => {
      const sql = STATEMENTS[0] ?? "";
      const { rows } = await ask(fleet.at(0).url, "/local", sql);
      for (const at of [1, 2]) fleet.signal(at, "SIGKILL");
      assert.deepEqual((await ask(fleet.at(0).url, "/distributed", sql)).rows, rows);
      const ready = await fetch(`${fleet.at(0).url}/readyz`);
      assert.equal(ready.status, 200, await ready.text());
    });
  },
});

/** Processor time of all servers from when a caller leaves until none runs its statement. */
async function leave(fleet: QueryFleet): Promise<number> {
  // DuckDB ends a statement between two chunks of 2,048 rows: each takes some 15 ms here.
  const slow = "SELECT max(md5(repeat(raw, 150 + n.range::INTEGER))) FROM events, range(24) AS n";
  const workedMs = async () => {
    const all = fleet.servers.map(({ process }) => processorMsOf(process.pid));
    return (await Promise.all(all)).reduce((sum, ms) => sum + ms, 0);
  };
  const caller = new AbortController();
  const asked = ask(fleet.at(0).url, "/distributed", slow, { signal: caller.signal });
  const begun = Promise.all(
    fleet.servers.map((server) => until(async () => await inFlight(server) > 0)),
  );
  await Promise.race([begun, asked.then(() => assert.fail("it ended before"))]);
  const startMs = await workedMs();
  caller.abort();
  for (const server of fleet.servers) {
    await until(async () => await inFlight(server) === 0, { msMax: 30_000 });
  }
  const tookMs = await workedMs() - startMs;
  await assert.rejects(asked);
  return tookMs;
}
