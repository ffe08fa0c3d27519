/**
 * Makes a WAL of a point's segments. Each goes through the salvage of an interrupted ingester's:
 * whole frames are kept, checked one by one, and sealed. But a damaged one of which the mirror has
 * a copy stays as it is: who drains it takes what is damaged from there.
 */

import type { FileSystem } from "../os/file_system.ts";
import { damagedPath, isSegmentName, keyFilePath, segmentPath, tornPath } from "../wal/layout.ts";
import { hasSegment, putBackSegment } from "../wal/put_back.ts";
import { makeLane } from "../wal/recovery.ts";
import { isWholeSegment } from "../wal/restore_segment.ts";
import type { BackupTarget } from "./backup_target.ts";
import type { BackedUpSegment } from "./point.ts";

export interface RestoredWal {
  readonly segments: number;
  /** Rows of all but the damaged segments that the mirror mends. */
  readonly rows: number;
  /**
   * Segments of which a part could not be read; `poison/` has the original, and `sealed/` where the
   * mirror has a copy.
   */
  readonly damaged: readonly string[];
}

/**
 * Into `root`, whose lock is held; what is there already stays. `mirrored` are names of segments of
 * which the mirror has a copy. Errors: `corrupt` for an object
 * that is not as its sum says; the file system's.
 */
export async function restoreWal(
  { fs, root, target }: { fs: FileSystem; root: string; target: BackupTarget },
  segments: readonly BackedUpSegment[],
  mirrored: ReadonlySet<string>,
): Promise<RestoredWal> {
  let [count, rows] = [0, 0];
  const damaged: string[] = [];
  // Key files first: those of the segments are made anew of what is kept of them.
  for (const stored of segments.filter(isBeside)) {
    await putFile(fs, root, { stored, bytes: await target.get(stored) });
  }
  for (const stored of segments) {
    const { tenant, index, kind, name } = stored;
    if (isBeside(stored) || !isSegmentName(name)) continue;
    const lane = { tenant, index };
    count += 1;
    if (await hasSegment(fs, root, { lane, name })) continue;
    const bytes = await target.get(stored);
    if (kind === "poison") {
      await putFile(fs, root, { stored, bytes });
      continue;
    }
    if (kind === "sealed" && mirrored.has(name) && !await isWholeSegment(bytes, name)) {
      await putFile(fs, root, { stored, bytes });
      damaged.push(name);
      continue;
    }
    const salvaged = await putBackSegment(fs, root, { lane, name, bytes });
    rows += salvaged.rows;
    // One that was being written may end within a frame, which nobody was told of.
    const isCut = kind !== "active" && salvaged.cutBytes > 0;
    if (salvaged.outcome === "poison" || salvaged.originalKept || isCut) damaged.push(name);
  }
  return { segments: count, rows, damaged };
}

/** Whether it is a file beside segments, and none itself. */
function isBeside({ kind }: BackedUpSegment): boolean {
  return kind === "keys" || kind === "torn" || kind === "damaged";
}

async function putFile(
  fs: FileSystem,
  root: string,
  { stored, bytes }: { stored: BackedUpSegment; bytes: Uint8Array },
): Promise<void> {
  const { tenant, index, name } = stored;
  if (!isSegmentName(name)) return;
  await makeLane(fs, root, { tenant, index });
  await fs.writeFileAtomic(pathOf(root, stored), bytes);
}

function pathOf(root: string, { tenant, index, kind, name }: BackedUpSegment): string {
  const lane = { tenant, index };
  switch (kind) {
    case "keys":
      return keyFilePath(root, lane, name);
    case "torn":
      return tornPath(root, lane, name);
    case "damaged":
      return damagedPath(root, lane, name);
    default:
      return segmentPath(root, lane, { state: kind === "sealed" ? "sealed" : "poison", name });
  }
}

/** Whether anything but a lock lies below `root`: the first such name. */
export async function firstInWal(fs: FileSystem, root: string): Promise<string | undefined> {
  try {
    const entries = await fs.readDir(root);
    return entries.map(({ name }) => name).filter((name) => name !== "LOCK").sort()[0];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
