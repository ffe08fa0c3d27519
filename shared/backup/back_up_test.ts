import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { present } from "../base/assert.ts";
import { keyOfMetadata } from "../iceberg/locations.ts";
import { applyExpire, EXPIRE_POLICY_DEFAULT } from "../tables/expire.ts";
import { applyMerge, lookForMerges } from "../upkeep/merge.ts";
import { sweepRemovals } from "../upkeep/sweep_removals.ts";
import { BackupLab, gatedStore } from "../testing/backup_lab.ts";
import { EVENTS } from "../testing/table_lab.ts";
import { BackupTarget, sumOf } from "./backup_target.ts";

const tens = (count: number) => Array.from({ length: 10 * count }, (_, at) => at);

/** A table of 20 rows; a WAL of rows 100 (in the table, too, says the catalog), 101 and 102. */
async function smallLab(): Promise<BackupLab> {
  const lab = await BackupLab.open();
  await lab.commit(0);
  await lab.commit(10);
  await lab.lab.catalog.foldConsumed([await lab.append([100])]);
  await lab.append([101]);
  await lab.append([102], { seals: false });
  return lab;
}

Deno.test({
  name: "backUp a point has the rows of its moment, in the table or in the WAL, each once",
  async fn() {
    await using lab = await smallLab();
    const first = await lab.backUp();
    assert.deepEqual([first.tables, first.segments, first.moments], [1, 2, 1]);
    assert.equal(first.files, first.copiedFiles, "nothing was there");
    await lab.commit(20);
    await lab.append([103]);
    const second = await lab.backUp();
    assert.deepEqual(await lab.restored(), { table: tens(3), wal: [101, 102, 103] });
    assert.deepEqual(await lab.restored({ point: first.name }), {
      table: tens(2),
      wal: [101, 102],
    });
    assert.ok(second.name > first.name);
  },
});

Deno.test({
  name: "backUp copies what the backup lacks, and reads nothing of what it knows by size and time",
  async fn() {
    await using lab = await smallLab();
    await lab.backUp();
    const before = new Set(await keysOf(lab));
    await lab.commit(20);
    const read: string[] = [];
    const store = gatedStore(lab.lab.store, (call, key) => {
      if (call === "get" && !before.has(key)) read.push(key);
      else if (call === "get" && key.endsWith(".parquet")) assert.fail(`${key} is read again`);
    });
    const report = await lab.backUp({ store });
    assert.equal(report.copiedFiles, 5, "data file, sidecar, manifest, list, metadata");
    assert.ok(read.length >= 5);
    const again = await lab.backUp();
    assert.equal(again.copiedFiles, 0);
    assert.equal(again.files, report.files);
  },
});

Deno.test({
  name: "backUp every file of its moment is there though merges, expiry and removals go on",
  async fn() {
    await using lab = await BackupLab.open();
    for (let at = 0; at < 8; at += 1) await lab.commit(10 * at);
    const files = (await lab.lab.files()).map(({ key }) => key);
    let isMerged = false;
    const store = gatedStore(lab.lab.store, async (call, key) => {
      if (isMerged || call !== "get" || !key.endsWith(".parquet")) return;
      isMerged = true;
      await mergeAndSweep(lab);
      await lab.lab.store.head(present(files[0]));
    });
    await lab.backUp({ store });
    assert.ok(isMerged);
    assert.deepEqual((await lab.restored()).table, tens(8));
    // After the backup the file goes: it was the hold that kept it.
    await sweep(lab);
    await assert.rejects(lab.lab.store.head(present(files[0])), { code: "not_found" });
  },
});

Deno.test({
  name: "backUp takes another moment when a segment was committed and swept before its copy",
  async fn() {
    await using lab = await smallLab();
    // With row 102, in the same segment.
    let name = await lab.append([104]);
    const target = gatedStore(lab.target, async (call) => {
      if (call !== "before put" || name === "") return;
      await lab.lab.catalog.foldConsumed([name]);
      await lab.commit(20);
      await lab.fs.remove(lab.path("sealed", name));
      name = "";
    });
    const report = await lab.backUp({ target });
    assert.equal(report.moments, 2);
    assert.deepEqual(await lab.restored(), { table: tens(3), wal: [101] });
  },
});

Deno.test({
  name: "backUp takes another moment when it was stopped before it knew which segments wait",
  async fn() {
    await using lab = await smallLab();
    // With row 102, in the same segment.
    const name = await lab.append([104]);
    let isStopped = false;
    const report = await lab.backUp({
      async beforeList() {
        if (isStopped) return;
        isStopped = true;
        lab.lab.clock.shift(61_000);
        await lab.lab.catalog.foldConsumed([name]);
        await lab.commit(20);
        await lab.fs.remove(lab.path("sealed", name));
      },
    });
    assert.equal(report.moments, 2);
    assert.deepEqual(await lab.restored(), { table: tens(3), wal: [101] });
  },
});

Deno.test({
  name: "backUp cut at any step leaves the last good point, and the next one goes on",
  async fn() {
    let isCut = true;
    for (let cutAt = 1; isCut; cutAt += 1) {
      await using lab = await smallLab();
      const { name } = await lab.backUp();
      await lab.commit(20);
      await lab.append([103]);
      let calls = 0;
      const target = gatedStore(lab.target, () => {
        calls += 1;
        if (calls >= cutAt) throw new Error("cut");
      });
      const cut = await lab.backUp({ target, keepLast: 1 }).catch((error) => error);
      isCut = cut instanceof Error;
      const points = await pointsOf(lab);
      if (isCut && points.includes(name)) {
        const rows = await lab.restored({ point: name });
        assert.deepEqual(rows, { table: tens(2), wal: [101, 102] }, `cut at ${cutAt}`);
      } else {
        assert.equal(points.length, 1, "the new point is whole before the old one goes");
        assert.deepEqual(await lab.restored(), { table: tens(3), wal: [101, 102, 103] });
      }
      await lab.backUp({ keepLast: 1 });
      assert.deepEqual(await lab.restored(), { table: tens(3), wal: [101, 102, 103] });
      assert.equal((await pointsOf(lab)).length, 1);
      assert.ok(cutAt < 200, "it ends");
    }
  },
});

