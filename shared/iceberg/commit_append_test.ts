import assert from "node:assert/strict";
import { present } from "../base/assert.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { Random } from "../os/random.ts";
import { EVENTS, NS_PER_DAY, TableLab } from "../testing/table_lab.ts";
import { commitAppend, ensureTable } from "./commit_append.ts";
import { STATUS } from "./manifest.ts";
import { WAL_SEGMENTS } from "./snapshot_summary.ts";
import { currentSnapshot } from "./table_metadata.ts";
import type { NewDataFile } from "./types.ts";

const TABLE = { ident: EVENTS, schema: EVENTS_SCHEMA };

function append(files: readonly NewDataFile[], consumed: readonly string[]) {
  return { ...TABLE, files, consumed };
}

Deno.test({
  name: "ensureTable creates an empty table once and then opens it",
  async fn() {
    await using lab = await TableLab.open();
    const created = await ensureTable(lab.deps, TABLE);
    assert.equal(created.snapshotId, undefined);
    assert.deepEqual([created.schema, created.sortOrderId], [EVENTS_SCHEMA, 1]);
    assert.match(created.locationKey, /^svc\/events-[0-9a-f]{32}$/);
    assert.equal((await ensureTable(lab.deps, TABLE)).uuid, created.uuid);
    assert.equal((await lab.keys()).length, 1);
    assert.deepEqual(await lab.liveKeys(), []);
  },
});

Deno.test({
  name: "commitAppend adds files and consumed segments, and tells both in the snapshot",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const first = [lab.newFile(table, { day: 5 }), lab.newFile(table, { day: 6 })];
    const second = [lab.newFile(table, { day: 5, rows: 7 })];
    await commitAppend(lab.deps, append(first, ["s1", "s2"]));
    const result = await commitAppend(lab.deps, append(second, ["s3"]));
    assert.deepEqual([result.outcome, result.retries], ["committed", 0]);
    const loaded = await lab.load();
    assert.deepEqual(
      await lab.liveKeys(),
      [...first, ...second].map((file) => file.key).sort(),
    );
    assert.deepEqual(
      await lab.catalog.consumedOf(["s1", "s2", "s3", "s4"]),
      new Set(["s1", "s2", "s3"]),
    );
    const snapshot = loaded === undefined ? undefined : currentSnapshot(loaded.metadata);
    assert.deepEqual({ ...snapshot?.summary }, {
      operation: "append",
      "added-data-files": "1",
      "added-records": "7",
      "added-files-size": "700",
      "changed-partition-count": "1",
      "total-records": "27",
      "total-data-files": "3",
      "total-files-size": "2700",
      "total-delete-files": "0",
      "total-position-deletes": "0",
      "total-equality-deletes": "0",
      [WAL_SEGMENTS]: '["s3"]',
    });
    assert.equal(snapshot?.["sequence-number"], 2n);
    assert.equal(loaded?.metadata.snapshots[0]?.["snapshot-id"], snapshot?.["parent-snapshot-id"]);
  },
});

Deno.test({
  name: "selectFiles prunes by day and bounds, oldest first, and counts what it considered",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    for (const day of [7, 5, 6, 5, 7]) {
      const startNs = lab.random.float() < 0.5 ? 0n : 500n;
      const file = lab.newFile(table, { day, startNs });
      await commitAppend(lab.deps, append([file], [file.key]));
    }
    const loaded = await ensureTable(lab.deps, TABLE);
    const reader = lab.reader();
    const all = await reader.selectFiles(loaded);
    assert.deepEqual(all.files.map((file) => file.day), [5, 5, 6, 7, 7]);
    const minima = all.files.map((file) => file.timestampNsMin ?? 0n);
    assert.deepEqual(minima, minima.toSorted((a, b) => a < b ? -1 : a > b ? 1 : 0));
    const day6 = { minNs: 6n * NS_PER_DAY, maxNs: 7n * NS_PER_DAY - 1n };
    const one = await reader.selectFiles(loaded, day6);
    assert.deepEqual([one.files.map((file) => file.day), one.considered], [[6], 5]);
    const late = await reader.selectFiles(loaded, {
      minNs: 6n * NS_PER_DAY + 600n,
      maxNs: day6.maxNs,
    });
    assert.deepEqual([late.files.length, late.considered], [0, 5]);
  },
});

