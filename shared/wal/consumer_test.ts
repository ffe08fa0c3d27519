import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import type { LaneId } from "../tenant/tenant.ts";
import { CrashableFileSystem } from "../testing/crashable_file_system.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { numberedBatch, rowsOfMessage } from "../testing/numbered_rows.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { openWalConsumerAdmin } from "./admin.ts";
import { type Consumer, openConsumer } from "./consumer.ts";
import { openWalReader } from "./reader.ts";
import { openWal } from "./wal.ts";
import { isSweepable, type Watermark } from "./watermark.ts";

const ROOT = "/data/wal";
const STATE = "/data/consumers";
const LANE: LaneId = { tenant: "default", index: "events" };
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A lane with one sealed segment per row. */
async function rig(rows: number) {
  const fs = new CrashableFileSystem();
  const clock = new FakeClock();
  const wal = await openWal({ fs, clock, random: new SeededRandom(1), root: ROOT });
  const seal = async (row: number) => {
    await wal.append(LANE, numberedBatch([row]), "wait_for");
    return await wal.seal(LANE) ?? assert.fail("nothing was sealed");
  };
  const names: string[] = [];
  for (let row = 1; row <= rows; row++) names.push(await seal(row));
  const admin = openWalConsumerAdmin(fs, clock, ROOT);
  const consumer = (consumerId: string) =>
    openConsumer({ fs, clock, consumerId, walDir: ROOT, stateDir: STATE });
  const swept = () => admin.sweepCommitted(LANE, clock.nowMs());
  return { fs, clock, wal, seal, names, admin, consumer, swept };
}

async function polled(consumer: Consumer): Promise<string[]> {
  return (await consumer.poll()).map((segment) => segment.name);
}

Deno.test({
  name: "Consumer reads what it polls, oldest first, and goes on behind its commit after a restart",
  async fn() {
    const { consumer, names, admin, wal, fs } = await rig(3);
    const first = await consumer("a");
    await wal.append(LANE, numberedBatch([9]), "wait_for"); // Not sealed: not handed out.
    await admin.markCommitted(LANE, names.slice(0, 1));
    assert.equal(first.position, null);
    assert.deepEqual(await polled(first), names);
    const rows: number[] = [];
    for (const name of names) {
      await using segment = await first.read(name);
      for await (const frame of segment.frames()) rows.push(...rowsOfMessage(frame.message));
    }
    assert.deepEqual(rows, [1, 2, 3]);
    await first.commit(names[1] ?? "");
    assert.deepEqual(await polled(first), names.slice(2));
    assert.deepEqual(await polled(await consumer("b")), names);

    const rebooted = fs.reboot("drop", new SeededRandom(3));
    const again = await openConsumer({
      fs: rebooted,
      clock: new FakeClock(),
      consumerId: "a",
      walDir: ROOT,
      stateDir: STATE,
    });
    assert.equal(again.position, names[1]);
    assert.deepEqual(await polled(again), names.slice(2));
  },
});

Deno.test({
  name: "Consumer.commit() refuses to go back, and takes the same name twice",
  async fn() {
    const { consumer, names: [one = "", two = ""] } = await rig(2);
    const own = await consumer("a");
    await own.commit(two);
    await own.commit(two);
    for (const name of [one, "nonsense", "../../x"]) {
      await assert.rejects(
        own.commit(name),
        (error) => isOperatingError(error, "invalid_argument"),
      );
    }
    assert.equal(own.position, two);
  },
});

Deno.test({
  name: "Consumer.poll() hands nothing out behind a segment that is not sealed yet",
  async fn() {
    const { consumer, names, fs } = await rig(3);
    const lane = `${ROOT}/default/events`;
    await fs.rename(`${lane}/sealed/${names[1]}`, `${lane}/active/${names[1]}`);
    assert.deepEqual(await polled(await consumer("a")), names.slice(0, 1));
  },
});

Deno.test({
  name: "Consumer.read() of a swept segment says that it is no longer present",
  async fn() {
    const { consumer, names, admin, clock, swept } = await rig(1);
    const own = await consumer("a");
    await admin.markCommitted(LANE, names);
    await clock.advance(HOUR);
    assert.deepEqual(await swept(), names);
    await assert.rejects(
      own.read(names[0] ?? ""),
      (error) =>
        isOperatingError(error, "not_found") && /segment no longer present/.test(error.message),
    );
    assert.deepEqual(await polled(own), []);
  },
});

Deno.test({
  name: "openConsumer() refuses an id that is no file name, and a cursor that is none",
  async fn() {
    const { consumer, fs } = await rig(0);
    for (const id of ["", "../a", "a/b", ".hidden", "x".repeat(200)]) {
      await assert.rejects(consumer(id), (error) => isOperatingError(error, "invalid_argument"));
    }
    await fs.mkdir(`${STATE}/default/events`);
    await fs.writeFileAtomic(`${STATE}/default/events/broken.json`, new Uint8Array([0x7b]));
    await assert.rejects(consumer("broken"), (error) => isOperatingError(error, "corrupt"));
  },
});

