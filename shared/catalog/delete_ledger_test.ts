import { join } from "node:path";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { POSTGRES, PostgresProcess } from "../testing/postgres_process.ts";
import { LEDGER_CASES, type LedgerCase } from "../testing/delete_ledger_conformance.ts";
import { openCatalog } from "./open_catalog.ts";
import { openDeleteLedger } from "./open_catalog_parts.ts";

for (const { name, run } of LEDGER_CASES) {
  Deno.test({
    name: `DeleteLedger in SQLite: ${name}`,
    async fn() {
      const folder = await Deno.makeTempDir({ prefix: "svc-deletes-" });
      try {
        await runAt(join(folder, "catalog.db"), run);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

Deno.test({
  name: "DeleteLedger in PostgreSQL",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn(t) {
    await using postgres = await PostgresProcess.start();
    for (const { name, run } of LEDGER_CASES) {
      await t.step(name, async () => await runAt(await postgres.newDatabase(), run));
    }
  },
});

async function runAt(place: string, run: LedgerCase["run"]): Promise<void> {
  const files = new DenoFileSystem();
  await using ledger = await openDeleteLedger(place, { files });
  await using other = await openDeleteLedger(place, { files });
  await using catalog = await openCatalog(place, { files });
  await run({ ledger, other, catalog });
}
