import { ok, strictEqual } from "node:assert/strict";

import { DIVIDED_POOL_BYTES_MIN } from "../limits.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { processesBelow } from "../../testing/processes.ts";
import { threadSecs } from "../../testing/threads.ts";
import { until } from "../../testing/until.ts";

const ignore = Deno.build.os !== "linux";
const NICENESS = 6;
const POOL_BYTES = 2 ** 30;
const DEAR = "SELECT count(*) AS n FROM range(20000000) t(i) WHERE hash(i) % 3 = 0";
const LIGHT = "SELECT count(*) AS n FROM range(300000) t(i) WHERE hash(i) % 3 = 0";

Deno.test({
  name:
    "expensive statements and batch jobs take processor time at low priority, cheap ones do not",
  ignore,
  fn: async () => {
    await using lab = await EngineLab.open({
      engine: { dearNiceness: NICENESS, memoryBytesMax: POOL_BYTES, processes: {} },
    });
    ok(await secsBehind(lab, DEAR) > 0.05);
    const behind = await secsBehind(lab, LIGHT, { batch: true, times: 60 });
    const beside = await secsBehind(lab, LIGHT, { times: 60 });
    // The threads themselves take some ticks while they have no statement, more of them where the
    // host is busy.
    ok(behind > 0.05 && beside < behind / 3, `${behind} s behind, ${beside} s beside`);
    const { poolBytes, poolBytesMax } = await lab.engine.memory();
    strictEqual(poolBytesMax, POOL_BYTES);
    ok(poolBytes < POOL_BYTES);
  },
});

Deno.test({
  name: "the process for expensive statements comes by itself, and nobody waits for it before",
  ignore,
  fn: async () => {
    await using lab = await EngineLab.open({
      engine: { dearNiceness: NICENESS, memoryBytesMax: POOL_BYTES, processes: {} },
    });
    const tell = async () => {
      await lab.engine.ping();
      ok((await lab.engine.memory()).poolBytes >= 0);
      strictEqual(lab.engine.problem, undefined);
      return (await processesBelow(Deno.pid, lab.dir)).length;
    };
    await tell();
    await secsBehind(lab, LIGHT);
    await until(async () => await tell() === 2);
    await until(() => lab.engine.residentBytes?.every((bytes) => bytes > 0) === true);
  },
});

const SHARED: Readonly<Record<string, { dearNiceness: number; memoryBytesMax: number }>> = {
  "a pool that is too small to be divided": {
    dearNiceness: NICENESS,
    memoryBytesMax: DIVIDED_POOL_BYTES_MIN - 1,
  },
  "a priority that cannot be had": { dearNiceness: 99, memoryBytesMax: POOL_BYTES },
};

for (const [why, engine] of Object.entries(SHARED)) {
  Deno.test({
    name: `expensive statements run beside the others with ${why}`,
    ignore,
    fn: async () => {
      await using lab = await EngineLab.open({ engine: { ...engine, processes: {} } });
      strictEqual(await secsBehind(lab, DEAR), 0);
    },
  });
}

/** Seconds of processor time that running a statement takes at low priority. */
async function secsBehind(
  lab: EngineLab,
  sql: string,
  { batch = false, times = 1 } = {},
): Promise<number> {
  const before = await secsOf(lab);
  for (let at = 0; at < times; at += 1) {
    await using prepared = await lab.engine.prepare({
      sql,
      namespace: "svc",
      tenant: "default",
      defaultOrder: false,
      rowsMax: 10,
      deadlineMs: 60_000,
      batch,
    });
    await using running = await prepared.run();
    let text = "";
    for await (const chunk of running.chunks("arrays")) {
      text += new TextDecoder().decode(chunk.bytes());
    }
    ok(/^\[\d{5,}\],$/.test(text), text);
  }
  return await secsOf(lab) - before;
}

async function secsOf({ dir }: EngineLab): Promise<number> {
  let secs = 0;
  for (const pid of await processesBelow(Deno.pid, dir)) secs += await threadSecs(pid, NICENESS);
  return secs;
}
