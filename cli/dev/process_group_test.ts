import assert from "node:assert/strict";
import { ProcessGroup } from "./process_group.ts";

const ENV = { DENO_NO_UPDATE_CHECK: "1", HOME: Deno.env.get("HOME") ?? "/" };

function group(): { group: ProcessGroup; lines: string[]; said: (line: string) => Promise<void> } {
  const lines: string[] = [];
  const waiting = new Map<string, () => void>();
  const writeLine = (line: string) => {
    lines.push(line);
    waiting.get(line)?.();
  };
  return {
    group: new ProcessGroup({ writeLine, nameWidth: 6 }),
    lines,
    said: (line) =>
      new Promise((resolve) => lines.includes(line) ? resolve() : waiting.set(line, resolve)),
  };
}

function child(name: string, code: string) {
  return { name, args: ["eval", "--no-config", code], env: ENV };
}

const IDLE = `setInterval(() => {}, 1000);`;
const ORDERLY = `Deno.addSignalListener("SIGTERM", () => { console.error("bye"); Deno.exit(0); });
  console.error("ready"); ${IDLE}`;
const STUBBORN = `Deno.addSignalListener("SIGTERM", () => {}); console.error("ready"); ${IDLE}`;

Deno.test({
  name: "ProcessGroup merges both outputs of its children, prefixed and padded",
  fn: async () => {
    const { group: processes, lines } = group();
    processes.start(child("one", `console.log("out"); console.error("err")`));
    await processes.firstEnd;
    assert.deepEqual(lines.toSorted(), ["one    | err", "one    | out"]);
  },
});

Deno.test({
  name: "ProcessGroup tells who ended first, how, and what it said last",
  fn: async () => {
    const { group: processes, said } = group();
    processes.start(child("stays", ORDERLY));
    await said("stays  | ready");
    processes.start(child("fails", `console.error("Cannot listen"); Deno.exit(3)`));
    const end = await processes.firstEnd;
    assert.deepEqual(end, {
      name: "fails",
      code: 3,
      signal: undefined,
      lastLine: "Cannot listen",
    });
    assert.deepEqual(await processes.stop(5_000), []);
  },
});

Deno.test({
  name: "ProcessGroup.stop lets children end by themselves",
  fn: async () => {
    const { group: processes, lines, said } = group();
    processes.start(child("a", ORDERLY));
    processes.start(child("b", ORDERLY));
    await Promise.all([said("a      | ready"), said("b      | ready")]);
    assert.deepEqual(await processes.stop(5_000), []);
    assert.ok(lines.includes("a      | bye") && lines.includes("b      | bye"));
  },
});

Deno.test({
  name: "ProcessGroup.stop kills and names a child that does not end in time",
  fn: async () => {
    const { group: processes, said } = group();
    processes.start(child("deaf", STUBBORN));
    await said("deaf   | ready");
    assert.deepEqual(await processes.stop(100), ["deaf"]);
    assert.equal((await processes.firstEnd).signal, "SIGKILL");
  },
});

Deno.test({
  name: "ProcessGroup gives children no other variables than those named",
  fn: async () => {
    const { group: processes, lines } = group();
    const code =
      `for (const name of ["SVC_NAMED", "SVC_LEAK"]) console.log(name, Deno.env.get(name))`;
    Deno.env.set("SVC_LEAK", "1");
    try {
      processes.start({ ...child("env", code), env: { ...ENV, SVC_NAMED: "yes" } });
      await processes.firstEnd;
    } finally {
      Deno.env.delete("SVC_LEAK");
    }
    assert.deepEqual(lines, ["env    | SVC_NAMED yes", "env    | SVC_LEAK undefined"]);
  },
});
