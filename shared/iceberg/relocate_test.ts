import assert from "node:assert/strict";
import { present } from "../base/assert.ts";
import { MemoryStore } from "../testing/memory_store.ts";
import { MaintenanceLab } from "../testing/maintenance_lab.ts";
import { EVENTS } from "../testing/table_lab.ts";
import { readAvroFile } from "./avro_container.ts";
import { commitTable } from "./commit_table.ts";
import { IcebergReader, type LoadedTable } from "./iceberg_reader.ts";
import { losslessJson } from "./lossless_json.ts";
import { lookForRelocation, relocateTable } from "./relocate.ts";
import { applyMerge, lookForMerges } from "../upkeep/merge.ts";

const START_NS = BigInt(Date.UTC(2026, 10, 20, 6)) * 1_000_000n;

/** A table of several snapshots, with a merge among them: entries of all three states. */
async function mergedLab(): Promise<MaintenanceLab> {
  const lab = await MaintenanceLab.open(1);
  for (let file = 0; file < 9; file += 1) {
    await lab.append(
      Array.from({ length: 10 }, (_, row) => ({
        number: 10 * file + row,
        ns: START_NS + BigInt(10 * file + row) * 1_000_000_000n,
      })),
    );
    if (file !== 7) continue;
    const plan = present(await lookForMerges(lab.deps(), EVENTS));
    await applyMerge(lab.deps(), plan.table, present(plan.tasks[0]));
  }
  return lab;
}

/** The lab's objects under another root. */
async function copied(lab: MaintenanceLab, rootUri: string): Promise<MemoryStore> {
  const store = new MemoryStore(rootUri);
  for (const key of await lab.keys()) await store.putNew(key, await lab.store.get(key));
  return store;
}

/** Everything that the table's metadata says, as text, without the files' own names. */
async function saidOf(store: MemoryStore, table: LoadedTable): Promise<string[]> {
  const texts = [losslessJson(table.metadata)];
  for (const { "manifest-list": list } of table.metadata.snapshots) {
    const lists = readAvroFile(await store.get(table.locator.keyOf(present(list))), "list");
    texts.push(losslessJson(lists.records));
    for (const { manifest_path: path, manifest_length: length } of lists.records) {
      const bytes = await store.get(table.locator.keyOf(String(path)));
      assert.equal(bytes.byteLength, Number(length), "the list tells the manifest's length");
      const manifest = readAvroFile(bytes, "manifest");
      texts.push(losslessJson(manifest.records), losslessJson([...manifest.metadata]));
    }
  }
  return texts;
}

Deno.test({
  name: "relocateTable leaves no former location in any file that a snapshot leads to",
  async fn() {
    await using lab = await mergedLab();
    const before = present(await lab.table());
    const former = lab.store.rootUri;
    const store = await copied(lab, "s3://elsewhere/lake");
    const deps = { ...lab.deps(), store, reader: new IcebergReader(store) };
    const moved = await deps.reader.loadTable(EVENTS, before.metadataLocation);
    const look = await lookForRelocation(deps, moved);
    assert.ok(look.manifests > 0 && look.manifestLists === before.metadata.snapshots.length);

    assert.deepEqual(await relocateTable(deps, EVENTS), look);
    const table = present(await loaded(deps.reader, lab));
    assert.ok(table.metadataLocation.startsWith("s3://elsewhere/lake/"));
    assert.equal(table.metadata.location, `s3://elsewhere/lake/${before.locationKey}`);
    const texts = await saidOf(store, table);
    for (const text of texts) assert.ok(!text.includes(former), text.slice(0, 300));
    assert.deepEqual(
      await rowsAndFiles(deps.reader, table),
      await rowsAndFiles(new IcebergReader(lab.store), before),
    );
    assert.deepEqual(
      table.metadata.snapshots.map((one) => ({ ...one, "manifest-list": "" })),
      before.metadata.snapshots.map((one) => ({ ...one, "manifest-list": "" })),
    );
    const nothing = { metadata: 0, manifestLists: 0, manifests: 0 };
    assert.deepEqual(await lookForRelocation(deps, table), nothing);
    assert.deepEqual(await relocateTable(deps, EVENTS), nothing);
    assert.equal(await lab.catalog.metadataLocation(EVENTS), table.metadataLocation);
  },
});

Deno.test({
  name: "relocateTable is repeated where a commit came first, and leaves nothing of the attempt",
  async fn() {
    await using lab = await mergedLab();
    const store = await copied(lab, "s3://elsewhere/lake");
    const deps = { ...lab.deps(), store, reader: new IcebergReader(store) };
    const manifests = async () =>
      (await Array.fromAsync(store.list(""))).filter(({ key }) => key.endsWith(".avro")).length;
    const before = await manifests();
    let isFirst = true;
    const catalog = new Proxy(lab.catalog, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name !== "commit") return value.bind(target);
        return async (...args: unknown[]) => {
          if (!isFirst) return value.apply(target, args);
          isFirst = false;
          return await Promise.resolve("conflict");
        };
      },
    });
    const once = await relocateTable({ ...deps, catalog }, EVENTS);
    assert.equal(await manifests() - before, once.manifests + once.manifestLists);
  },
});

Deno.test({
  name: "commitTable refuses a pointer that leads out of the warehouse, and leaves it as it is",
  async fn() {
    await using lab = await mergedLab();
    const store = await copied(lab, "s3://elsewhere/lake");
    const deps = { ...lab.deps(), store, reader: new IcebergReader(store) };
    const before = await lab.catalog.metadataLocation(EVENTS);
    await assert.rejects(
      commitTable(deps, EVENTS, () => assert.fail("nothing is staged")),
      { code: "precondition_failed", reason: "moved_warehouse" },
    );
    assert.equal(await lab.catalog.metadataLocation(EVENTS), before);
  },
});

async function loaded(reader: IcebergReader, { catalog }: MaintenanceLab) {
  const location = present(await catalog.metadataLocation(EVENTS));
  return await reader.loadTable(EVENTS, location);
}

async function rowsAndFiles(reader: IcebergReader, table: LoadedTable) {
  const entries = await reader.liveEntries(table);
  return entries.map(({ file: { location: _location, ...file }, encoded: _encoded, ...entry }) => ({
    ...entry,
    file,
  }));
}
