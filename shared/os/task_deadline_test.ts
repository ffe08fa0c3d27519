import assert from "node:assert/strict";
import { throwIfLate, untilLate } from "./task_deadline.ts";

function loop(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs) throwIfLate();
}

Deno.test("throwIfLate ends a loop whose time is over, and no other", () => {
  const late = { message: "it took longer than it may" };
  assert.throws(() => untilLate(20, () => loop(60_000)), late);
  untilLate(60_000, () => loop(40));
  untilLate(undefined, () => loop(40));
  loop(40);
});
