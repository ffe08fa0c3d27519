/**
 * What an engine keeps in a DuckDB that has a process of its own, when that process is replaced.
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { EngineLab } from "../../../testing/engine_lab.ts";
import { processesBelow } from "../../../testing/processes.ts";
import { until } from "../../../testing/until.ts";
import type { HeldRowsMeter } from "../../held_rows/held_rows.ts";

const START_NS = 1_790_000_000_000_000_000n;
const NEWEST = "SELECT raw FROM events ORDER BY timestamp DESC LIMIT 5";
const ignore = Deno.build.os !== "linux";

Deno.test({
  name:
    "Engine rows that were held are read from their files once their process is replaced, and held again",
  ignore,
  fn: async () => {
    const told = { hits: 0, blocks: 0 };
    const heldRowsMeter: HeldRowsMeter = {
      limit: () => {},
      lookedUp: (outcome) => told.hits += outcome === "hit" ? 1 : 0,
      held: (_, blocks) => told.blocks = blocks,
      evicted: () => {},
      failed: () => {},
    };
    await using lab = await EngineLab.open({ engine: { processes: {}, heldRowsMeter } });
    await lab.commit(Array.from({ length: 9_000 }, (_, i) => ({
      ns: START_NS + BigInt(i) * 1_000n,
      host: "h",
      raw: `line ${i}`,
      attributes: null,
    })));
    const newest = async () => (await lab.query(NEWEST)).rows;
    const expected = await newest();
    strictEqual(expected.length, 5);
    for (let round = 0; round < 3; round += 1) {
      await until(async () => {
        const hits = told.hits;
        deepStrictEqual(await newest(), expected);
        return told.hits > hits;
      });
      ok(told.blocks > 0);
      const [pid = 0] = await processesBelow(Deno.pid, lab.dir);
      Deno.kill(pid, "SIGKILL");
      // At once: the statement finds the process gone, or the tables.
      deepStrictEqual(await newest(), expected);
      await until(() => lab.engine.problem === undefined);
      strictEqual(told.blocks, 0);
    }
    await lab.engine.ping();
  },
});

Deno.test({
  name:
    "Engine tells that its process is being replaced, and answers memory() and ping() afterwards",
  ignore,
  fn: async () => {
    await using lab = await EngineLab.open({ engine: { processes: {} } });
    strictEqual(lab.engine.problem, undefined);
    await lab.engine.ping();
    const [pid = 0] = await processesBelow(Deno.pid, lab.dir);
    Deno.kill(pid, "SIGKILL");
    await until(() => lab.engine.problem !== undefined, { pollMs: 0 });
    match(lab.engine.problem ?? "", /^DuckDB for light statements is being replaced$/);
    await lab.engine.ping();
    ok((await lab.engine.memory()).poolBytes >= 0);
    strictEqual(lab.engine.problem, undefined);
  },
});