Deno.test({
  name: "backUp stores a damaged object anew; with --quick one of the right size passes",
  async fn() {
    await using lab = await smallLab();
    await lab.backUp();
    const [file] = await lab.lab.files();
    const bytes = await lab.lab.store.get(present(file).key);
    const key = await objectOf(lab, bytes);
    const flipped = bytes.slice();
    flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 1;
    await replace(lab, key, flipped);
    assert.equal((await lab.backUp({ verifies: false })).damaged, 0);
    await assert.rejects(lab.restored(), { code: "corrupt", reason: "damaged_backup" });
    assert.equal((await lab.backUp()).damaged, 1);
    assert.deepEqual(await lab.target.get(key), bytes);
    await replace(lab, key, bytes.slice(1));
    assert.equal((await lab.backUp({ verifies: false })).damaged, 1, "its size tells");
    assert.deepEqual(await lab.restored(), { table: tens(2), wal: [101, 102] });
  },
});

Deno.test({
  name: "backUp mends the metadata that it reads back, also with --quick",
  async fn() {
    await using lab = await smallLab();
    await lab.backUp();
    const location = present(await lab.lab.catalog.metadataLocation(EVENTS));
    const bytes = await lab.lab.store.get(keyOfMetadata(lab.lab.store.rootUri, location));
    const key = await objectOf(lab, bytes);
    await replace(lab, key, new Uint8Array(bytes.length));
    assert.equal((await lab.backUp({ verifies: false })).damaged, 1);
    assert.deepEqual(await lab.target.get(key), bytes);
  },
});

Deno.test({
  name: "backUp keeps the newest points and what they need, and no object more",
  async fn() {
    await using lab = await smallLab();
    for (let at = 2; at < 5; at += 1) {
      await lab.backUp();
      await lab.commit(10 * at);
      // A segment that grows is another object each time.
      await lab.append([200 + at], { seals: false });
    }
    const report = await lab.backUp({ keepLast: 2 });
    assert.equal(report.pruned.points, 2);
    assert.ok(report.pruned.objects > 0);
    const points = await pointsOf(lab);
    const named = new Set<string>();
    for (const name of points) {
      const { files, segments } = await new BackupTarget(lab.target).point(name);
      for (const { sum } of [...files, ...segments]) named.add(sum);
    }
    assert.deepEqual((await objectsOf(lab)).map(({ key }) => key.slice(-64)), [...named].sort());
    const [older] = points;
    assert.deepEqual((await lab.restored({ point: present(older) })).table, tens(4));
    assert.deepEqual((await lab.restored()).table, tens(5));
  },
});

Deno.test({
  name: "backUp refuses a second one beside it, another warehouse's backup, and a missing file",
  async fn() {
    await using lab = await smallLab();
    let second: unknown;
    const store = gatedStore(lab.lab.store, async () => {
      second ??= await lab.backUp().catch((error) => error);
    });
    await lab.backUp({ store });
    assert.ok(isOperatingError(second, "conflict") && second.reason === "backup_running");

    await using other = await smallLab();
    other.lab.clock.shift(1_000);
    await other.backUp();
    for await (const { key } of other.target.list("")) {
      await lab.target.putNew(key, await other.target.get(key)).catch(() => {});
    }
    await assert.rejects(lab.backUp(), { code: "conflict", reason: "other_warehouse" });

    const [file] = await other.lab.files();
    await other.lab.store.delete([present(file).key]);
    await assert.rejects(
      other.backUp(),
      (error) => isOperatingError(error, "corrupt") && error.message.includes(present(file).key),
    );
    assert.equal((await pointsOf(other)).length, 1);
  },
});

async function mergeAndSweep(lab: BackupLab): Promise<void> {
  const deps = lab.lab.deps();
  const plan = present(await lookForMerges(deps, EVENTS));
  await applyMerge(deps, plan.table, present(plan.tasks[0]));
  await sweep(lab);
}

/** What maintenance does in nine minutes. */
async function sweep({ lab }: BackupLab): Promise<void> {
  for (let minute = 0; minute < 9; minute += 1) {
    lab.clock.shift(60_000);
    await applyExpire(lab.deps(), EVENTS, EXPIRE_POLICY_DEFAULT);
    await sweepRemovals(lab.deps(), EVENTS);
  }
}

function keysOf({ lab }: BackupLab): Promise<string[]> {
  return lab.keys();
}

async function pointsOf({ target }: BackupLab): Promise<string[]> {
  const keys = await Array.fromAsync(target.list("points/"));
  return keys.map(({ key }) => key.slice("points/".length, -".ndjson.gz".length));
}

async function objectsOf({ target }: BackupLab) {
  return await Array.fromAsync(target.list("objects/"));
}

/** Key of the object that holds `bytes`. */
async function objectOf(lab: BackupLab, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const sum = await sumOf(bytes);
  return present((await objectsOf(lab)).find(({ key }) => key.endsWith(sum))).key;
}

async function replace({ target }: BackupLab, key: string, bytes: Uint8Array): Promise<void> {
  await target.delete([key]);
  await target.putNew(key, bytes);
}
