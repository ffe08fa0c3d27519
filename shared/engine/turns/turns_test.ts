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
    const turns = new Turns({ light: 1, dear: 1, batch: 1, shard: 1 });
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

Deno.test({
  name:
    "Turns a tenant has all turns of a kind while it is the only one, and leaves one once there is another",
  fn: async () => {
    const turns = new Turns({ light: 2, dear: 3, batch: 1, shard: 1 });
    const alone = [];
    for (let at = 0; at < 3; at += 1) alone.push(await turns.take("dear", NEVER, { key: "a" }));
    alone.forEach((turn) => turn[Symbol.dispose]());
    (await turns.take("light", NEVER, { key: "b" }))[Symbol.dispose]();
    const held = [
      await turns.take("dear", NEVER, { key: "a" }),
      await turns.take("dear", NEVER, { key: "a" }),
    ];
    await rejects(turns.take("dear", NEVER, { key: "a", waitMs: 1 }), { code: "rate_limited" });
    const third = turns.take("dear", NEVER, { key: "a" });
    strictEqual(turns.waiting("dear"), 1);
    (await turns.take("dear", NEVER, { key: "b", waitMs: 1 }))[Symbol.dispose]();
    strictEqual(turns.waiting("dear"), 1, "what another gave back is still left for others");
    (await turns.take("dear", NEVER))[Symbol.dispose]();
    held[0]?.[Symbol.dispose]();
    await third;
    strictEqual(turns.waiting("dear"), 0);
    await turns.take("batch", NEVER, { key: "a" });
  },
});
