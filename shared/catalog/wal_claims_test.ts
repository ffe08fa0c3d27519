import { join } from "node:path";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { POSTGRES, PostgresProcess } from "../testing/postgres_process.ts";
import { CLAIM_CASES, type ClaimCase } from "../testing/wal_claims_conformance.ts";
import { openCatalog } from "./open_catalog.ts";
import { openWalClaims } from "./open_catalog_parts.ts";

for (const { name, run } of CLAIM_CASES) {
  Deno.test({
    name: `WalClaims in SQLite: ${name}`,
    async fn() {
      const folder = await Deno.makeTempDir({ prefix: "svc-claims-" });
      try {
        await runAt(join(folder, "catalog.db"), run);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

Deno.test({
  name: "WalClaims in PostgreSQL",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn(t) {
    await using postgres = await PostgresProcess.start();
    for (const { name, run } of CLAIM_CASES) {
      await t.step(name, async () => await runAt(await postgres.newDatabase(), run));
    }
  },
});

async function runAt(place: string, run: ClaimCase["run"]): Promise<void> {
  const files = new DenoFileSystem();
  await using claims = await openWalClaims(place, { files });
  await using other = await openWalClaims(place, { files });
  await using catalog = await openCatalog(place, { files });
  await run({ claims, other, catalog });
}
