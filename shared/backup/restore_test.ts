import assert from "node:assert/strict";
import { present } from "../base/assert.ts";
import { utf8 } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import { INLINE_DERIVER } from "../derived/deriver.ts";
import { relocateTable } from "../iceberg/relocate.ts";
import { INLINE_PARQUET_ENCODER } from "../parquet/parquet_encoder.ts";
import { applyExpire } from "../tables/expire.ts";
import { BACKUP_LANE, BackupLab, gatedStore } from "../testing/backup_lab.ts";
import { commitDeletes } from "../testing/foreign_deletes.ts";
import { rowsOfMessage } from "../testing/numbered_rows.ts";
import { EVENTS } from "../testing/table_lab.ts";
import { applyAllDeletes } from "../upkeep/apply_deletes.ts";
import { openWalConsumerAdmin } from "../wal/admin.ts";
import { mendedWalReader } from "../wal/mirror/mended_wal_reader.ts";
import { segmentKey } from "../wal/mirror/mirror_layout.ts";
import { openWalReader } from "../wal/reader.ts";
import { BackupTarget } from "./backup_target.ts";
import { decodePoint, encodePoint } from "./point.ts";
import { restoreBackup } from "./restore.ts";

const EXPECTED = { table: Array.from({ length: 20 }, (_, at) => at), wal: [101, 102] };

async function backedUp(): Promise<BackupLab> {
  const lab = await BackupLab.open();
  await lab.commit(0);
  await lab.commit(10);
  await lab.append([101]);
  await lab.append([102], { seals: false });
  await lab.backUp();
  return lab;
}

Deno.test({
  name: "restoreBackup cut at any step and repeated has each row once",
  async fn() {
    await using lab = await backedUp();
    let isCut = true;
    for (let cutAt = 1; isCut; cutAt += 1) {
      const place = lab.newPlace();
      let calls = 0;
      const cut = async () => {
        calls += 1;
        if (calls >= cutAt) throw new Error("cut");
        await Promise.resolve();
      };
      const store = gatedStore(place.store, cut);
      const openCopier = async () => {
        await cut();
        return await place.openCopier();
      };
      const openCatalog = async () => {
        await cut();
        return await place.openCatalog();
      };
      const target = new BackupTarget(lab.target);
      const first = await restoreBackup(target, { ...place, store, openCopier, openCatalog })
        .catch((error) => error);
      isCut = first instanceof Error;
      if (isCut) {
        assert.equal(first.message, "cut");
        // The last step is the removal of the marker, so another call goes on.
        await restoreBackup(new BackupTarget(lab.target), place);
      }
      assert.deepEqual(await lab.rowsAt(place), EXPECTED, `cut at ${cutAt}`);
      assert.ok(cutAt < 200, "it ends");
    }
  },
});

Deno.test({
  name: "restoreBackup refuses a place that is not empty and names what is there",
  async fn() {
    await using lab = await backedUp();
    const target = new BackupTarget(lab.target);
    const refused = async (place: ReturnType<BackupLab["newPlace"]>, says: RegExp) => {
      await assert.rejects(
        restoreBackup(target, place),
        (error) => isOperatingError(error, "conflict") && says.test(error.message),
      );
    };
    const withObject = lab.newPlace();
    await withObject.store.putNew("svc/other.parquet", utf8("x"));
    await refused(withObject, /it holds svc\/other.parquet/);

    const withWal = lab.newPlace();
    await withWal.fs.mkdir("/wal/default/events/sealed");
    await refused(withWal, /WAL there holds default/);

    const withCatalog = lab.newPlace();
    {
      await using catalog = await withCatalog.openCatalog();
      const commit = { ident: EVENTS, expected: undefined, next: "x", tableUuid: "u" };
      await catalog.commit({ ...commit, snapshotId: 0n, consumed: [] });
    }
    await refused(withCatalog, /restored-3.db: .*iceberg_tables.* have rows/);
    assert.deepEqual(await Array.fromAsync(withCatalog.store.list("")), []);

    const half = lab.newPlace();
    await half.store.putNew("restoring.json", utf8('{"point":"another"}'));
    await refused(half, /a restore of point another began there/);
  },
});

