import assert from "node:assert/strict";
import { startDeadline } from "./deadline_timers.ts";

// The test runner fails a test that leaves a timer behind: none may run while nobody waits.

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

Deno.test({
  name: "startDeadline calls each wait in the order in which they are due, none before",
  fn: async () => {
    const msMax = 40;
    const called: { which: number; afterMs: number }[] = [];
    const waits: Promise<void>[] = [];
    for (let which = 0; which < 5; which += 1) {
      const startMs = performance.now();
      waits.push(
        new Promise((resolve) =>
          startDeadline(msMax, () => {
            called.push({ which, afterMs: performance.now() - startMs });
            resolve();
          })
        ),
      );
      await sleep(7);
    }
    await Promise.all(waits);
    assert.deepEqual(called.map(({ which }) => which), [0, 1, 2, 3, 4]);
    for (const { which, afterMs } of called) {
      assert.ok(afterMs >= msMax, `wait ${which} ended after ${afterMs} ms`);
    }
  },
});

for (const stopped of [[0], [1], [2], [0, 1], [1, 2], [2, 0], [0, 1, 2]]) {
  Deno.test({
    name: `startDeadline calls nobody who stopped: ${stopped} of three`,
    fn: async () => {
      const called: number[] = [];
      const timers = [0, 1, 2].map((which) => startDeadline(20, () => called.push(which)));
      for (const which of stopped) {
        timers[which]?.stop();
        timers[which]?.stop();
      }
      await sleep(60);
      assert.deepEqual(called, [0, 1, 2].filter((which) => !stopped.includes(which)));
    },
  });
}

Deno.test({
  name: "startDeadline waits for others of its length behind one that stopped first, and anew",
  fn: async () => {
    const first = startDeadline(30, () => assert.fail("it was stopped"));
    await sleep(15);
    const startMs = performance.now();
    const second = new Promise<void>((resolve) => {
      startDeadline(30, () => startDeadline(30, resolve));
    });
    first.stop();
    await second;
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs >= 60, `two waits of 30 ms ended after ${tookMs} ms`);
  },
});

Deno.test({
  name: "startDeadline keeps waits of different lengths apart",
  fn: async () => {
    const called: string[] = [];
    const long = new Promise<void>((resolve) =>
      startDeadline(50, () => {
        called.push("long");
        resolve();
      })
    );
    startDeadline(10, () => called.push("short"));
    await long;
    assert.deepEqual(called, ["short", "long"]);
  },
});
