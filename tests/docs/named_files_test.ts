/** README.md, CONTRIBUTING.md and the pages of docs/ name files of the source that are there. */

import assert from "node:assert/strict";
import { workspacePath } from "../../cli/permissions.ts";
import { readPages } from "./pages.ts";

/** A path of a source file or a page, in backticks. */
const NAMED = /`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|md|yml))`/g;

Deno.test({
  name: "each file that a page names is there",
  fn: async () => {
    const named = (await readPages()).flatMap(({ path, text }) =>
      [...text.matchAll(NAMED)].map(([, file = ""]) => ({ path, file }))
    );
    const missing: string[] = [];
    for (const { path, file } of named) {
      const found = await Deno.stat(workspacePath(file)).catch(() => undefined);
      if (found === undefined) missing.push(`${path} names ${file}`);
    }
    assert.deepEqual(missing, []);
    assert.ok(named.length > 30, "the pages were read");
  },
});