Deno.test({
  name: "WalConsumerAdmin.sweepCommitted() keeps the 60 s floor, counted from markCommitted",
  async fn() {
    const { names, admin, clock, swept, fs } = await rig(2);
    await clock.advance(10 * MINUTE);
    await admin.markCommitted(LANE, names.slice(0, 1));
    await admin.markCommitted(LANE, names.slice(0, 1));
    assert.deepEqual(await swept(), []);
    await clock.advance(59 * SECOND);
    assert.deepEqual(await swept(), []);
    await clock.advance(1 * SECOND);
    assert.deepEqual(await swept(), names.slice(0, 1));
    assert.deepEqual(await swept(), []);
    await admin.markCommitted(LANE, names.slice(0, 1)); // The drain may repeat itself.
    const left = await openWalReader(fs, ROOT).list(LANE, ["sealed", "committed"]);
    assert.deepEqual(left.map(({ name, state }) => [name, state]), [[names[1], "sealed"]]);
  },
});

Deno.test({
  name:
    "WalConsumerAdmin.sweepCommitted() waits for live consumers, for fresh and stale ones a while",
  async fn() {
    const { consumer, names, admin, clock, swept } = await rig(4);
    const live = await consumer("live");
    await admin.markCommitted(LANE, names);
    await live.commit(names[0] ?? "");
    await clock.advance(2 * MINUTE);
    assert.deepEqual(await swept(), names.slice(0, 1), "held behind the watermark");
    await live.commit(names[1] ?? "");
    await clock.advance(5 * MINUTE - 1);
    assert.deepEqual(await swept(), names.slice(1, 2), "held until it is stale");
    const fresh = await consumer("fresh");
    await clock.advance(1);
    assert.deepEqual(await swept(), [], "held by the fresh one");
    await clock.advance(HOUR - 2);
    assert.deepEqual(await swept(), []);
    await fresh.withdraw();
    assert.deepEqual(await swept(), names.slice(2));
  },
});

const NOW = 1_000_000_000;
const HOLDS: readonly { name: string; watermark: Partial<Watermark>; free: boolean }[] = [
  { name: "fresh", watermark: { openedMs: NOW - HOUR + 1 }, free: false },
  { name: "fresh for too long", watermark: { openedMs: NOW - HOUR }, free: true },
  { name: "before it", watermark: { upTo: "a", movedMs: NOW - 5 * MINUTE + 1 }, free: false },
  { name: "before it and stale", watermark: { upTo: "a", movedMs: NOW - 5 * MINUTE }, free: true },
  { name: "at it", watermark: { upTo: "b", movedMs: NOW }, free: true },
  { name: "behind it", watermark: { upTo: "c", movedMs: NOW }, free: true },
];

for (const { name, watermark, free } of HOLDS) {
  Deno.test({
    name: `isSweepable() with a consumer ${name}: ${free}`,
    fn() {
      const segment = { name: "b", committedMs: NOW - MINUTE };
      const whole = { openedMs: NOW - HOUR, upTo: null, movedMs: NOW, ...watermark };
      assert.equal(isSweepable(segment, [whole], NOW), free);
      assert.equal(isSweepable(segment, [], NOW), true);
      assert.equal(isSweepable({ ...segment, committedMs: NOW - MINUTE + 1 }, [], NOW), false);
    },
  });
}

Deno.test({
  name:
    "WalConsumerAdmin.sweepCommitted() treats a damaged watermark as a fresh consumer, not forever",
  async fn() {
    const { names, admin, clock, swept, fs } = await rig(1);
    await admin.markCommitted(LANE, names);
    await fs.mkdir(`${ROOT}/default/events/consumers`);
    await fs.writeFileAtomic(`${ROOT}/default/events/consumers/x.json`, new Uint8Array([1, 2]));
    await fs.setModified(`${ROOT}/default/events/consumers/x.json`, clock.nowMs());
    await clock.advance(HOUR - 1);
    assert.deepEqual(await swept(), []);
    await clock.advance(1);
    assert.deepEqual(await swept(), names);
  },
});

Deno.test({
  name: "WalConsumerAdmin.markPoison() sets a segment aside where no list of rows finds it",
  async fn() {
    const { names, admin, consumer, fs } = await rig(2);
    await admin.markPoison(LANE, names[0] ?? "");
    assert.deepEqual(await polled(await consumer("a")), names.slice(1));
    const poison = await openWalReader(fs, ROOT).list(LANE, ["poison"]);
    assert.deepEqual(poison.map((segment) => segment.name), names.slice(0, 1));
  },
});
