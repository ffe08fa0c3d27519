import assert from "node:assert/strict";
import { attributeAt, isNested, namesTo } from "./attribute_path.ts";

Deno.test("attributeAt calls an attribute so that namesTo finds the way back", () => {
  for (
    const [names, attribute] of [
      [["user", "id"], "$.user.id"],
      [["a", "b-c", "d:e/f@g"], "$.a.b-c.d:e/f@g"],
      [["user.id"], "user.id"],
      [["$.user"], "$.user"],
      [["two words"], "two words"],
      [[""], ""],
    ] as const
  ) {
    assert.equal(attributeAt(names), attribute);
    assert.deepEqual(namesTo(attribute), names);
    assert.equal(isNested(attribute), names.length > 1);
  }
});

Deno.test("attributeAt has no path for names that are not plain, nor for one that is like a path", () => {
  for (
    const names of [
      [],
      ["$.user.id"],
      ["user", "first.name"],
      ["user", "two words"],
      ["user", "0"],
      ["user", ""],
      ["user", '"'],
      ["user", "*"],
      ["user", "é"],
      ["$", "id"],
    ]
  ) {
    assert.equal(attributeAt(names), undefined, names.join(" "));
  }
});
