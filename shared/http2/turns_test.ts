import assert from "node:assert/strict";
import { LoopTurns } from "./turns.ts";

Deno.test({
  name: "Turns gives one at a time, in order, with a turn of the event loop between them",
  fn: async () => {
    const turns = new LoopTurns();
    const seen: string[] = [];
    const take = async (name: string) => {
      await turns.next();
      seen.push(name);
      // All that could follow in this turn of the event loop.
      for (let i = 0; i < 100; i++) await Promise.resolve();
      assert.equal(seen.at(-1), name);
    };
    const asked = ["a", "b", "c"].map(take);
    assert.deepEqual(seen, []);
    await Promise.all(asked);
    assert.deepEqual(seen, ["a", "b", "c"]);
    await take("later");
    assert.deepEqual(seen, ["a", "b", "c", "later"]);
  },
});
