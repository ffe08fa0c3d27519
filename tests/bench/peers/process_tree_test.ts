import assert from "node:assert/strict";
import { basename } from "node:path";
import { processTree, totalResidentBytes } from "./process_tree.ts";
import { processorSecsOf } from "./processor_clock.ts";
import { Progress } from "./progress.ts";

/** The kernel gives none above. */
const PID_BEYOND = 2 ** 22 + 1;
const LINUX_WITH_GLIBC = Deno.build.target.endsWith("linux-gnu");

Deno.test({
  name: "processorSecsOf grows with what a process computes, and is unknown without one",
  ignore: !LINUX_WITH_GLIBC,
  fn: () => {
    const before = processorSecsOf(Deno.pid) ?? NaN;
    let sum = 0;
    for (let i = 0; i < 5_000_000; i += 1) sum += Math.sqrt(i);
    const spent = (processorSecsOf(Deno.pid) ?? NaN) - before;
    assert.ok(sum > 0 && spent > 0.001 && spent < 60, `${spent} s`);
    assert.equal(processorSecsOf(PID_BEYOND), undefined);
  },
});

Deno.test({
  name: "processTree has a process, what it started, and their memory",
  ignore: !LINUX_WITH_GLIBC,
  fn: async () => {
    const child = new Deno.Command("sh", { args: ["-c", "sleep 60 & wait"], stdin: "null" })
      .spawn();
    try {
      let tree = processTree(child.pid);
      const names = () => tree.map(({ words }) => basename(words[0] ?? "")).join();
      // What was forked has its parent's name until it has become a program of its own.
      for (let i = 0; i < 500 && names() !== "sh,sleep"; i += 1) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        tree = processTree(child.pid);
      }
      assert.equal(names(), "sh,sleep");
      const peakBytes = tree.reduce((sum, use) => sum + use.peakBytes, 0);
      const resident = totalResidentBytes(tree);
      // Both have the C library, which counts once.
      assert.ok(resident > 0 && resident < peakBytes, `${resident} of ${peakBytes}`);
    } finally {
      for (const { pid } of processTree(child.pid).toReversed()) Deno.kill(pid, "SIGKILL");
      await child.status;
    }
  },
});

Deno.test({
  name: "Progress writes to a terminal and is silent in a pipe",
  fn: () => {
    const written = (terminal: boolean) => {
      let text = "";
      const stream = {
        isTerminal: () => terminal,
        writeSync: (bytes: Uint8Array) => (text += new TextDecoder().decode(bytes)).length,
      };
      {
        using progress = new Progress(stream);
        progress.show("loading");
      }
      return text;
    };
    assert.match(written(true), /loading, 0 s/);
    assert.equal(written(false), "");
  },
});
