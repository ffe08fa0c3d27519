/** A catalog file with changed bytes: what it throws is damage or a failure, and never a bug. */

import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { openIndexCatalog, openMaintenanceCatalog } from "./open_catalog_parts.ts";
import { openCatalog, openCatalogReader } from "./open_catalog.ts";

const SEED = 20261123;
const FLIPS = 300;
const SEGMENT = "1795208645000-0000-0123456789abcdef.seg";
const TABLE = { namespace: "svc", name: "events" };

Deno.test({
  name: `a SQLite catalog with any byte changed answers or throws an operating error: ${SEED}`,
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "svc-catalog-damage-" });
    try {
      const files = new DenoFileSystem();
      const whole = `${dir}/whole.db`;
      {
        await using catalog = await openCatalog(whole, { files });
        await using _parts = await openMaintenanceCatalog(whole, { files });
        await using _indexes = await openIndexCatalog(whole, { files });
        await catalog.foldConsumed([SEGMENT]);
      }
      const bytes = await Deno.readFile(whole);
      // Most of its pages are empty.
      const written = [...bytes.keys()].filter((at) => bytes[at] !== 0);
      const random = new SeededRandom(SEED);
      let failed = 0;
      for (let at = 0; at < FLIPS; at += 1) {
        const damaged = bytes.slice();
        const place = written[random.below(written.length)] ?? 0;
        damaged[place] = (damaged[place] ?? 0) ^ (1 << random.below(8));
        const path = `${dir}/${at}.db`;
        await Deno.writeFile(path, damaged);
        failed += Number(await failsWell(() => useAsReader(path), `byte ${place}, read`));
        failed += Number(await failsWell(() => useAsWriter(path, files), `byte ${place}, write`));
      }
      assert.ok(failed > 50, `only ${failed} failures`);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

async function useAsReader(path: string): Promise<void> {
  await using catalog = await openCatalogReader(path, "--catalog");
  await catalog.tables("svc");
  await catalog.readView(TABLE, [SEGMENT]);
  await catalog.consumedOf([SEGMENT]);
  await catalog.indexView("svc");
}

async function useAsWriter(path: string, files: DenoFileSystem): Promise<void> {
  await using catalog = await openCatalog(path, { files });
  await catalog.metadataLocation(TABLE);
  await catalog.foldConsumed([SEGMENT]);
}

/** Whether it failed, which is by an operating error. */
async function failsWell(use: () => Promise<void>, where: string): Promise<boolean> {
  try {
    await use();
    return false;
  } catch (error) {
    assert.ok(isOperatingError(error), `${where}: ${error}`);
    return true;
  }
}
