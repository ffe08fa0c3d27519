/**
 * Puts a segment that was kept elsewhere back into a WAL root. It is put where an interrupted
 * ingester would have left it, and the salvage of such segments does the rest. So every frame is
 * checked, a key file is made, and the segment counts when it is synced. Interrupted anywhere, it
 * can be done again.
 */

import { OperatingError } from "../base/errors.ts";
import { ensureDirectory } from "../os/durable_directory.ts";
import type { FileSystem, ReadableFiles } from "../os/file_system.ts";
import type { LaneId } from "../tenant/tenant.ts";
import { lockPath, SEGMENT_STATES, segmentPath, temporaryPath } from "./layout.ts";
import { makeLane } from "./recovery.ts";
import { type Salvaged, salvageSegment } from "./salvage.ts";
import { removeIfPresent } from "./transfer.ts";

/**
 * Makes the root where it is missing, and keeps ingest servers out of it. `option` named it.
 * Errors: `conflict` when one has it.
 */
export async function lockForRecovery(
  fs: FileSystem,
  root: string,
  option: string,
): Promise<Disposable> {
  await ensureDirectory(fs, root);
  const lock = await fs.tryLock(lockPath(root));
  if (lock !== undefined) return lock;
  throw new OperatingError(
    "conflict",
    `Cannot recover into the WAL at ${root}: another process holds ${lockPath(root)}; stop that ` +
      `ingest server, or give another ${option}`,
    { reason: "wal_locked" },
  );
}

/** Under the root's lock. What is kept of the segment: its intact frames. */
export async function putBackSegment(
  fs: FileSystem,
  root: string,
  { lane, name, bytes }: {
    readonly lane: LaneId;
    readonly name: string;
    readonly bytes: Uint8Array;
  },
): Promise<Salvaged> {
  await makeLane(fs, root, lane);
  const path = segmentPath(root, lane, { state: "active", name });
  const directory = path.slice(0, -name.length - 1);
  const temporary = temporaryPath(directory, name);
  await removeIfPresent(fs, temporary);
  {
    await using file = await fs.create(temporary);
    await file.write(bytes);
    await file.sync();
  }
  await fs.rename(temporary, path);
  await fs.syncDir(directory);
  return await salvageSegment(fs, root, { lane, name });
}

/** Whether the root has a segment of that name, in any state. */
export async function hasSegment(
  files: ReadableFiles,
  root: string,
  { lane, name }: { readonly lane: LaneId; readonly name: string },
): Promise<boolean> {
  for (const state of SEGMENT_STATES) {
    if (await files.exists(segmentPath(root, lane, { state, name }))) return true;
  }
  return false;
}
