import assert from "node:assert/strict";
import { MemoryStore } from "../../testing/memory_store.ts";
import { CrashableFileSystem } from "../../testing/crashable_file_system.ts";
import { FakeClock } from "../../testing/fake_clock.ts";
import { inlinePacker } from "../../testing/inline_packer.ts";
import { numberedBatch, rowsOfMessage } from "../../testing/numbered_rows.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { waysAt } from "../../testing/ways_at.ts";
import { openWalReader } from "../reader.ts";
import { openWal } from "../wal.ts";
import { activeKey, segmentKey } from "./mirror_layout.ts";
import { mirrorSegments } from "./mirror_segments.ts";
import { applyRecovery, planRecovery } from "./recover_mirror.ts";

const LANE = { tenant: "default", index: "events" };
const PREFIX = "wal-mirror";
const ROOT = "/new/wal";

Deno.test({
  name:
    "planRecovery pulls what is neither here nor committed, sealed before active, longest active",
  async fn() {
    const { store, names } = await mirrored(3);
    const [first = "", second = "", third = ""] = names;
    const bytes = await store.get(segmentKey(PREFIX, LANE, third));
    await store.delete([segmentKey(PREFIX, LANE, third)]);
    await store.putNew(activeKey(PREFIX, LANE, third, 200), bytes.slice(0, 200));
    await store.putNew(activeKey(PREFIX, LANE, third, bytes.length), bytes);
    await store.putNew(activeKey(PREFIX, LANE, second, 200), bytes.slice(0, 200));
    const fs = new CrashableFileSystem();
    const catalog = { consumedOf: () => Promise.resolve(new Set([first])) };
    const source = { store, prefix: PREFIX, root: ROOT };
    const plan = await planRecovery(source, { files: fs, catalog });
    assert.equal(fs.operations, 0, "a plan writes nothing");
    assert.deepEqual(plan.map(({ name, from, action }) => [name, from, action]), [
      [first, "sealed", "committed"],
      [second, "sealed", "pull"],
      [third, "active", "pull"],
    ]);
    assert.equal(plan[2]?.key, activeKey(PREFIX, LANE, third, bytes.length));
    await recover(fs, store, catalog);
    assert.deepEqual(await rowsOf(fs), [2, 3, 4, 5]);
    const again = await planRecovery(source, { files: fs, catalog });
    assert.deepEqual(again.map(({ action }) => action), ["committed", "here", "here"]);
  },
});

Deno.test({
  name: "applyRecovery power cut before every operation and repeated has each row once, durably",
  async fn() {
    const { store } = await mirrored(2);
    const whole = new CrashableFileSystem();
    await recover(whole, store);
    assert.ok(whole.operations > 20);
    for (let crashAt = 0; crashAt < whole.operations; crashAt += 1) {
      for (const loss of waysAt(["drop", "keep", "prefix", "torn"] as const, crashAt)) {
        const random = new SeededRandom(crashAt);
        const fs = new CrashableFileSystem({ crashAt });
        await assert.rejects(recover(fs, store));
        const next = fs.reboot(loss, random);
        await recover(next, store);
        const last = next.reboot("drop", random);
        await (await openWal({ ...ends(last), root: ROOT })).close();
        assert.deepEqual(await rowsOf(last), [0, 1, 2, 3], `${crashAt} ${loss}`);
      }
    }
  },
});

Deno.test({
  name: "applyRecovery refuses a root in use and leaves a segment that is there as it is",
  async fn() {
    const { store } = await mirrored(1);
    const fs = new CrashableFileSystem();
    {
      await using _wal = await openWal({ ...ends(fs), root: ROOT });
      await assert.rejects(recover(fs, store), { code: "conflict", reason: "wal_locked" });
    }
    await recover(fs, store);
    const before = await openWalReader(fs, ROOT).list(LANE, ["sealed"]);
    await recover(fs, store);
    assert.deepEqual(await openWalReader(fs, ROOT).list(LANE, ["sealed"]), before);
  },
});

Deno.test({
  name:
    "applyRecovery unpacks what is packed, and one that does not unpack leaves the others to come",
  async fn() {
    const { store, names } = await mirrored(3, { packs: true });
    const [broken = ""] = await Array.fromAsync(store.list(""), ({ key }) => key);
    const object = (await store.get(broken)).slice();
    object[object.length >> 1] = (object[object.length >> 1] ?? 0) ^ 255;
    await store.delete([broken]);
    await store.putNew(broken, object);
    const fs = new CrashableFileSystem();
    const source = { store, prefix: PREFIX, root: ROOT };
    const plan = await planRecovery(source, { files: fs, catalog: undefined });
    assert.deepEqual(plan.map(({ bytes }) => bytes > 100), [true, true, true]);
    const damaged: string[] = [];
    for await (const { step, salvaged } of applyRecovery(source, plan, { fs })) {
      if (salvaged.outcome === "sealed") continue;
      assert.deepEqual([salvaged.rows, salvaged.cutBytes], [0, step.bytes]);
      damaged.push(step.name);
    }
    assert.deepEqual(damaged, names.slice(0, 1));
    assert.deepEqual(await rowsOf(fs), [2, 3, 4, 5]);
  },
});

function ends(fs: CrashableFileSystem) {
  return { fs, clock: new FakeClock(), random: new SeededRandom(9), freeBytesMin: 0 };
}

/** A mirror of `count` segments of two rows each, whose WAL is gone. */
async function mirrored(count: number, { packs = false } = {}) {
  const store = new MemoryStore();
  const fs = new CrashableFileSystem();
  const root = "/lost/wal";
  {
    await using wal = await openWal({ ...ends(fs), root });
    for (let at = 0; at < count; at += 1) {
      await wal.append(LANE, numberedBatch([2 * at, 2 * at + 1]), "wait_for");
      await wal.seal(LANE);
    }
  }
  const bare = { fs, root, store, prefix: PREFIX, parallel: 1, onEvent: () => {} };
  const deps = packs ? { ...bare, packer: inlinePacker(fs) } : bare;
  await mirrorSegments(deps, new Map(), new AbortController().signal);
  const sealed = await openWalReader(fs, root).list(LANE, ["sealed"]);
  return { store, names: sealed.map(({ name }) => name) };
}

async function recover(
  fs: CrashableFileSystem,
  store: MemoryStore,
  catalog?: { consumedOf(): Promise<ReadonlySet<string>> },
): Promise<void> {
  const source = { store, prefix: PREFIX, root: ROOT };
  const plan = await planRecovery(source, { files: fs, catalog });
  for await (const { salvaged } of applyRecovery(source, plan, { fs })) {
    assert.equal(salvaged.cutBytes, 0);
  }
}

async function rowsOf(fs: CrashableFileSystem): Promise<number[]> {
  const reader = openWalReader(fs, ROOT);
  const rows: number[] = [];
  for (const { name } of await reader.list(LANE, ["active", "sealed"])) {
    await using segment = await reader.open(LANE, name);
    for await (const frame of segment.frames()) rows.push(...rowsOfMessage(frame.message));
  }
  return rows;
}
