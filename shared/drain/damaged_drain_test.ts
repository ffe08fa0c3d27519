/**
 * A drain over a damaged WAL: the intact rows are committed exactly once and the damaged bytes are
 * on record, whatever ends when. What the mirror has is not lost.
 */

import assert from "node:assert/strict";
import { encodeBatch } from "../columns/ipc.ts";
import { batchOf, DrainLab, EVENTS_LANE } from "../testing/drain_lab.ts";
import { waysAt } from "../testing/ways_at.ts";
import { damagedPath, segmentPath } from "../wal/layout.ts";
import { readDamaged } from "../wal/damaged_bytes.ts";
import { mendedWalReader } from "../wal/mirror/mended_wal_reader.ts";
import { packedSegmentKey, segmentKey } from "../wal/mirror/mirror_layout.ts";
import { packSegment } from "../wal/mirror/packed_segment.ts";
import { openWalReader } from "../wal/reader.ts";
import { applyRequeue, planRequeue } from "../wal/requeue.ts";
import { replaceSealRecord } from "../wal/seal_record.ts";
import type { FrameDamage, MissingSegment, SegmentState } from "../wal/types.ts";
import type { DrainDeps } from "./drain.ts";
import { drainAll } from "./drain_all.ts";
import { sweepLane } from "./sweep_lane.ts";

const ROOT = "/data/wal";
const PREFIX = "wal-mirror";
const GROUPS = [[0, 1, 2], [3, 4], [5, 6, 7, 8]];
const ALL = GROUPS.flat();
/** Without the second frame. */
const INTACT = ALL.filter((number) => number !== 3 && number !== 4);

Deno.test({
  name: "a drain commits the intact frames and sets the damaged bytes aside with their place",
  async fn() {
    await using lab = await DrainLab.open();
    const name = await sealFrames(lab);
    const frames = await framesOf(lab, name);
    const bytes = await damage(lab, name, [1]);
    const told: [string, readonly FrameDamage[]][] = [];
    const observer = {
      damaged: (_lane: unknown, segment: string, lost: readonly FrameDamage[]) =>
        void told.push([segment, lost]),
      poisoned: () => assert.fail("the segment was set aside whole"),
    };
    const { rows, failures } = await drainAll({ ...lab.deps, observer });
    assert.deepEqual([rows, failures], [INTACT.length, []]);
    assert.deepEqual(await lab.tableNumbers(), INTACT);
    const [, hit] = frames;
    const lost = [{ offset: hit?.offset, endOffset: hit?.endOffset, rows: 2 }];
    assert.deepEqual(told, [[name, lost]]);
    const path = damagedPath(ROOT, EVENTS_LANE, name);
    assert.deepEqual((await readDamaged(lab.fs, path)).damage, lost);
    const kept = await lab.fs.readFile(path);
    const damaged = bytes.subarray(hit?.offset, hit?.endOffset);
    assert.deepEqual(kept.subarray(kept.byteLength - damaged.byteLength), damaged);
  },
});

const CUTS = ["drop", "torn"] as const;

for (const loss of ["kill", ...CUTS] as const) {
  Deno.test({
    name: `a drain of a damaged segment that ends before any file operation: ${loss}`,
    async fn() {
      for (let crashAt = 0;; crashAt += 1) {
        if (loss !== "kill" && !waysAt(CUTS, crashAt).includes(loss)) continue;
        await using lab = await DrainLab.open(7);
        const name = await sealFrames(lab);
        await damage(lab, name, [1]);
        lab.restart({ crashAt });
        await drainAndSweep(lab);
        if (lab.fs.powered) {
          assert.ok(crashAt > 40, `only ${crashAt} operations`);
          break;
        }
        if (loss === "kill") lab.restart();
        else lab.fs = lab.fs.reboot(loss, lab.random, { nowMs: () => lab.clock.nowMs() });
        const where = `${loss} before operation ${crashAt}`;
        // From the commit on the loss is on record.
        if ((await lab.tableNumbers()).length > 0) await assertOnRecord(lab, name, where);
        await (await lab.openWal()).close();
        await drainAndSweep(lab);
        assert.deepEqual(await lab.tableNumbers(), INTACT, where);
        await assertOnRecord(lab, name, where);
        const left = await lab.deps.wal.list(EVENTS_LANE, ["active", "sealed", "committed"]);
        assert.deepEqual(left, [], where);
      }
    },
  });
}

Deno.test({
  name: "a segment without an intact frame is set aside whole, and not consumed",
  async fn() {
    await using lab = await DrainLab.open();
    const name = await sealFrames(lab);
    await damage(lab, name, [0, 1, 2]);
    const { poisoned } = await drainAll(lab.deps);
    assert.equal(poisoned, 1);
    assert.equal((await lab.catalog.consumedOf([name])).size, 0);
    const aside = await lab.deps.wal.setAside?.(EVENTS_LANE);
    assert.deepEqual(aside?.map(({ name, kind }) => [name, kind]), [[name, "segment"]]);
  },
});

