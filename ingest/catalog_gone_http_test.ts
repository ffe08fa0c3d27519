/** A catalog that goes while rows come in: only `commit=force` depends on it. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { openSqliteCatalog } from "../shared/catalog/sqlite_catalog.ts";
import { commitsPathOf } from "../shared/catalog/sqlite_commits.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { RunningIngest } from "../tests/clients/running_ingest.ts";

async function send(ingest: RunningIngest, text: string, query = "") {
  const logRecords = [{ timeUnixNano: "1763000000000000000", body: { stringValue: text } }];
  const response = await ingest.post(
    JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
    { headers: { "content-type": "application/json" }, query },
  );
  return { status: response.status, text: await response.text() };
}

/** What becomes of the catalog, and what a forced commit says then. */
const LOSSES: readonly { name: string; lose: (path: string) => Promise<void>; says: RegExp }[] = [
  {
    name: "removed with what counts its commits",
    lose: async (path) => {
      await Deno.remove(path);
      await Deno.remove(commitsPathOf(path));
    },
    says: /no compactor committed/,
  },
  {
    name: "removed alone",
    lose: (path) => Deno.remove(path),
    says: /could not be seen within 1 s: the catalog cannot be read/,
  },
  {
    name: "overwritten",
    lose: (path) => Deno.writeTextFile(path, "no database ".repeat(1_000)),
    says: /could not be seen within 1 s: the catalog cannot be read/,
  },
];

for (const { name, lose, says } of LOSSES) {
  Deno.test({
    name: `a catalog that is ${name} stops no row; commit=force says what it could not see`,
    fn: async () => {
      await using ingest = await RunningIngest.start(["--commit-force-timeout-secs=1"]);
      const folder = join(ingest.dataDir, "warehouse");
      const path = join(folder, "catalog.db");
      await (await openSqliteCatalog({ path, files: new DenoFileSystem() }))[Symbol.asyncDispose]();
      assert.match((await send(ingest, "first", "?commit=force")).text, /no compactor committed/);
      await lose(path);
      assert.equal((await send(ingest, "second")).status, 200);
      const forced = await send(ingest, "third", "?commit=force");
      assert.equal(forced.status, 504);
      assert.match(forced.text, says);
      assert.match(forced.text, /rows are durable/);
      assert.ok(!forced.text.includes(ingest.dataDir), `places of the machine: ${forced.text}`);
      assert.equal((await send(ingest, "fourth")).status, 200);
      const stored = (await ingest.rows()).map((row) => row.columns.raw);
      assert.deepEqual(stored, ["first", "second", "third", "fourth"]);
    },
  });
}
