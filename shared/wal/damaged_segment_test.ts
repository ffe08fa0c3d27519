/**
 * A segment with any byte changed, cut or zeroed: what is intact is read, set aside and requeued
 * exactly once, and what is not is told with its place.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { concatBytes } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import { encodeSchemaMessage } from "../columns/ipc.ts";
import type { LaneId } from "../tenant/tenant.ts";
import { CrashableFileSystem } from "../testing/crashable_file_system.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { NUMBERED_SCHEMA, numberedBatch, rowsOfMessage } from "../testing/numbered_rows.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { frameOf } from "../testing/wal_frame.ts";
import { openWalConsumerAdmin } from "./admin.ts";
import { checkWal, isFault } from "./check_wal.ts";
import { readDamaged } from "./damaged_bytes.ts";
import { encodeHeader } from "./format.ts";
import { damagedPath, segmentPath } from "./layout.ts";
import { openWalReader } from "./reader.ts";
import { applyRequeue, planRequeue } from "./requeue.ts";
import { writeSealRecord } from "./seal_record.ts";
import type { FrameDamage, FrameOutline, SegmentReader, SegmentState } from "./types.ts";

const ROOT = "/data/wal";
const LANE: LaneId = { tenant: "default", index: "events" };
const NAME = "1795208645000-0000-0123456789abcdef.seg";
const HEADER = encodeHeader({
  lane: LANE,
  createdMs: 1,
  schemaMessage: encodeSchemaMessage(NUMBERED_SCHEMA),
});
const FRAMES = [[1], [2, 3], [4, 5, 6], [7]].map((rows) =>
  frameOf(numberedBatch(rows, { messageBytes: 40 }), HEADER.frameSeed)
);
const WHOLE = concatBytes([HEADER.bytes, ...FRAMES]);
const ROWS = [1, 2, 3, 4, 5, 6, 7];
/** Where frame `at` begins. */
const START = FRAMES.map((_, at) =>
  FRAMES.slice(0, at).reduce((sum, { byteLength }) => sum + byteLength, HEADER.bytes.byteLength)
);

Deno.test({
  name: "SegmentReader.frames(onDamage) with any byte changed lacks the frame of that byte alone",
  async fn() {
    for (let at = HEADER.bytes.byteLength; at < WHOLE.byteLength; at += 1) {
      for (const bit of [1, 0x80]) {
        const bytes = WHOLE.slice();
        bytes[at] = (bytes[at] ?? 0) ^ bit;
        const hit = START.findLastIndex((start) => start <= at);
        const { rows, damage } = await readPassing(await machineWith("sealed", bytes));
        const lost = [[1], [2, 3], [4, 5, 6], [7]][hit] ?? [];
        assert.deepEqual(rows, ROWS.filter((row) => !lost.includes(row)), `byte ${at}`);
        const [offset, endOffset] = [START[hit], START[hit + 1] ?? WHOLE.byteLength];
        assert.deepEqual(damage.map((one) => [one.offset, one.endOffset]), [[offset, endOffset]]);
      }
    }
  },
});

const CUTS: readonly { name: string; bytes: Uint8Array; rows: number[]; damage: number[][] }[] = [
  {
    name: "two frames apart",
    bytes: zeroed([START[0] ?? 0, START[1] ?? 0], [START[2] ?? 0, START[3] ?? 0]),
    rows: [2, 3, 7],
    damage: [[START[0] ?? 0, START[1] ?? 0], [START[2] ?? 0, START[3] ?? 0]],
  },
  {
    name: "two frames together",
    bytes: zeroed([START[1] ?? 0, START[3] ?? 0]),
    rows: [1, 7],
    damage: [[START[1] ?? 0, START[3] ?? 0]],
  },
  {
    name: "cut within a frame",
    bytes: WHOLE.subarray(0, (START[3] ?? 0) - 5),
    rows: [1, 2, 3],
    damage: [[START[2] ?? 0, WHOLE.byteLength]],
  },
  {
    name: "cut where a frame ends, which the record of its sealing tells",
    bytes: WHOLE.subarray(0, START[3]),
    rows: [1, 2, 3, 4, 5, 6],
    damage: [[START[3] ?? 0, WHOLE.byteLength]],
  },
  {
    name: "nothing but its header",
    bytes: HEADER.bytes,
    rows: [],
    damage: [[START[0] ?? 0, WHOLE.byteLength]],
  },
];