const COPIES: readonly { name: string; copy: number[]; packed: boolean; rows: number[] }[] = [
  { name: "intact, packed", copy: [], packed: true, rows: ALL },
  { name: "intact, as it is", copy: [], packed: false, rows: ALL },
  { name: "damaged elsewhere", copy: [0, 2], packed: false, rows: ALL },
  { name: "damaged there, too", copy: [1], packed: false, rows: INTACT },
];

for (const { name: what, copy, packed, rows } of COPIES) {
  Deno.test({
    name: `a damaged frame is taken from the mirror's copy: ${what}`,
    async fn() {
      await using lab = await DrainLab.open();
      const name = await sealFrames(lab);
      await mirror(lab, name, { frames: copy, packed });
      await damage(lab, name, [1]);
      const mended: number[] = [];
      const observer = {
        mended: (_lane: unknown, _segment: string, frames: number) => void mended.push(frames),
      };
      await drainAll({ ...withMirror(lab), observer });
      assert.deepEqual(await lab.tableNumbers(), rows);
      assert.deepEqual(mended, rows === ALL ? [1] : []);
      const aside = await lab.deps.wal.setAside?.(EVENTS_LANE);
      assert.equal(aside?.length, rows === ALL ? 0 : 1);
    },
  });
}

Deno.test({
  name: "a damaged header is taken from the mirror's copy",
  async fn() {
    await using lab = await DrainLab.open();
    const name = await sealFrames(lab);
    await mirror(lab, name, { frames: [], packed: true });
    await overwrite(lab, name, (bytes) => bytes.fill(0, 0, 40));
    await drainAll(withMirror(lab));
    assert.deepEqual(await lab.tableNumbers(), ALL);
  },
});

Deno.test({
  name: "a damaged segment that is requeued is drained whole where the mirror has a copy of it",
  async fn() {
    await using lab = await DrainLab.open();
    const name = await sealFrames(lab);
    await mirror(lab, name, { frames: [], packed: true });
    await damage(lab, name, [1]);
    await lab.deps.admin.markPoison(EVENTS_LANE, name);
    await applyRequeue(lab.fs, ROOT, await planRequeue(lab.fs, ROOT));
    await drainAll(withMirror(lab));
    assert.deepEqual(await lab.tableNumbers(), ALL);
    assert.deepEqual(await lab.deps.wal.setAside?.(EVENTS_LANE), []);
  },
});

Deno.test({
  name: "a damaged segment that is requeued lacks nothing when its copy was drained elsewhere",
  async fn() {
    await using lab = await DrainLab.open();
    const name = await sealFrames(lab);
    const bytes = await damage(lab, name, []);
    flip(bytes, [(await framesOf(lab, name))[1]?.offset ?? 0]);
    await drainAll(lab.deps);
    const place = (state: SegmentState) => segmentPath(ROOT, EVENTS_LANE, { state, name });
    await lab.fs.remove(place("committed"));
    await lab.fs.writeFileAtomic(place("poison"), bytes);
    await applyRequeue(lab.fs, ROOT, await planRequeue(lab.fs, ROOT));
    await drainAndSweep(lab);
    assert.deepEqual(await lab.tableNumbers(), ALL);
    assert.deepEqual(await lab.deps.wal.setAside?.(EVENTS_LANE), []);
    assert.deepEqual(await lab.deps.wal.list(EVENTS_LANE, ["sealed", "committed", "poison"]), []);
  },
});

Deno.test({
  name: "while the mirror cannot be reached nothing of a damaged segment is given up",
  async fn() {
    await using lab = await DrainLab.open();
    const name = await sealFrames(lab);
    await mirror(lab, name, { frames: [], packed: true });
    await damage(lab, name, [1]);
    const { store } = lab.deps;
    const away = Object.assign(Object.create(store), {
      list: () => {
        throw new Error("the store is away");
      },
    });
    const wal = mendedWalReader(openWalReader(lab.fs, ROOT), { store: away, prefix: PREFIX });
    const { failures } = await drainAll({ ...lab.deps, wal });
    assert.equal(failures.length, 1);
    assert.equal((await lab.catalog.consumedOf([name])).size, 0);
    await drainAll(withMirror(lab));
    assert.deepEqual(await lab.tableNumbers(), ALL);
  },
});

