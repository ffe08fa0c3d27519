import assert from "node:assert/strict";
import { basename } from "node:path";
import { OperatingError } from "../../base/errors.ts";
import { MS_PER_DAY } from "../../base/time.ts";
import { MemoryStore } from "../../testing/memory_store.ts";
import { CrashableFileSystem } from "../../testing/crashable_file_system.ts";
import { FakeClock } from "../../testing/fake_clock.ts";
import { inlinePacker } from "../../testing/inline_packer.ts";
import { numberedBatch } from "../../testing/numbered_rows.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { until } from "../../testing/until.ts";
import { openWal } from "../wal.ts";
import { mirrorBacklog } from "./mirror_segments.ts";
import { MirrorUploader } from "./mirror_uploader.ts";
import type { SegmentPacker } from "./segment_packer.ts";

const ROOT = "/data/wal";
const POLL_MS = 5_000;
const GATHER_MS = 500;
const PATIENCE_MS = 20_000;
const [WEB, JOBS] = ["web", "jobs"].map((index) => ({ tenant: "default", index })) as [Lane, Lane];
type Lane = { tenant: string; index: string };

Deno.test({
  name:
    "MirrorUploader looks at the lanes that sealed, at all now and then, and at all after a failure",
  async fn() {
    const [fs, clock, random] = [new CrashableFileSystem(), new FakeClock(), new SeededRandom(4)];
    const store = new UnsteadyStore();
    await using wal = await openWal({ fs, clock, random, root: ROOT, freeBytesMin: 0 });
    const seal = async (lane: Lane) => {
      await wal.append(lane, numberedBatch([1]), "wait_for");
      await wal.seal(lane);
    };
    const stored = async (lane: Lane) =>
      (await Array.fromAsync(store.list(`m/default/${lane.index}/`))).length;
    const untilStored = async (lane: Lane, count: number) => {
      for (const end = Date.now() + PATIENCE_MS; await stored(lane) < count;) {
        assert.ok(Date.now() < end, `${count} objects of ${lane.index}`);
        await clock.advance(0);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    };
    await seal(WEB);
    await seal(JOBS);
    let failures = 0;
    await using uploader = new MirrorUploader({
      ...{ fs, clock, random, store, root: ROOT, prefix: "m", parallel: 2, activeIntervalMs: 0 },
      patienceMs: 10_000,
      onEvent: () => {},
      onFailure: () => failures += 1,
    });
    await untilStored(WEB, 1);
    await untilStored(JOBS, 1);

    await seal(WEB);
    await seal(JOBS);
    uploader.wake(WEB);
    await clock.advance(GATHER_MS - 1);
    assert.equal(await stored(WEB), 1, "others may be sealed by then");
    await clock.advance(1);
    await untilStored(WEB, 2);
    assert.equal(await stored(JOBS), 1, "nobody said so");
    await clock.advance(GATHER_MS + POLL_MS);
    await untilStored(JOBS, 2);

    await clock.advance(GATHER_MS);
    await seal(WEB);
    uploader.wake(WEB);
    await untilStored(WEB, 3);
    await clock.advance(GATHER_MS);

    await seal(WEB);
    await seal(JOBS);
    store.isAway = true;
    uploader.wake(WEB);
    for (const end = Date.now() + PATIENCE_MS; failures === 0;) {
      assert.ok(Date.now() < end);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    store.isAway = false;
    await clock.advance(POLL_MS - 1);
    await untilStored(WEB, 4);
    await untilStored(JOBS, 3);
  },
});

const WAITS: readonly [what: string, activeIntervalMs: number, mostMs: number][] = [
  ["the patience it was given", 0, 10_000],
  ["the interval of copies, where there is one", 2_000, 2_000],
];

for (const [what, activeIntervalMs, mostMs] of WAITS) {
  Deno.test({
    name: `MirrorUploader has a segment packed as urgent when it is older than ${what}`,
    async fn() {
      const [fs, clock, random] = [new CrashableFileSystem(), new FakeClock(), new SeededRandom(5)];
      const store = new MemoryStore();
      const urgency = new Map<string, boolean>();
      const inline = inlinePacker(fs);
      const packer: SegmentPacker = {
        ...inline,
        packFile(path, options) {
          urgency.set(basename(path), options.isUrgent);
          return inline.packFile(path, options);
        },
      };
      await using wal = await openWal({ fs, clock, random, root: ROOT, freeBytesMin: 0 });
      const seal = async () => {
        const { segment } = await wal.append(WEB, numberedBatch([1]), "wait_for");
        await wal.seal(WEB);
        return segment;
      };
      const old = await seal();
      await clock.advance(1);
      const young = await seal();
      await clock.advance(mostMs);
      await using uploader = new MirrorUploader({
        ...{ fs, clock, random, store, packer, root: ROOT, prefix: "m", parallel: 2 },
        ...{ activeIntervalMs, patienceMs: 10_000 },
        onEvent: () => {},
        onFailure: (error) => assert.fail(String(error)),
      });
      for (const end = Date.now() + PATIENCE_MS; urgency.size < 2;) {
        assert.ok(Date.now() < end);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      assert.deepEqual(urgency, new Map([[old, true], [young, false]]));
      const last = await seal();
      await uploader.stop();
      assert.equal(urgency.get(last), true, "the process waits for it");
    },
  });
}

Deno.test({
  name: "MirrorUploader has segments packed as urgent that a clock named which went back since",
  async fn() {
    const clock = new FakeClock();
    const fs = new CrashableFileSystem({ nowMs: () => clock.nowMs() });
    const random = new SeededRandom(5);
    const urgency: boolean[] = [];
    const inline = inlinePacker(fs);
    const packer: SegmentPacker = {
      ...inline,
      packFile(path, options) {
        urgency.push(options.isUrgent);
        return inline.packFile(path, options);
      },
    };
    await using wal = await openWal({ fs, clock, random, root: ROOT, freeBytesMin: 0 });
    const seal = async () => {
      await wal.append(WEB, numberedBatch([1]), "wait_for");
      await wal.seal(WEB);
    };
    clock.jumpMs = MS_PER_DAY;
    await seal();
    clock.jumpMs = 0;
    await seal();
    const { oldestMs } = await mirrorBacklog({ fs, root: ROOT }, new Map());
    assert.ok(oldestMs !== undefined && oldestMs <= clock.nowMs(), `${oldestMs}`);
    await using _uploader = new MirrorUploader({
      ...{ fs, clock, random, packer, root: ROOT, prefix: "m", parallel: 2 },
      ...{ store: new MemoryStore(), activeIntervalMs: 0, patienceMs: 10_000 },
      onEvent: () => {},
      onFailure: (error) => assert.fail(String(error)),
    });
    await until(() => urgency.length === 2);
    assert.deepEqual(urgency, [true, true]);
  },
});

Deno.test({
  name: "MirrorUploader mirrors a tenant's segment before all that another tenant has",
  async fn() {
    const [fs, clock, random] = [new CrashableFileSystem(), new FakeClock(), new SeededRandom(6)];
    await using wal = await openWal({ fs, clock, random, root: ROOT, freeBytesMin: 0 });
    const lanes = Array.from({ length: 20 }, (_, at) => ({ tenant: "a", index: `web-${10 + at}` }));
    const small = { tenant: "b", index: "web" };
    const seal = async (lane: Lane) => {
      await wal.append(lane, numberedBatch([1]), "wait_for");
      await wal.seal(lane);
    };
    for (const lane of lanes) await seal(lane);
    const order: string[] = [];
    const store = new MemoryStore();
    const putNew = store.putNew.bind(store);
    store.putNew = async (key, bytes) => {
      if (order.push(key.split("/")[1] ?? "") === 3) {
        await seal(small);
        uploader.wake(small);
      }
      await putNew(key, bytes);
    };
    await using uploader = new MirrorUploader({
      ...{ fs, clock, random, store, root: ROOT, prefix: "m", parallel: 1, activeIntervalMs: 0 },
      patienceMs: 10_000,
      onEvent: () => {},
      onFailure: (error) => assert.fail(String(error)),
    });
    await until(() => order.length === 21);
    assert.equal(order.indexOf("b"), 3);
  },
});

class UnsteadyStore extends MemoryStore {
  isAway = false;

  override putNew(key: string, bytes: Uint8Array): Promise<void> {
    if (!this.isAway) return super.putNew(key, bytes);
    return Promise.reject(new OperatingError("unavailable", "the store is away"));
  }
}
