import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { TurnQueue } from "./turn_queue.ts";

Deno.test({
  name: "TurnQueue serves keys in turn, and each key in its own order",
  fn: () => {
    const cases: [pushed: string[], served: string[]][] = [
      [["a1", "a2", "a3"], ["a1", "a2", "a3"]],
      [["a1", "a2", "a3", "b1"], ["a1", "b1", "a2", "a3"]],
      [["a1", "a2", "b1", "c1", "b2"], ["a1", "b1", "c1", "a2", "b2"]],
    ];
    for (const [pushed, served] of cases) {
      const queue = new TurnQueue<string>();
      for (const item of pushed) queue.push(item.charAt(0), item);
      strictEqual(queue.size, pushed.length);
      strictEqual(queue.peek(), served[0]);
      deepStrictEqual(queue.drain(), served);
      strictEqual(queue.peek(), undefined);
      strictEqual(queue.shift(), undefined);
    }
  },
});

Deno.test({
  name: "TurnQueue who leaves takes no turn of anybody else",
  fn: () => {
    const queue = new TurnQueue<string>();
    for (const item of ["a1", "b1", "c1", "b2"]) queue.push(item.charAt(0), item);
    queue.remove("a", "a1");
    queue.remove("b", "b1");
    strictEqual(queue.sizeOf("a"), 0);
    deepStrictEqual(queue.drain(), ["b2", "c1"]);
  },
});

Deno.test({
  name: "TurnQueue between a key's push and its first turn, no other key has two",
  fn: () => {
    const step = fc.oneof(
      fc.constantFrom("a", "b", "c", "d").map((key) => ({ push: key })),
      fc.constant({ push: undefined }),
    );
    fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new TurnQueue<{ key: string; n: number }>();
      const waiting = new Map<string, { n: number; others: Map<string, number> }[]>();
      let n = 0;
      for (const { push } of steps) {
        if (push !== undefined) {
          queue.push(push, { key: push, n });
          const line = waiting.get(push) ?? [];
          waiting.set(push, [...line, { n, others: new Map() }]);
          n += 1;
          continue;
        }
        const served = queue.shift();
        if (served === undefined) {
          strictEqual([...waiting.values()].flat().length, 0);
          continue;
        }
        strictEqual(waiting.get(served.key)?.shift()?.n, served.n);
        for (const [key, [first]] of waiting) {
          if (key === served.key || first === undefined) continue;
          const turns: number = (first.others.get(served.key) ?? 0) + 1;
          first.others.set(served.key, turns);
          strictEqual(turns, 1, `${served.key} twice before ${key}`);
        }
      }
    }));
  },
});
