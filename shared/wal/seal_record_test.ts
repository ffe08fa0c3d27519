import assert from "node:assert/strict";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { utf8 } from "../base/bytes.ts";
import type { LaneId } from "../tenant/tenant.ts";
import { CrashableFileSystem } from "../testing/crashable_file_system.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { numberedBatch } from "../testing/numbered_rows.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { openWalConsumerAdmin } from "./admin.ts";
import { checkWal } from "./check_wal.ts";
import { expectedDirectory, expectedPath, segmentPath, stateDirectory } from "./layout.ts";
import { openWalReader } from "./reader.ts";
import { openWal } from "./wal.ts";

const ROOT = "/data/wal";
const LANE: LaneId = { tenant: "default", index: "events" };
const NOBODY = () => Promise.resolve(new Set<string>());

Deno.test({
  name: "a sealed segment that is gone is missing, with its rows, until a table has it",
  async fn() {
    const { fs, admin, names } = await sealedLab(3);
    assert.deepEqual(await admin.missing(LANE, NOBODY), []);
    const [first = "", second = "", third = ""] = names;
    const bytes = (await fs.stat(segmentPath(ROOT, LANE, { state: "sealed", name: second }))).size;
    for (const name of [second, third]) {
      await fs.remove(segmentPath(ROOT, LANE, { state: "sealed", name }));
    }
    // Also where nobody saw it before: the ingester was started anew, the folder is gone, too.
    const missing = await admin.missing(LANE, (names) => {
      assert.deepEqual(names, [second, third]);
      return Promise.resolve(new Set([third]));
    });
    assert.deepEqual(missing, [{ name: second, rows: 2, bytes }]);
    const found = await Array.fromAsync(checkWal(fs, ROOT));
    assert.deepEqual(found.map(({ kind, name }) => [kind, name]), [
      ["segment", first],
      ["missing", second],
    ]);
  },
});

Deno.test({
  name: "the last segment of a lane, and a whole folder of segments, are missed, too",
  async fn() {
    const { fs, admin, names } = await sealedLab(2);
    await fs.removeTree(stateDirectory(ROOT, LANE, "sealed"));
    assert.deepEqual((await admin.missing(LANE, NOBODY)).map(({ name }) => name), names);
  },
});

Deno.test({
  name: "nothing is missing through seals, drains, sweeps, restarts and tidied folders",
  async fn() {
    for (let seed = 1; seed <= 30; seed += 1) {
      const random = new SeededRandom(seed);
      const turns = new SeededRandom(seed);
      const fs = new CrashableFileSystem({ extraTurns: () => turns.below(12) });
      const clock = new FakeClock();
      const admin = openWalConsumerAdmin(fs, clock, ROOT, random);
      const reader = openWalReader(fs, ROOT);
      const consumed = new Set<string>();
      const start = () => openWal({ fs, clock, random, root: ROOT, eventsMax: 3, freeBytesMin: 0 });
      let isDone = false;
      const watched = (async () => {
        for (let looks = 0; !isDone; looks += 1) {
          const missing = await admin.missing(LANE, (names) => {
            return Promise.resolve(new Set(names.filter((name) => consumed.has(name))));
          });
          assert.deepEqual(missing, [], `seed ${seed}, look ${looks}`);
          await new Promise((resolve) => setTimeout(resolve, 0));
        }
      })();
      let wal = await start();
      for (let step = 0; step < 40; step += 1) {
        const dice = random.float();
        if (dice < 0.5) await wal.append(LANE, numberedBatch([step]), "wait_for");
        else if (dice < 0.6) await wal.seal(LANE);
        else if (dice < 0.8) {
          const names = (await reader.list(LANE, ["sealed"])).map(({ name }) => name);
          // Segments of a dropped table go without a commit.
          if (random.chance(0.7)) { for (const name of names) consumed.add(name); }
          await admin.markCommitted(LANE, names);
        } else if (dice < 0.9) {
          await clock.advance(61_000);
          await admin.sweepCommitted(LANE, clock.nowMs());
        } else if (dice < 0.95) {
          await wal.close();
          wal = await start();
        } else {
          for (const { name } of await reader.list(LANE, ["sealed"])) {
            await admin.markPoison(LANE, name);
            await fs.remove(segmentPath(ROOT, LANE, { state: "poison", name }));
          }
          await fs.removeTree(expectedDirectory(ROOT, LANE)).catch(() => {});
        }
      }
      isDone = true;
      await watched;
      await wal.close();
    }
  },
});

