import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import type { Catalog, CommitOutcome, TableCommit } from "../catalog/catalog.ts";
import { EVENTS_SCHEMA } from "../event/events.ts";
import { ALL_TIME, EVENTS, NS_PER_DAY, TableLab } from "../testing/table_lab.ts";
import { commitAppend, ensureTable } from "./commit_append.ts";
import type { CommitDeps } from "./commit_table.ts";
import { WAL_SEGMENTS } from "./snapshot_summary.ts";
import { currentSnapshot } from "./table_metadata.ts";
import type { NewDataFile } from "./types.ts";

const TABLE = { ident: EVENTS, schema: EVENTS_SCHEMA };

function append(files: readonly NewDataFile[], consumed: readonly string[]) {
  return { ...TABLE, files, consumed };
}

/** `catalog` with another `commit`; everything else is its own. */
function withCommit(
  catalog: Catalog,
  commit: (change: TableCommit) => Promise<CommitOutcome>,
): Catalog {
  return new Proxy(catalog, {
    get(target, name) {
      if (name === "commit") return commit;
      const member = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
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
    assert.equal(loaded?.metadataLocation, result.metadataLocation);
    assert.equal(loaded?.snapshotId, result.snapshotId);
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
    const all = await reader.selectFiles(loaded, ALL_TIME);
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
    assert.equal((await lab.load())?.snapshotId, result.snapshotId);
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
  name: "commitAppend restages on a moved pointer, keeping the other writer's files",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const others = [1, 2, 3].map((i) => lab.newFile(table, { day: 5, startNs: BigInt(i) }));
    let turn = 0;
    const raced = withCommit(lab.catalog, async (change) => {
      const other = others[turn];
      turn += 1;
      if (other !== undefined) await commitAppend(lab.deps, append([other], [`other${turn}`]));
      return await lab.catalog.commit(change);
    });
    const own = lab.newFile(table, { day: 5 });
    const result = await commitAppend({ ...lab.deps, catalog: raced }, append([own], ["own"]));
    assert.deepEqual([result.outcome, result.retries], ["committed", 3]);
    assert.deepEqual(await lab.liveKeys(), [...others, own].map((file) => file.key).sort());
    await assertNoOrphans(lab);
  },
});

Deno.test({
  name: "commitAppend gives up as unavailable when other writers are always first",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const before = await lab.keys();
    const deps = {
      ...lab.deps,
      catalog: withCommit(lab.catalog, () => Promise.resolve("conflict")),
    };
    await assert.rejects(
      commitAppend(deps, append([lab.newFile(table, { day: 5 })], ["s1"])),
      (error) => isOperatingError(error, "unavailable") && error.reason === "commit_contention",
    );
    assert.deepEqual(await lab.keys(), before);
  },
});

Deno.test({
  name: "commitAppend finds exactly one outcome when the catalog's answer is lost",
  async fn() {
    /** What the catalog does at each call, and whether the caller hears of it. */
    type Step = "lost before" | "lost after" | "answers" | "other first, lost after";
    const cases: [steps: Step[], committed: boolean][] = [
      [["lost after"], true],
      [["lost before", "answers"], true],
      [["lost before", "lost before", "lost after"], true],
      [["other first, lost after", "answers", "answers"], true],
      [["lost before", "lost before", "lost before", "lost before", "lost before"], false],
    ];
    for (const [steps, committed] of cases) {
      await using lab = await TableLab.open();
      const table = await ensureTable(lab.deps, TABLE);
      const own = lab.newFile(table, { day: 5 });
      let turn = 0;
      const flaky = withCommit(lab.catalog, async (change) => {
        const step = steps[turn];
        turn += 1;
        if (step === "lost before") throw new Error("connection lost");
        if (step === "other first, lost after") {
          await commitAppend(lab.deps, append([lab.newFile(table, { day: 6 })], ["other"]));
        }
        const outcome = await lab.catalog.commit(change);
        if (step === "answers") return outcome;
        throw new Error("connection lost");
      });
      const attempt = commitAppend({ ...lab.deps, catalog: flaky }, append([own], ["own"]));
      if (committed) assert.equal((await attempt).outcome, "committed", steps.join());
      else {
        await assert.rejects(
          attempt,
          (error) => isOperatingError(error, "unavailable") && error.reason === "commit_unknown",
        );
      }
      assert.equal(turn, steps.length, steps.join());
      assert.equal((await lab.liveKeys())?.filter((key) => key === own.key).length, +committed);
      const consumed = await lab.catalog.consumedOf(["own"]);
      assert.equal(consumed.has("own"), committed);
    }
  },
});

Deno.test({
  name: "commitAppend with a lost answer and another commit on top is committed once",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const files = [lab.newFile(table, { day: 5 }), lab.newFile(table, { day: 5 })] as const;
    const lossy = withCommit(lab.catalog, async (change) => {
      await lab.catalog.commit(change);
      await commitAppend(lab.deps, append([files[1]], ["other"]));
      throw new Error("connection lost");
    });
    const result = await commitAppend({ ...lab.deps, catalog: lossy }, append([files[0]], ["own"]));
    assert.equal(result.outcome, "committed");
    assert.deepEqual(await lab.liveKeys(), files.map((file) => file.key).sort());
  },
});

Deno.test({
  name: "commitAppend refuses files of a dropped table's incarnation",
  async fn() {
    await using lab = await TableLab.open();
    const dropped = await ensureTable(lab.deps, TABLE);
    const file = lab.newFile(dropped, { day: 5 });
    await lab.catalog.dropTable(EVENTS);
    const refused = (error: unknown) =>
      isOperatingError(error, "conflict") && error.reason === "table_recreated";
    await assert.rejects(commitAppend(lab.deps, append([file], ["s1"])), refused);
    assert.equal(await lab.load(), undefined);
    const recreated = await ensureTable(lab.deps, TABLE);
    assert.notEqual(recreated.locationKey, dropped.locationKey);
    await assert.rejects(commitAppend(lab.deps, append([file], ["s1"])), refused);
    assert.deepEqual(await lab.liveKeys(), []);
    assert.deepEqual(await lab.catalog.consumedOf(["s1"]), new Set());
  },
});

Deno.test({
  name: "commitAppend heeds an abort before the commit point",
  async fn() {
    await using lab = await TableLab.open();
    const deps: CommitDeps = { ...lab.deps, signal: AbortSignal.abort(new Error("shutting down")) };
    await assert.rejects(commitAppend(deps, append([], ["s1"])), /shutting down/);
    assert.equal(await lab.load(), undefined);
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

/** Every object is one that the present metadata or an earlier logged one names. */
async function assertNoOrphans(lab: TableLab): Promise<void> {
  const table = await lab.load();
  assert.ok(table !== undefined);
  const named = new Set<string>();
  const { metadata, locator } = table;
  named.add(locator.keyOf(table.metadataLocation));
  for (const entry of metadata["metadata-log"]) named.add(locator.keyOf(entry["metadata-file"]));
  for (const snapshot of metadata.snapshots) {
    named.add(locator.keyOf(snapshot["manifest-list"] ?? ""));
    const only = {
      ...table,
      metadata: { ...metadata, "current-snapshot-id": snapshot["snapshot-id"] },
    };
    for (const manifest of await lab.reader().manifests(only)) {
      named.add(locator.keyOf(manifest.location));
    }
  }
  assert.deepEqual(await lab.keys(), [...named].sort());
}

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
      const { metadataLocation } = await commitAppend(deps, append([file], [`s${i}`]));
      if (i % 100 === 0) {
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
    await assertNoOrphans(lab);
  },
});
