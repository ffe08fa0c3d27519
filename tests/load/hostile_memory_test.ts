/**
 * What hostile statements take of memory: of the query server, which is this process, and of its
 * DuckDB, which is a process below it.
 */

import assert from "node:assert/strict";
import { HOSTILE } from "../../shared/testing/hostile_statements.ts";
import { processesBelow } from "../../shared/testing/processes.ts";
import { HostileLab } from "../hostile/hostile_lab.ts";

/** The pool that `HostileLab` sets. */
const POOL_BYTES = 128 * 2 ** 20;
/** Beyond the pool: the two processes, and 2,048 rows of values on their way. */
const HEADROOM_BYTES = 512 * 2 ** 20;

Deno.test({
  name: "values that grow and work within one row leave the server within its pool and headroom",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await using lab = await HostileLab.open();
    await lab.ask("SELECT 1");
    const rest = await memory();
    assert(rest.processes.length > 1, "DuckDB has a process of its own");
    // Forgets the peaks so far.
    for (const pid of rest.processes) await Deno.writeTextFile(`/proc/${pid}/clear_refs`, "5");
    for (const category of ["values that grow by factors", "work within one row"]) {
      for (const [, sql] of HOSTILE[category] ?? []) {
        await lab.ask(lab.aimed(sql));
        const { mostBytes, told } = await memory();
        const grownBytes = mostBytes - rest.bytes;
        const shown = `${mib(grownBytes)} more than ${rest.told}: ${told} after ${
          sql.slice(0, 200)
        }`;
        assert(grownBytes <= POOL_BYTES + HEADROOM_BYTES, shown);
      }
    }
  },
});

/** Resident memory of this process and those below it: now, and at their peaks together. */
async function memory() {
  const processes = [Deno.pid, ...await processesBelow(Deno.pid)];
  let [bytes, mostBytes] = [0, 0];
  const told: string[] = [];
  for (const pid of processes) {
    const status = await Deno.readTextFile(`/proc/${pid}/status`);
    const bytesOf = (name: string) =>
      1_024 * Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]);
    bytes += bytesOf("VmRSS");
    mostBytes += bytesOf("VmHWM");
    told.push(`${pid} has ${mib(bytesOf("VmRSS"))}, at most ${mib(bytesOf("VmHWM"))}`);
  }
  return { processes, bytes, mostBytes, told: told.join("; ") };
}

function mib(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
