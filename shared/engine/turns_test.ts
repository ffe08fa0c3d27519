import { rejects, strictEqual } from "node:assert/strict";
import { Turns, turnsFor } from "./turns.ts";

const NEVER = new AbortController().signal;

Deno.test({
  name: "turnsFor has two dear turns at least, three at most, and three light ones a core",
  fn() {
    const cases: [cores: number, light: number, dear: number][] = [
      [1, 4, 2],
      [2, 6, 2],
      [3, 9, 3],
      [64, 192, 3],
    ];
    for (const [cores, light, dear] of cases) {
      const counts = turnsFor(cores);
      strictEqual(counts.light, light, `${cores} cores`);
      strictEqual(counts.dear, dear, `${cores} cores`);
      strictEqual(counts.batch, dear, `${cores} cores`);
    }
  },
});

Deno.test({
  name:
    "Turns a light turn is there while all dear ones are taken, and a turn disposed twice is one",
  fn: async () => {
    const turns = new Turns({ light: 1, dear: 1, batch: 1 });
    const dear = await turns.take("dear", NEVER);
    const light = await turns.take("light", NEVER);
    const next = turns.take("dear", NEVER);
    strictEqual(turns.waiting("dear"), 1);
    strictEqual(turns.waiting("light"), 0);
    dear[Symbol.dispose]();
    dear[Symbol.dispose]();
    await next;
    await rejects(turns.take("dear", NEVER, { waitMs: 1 }), { code: "rate_limited" });
    light[Symbol.dispose]();
    await turns.take("light", NEVER);
  },
});
