/** The pages name the version of this build, and the runtime that it is run by. */

import assert from "node:assert/strict";
import { workspacePath } from "../../cli/permissions.ts";
import { VERSION } from "../../shared/base/version.ts";

Deno.test({
  name: "CHANGELOG.md begins with the version of this build, and docs/install.md shows it",
  fn: async () => {
    const [newest] = (await pageText("CHANGELOG.md")).matchAll(/^## \[(.*)\] - \d{4}-\d\d-\d\d$/gm);
    assert.equal(newest?.[1], VERSION);
    assert.match(await pageText("docs/install.md"), new RegExp(`\\$ svc --version\n${VERSION}\n`));
  },
});

for (const path of ["README.md", "CONTRIBUTING.md", "docs/install.md", "docs/operate.md"]) {
  Deno.test({
    name: `${path} names the runtime that runs the tests, and no other`,
    fn: async () => {
      const named = [...(await pageText(path)).matchAll(/\bdeno@(\d[\d.]*\d)/g)]
        .map(([, version]) => version);
      assert.deepEqual([...new Set(named)], [Deno.version.deno]);
    },
  });
}

function pageText(path: string): Promise<string> {
  return Deno.readTextFile(workspacePath(path));
}
