import assert from "node:assert/strict";
import { nearestName } from "./nearest_name.ts";

Deno.test({
  name: "nearestName is the name with the fewest edits, or none",
  fn() {
    const names = ["length", "lower", "list_sort", "left"];
    const cases: readonly (readonly [word: string, share: number, near: string | undefined])[] = [
      ["lenght", 1 / 3, "length"],
      ["lengt", 1 / 3, "length"],
      ["lowre", 1 / 3, "lower"],
      ["lowxy", 1 / 3, undefined],
      ["lowxy", 1 / 2, "lower"],
      ["getenv", 1 / 3, undefined],
      ["", 1 / 2, undefined],
      ["x".repeat(10_000_000), 1 / 2, undefined],
    ];
    for (const [word, share, near] of cases) {
      assert.equal(nearestName(word, names, share), near, word.slice(0, 20));
    }
    assert.equal(nearestName("a", []), undefined);
  },
});