for (const { name, bytes, rows, damage } of CUTS) {
  Deno.test({
    name: `SegmentReader.frames(onDamage): ${name}`,
    async fn() {
      const fs = await machineWith("sealed", bytes);
      await writeSealRecord(fs, ROOT, { lane: LANE, name: NAME, rows: 7, bytes: WHOLE.byteLength });
      const read = await readPassing(fs);
      assert.deepEqual(read.rows, rows);
      assert.deepEqual(read.damage.map((one) => [one.offset, one.endOffset]), damage);
      const found = await Array.fromAsync(checkWal(fs, ROOT));
      assert.deepEqual(found.map(isFault), [true]);
      assert.equal(found[0]?.kind, "segment");
      assert.deepEqual(found[0]?.kind === "segment" && found[0].damage, read.damage);
      // Whoever takes no damage gets none silently.
      await assert.rejects(readStrictly(fs), (error) => isOperatingError(error, "corrupt"));
    },
  });
}

Deno.test({
  name: "SegmentReader.frames(onDamage) does not take rows that look like a frame for one",
  async fn() {
    // A sender who knew the segment's header could have his rows read twice.
    const inner = frameOf(numberedBatch([99], { messageBytes: 40 }), HEADER.frameSeed);
    const batch = { ...numberedBatch([2]), pieces: [inner], byteLength: inner.byteLength };
    const outer = frameOf(batch, HEADER.frameSeed);
    outer[outer.byteLength - 1] = (outer.at(-1) ?? 0) ^ 1;
    const last = frameOf(numberedBatch([3]), HEADER.frameSeed);
    const bytes = concatBytes([HEADER.bytes, outer, last]);
    assert.deepEqual((await readPassing(await machineWith("sealed", bytes))).rows, [3]);
  },
});

Deno.test({
  name: "frames of an active segment: damage before a frame is told, a torn end is none",
  async fn() {
    const torn = concatBytes([zeroed([START[1] ?? 0, START[2] ?? 0]), FRAMES[0] ?? HEADER.bytes])
      .subarray(0, WHOLE.byteLength + 9);
    const { rows, damage } = await readPassing(await machineWith("active", torn));
    assert.deepEqual(rows, [1, 4, 5, 6, 7]);
    assert.deepEqual(damage.map(({ offset }) => offset), [START[1]]);
  },
});

Deno.test({
  name: "requeue moves a damaged segment as it is, for the drain to mend or to leave out",
  async fn() {
    const bytes = zeroed([(START[1] ?? 0) + 40, (START[1] ?? 0) + 44]);
    const fs = await machineWith("poison", bytes);
    const plan = await planRequeue(fs, ROOT);
    const damagedBytes = (START[2] ?? 0) - (START[1] ?? 0);
    const known = { lane: LANE, name: NAME, rows: 5, damagedBytes, damagedRows: 2 };
    assert.deepEqual(plan, [{ ...known, action: "move" }]);
    await applyRequeue(fs, ROOT, plan);
    const sealed = segmentPath(ROOT, LANE, { state: "sealed", name: NAME });
    assert.deepEqual(await fs.readFile(sealed), bytes);
    assert.deepEqual(await openWalReader(fs, ROOT).setAside?.(LANE), []);
    const range = { offset: START[1], endOffset: START[2], rows: 2 };
    assert.deepEqual(await readPassing(fs), { rows: [1, 4, 5, 6, 7], damage: [range] });
    // A drain without a copy of it keeps what it leaves out.
    const admin = openWalConsumerAdmin(fs, new FakeClock(), ROOT, new SeededRandom(1));
    await admin.setDamageAside(LANE, NAME, (await readPassing(fs)).damage);
    const kept = await readDamaged(fs, damagedPath(ROOT, LANE, NAME));
    assert.deepEqual(kept.damage, [range]);
    const file = await fs.readFile(damagedPath(ROOT, LANE, NAME));
    const damaged = bytes.subarray(START[1], START[2]);
    assert.deepEqual(file.subarray(file.byteLength - damaged.byteLength), damaged);
    assert.deepEqual(await openWalReader(fs, ROOT).setAside?.(LANE), [
      { name: NAME, kind: "bytes", bytes: damagedBytes, rows: 2, epoch: 0 },
    ]);
  },
});