Deno.test({
  name: "restoreBackup does not take over a catalog that was filled since a restore began",
  async fn() {
    await using lab = await backedUp();
    const place = lab.newPlace();
    const failing = () => Promise.reject(new Error("cut"));
    const target = new BackupTarget(lab.target);
    await assert.rejects(restoreBackup(target, { ...place, openCopier: failing }), /cut/);
    {
      await using catalog = await place.openCatalog();
      const commit = { ident: EVENTS, expected: undefined, next: "a/b/c/d", tableUuid: "u" };
      await catalog.commit({ ...commit, snapshotId: 0n, consumed: [] });
    }
    await assert.rejects(restoreBackup(target, place), /other tables were made there/);
  },
});

Deno.test({
  name: "restoreBackup a point or object with a flipped byte is an error that names it",
  async fn() {
    await using lab = await backedUp();
    for await (const { key } of lab.target.list("")) {
      const bytes = await lab.target.get(key);
      const flipped = bytes.slice();
      flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 0x10;
      await lab.target.delete([key]);
      await lab.target.putNew(key, flipped);
      const name = present(key.split("/").at(-1)?.split(".")[0]);
      await assert.rejects(
        lab.restored(),
        (error) => isOperatingError(error, "corrupt") && error.message.includes(name),
        key,
      );
      await lab.target.delete([key]);
      await lab.target.putNew(key, bytes);
    }
    assert.deepEqual(await lab.restored(), EXPECTED);
  },
});

Deno.test({
  name: "restoreBackup elsewhere keeps another engine's deletes, for the compactor there to apply",
  async fn() {
    await using lab = await backedUp();
    const [file] = await lab.lab.files();
    const { location, day } = present(file);
    const gone = [3, 7].map((place) => ({ location, place }));
    await commitDeletes(lab.lab.deps(), EVENTS, [{ kind: "position", day, rows: gone }]);
    await lab.backUp();
    const place = lab.newPlace();
    const { relocated, waiting } = await restoreBackup(new BackupTarget(lab.target), place);
    assert.deepEqual([relocated, waiting], [1, ["svc.events"]]);
    await using catalog = await place.openCatalog();
    const { store, clock, random } = place;
    const deps = { ...{ store, catalog, clock, random }, encoder: INLINE_PARQUET_ENCODER };
    await applyAllDeletes({ ...deps, deriver: INLINE_DERIVER }, EVENTS);
    const left = EXPECTED.table.filter((number) => number !== 3 && number !== 7);
    assert.deepEqual((await lab.rowsAt(place)).table, left);
    // What has delete files goes with its snapshot.
    const { removals } = lab.lab.kept;
    await applyExpire({ ...deps, removals }, EVENTS, { retainLast: 1, ageMsMin: 0 });
    assert.equal((await relocateTable(deps, EVENTS)).metadata, 1);
    assert.deepEqual((await lab.rowsAt(place)).table, left);
  },
});

