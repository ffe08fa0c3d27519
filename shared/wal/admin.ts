/**
 * The drain's side of a WAL: moves segments whose rows a table holds, and removes them when nobody
 * needs them any more. Works beside the ingester, without its lock; touches `sealed/`,
 * `committed/`, `poison/`, `expected/` and the drain request only.
 */

import type { LaneId } from "../tenant/tenant.ts";
import type { Clock } from "../os/clock.ts";
import type { FileSystem } from "../os/file_system.ts";
import { type Random, SystemRandom } from "../os/random.ts";
import {
  consumersDirectory,
  drainBellPath,
  drainRequestPath,
  pinPath,
  segmentNamesIn,
  segmentPath,
  stateDirectory,
  statIfPresent,
} from "./layout.ts";
import { keepDamaged } from "./damaged_bytes.ts";
import { restoreSegment } from "./restore_segment.ts";
import { missingSegments, removeSealRecord } from "./seal_record.ts";
import { linkSegment, removeIfPresent } from "./transfer.ts";
import type { MissingSegment, SegmentState, WalConsumerAdmin } from "./types.ts";
import { isSweepable, readWatermarks } from "./watermark.ts";

/** The drain's side of the WAL below `root`, beside the process that writes it. */
export function openWalConsumerAdmin(
  fs: FileSystem,
  clock: Clock,
  root: string,
  random: Random = new SystemRandom(),
): WalConsumerAdmin {
  return {
    setDamageAside: (lane, name, damage) => keepDamaged(fs, root, { lane, name, damage, random }),
    restore: (lane, name, bytes) => restoreSegment(fs, root, { lane, name, bytes, random }),
    missing: (lane, consumedOf) => missingOf(fs, root, { lane, consumedOf }),
    markCommitted: (lane, names) => markCommitted(fs, clock, { root, lane, names }),
    markPoison: (lane, name) => markPoison(fs, root, { lane, name }),
    sweepCommitted: (lane, nowMs, before) => sweepCommitted(fs, root, { lane, nowMs, before }),
    takeDrainRequest: (lane) => removeIfPresent(fs, drainRequestPath(root, lane)),
    requestedMs: async () => (await statIfPresent(fs, drainBellPath(root)))?.mtimeMs ?? 0,
  };
}

/** Links all, syncs once, then removes: a segment that is not in `sealed/` was moved before. */
async function markCommitted(
  fs: FileSystem,
  clock: Clock,
  options: { root: string; lane: LaneId; names: readonly string[] },
): Promise<void> {
  const { root, lane, names } = options;
  if (names.length === 0) return;
  const moved: string[] = [];
  for (const name of names) {
    const sealed = segmentPath(root, lane, { state: "sealed", name });
    const committed = segmentPath(root, lane, { state: "committed", name });
    try {
      await linkSegment(fs, sealed, committed);
      await fs.setModified(committed, clock.nowMs());
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) continue;
      throw error;
    }
    moved.push(name);
  }
  await fs.syncDir(stateDirectory(root, lane, "committed"));
  for (const name of moved) {
    await removeSealRecord(fs, root, { lane, name });
    await removeIfPresent(fs, segmentPath(root, lane, { state: "sealed", name }));
  }
}

async function markPoison(
  fs: FileSystem,
  root: string,
  segment: { lane: LaneId; name: string },
): Promise<void> {
  const { lane, name } = segment;
  const sealed = segmentPath(root, lane, { state: "sealed", name });
  const poison = segmentPath(root, lane, { state: "poison", name });
  await linkSegment(fs, sealed, poison);
  await fs.syncDir(stateDirectory(root, lane, "poison"));
  // It is on record there; whoever removes it from there need not be told that it is gone.
  await removeSealRecord(fs, root, { lane, name });
  await removeIfPresent(fs, sealed);
}

/** Also removes records of segments that a table holds: who drained them did not come so far. */
async function missingOf(
  fs: FileSystem,
  root: string,
  { lane, consumedOf }: {
    readonly lane: LaneId;
    readonly consumedOf: (names: readonly string[]) => Promise<ReadonlySet<string>>;
  },
): Promise<MissingSegment[]> {
  return await missingSegments(fs, root, {
    lane,
    consumedOf: async (names) => {
      const consumed = await consumedOf(names);
      for (const name of consumed) await removeSealRecord(fs, root, { lane, name });
      return consumed;
    },
  });
}

/**
 * A segment is only removed when its earlier names are durably gone, and only reported when its
 * last one is. So no power failure brings back a segment that the catalog has forgotten.
 */
async function sweepCommitted(
  fs: FileSystem,
  root: string,
  options: {
    readonly lane: LaneId;
    readonly nowMs: number;
    readonly before: ((names: readonly string[]) => Promise<void>) | undefined;
  },
): Promise<string[]> {
  const { lane, nowMs, before } = options;
  const directory = (state: SegmentState) => stateDirectory(root, lane, state);
  const committed = await segmentNamesIn(fs, directory("committed"));
  if (committed.length === 0) return [];
  const watermarks = await readWatermarks(fs, consumersDirectory(root, lane));
  const due: string[] = [];
  for (const name of committed) {
    const path = segmentPath(root, lane, { state: "committed", name });
    const stat = await statIfPresent(fs, path);
    if (stat === undefined) continue;
    if (isSweepable({ name, committedMs: stat.mtimeMs }, watermarks, nowMs)) due.push(name);
  }
  if (due.length === 0) return [];

  const going: string[] = [];
  await fs.syncDir(directory("active"));
  await fs.syncDir(directory("sealed"));
  for (const name of due) {
    if (await fs.exists(segmentPath(root, lane, { state: "active", name }))) continue;
    if (await fs.exists(segmentPath(root, lane, { state: "sealed", name }))) continue;
    // The order matters: an upload that pins a segment looks for it in `sealed/` afterwards.
    if (await fs.exists(pinPath(root, lane, name))) continue;
    going.push(name);
  }
  if (going.length === 0) return [];
  await before?.(going);
  for (const name of going) {
    await removeIfPresent(fs, segmentPath(root, lane, { state: "committed", name }));
  }
  await fs.syncDir(directory("committed"));
  return going;
}
