import assert from "node:assert/strict";
import { join } from "node:path";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { POSTGRES, PostgresProcess } from "../testing/postgres_process.ts";
import { SegmentNames } from "../wal/layout.ts";
import { consumedInCopy, tablesOfCopy } from "./catalog_copy.ts";
import { openCatalog } from "./open_catalog.ts";
import { openCatalogCopier, openMaintenanceCatalog } from "./open_catalog_parts.ts";

const FILES = { files: new DenoFileSystem() };
const EVENTS = { namespace: "svc", name: "events" };
const SNAPSHOT = 9_007_199_254_740_993n;

const names = new SegmentNames(new FakeClock(), new SeededRandom(1));
const [folded, consumed, waiting] = [names.next(), names.next(), names.next()];

/** Fills the catalog at `place`, copies it into the one at `other`, and looks there. */
async function copied(place: string, other: string): Promise<void> {
  {
    await using catalog = await openCatalog(place, FILES);
    await using kept = await openMaintenanceCatalog(place, FILES);
    const commit = { ident: EVENTS, expected: undefined, next: "file:///w/a/b/metadata/0.json" };
    await catalog.commit({
      ...commit,
      ...{ tableUuid: "u", snapshotId: SNAPSHOT, consumed: [folded, consumed] },
    });
    await catalog.foldConsumed([folded]);
    await kept.removals.enter("svc/t", ['it\'s "a" key'], 60_000);
    assert.equal(await kept.leases.take("backup", "token", 60_000), true);
  }
  await using from = await openCatalogCopier(place, FILES);
  await using to = await openCatalogCopier(other, FILES);
  assert.deepEqual(await to.filled(), []);
  const copy = await from.read();
  await to.write(copy);
  assert.deepEqual(await to.read(), await from.read(), "to the digit");
  assert.deepEqual(tablesOfCopy(copy).map(({ ident }) => ident), [EVENTS]);
  const isConsumed = consumedInCopy(copy);
  assert.deepEqual([folded, consumed, waiting].map(isConsumed), [true, true, false]);
  {
    await using catalog = await openCatalog(other, FILES);
    assert.equal(await catalog.metadataLocation(EVENTS), "file:///w/a/b/metadata/0.json");
    const known = await catalog.consumedOf([folded, consumed, waiting]);
    assert.deepEqual(known, new Set([folded, consumed]));
    await using kept = await openMaintenanceCatalog(other, FILES);
    assert.deepEqual(await kept.removals.entered("svc/t"), new Set(['it\'s "a" key']));
    assert.equal(await kept.leases.take("backup", "another", 1), true, "leases are left out");
  }
  await assert.rejects(to.write(copy), { code: "conflict", reason: "not_empty" });
}

async function inFolder(act: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "svc-catalog-copy-" });
  try {
    await act(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: "CatalogCopier copies all that a SQLite file holds into another, and into no filled one",
  fn: () => inFolder((folder) => copied(join(folder, "a.db"), join(folder, "b.db"))),
});

Deno.test({
  name: "CatalogCopier refuses a column that it does not know: a newer release made the copy",
  fn: () =>
    inFolder(async (folder) => {
      await using copier = await openCatalogCopier(join(folder, "a.db"), FILES);
      const newer = [{ table: "svc_indexes", columns: ["later"], rows: [] }];
      const refusal = { code: "unimplemented", reason: "catalog_version" };
      await assert.rejects(copier.write(newer), refusal);
    }),
});

Deno.test({
  name: "CatalogCopier copies a SQLite file into PostgreSQL, and back",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  fn: () =>
    inFolder(async (folder) => {
      await using postgres = await PostgresProcess.start();
      await copied(join(folder, "a.db"), await postgres.newDatabase());
      await copied(await postgres.newDatabase(), join(folder, "b.db"));
    }),
});
