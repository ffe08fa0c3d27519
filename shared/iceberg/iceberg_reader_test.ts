import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { textOf, utf8 } from "../base/bytes.ts";
import { openSqliteCatalog } from "../catalog/sqlite_catalog.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { openLocalStore } from "../storage/local_store.ts";
import type { ReadableStore } from "../storage/object_store.ts";
import { EVENTS, TableLab } from "../testing/table_lab.ts";
import { commitAppend, ensureTable } from "./commit_append.ts";
import type { CommitDeps } from "./commit_table.ts";
import { IcebergReader, type LoadedTable } from "./iceberg_reader.ts";
import { CONTENT, encodeManifestList, type ManifestFile } from "./manifest_list.ts";
import { relocateTable } from "./relocate.ts";

const TABLE = { ident: EVENTS, schema: EVENTS_SCHEMA };

async function appendFile(deps: CommitDeps, lab: TableLab, day: number): Promise<string> {
  const table = await ensureTable(deps, TABLE);
  const file = lab.newFile(table, { day });
  await commitAppend(deps, { ...TABLE, files: [file], consumed: [file.key] });
  return file.key;
}

Deno.test({
  name: "IcebergReader reads each immutable file once",
  async fn() {
    await using lab = await TableLab.open();
    for (let day = 1; day <= 3; day += 1) await appendFile(lab.deps, lab, day);
    const reads: string[] = [];
    const counted: ReadableStore = new Proxy<ReadableStore>(lab.store, {
      get(target, name) {
        if (name !== "get") return Reflect.get(target, name);
        return (key: string) => {
          reads.push(key);
          return target.get(key);
        };
      },
    });
    const reader = new IcebergReader(counted);
    const location = await lab.catalog.metadataLocation(EVENTS) ?? "";
    for (let i = 0; i < 3; i += 1) {
      const table = await reader.loadTable(EVENTS, location);
      assert.equal((await reader.selectFiles(table)).files.length, 3);
    }
    assert.equal(reads.length, 5, "metadata, list and three manifests");
    assert.equal(new Set(reads).size, reads.length);
  },
});

Deno.test({
  name: "IcebergReader opens a moved warehouse, and a commit goes on at the new place when told so",
  async fn() {
    await using lab = await TableLab.open();
    const dir = await Deno.makeTempDir({ prefix: "iceberg_moved_" });
    try {
      const keys: string[] = [];
      for (const [day, name] of ["a", "b", "c"].entries()) {
        const root = `${dir}/${name}`;
        await Deno.mkdir(root, { recursive: true });
        const store = openLocalStore(new DenoFileSystem(), `${root}/warehouse`);
        await using catalog = await openSqliteCatalog({ path: `${root}/catalog.db` });
        const deps = { store, catalog, clock: lab.clock, random: lab.random };
        if (name !== "a") {
          await assert.rejects(
            appendFile(deps, lab, day),
            (error) =>
              isOperatingError(error, "precondition_failed") && /relocate/.test(error.message),
          );
          await relocateTable(deps, EVENTS);
        }
        keys.push(await appendFile(deps, lab, day));
        const table = await ensureTable(deps, TABLE);
        assert.equal(table.metadata.location, `file://${root}/warehouse/${table.locationKey}`);
        const { files } = await new IcebergReader(store).selectFiles(table);
        assert.deepEqual(files.map((file) => file.key), keys);
        const next = String.fromCharCode(name.charCodeAt(0) + 1);
        if (name !== "c") await Deno.rename(root, `${dir}/${next}`);
      }
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

/** The table with another list of manifests, as another engine could have committed it. */
async function withManifests(
  lab: TableLab,
  change: (manifest: ManifestFile) => ManifestFile,
): Promise<LoadedTable> {
  await appendFile(lab.deps, lab, 5);
  const table = await ensureTable(lab.deps, TABLE);
  const manifests = (await lab.reader().manifests(table)).map(change);
  const header = { snapshotId: 1n, parentSnapshotId: undefined, sequenceNumber: 1n };
  const key = `${table.locationKey}/metadata/foreign.avro`;
  await lab.store.putNew(key, encodeManifestList(header, manifests, new Uint8Array(16)));
  const snapshots = table.metadata.snapshots.map((snapshot) => ({
    ...snapshot,
    "manifest-list": `${lab.store.rootUri}/${key}`,
  }));
  return { ...table, metadata: { ...table.metadata, snapshots } };
}

Deno.test({
  name: "selectFiles refuses manifests that it would misread, and says why",
  async fn() {
    const cases: [change: Partial<ManifestFile>, code: string, says: RegExp][] = [
      // Its entries are data files, which a manifest of deletes has not.
      [{ content: 2 }, "unimplemented", /content 2/],
      [{ specId: 7 }, "corrupt", /partition spec 7/],
    ];
    for (const [change, code, says] of cases) {
      await using lab = await TableLab.open();
      const table = await withManifests(lab, (manifest) => ({ ...manifest, ...change }));
      await assert.rejects(
        lab.reader().selectFiles(table),
        (error) => isOperatingError(error) && error.code === code && says.test(error.message),
      );
    }
  },
});

Deno.test({
  name: "selectFiles passes over a delete manifest whose files are all removed",
  async fn() {
    await using lab = await TableLab.open();
    const emptied = { content: CONTENT.deletes, addedFiles: 0, deletedFiles: 1 };
    const table = await withManifests(lab, (manifest) => ({ ...manifest, ...emptied }));
    assert.deepEqual(await lab.reader().selectFiles(table), { files: [], considered: 0 });
  },
});

Deno.test({
  name: "loadTable refuses metadata that it would misread and names the file",
  async fn() {
    const cases: [from: string, to: string, code: string, says: RegExp][] = [
      ['"format-version":2', '"format-version":3', "unimplemented", /format-version is 3/],
      ['"type":"timestamptz"', '"type":"timestamptz_ns"', "unimplemented", /timestamptz_ns/],
      ['"current-schema-id":0', '"current-schema-id":9', "corrupt", /schema 9/],
      ['"svc.tags":"', '"svc.tags":"x', "corrupt", /svc\.tags/],
      ['"last-column-id":20', '"last-column-id":"20","x":20', "corrupt", /last-column-id/],
    ];
    for (const [from, to, code, says] of cases) {
      await using lab = await TableLab.open();
      const table = await ensureTable(lab.deps, TABLE);
      const text = textOf(await lab.store.get(table.locator.keyOf(table.metadataLocation)));
      const key = `${table.locationKey}/metadata/00009-changed.metadata.json`;
      assert.ok(text.includes(from), from);
      await lab.store.putNew(key, utf8(text.replace(from, to)));
      await assert.rejects(
        lab.reader().loadTable(EVENTS, `${lab.store.rootUri}/${key}`),
        (error) => isOperatingError(error) && error.code === code && says.test(error.message),
        to,
      );
    }
  },
});

Deno.test({
  name: "loadTable and selectFiles report a missing file as not_found",
  async fn() {
    await using lab = await TableLab.open();
    await appendFile(lab.deps, lab, 5);
    const table = await ensureTable(lab.deps, TABLE);
    await assert.rejects(
      lab.reader().loadTable(EVENTS, `${table.metadataLocation}x`),
      { code: "not_found" },
    );
    const manifests = await lab.keys(`${table.locationKey}/metadata/`);
    await lab.store.delete(manifests.filter((key) => key.endsWith("-m0.avro")));
    await assert.rejects(lab.reader().selectFiles(table), { code: "not_found" });
  },
});
