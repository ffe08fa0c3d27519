import assert from "node:assert/strict";
import { OperatingError } from "../../base/errors.ts";
import { MemoryStore } from "../../storage/memory_store.ts";
import { CrashableFileSystem } from "../../testing/crashable_file_system.ts";
import { FakeClock } from "../../testing/fake_clock.ts";
import { numberedBatch } from "../../testing/numbered_rows.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { openWal } from "../wal.ts";
import { MirrorUploader } from "./mirror_uploader.ts";

const ROOT = "/data/wal";
const POLL_MS = 5_000;
const PATIENCE_MS = 20_000;
const [WEB, JOBS] = ["web", "jobs"].map((index) => ({ tenant: "default", index })) as [Lane, Lane];
type Lane = { tenant: string; index: string };

Deno.test({
  name:
    "MirrorUploader looks at the lanes that sealed at once, at all now and then, and at all after a failure",
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
    const until = async (lane: Lane, count: number) => {
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
      onEvent: () => {},
      onFailure: () => failures += 1,
    });
    await until(WEB, 1);
    await until(JOBS, 1);

    await seal(WEB);
    await seal(JOBS);
    uploader.wake(WEB);
    await until(WEB, 2);
    assert.equal(await stored(JOBS), 1, "nobody said so");
    await clock.advance(POLL_MS + 1);
    await until(JOBS, 2);

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
    await until(WEB, 3);
    await until(JOBS, 3);
  },
});

class UnsteadyStore extends MemoryStore {
  isAway = false;

  override putNew(key: string, bytes: Uint8Array): Promise<void> {
    if (!this.isAway) return super.putNew(key, bytes);
    return Promise.reject(new OperatingError("unavailable", "the store is away"));
  }
}