Deno.test({
  name: "commitAppend with consumed segments and no files makes a snapshot that says so",
  async fn() {
    await using lab = await TableLab.open();
    const result = await commitAppend(lab.deps, append([], ["empty"]));
    assert.equal(result.outcome, "committed");
    assert.deepEqual(await lab.liveKeys(), []);
    assert.deepEqual(await lab.catalog.consumedOf(["empty"]), new Set(["empty"]));
  },
});

Deno.test({
  name: "commitAppend of a consumed segment changes nothing and leaves no staged file",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const first = await commitAppend(lab.deps, append([lab.newFile(table, { day: 5 })], ["s1"]));
    const before = await lab.keys();
    const again = await commitAppend(
      lab.deps,
      append([lab.newFile(table, { day: 5 })], ["s0", "s1"]),
    );
    assert.deepEqual(again, { ...first, outcome: "consumed" });
    assert.deepEqual(await lab.keys(), before);
    assert.deepEqual(await lab.catalog.consumedOf(["s0"]), new Set());
  },
});

Deno.test({
  name: "commitAppend does not go back in time when the clock does",
  async fn() {
    await using lab = await TableLab.open();
    await commitAppend(lab.deps, append([], ["s1"]));
    lab.clock.shift(-3_600_000);
    await commitAppend(lab.deps, append([], ["s2"]));
    const times = (await lab.load())?.metadata.snapshots.map((one) => one["timestamp-ms"]) ?? [];
    assert.equal(times.length, 2);
    assert.deepEqual(times, times.toSorted((a, b) => a - b));
  },
});

Deno.test({
  name: "commitAppend merges manifests and keeps each file's snapshot and sequence numbers",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const committed: [key: string, snapshotId: bigint, sequenceNumber: bigint][] = [];
    for (let i = 1n; i <= 8n; i += 1n) {
      const file = lab.newFile(table, { day: 10 - Number(i) });
      await commitAppend(lab.deps, append([file], [file.key]));
      committed.push([file.key, present((await lab.load())?.snapshotId), i]);
    }
    const loaded = await lab.load();
    assert.ok(loaded !== undefined);
    const [merged, ...others] = await lab.reader().manifests(loaded);
    assert.ok(merged !== undefined && others.length === 0);
    assert.deepEqual([merged.addedFiles, merged.existingFiles], [1, 7]);
    assert.deepEqual([merged.addedRows, merged.existingRows], [10n, 70n]);
    assert.deepEqual([merged.sequenceNumber, merged.minSequenceNumber], [8n, 1n]);
    const days = [merged.partitions?.[0]?.lowerBound, merged.partitions?.[0]?.upperBound];
    assert.deepEqual(days, [Uint8Array.of(2, 0, 0, 0), Uint8Array.of(9, 0, 0, 0)]);
    const entries = await lab.reader().entries(loaded, merged);
    assert.deepEqual(
      entries.map((entry) => [entry.file.key, entry.snapshotId, entry.sequenceNumber]).sort(),
      committed.toSorted(),
    );
    assert.equal(entries.filter((entry) => entry.status === STATUS.added).length, 1);
  },
});

Deno.test({
  name: "commitAppend prunes a file whose times were given beside its bounds",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const file = lab.newFile(table, { day: 5, startNs: 100n });
    const bare = { ...file, lowerBounds: new Map(), upperBounds: new Map() };
    await commitAppend(lab.deps, append([bare], ["s1"]));
    const loaded = await ensureTable(lab.deps, TABLE);
    const range = { minNs: undefined, maxNs: 5n * NS_PER_DAY + 99n };
    assert.equal((await lab.reader().selectFiles(loaded)).files.length, 1);
    assert.equal((await lab.reader().selectFiles(loaded, range)).files.length, 0);
  },
});