Deno.test({
  name: "a missing segment is restored from bytes that are all of it, and from no others",
  async fn() {
    const { fs, admin, names } = await sealedLab(1);
    const [name = ""] = names;
    const path = segmentPath(ROOT, LANE, { state: "sealed", name });
    const bytes = await fs.readFile(path);
    await fs.remove(path);
    assert.equal(await admin.restore(LANE, name, bytes.subarray(0, bytes.byteLength - 8)), false);
    const flipped = bytes.map((byte, at) => at === bytes.byteLength - 9 ? byte ^ 1 : byte);
    assert.equal(await admin.restore(LANE, name, flipped), false);
    assert.equal((await admin.missing(LANE, NOBODY)).length, 1);
    assert.equal(await admin.restore(LANE, name, bytes), true);
    assert.deepEqual(await admin.missing(LANE, NOBODY), []);
    assert.deepEqual(await fs.readFile(path), bytes);
    const left = await fs.readDir(join(path, ".."));
    assert.deepEqual(left.map((entry) => entry.name), [name]);
  },
});

async function sealedLab(count: number) {
  const fs = new CrashableFileSystem();
  const clock = new FakeClock();
  const random = new SeededRandom(1);
  const wal = await openWal({ fs, clock, random, root: ROOT, freeBytesMin: 0 });
  const names: string[] = [];
  for (let at = 0; at < count; at += 1) {
    await wal.append(LANE, numberedBatch([at, at + 100]), "wait_for");
    names.push(await wal.seal(LANE) ?? "");
  }
  await wal.close();
  return { fs, admin: openWalConsumerAdmin(fs, clock, ROOT, random), names };
}

Deno.test({
  name: "a sealed segment tells its rows and times, unless its record or its length is damaged",
  async fn() {
    const { fs, names } = await sealedLab(1);
    const [name = ""] = names;
    const reader = openWalReader(fs, ROOT);
    const outline = async () => {
      await using segment = await reader.open(LANE, name);
      return segment.outline;
    };
    const told = await outline();
    await using segment = await reader.open(LANE, name);
    const frames = await Array.fromAsync(segment.frames());
    assert.deepEqual(told, {
      rows: 2,
      timestampNsMin: frames.map((one) => one.timestampNsMin).reduce((a, b) => a < b ? a : b),
      timestampNsMax: frames.map((one) => one.timestampNsMax).reduce((a, b) => a > b ? a : b),
    });
    const path = expectedPath(ROOT, LANE, name);
    const record = await fs.readFile(path);
    for (let bit = 0; bit < 8 * record.byteLength; bit += 1) {
      const flipped = record.slice();
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      await fs.writeFileAtomic(path, flipped);
      const found = await outline();
      assert.ok(found === undefined || isDeepStrictEqual(found, told), `bit ${bit}`);
    }
    // Records of earlier releases have no times.
    await fs.writeFileAtomic(path, utf8(`{"version":1,"rows":2,"bytes":${frames[0]?.endOffset}}`));
    assert.equal(await outline(), undefined);
    await fs.writeFileAtomic(path, record);
    assert.deepEqual(await outline(), told);
    const sealed = segmentPath(ROOT, LANE, { state: "sealed", name });
    const bytes = await fs.readFile(sealed);
    await fs.writeFileAtomic(sealed, bytes.subarray(0, bytes.byteLength - 8));
    assert.equal(await outline(), undefined);
  },
});