Deno.test({
  name: "restoreBackup leaves a damaged segment to be mended by the mirror's copy of it",
  async fn() {
    await using lab = await BackupLab.open();
    await lab.append([1], { seals: false });
    await lab.append([2], { seals: false });
    const name = await lab.append([3]);
    const path = lab.path("sealed", name);
    const bytes = await lab.fs.readFile(path);
    await lab.lab.store.putNew(segmentKey("wal-mirror", BACKUP_LANE, name), bytes);
    const offsets: number[] = [];
    {
      await using segment = await openWalReader(lab.fs, "/wal").open(BACKUP_LANE, name);
      for await (const { offset } of segment.frames()) offsets.push(offset);
    }
    const [, second = 0] = offsets;
    const damaged = bytes.slice();
    damaged[second + 40] = (damaged[second + 40] ?? 0) ^ 1;
    await lab.fs.writeFileAtomic(path, damaged);
    await lab.backUp();
    const place = lab.newPlace();
    const { wal } = await restoreBackup(new BackupTarget(lab.target), place);
    assert.deepEqual(wal, { segments: 1, rows: 0, damaged: [name] });
    const mended = mendedWalReader(openWalReader(place.fs, "/wal"), {
      store: place.store,
      prefix: "wal-mirror",
    });
    const rows: number[] = [];
    await using segment = await mended.open(BACKUP_LANE, name);
    for await (const { message } of segment.frames()) rows.push(...rowsOfMessage(message));
    assert.deepEqual(rows, [1, 2, 3]);
  },
});

Deno.test({
  name: "restoreBackup brings back the damaged bytes by which answers say that rows are missing",
  async fn() {
    await using lab = await BackupLab.open();
    await lab.append([1], { seals: false });
    const name = await lab.append([2]);
    const drain = openWalConsumerAdmin(lab.fs, lab.lab.clock, "/wal", lab.lab.random);
    await using segment = await openWalReader(lab.fs, "/wal").open(BACKUP_LANE, name);
    const { framesOffset: offset } = segment;
    const damage = [{ offset, endOffset: offset + 64, rows: 1 }];
    await drain.setDamageAside(BACKUP_LANE, name, damage);
    await lab.lab.catalog.foldConsumed([name]);
    await drain.markCommitted(BACKUP_LANE, [name]);
    const setAside = await openWalReader(lab.fs, "/wal").setAside?.(BACKUP_LANE);
    assert.deepEqual(setAside, [{ name, kind: "bytes", bytes: 64, rows: 1, epoch: 0 }]);
    await lab.backUp();
    const place = lab.newPlace();
    const { wal } = await restoreBackup(new BackupTarget(lab.target), place);
    assert.deepEqual(wal, { segments: 0, rows: 0, damaged: [] });
    const restored = openWalReader(place.fs, "/wal");
    assert.deepEqual(await restored.setAside?.(BACKUP_LANE), setAside);
    const file = `${name}.damaged`;
    assert.deepEqual(
      await place.fs.readFile(lab.path("poison", file)),
      await lab.fs.readFile(lab.path("poison", file)),
    );
  },
});

Deno.test({
  name: "restoreBackup says which points there are",
  async fn() {
    await using lab = await backedUp();
    await assert.rejects(lab.restored({ point: "nothing" }), /its points are \d{8}T\d{9}Z-/);
    await using empty = await BackupLab.open();
    await assert.rejects(empty.restored(), { code: "not_found", reason: "no_such_point" });
  },
});

Deno.test({
  name: "decodePoint gives what encodePoint took, and refuses another format and half a point",
  fn() {
    const stored = { sum: "a".repeat(64), bytes: 3 };
    const point = {
      ...{ momentMs: Date.UTC(2026, 10, 20), rootUri: "s3://b/p", release: "1" },
      catalog: [{ table: "svc_indexes", columns: ["a", "b"], rows: [["1", null]] }],
      files: Array.from({ length: 25_000 }, (_, at) => ({
        ...{ key: `k/${at}`, modifiedMs: at },
        ...stored,
      })),
      segments: [{ tenant: "t", index: "i", kind: "active" as const, name: "n", ...stored }],
    };
    const { name, bytes } = encodePoint(point);
    assert.match(name, /^20261120T000000000Z-[0-9a-f]{16}$/);
    assert.deepEqual(decodePoint(name, bytes), point);
    assert.ok(encodePoint(point, name).name > name, "later, though no time has passed");
    const half = bytes.slice(0, bytes.length >> 1);
    assert.throws(() => decodePoint(name, half), { code: "corrupt" });
  },
});