Deno.test({
  name: "commitAppend never takes a snapshot id that the table has",
  async fn() {
    await using lab = await TableLab.open();
    const ids = [7, 7, 0, 9];
    /** Ids are the only 8 bytes that a commit asks for. */
    const random: Random = {
      bytes: (count) => count === 8 ? idBytes(ids.shift() ?? 0) : lab.random.bytes(count),
      float: () => 0,
    };
    const idBytes = (id: number) => Uint8Array.of(0x80, 0, 0, 0, 0, 0, 0, id);
    const taken = [];
    for (const segment of ["s1", "s2"]) {
      await commitAppend({ ...lab.deps, random }, append([], [segment]));
      taken.push((await lab.load())?.snapshotId);
    }
    assert.deepEqual(taken, [7n, 9n]);
  },
});

Deno.test({
  name: "commitAppend keeps metadata small over 300 commits",
  async fn() {
    await using lab = await TableLab.open();
    const deps = { ...lab.deps, reader: lab.reader() };
    const table = await ensureTable(deps, TABLE);
    const commits = 300;
    let listBytesMax = 0;
    const sizeAt = new Map<number, number>();
    for (let i = 1; i <= commits; i += 1) {
      const file = lab.newFile(table, { day: 5 + (i >> 6), startNs: BigInt(i) });
      await commitAppend(deps, append([file], [`s${i}`]));
      if (i % 100 === 0) {
        const { metadataLocation } = present(await lab.load());
        const { size } = await lab.store.head(table.locator.keyOf(metadataLocation));
        sizeAt.set(i, size);
      }
    }
    const loaded = await lab.load();
    assert.ok(loaded !== undefined);
    const manifests = await lab.reader().manifests(loaded);
    assert.ok(manifests.length <= 24, `${manifests.length} manifests for ${commits} files`);
    assert.equal((await lab.liveKeys())?.length, commits);
    const metadataFiles = await lab.keys(`${table.locationKey}/metadata/0`);
    const json = metadataFiles.filter((key) => key.endsWith(".metadata.json"));
    assert.equal(json.length, 11, "the current metadata file and ten previous ones");
    for await (const { key, size } of lab.store.list(`${table.locationKey}/metadata/snap-`)) {
      assert.ok(key.endsWith(".avro"));
      listBytesMax = Math.max(listBytesMax, size);
    }
    assert.ok(listBytesMax < 8_192, `a manifest list of ${listBytesMax} bytes`);
    // Beyond its list of snapshots a metadata file does not grow.
    const perSnapshot = ((sizeAt.get(300) ?? 0) - (sizeAt.get(200) ?? 0)) / 100;
    const fixed = (sizeAt.get(300) ?? 0) - 300 * perSnapshot;
    assert.ok(perSnapshot > 0 && perSnapshot < 900, `${perSnapshot} bytes for each snapshot`);
    assert.ok(fixed < 8_192, `${fixed} bytes besides`);
    assert.deepEqual(await lab.keys(), await lab.namedKeys());
  },
});

Deno.test({
  name: "commitAppend adds no segment again that the catalog forgot and a snapshot names",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    await commitAppend(lab.deps, append([lab.newFile(table, { day: 5 })], ["s1", "s2"]));
    const again = append([lab.newFile(table, { day: 5 })], ["s2", "s3"]);
    const commit: typeof lab.deps.catalog.commit = () => assert.fail("it was committed");
    const catalog = new Proxy(lab.deps.catalog, {
      get: (target, name) => {
        if (name === "commit") return commit;
        if (name === "consumedOf") return () => Promise.resolve(new Set());
        const value = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const { outcome, forgotten } = await commitAppend({ ...lab.deps, catalog }, again);
    assert.deepEqual([outcome, forgotten], ["consumed", ["s2"]]);
    assert.equal((await lab.liveKeys())?.length, 1);
  },
});
