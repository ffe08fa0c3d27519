import { join } from "node:path";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { INDEX_CATALOG_CASES } from "../testing/index_catalog_conformance.ts";
import { POSTGRES, PostgresProcess } from "../testing/postgres_process.ts";
import { openCatalog } from "./open_catalog.ts";
import { openIndexCatalog } from "./open_catalog_parts.ts";

for (const { name, run } of INDEX_CATALOG_CASES) {
  Deno.test({
    name: `IndexCatalog in SQLite: ${name}`,
    async fn() {
      const folder = await Deno.makeTempDir({ prefix: "svc-indexes-" });
      try {
        await runAt(join(folder, "catalog.db"), run);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

Deno.test({
  name: "IndexCatalog in PostgreSQL",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn(t) {
    await using postgres = await PostgresProcess.start();
    for (const { name, run } of INDEX_CATALOG_CASES) {
      await t.step(name, async () => await runAt(await postgres.newDatabase(), run));
    }
  },
});

async function runAt(
  place: string,
  run: typeof INDEX_CATALOG_CASES[number]["run"],
): Promise<void> {
  const files = new DenoFileSystem();
  await using indexes = await openIndexCatalog(place, { files });
  await using other = await openIndexCatalog(place, { files });
  await using catalog = await openCatalog(place, { files });
  await run({ indexes, other, catalog });
}
