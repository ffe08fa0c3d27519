import { join } from "node:path";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import {
  MAINTENANCE_CATALOG_CASES,
  type MaintenanceCatalogCase,
} from "../testing/maintenance_catalog_conformance.ts";
import { POSTGRES, PostgresProcess } from "../testing/postgres_process.ts";
import { openMaintenanceCatalog } from "./open_catalog_parts.ts";

for (const { name, run } of MAINTENANCE_CATALOG_CASES) {
  Deno.test({
    name: `MaintenanceCatalog in SQLite: ${name}`,
    async fn() {
      const folder = await Deno.makeTempDir({ prefix: "svc-maintenance-" });
      try {
        await runAt(join(folder, "catalog.db"), run);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

Deno.test({
  name: "MaintenanceCatalog in PostgreSQL",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn(t) {
    await using postgres = await PostgresProcess.start();
    for (const { name, run } of MAINTENANCE_CATALOG_CASES) {
      await t.step(name, async () => await runAt(await postgres.newDatabase(), run));
    }
  },
});

async function runAt(place: string, run: MaintenanceCatalogCase["run"]): Promise<void> {
  const files = new DenoFileSystem();
  await using one = await openMaintenanceCatalog(place, { files });
  await using other = await openMaintenanceCatalog(place, { files });
  await run(one, other);
}
