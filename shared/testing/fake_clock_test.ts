import assert from "node:assert/strict";
import { FakeClock } from "./fake_clock.ts";

Deno.test({
  name: "FakeClock wakes sleepers in order of time, and those that they start",
  async fn() {
    const clock = new FakeClock(1000);
    const woken: [string, number][] = [];
    const sleep = async (name: string, ms: number) => {
      await clock.sleep(ms);
      woken.push([name, clock.nowMs()]);
    };
    void sleep("late", 30);
    void sleep("early", 10).then(() => sleep("chained", 5));
    void sleep("not yet", 1000);
    await clock.advance(100);
    assert.deepEqual(woken, [["early", 1010], ["chained", 1015], ["late", 1030]]);
    assert.equal(clock.nowMs(), 1100);
    assert.equal(clock.sleepers, 1);
  },
});

Deno.test({
  name: "FakeClock.sleep() rejects when its signal aborts",
  async fn() {
    const clock = new FakeClock();
    const controller = new AbortController();
    const sleeping = clock.sleep(10, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await assert.rejects(sleeping, /enough/);
    assert.equal(clock.sleepers, 0);
  },
});
