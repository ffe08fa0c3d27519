import assert from "node:assert/strict";
import { groupsOf } from "../together.ts";

Deno.test({
  name: "groupsOf has each file once, in order, in groups of about one size",
  fn: () => {
    for (const count of [0, 1, 24, 25, 100]) {
      const files = Array.from({ length: count }, (_, at) => `${at}_test.ts`);
      const groups = groupsOf(files, 24);
      assert.deepEqual(groups.flat(), files);
      assert.equal(groups.length, Math.ceil(count / 24));
      const sizes = groups.map(({ length }) => length);
      assert.ok(
        Math.max(0, ...sizes) - Math.min(24, ...sizes) <= (count < 24 ? 24 : 1),
        `${sizes}`,
      );
    }
  },
});
