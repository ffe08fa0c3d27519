import assert from "node:assert/strict";
import { join } from "node:path";
import { requireWritableCatalog } from "./require_catalog.ts";
import { openSqliteCatalog } from "./sqlite_catalog.ts";
import { commitsPathOf } from "./sqlite_commits.ts";

Deno.test({
  name: "requireWritableCatalog refuses a file that cannot be written, and none that is yet to be",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc-require-catalog-" });
    try {
      const path = join(folder, "catalog.db");
      requireWritableCatalog(path);
      requireWritableCatalog("postgres://svc@db.example/svc");
      await (await openSqliteCatalog({ path })).close();
      requireWritableCatalog(path);
      // A folder cannot be written by root either.
      await Deno.remove(commitsPathOf(path));
      await Deno.mkdir(commitsPathOf(path));
      assert.throws(() => requireWritableCatalog(path), {
        code: "unavailable",
        message: /Cannot write catalog .*catalog\.db: .*; look at what is at this path/,
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
