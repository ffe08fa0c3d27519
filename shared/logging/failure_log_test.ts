import assert from "node:assert/strict";
import { configure, getLogger, reset } from "@logtape/logtape";
import { OperatingError } from "../base/errors.ts";
import { FailureLog } from "./failure_log.ts";
import { formatRecord } from "./logging.ts";

const AWAY = new OperatingError("unavailable", "no store", { reason: "away" });

Deno.test({
  name: "FailureLog says the begin, a count a minute, what is new, and the end, however many fail",
  fn: () =>
    withLog((failures, { at, lines }) => {
      for (let second = 0; second < 150; second += 1) {
        at(second * 1_000);
        for (let lane = 0; lane < 40; lane += 1) {
          failures.failed(`lane ${lane}`, `drain lane ${lane}`, AWAY);
        }
        if (second === 70) {
          failures.failed("lane 3", "drain lane 3", new OperatingError("corrupt", "odd bytes"));
        }
      }
      for (let lane = 0; lane < 40; lane += 1) failures.worked(`lane ${lane}`);
      failures.worked("lane 7");
      assert.deepEqual(lines(), [
        "ERR test cannot drain lane 0, it is tried again until it works: no store",
        "ERR test cannot drain lane 0: no store; 2,401 attempts at 40 such tasks in 60 s failed so far",
        "ERR test cannot drain lane 3: odd bytes; 2,841 attempts at 40 such tasks in 70 s failed so far",
        "ERR test cannot drain lane 0: no store; 4,802 attempts at 40 such tasks in 120 s failed so far",
        "INF test drains work again, after 6,001 attempts that failed in 149 s",
      ]);
    }),
});

Deno.test({
  name: "FailureLog of what fails and works in turn says no more than a line and its end a minute",
  fn: () =>
    withLog((failures, { at, lines }) => {
      for (let second = 0; second < 120; second += 1) {
        at(second * 1_000);
        failures.failed("lane", "drain it", AWAY);
        failures.worked("lane");
      }
      assert.equal(lines().length, 4);
    }),
});

Deno.test({
  name: "FailureLog a subject that is gone does not fail any more",
  fn: () =>
    withLog((failures, { at, lines }) => {
      failures.failed("a", "drain a", AWAY);
      failures.failed("b", "drain b", AWAY);
      failures.worked("b");
      assert.equal(lines().length, 1);
      failures.keep(new Set(["b"]));
      assert.match(lines()[1] ?? "", /drains work again, after 2 attempts/);
      at(60_000);
      failures.failed("a", "drain a", AWAY);
      failures.worked("a");
      assert.match(lines().at(-1) ?? "", /drains work again, after 1 attempt that failed/);
    }),
});

interface Lab {
  at(ms: number): void;
  lines(): string[];
}

async function withLog(run: (failures: FailureLog, lab: Lab) => void): Promise<void> {
  let nowMs = 0;
  const lines: string[] = [];
  await configure({
    reset: true,
    sinks: { lines: (record) => void lines.push(formatRecord(record).replace(/^\S+ /, "")) },
    loggers: [
      { category: ["test"], sinks: ["lines"] },
      { category: ["logtape", "meta"], sinks: [], lowestLevel: "error" },
    ],
  });
  try {
    const failures = new FailureLog({
      clock: { monotonicMs: () => nowMs },
      log: getLogger(["test"]),
      over: "drains work again",
    });
    run(failures, { at: (ms) => nowMs = ms, lines: () => lines });
  } finally {
    await reset();
  }
}