Deno.test({
  name: "requeue that ends before any file operation loses no intact row and makes none twice",
  async fn() {
    const bytes = zeroed([(START[1] ?? 0) + 40, (START[1] ?? 0) + 44]);
    let ended = 0;
    for (let crashAt = 0;; crashAt += 1) {
      for (const loss of ["kill", "drop", "torn"] as const) {
        const before = await machineWith("poison", bytes);
        let fs = before.kill({ crashAt });
        const run = async () => await applyRequeue(fs, ROOT, await planRequeue(fs, ROOT));
        await run().catch((error) => {
          if (fs.powered) throw error;
        });
        if (fs.powered) {
          assert.ok(ended > 10, `only ${ended} operations`);
          return;
        }
        ended += 1;
        fs = loss === "kill" ? fs.kill() : fs.reboot(loss, new SeededRandom(crashAt));
        // A drain may take the segment before the second run; the name is what a table knows.
        await run();
        const left = await openWalReader(fs, ROOT).list(LANE, ["sealed", "poison"]);
        assert.deepEqual(left.map(({ name }) => name), [NAME], `${loss} ${crashAt}`);
        assert.deepEqual((await readPassing(fs)).rows, [1, 4, 5, 6, 7]);
      }
    }
  },
});

Deno.test({
  name: "markPoison and setDamageAside keep what they take, and nobody misses it then",
  async fn() {
    const fs = await machineWith("sealed", WHOLE);
    await writeSealRecord(fs, ROOT, { lane: LANE, name: NAME, rows: 7, bytes: WHOLE.byteLength });
    const admin = openWalConsumerAdmin(fs, new FakeClock(), ROOT, new SeededRandom(1));
    const nobody = () => Promise.resolve(new Set<string>());
    await admin.markPoison(LANE, NAME);
    await fs.remove(segmentPath(ROOT, LANE, { state: "poison", name: NAME }));
    assert.deepEqual(await admin.missing(LANE, nobody), []);
    const damage = [{ offset: 1, endOffset: 2, rows: undefined }];
    await assert.rejects(admin.setDamageAside(LANE, NAME, damage), Deno.errors.NotFound);
  },
});

function zeroed(...ranges: readonly (readonly [number, number])[]): Uint8Array<ArrayBuffer> {
  const bytes = WHOLE.slice();
  for (const [from, to] of ranges) bytes.fill(0, from, to);
  return bytes;
}

async function machineWith(state: SegmentState, bytes: Uint8Array): Promise<CrashableFileSystem> {
  const fs = new CrashableFileSystem();
  const root = join(ROOT, LANE.tenant, LANE.index);
  for (const folder of ["active", "sealed", "committed", "poison", "expected"]) {
    await fs.mkdir(join(root, folder));
    for (let parent = join(root, folder); parent !== "/"; parent = join(parent, "..")) {
      await fs.syncDir(parent);
    }
    await fs.syncDir("/");
  }
  await using file = await fs.create(segmentPath(ROOT, LANE, { state, name: NAME }));
  await file.write(bytes);
  await file.sync();
  await fs.syncDir(join(root, state));
  return fs;
}

async function readPassing(fs: CrashableFileSystem) {
  await using segment = await openWalReader(fs, ROOT).open(LANE, NAME);
  const rows: number[] = [];
  const damage: FrameDamage[] = [];
  const frames = segment.frames(undefined, { onDamage: (one) => damage.push(one) });
  const heads: FrameOutline[] = [];
  for await (const { message, ...head } of frames) {
    rows.push(...rowsOfMessage(message));
    heads.push(head);
  }
  await assertHeads(segment, { heads, damage });
  return { rows, damage };
}

/** What tells of frames without their rows tells of the same ones, and of the same damage. */
async function assertHeads(
  segment: SegmentReader,
  told: { readonly heads: readonly FrameOutline[]; readonly damage: readonly FrameDamage[] },
): Promise<void> {
  const damage: FrameDamage[] = [];
  const heads = await Array.fromAsync(
    segment.heads?.(undefined, { onDamage: (one) => damage.push(one) }) ?? [],
  );
  assert.deepEqual({ heads, damage }, told);
  if (damage.length > 0) await assert.rejects(Array.fromAsync(segment.heads?.() ?? []), /damaged/);
}

async function readStrictly(fs: CrashableFileSystem): Promise<number[]> {
  await using segment = await openWalReader(fs, ROOT).open(LANE, NAME);
  const rows: number[] = [];
  for await (const { message } of segment.frames()) rows.push(...rowsOfMessage(message));
  return rows;
}
