import assert from "node:assert/strict";
import { Turns } from "./turns.ts";

Deno.test({
  name: "Turns gives one at a time, in order, with a turn of the event loop between them",
  fn: async () => {
    const turns = new Turns();
    const seen: string[] = [];
    const take = async (name: string) => {
      await turns.next();
      seen.push(name);
    };
    const asked = ["a", "b", "c"].map(take);
    assert.deepEqual(seen, []);
    while (seen.length < 3) {
      const before = seen.length;
      await new Promise((resolve) => setTimeout(resolve, 0));
      assert.ok(seen.length <= before + 1, seen.join());
    }
    await Promise.all(asked);
    assert.deepEqual(seen, ["a", "b", "c"]);
    await take("later");
    assert.deepEqual(seen, ["a", "b", "c", "later"]);
  },
});
