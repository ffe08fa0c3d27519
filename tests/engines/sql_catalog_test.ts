/** PyIceberg's SQL catalog changes our SQLite catalog: its rows get their copies, and are read. */

import assert from "node:assert/strict";
import { openMaintenanceCatalog } from "../../shared/catalog/open_catalog_parts.ts";
import { openCatalog, openCatalogReader } from "../../shared/catalog/open_catalog.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { hasPackages, NO_PYTHON, runPython } from "./python.ts";

const CAN = await hasPackages(["pyiceberg", "sqlalchemy", "pyarrow"]);

Deno.test({
  name: CAN
    ? "a catalog that PyIceberg writes to answers us, and has its rows twice"
    : `a catalog that PyIceberg writes to: ${NO_PYTHON}`,
  ignore: !CAN,
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "svc-sql-catalog-" });
    try {
      const path = `${dir}/catalog.db`;
      const files = new DenoFileSystem();
      const own = { namespace: "svc", name: "events" };
      await using catalog = await openCatalog(path, { files });
      const change = { ident: own, tableUuid: "u", snapshotId: 0n, consumed: [] };
      await catalog.commit({ ...change, expected: undefined, next: "file:///own/0.json" });
      const told = (await runPython("write_sql_catalog.py", [path, dir])).trim();
      // While a writer of ours has it open, and before and after it writes again.
      await catalog.commit({
        ...change,
        expected: "file:///own/0.json",
        next: "file:///own/1.json",
      });
      await using reader = await openCatalogReader(path, "--catalog");
      assert.deepEqual(await reader.namespaces(), ["guests", "svc"]);
      assert.deepEqual(await reader.tables("guests"), ["renamed"]);
      const ident = { namespace: "guests", name: "renamed" };
      assert.equal(await reader.metadataLocation(ident), told);
      assert.equal(await reader.metadataLocation(own), "file:///own/1.json");
      await using _again = await openMaintenanceCatalog(path, { files });
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
