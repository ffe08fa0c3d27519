import assert from "node:assert/strict";
import { stolenShareOf, withStolenShare } from "./stolen_time.ts";

Deno.test("stolenShareOf takes steal of all times of the first line, without those of guests", () => {
  const before = "cpu  100 10 20 800 5 0 3 40 50 60\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
  const after = "cpu  140 10 30 840 5 0 3 50 90 90\ncpu0 9 9 9 9 9 9 9 9 9 9\n";
  assert.equal(stolenShareOf(before, after), 10 / 100);
});

Deno.test("stolenShareOf is 0 where nothing is told or no time has passed", () => {
  const stat = "cpu  100 10 20 800 5 0 3 40 0 0\n";
  assert.equal(stolenShareOf("", ""), 0);
  assert.equal(stolenShareOf(stat, stat), 0);
});

Deno.test("withStolenShare returns what the work did", async () => {
  const { value, stolenShare } = await withStolenShare(() => Promise.resolve("done"));
  assert.equal(value, "done");
  assert(stolenShare >= 0 && stolenShare <= 1);
});
