import assert from "node:assert/strict";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import { GarbageWatch } from "./garbage_watch.ts";

Deno.test("GarbageWatch collects above its bytes, once a second at most, and looks each 100 ms", async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  let resident = 100;
  const watch = new GarbageWatch({
    aboveBytes: 100,
    residentBytes: () => {
      told.push("look");
      return resident;
    },
    collect: () => told.push("collect"),
    clock,
  });
  const after = async (ms: number) => {
    told.length = 0;
    await clock.advance(ms);
    watch.look();
    watch.look();
    return told.join();
  };
  assert.equal(await after(0), "look");
  assert.equal(await after(99), "");
  assert.equal(await after(1), "look");
  resident = 101;
  assert.equal(await after(100), "look,collect");
  assert.equal(await after(999), "");
  assert.equal(await after(1), "look,collect");
});