Deno.test({
  name: "a missing segment is told at each sweep, and brought back where a mirror has it",
  async fn() {
    await using lab = await DrainLab.open();
    const name = await sealFrames(lab);
    await mirror(lab, name, { frames: [], packed: true });
    await lab.fs.remove(segmentPath(ROOT, EVENTS_LANE, { state: "sealed", name }));
    const told: (readonly MissingSegment[])[] = [];
    const restored: string[] = [];
    const observer = {
      missing: (_lane: unknown, segments: readonly MissingSegment[]) => void told.push(segments),
      restored: (_lane: unknown, segment: string) => void restored.push(segment),
    };
    await sweepLane({ ...lab.deps, observer }, EVENTS_LANE);
    await sweepLane({ ...lab.deps, observer }, EVENTS_LANE);
    assert.deepEqual(told.map((segments) => segments.map(({ name, rows }) => [name, rows])), [
      [[name, ALL.length]],
      [[name, ALL.length]],
    ]);
    await sweepLane({ ...withMirror(lab), observer }, EVENTS_LANE);
    assert.deepEqual([told.at(-1), restored], [[], [name]]);
    await drainAndSweep(lab);
    assert.deepEqual(await lab.tableNumbers(), ALL);
  },
});

Deno.test({
  name: "no segment is missing that a drain elsewhere committed from the mirror",
  async fn() {
    await using lab = await DrainLab.open();
    const name = await sealFrames(lab);
    const bytes = await lab.fs.readFile(segmentPath(ROOT, EVENTS_LANE, { state: "sealed", name }));
    await drainAll(lab.deps);
    // The move that was to follow the commit did not happen, and then the file went.
    await lab.fs.remove(segmentPath(ROOT, EVENTS_LANE, { state: "committed", name }));
    const record = { rows: ALL.length, bytes: bytes.byteLength };
    await replaceSealRecord(lab.fs, ROOT, { lane: EVENTS_LANE, name, record });
    const told: number[] = [];
    const observer = {
      missing: (_lane: unknown, segments: readonly MissingSegment[]) =>
        void told.push(segments.length),
    };
    await sweepLane({ ...lab.deps, observer }, EVENTS_LANE);
    assert.deepEqual(told, [0]);
  },
});

/** One segment with a frame for each of `GROUPS`. */
async function sealFrames(lab: DrainLab): Promise<string> {
  const wal = await lab.openWal();
  // Appends of one moment share a write, and so a segment.
  const [first] = await Promise.all(
    GROUPS.map((numbers) => wal.append(EVENTS_LANE, encodeBatch(batchOf(numbers)), "wait_for")),
  );
  await wal.close();
  return first?.segment ?? "";
}

async function framesOf(lab: DrainLab, name: string) {
  await using segment = await openWalReader(lab.fs, ROOT).open(EVENTS_LANE, name);
  return await Array.fromAsync(segment.frames());
}

/** Changes a byte of some frames of the sealed segment; its bytes then. */
async function damage(
  lab: DrainLab,
  name: string,
  frames: readonly number[],
): Promise<Uint8Array<ArrayBuffer>> {
  const all = await framesOf(lab, name);
  return await overwrite(
    lab,
    name,
    (bytes) => flip(bytes, frames.map((at) => all[at]?.offset ?? 0)),
  );
}

function flip(bytes: Uint8Array, offsets: readonly number[]): void {
  for (const offset of offsets) bytes[offset + 60] = (bytes[offset + 60] ?? 0) ^ 4;
}

async function overwrite(
  lab: DrainLab,
  name: string,
  change: (bytes: Uint8Array) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const path = segmentPath(ROOT, EVENTS_LANE, { state: "sealed", name });
  const bytes = await lab.fs.readFile(path);
  change(bytes);
  await lab.fs.writeFileAtomic(path, bytes);
  return bytes;
}

async function mirror(
  lab: DrainLab,
  name: string,
  { frames, packed }: { readonly frames: readonly number[]; readonly packed: boolean },
): Promise<void> {
  const all = await framesOf(lab, name);
  const bytes = await lab.fs.readFile(segmentPath(ROOT, EVENTS_LANE, { state: "sealed", name }));
  flip(bytes, frames.map((at) => all[at]?.offset ?? 0));
  const { object, ...lengths } = packSegment(bytes);
  const key = packed
    ? packedSegmentKey(PREFIX, EVENTS_LANE, name, lengths)
    : segmentKey(PREFIX, EVENTS_LANE, name);
  await lab.deps.store.putNew(key, packed ? object : bytes);
}

function withMirror(lab: DrainLab): DrainDeps {
  const { deps } = lab;
  const wal = mendedWalReader(deps.wal, { store: deps.store, prefix: PREFIX });
  return { ...deps, wal, mirrorPrefix: PREFIX };
}

async function assertOnRecord(lab: DrainLab, name: string, where: string): Promise<void> {
  const { damage } = await readDamaged(lab.fs, damagedPath(ROOT, EVENTS_LANE, name));
  assert.deepEqual(damage.map(({ rows }) => rows), [2], where);
}

async function drainAndSweep(lab: DrainLab): Promise<void> {
  const { deps } = lab;
  try {
    const { failures } = await drainAll(deps);
    if (failures.length > 0 && lab.fs.powered) throw failures[0]?.error;
    lab.clock.shift(61_000);
    await sweepLane(deps, EVENTS_LANE);
  } catch (error) {
    if (lab.fs.powered) throw error;
  }
}
