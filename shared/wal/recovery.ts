/**
 * Start-up of a WAL root: takes over what an earlier ingester left in `active/`, lane by lane,
 * reading frame by frame. The caller holds the lock. Idempotent: a crash within it leaves work that
 * the next start does.
 */

import { join } from "node:path";
import type { LaneId } from "../tenant/tenant.ts";
import { mkdirDurable } from "../os/durable_directory.ts";
import type { FileSystem } from "../os/file_system.ts";
import { removeUnfinishedKeyFiles } from "./key_files.ts";
import {
  dirEntriesOf,
  expectedDirectory,
  keysDirectory,
  laneDirectory,
  lanesIn,
  SEGMENT_STATES,
  type SegmentNames,
  segmentNamesIn,
  stateDirectory,
} from "./layout.ts";
import { type Salvaged, salvageSegment } from "./salvage.ts";

/** Recovers every lane and tells `names` of every segment there is. */
export async function recoverLanes(
  fs: FileSystem,
  root: string,
  options: { names: SegmentNames; onSalvaged: (salvaged: Salvaged) => void },
): Promise<void> {
  for (const lane of await lanesIn(fs, root)) {
    await makeLane(fs, root, lane);
    await removeTemporaries(fs, root, lane);
    await removeUnfinishedKeyFiles(fs, root, lane);
    const active = stateDirectory(root, lane, "active");
    const left = await segmentNamesIn(fs, active);
    for (const name of left) options.onSalvaged(await salvageSegment(fs, root, { lane, name }));
    if (left.length > 0) await fs.syncDir(active);
    for (const state of SEGMENT_STATES) {
      const last = (await segmentNamesIn(fs, stateDirectory(root, lane, state))).at(-1);
      if (last !== undefined) options.names.follow(last);
    }
  }
}

/**
 * Creates a lane's directories, durably. Errors: `NotFound` where the root is not there, which is
 * not for a lane to make: below a mount that is missing it would be on another disk.
 */
export async function makeLane(fs: FileSystem, root: string, lane: LaneId): Promise<void> {
  await fs.stat(root);
  for (const state of SEGMENT_STATES) await fs.mkdir(stateDirectory(root, lane, state));
  await fs.mkdir(keysDirectory(root, lane));
  await fs.mkdir(expectedDirectory(root, lane));
  await mkdirDurable(fs, root, stateDirectory(root, lane, "active"));
}

/**
 * Removes what was being built when the ingester ended. A drain or a requeue that builds in
 * `sealed/` or `poison/` at this moment fails, and is tried again.
 */
async function removeTemporaries(fs: FileSystem, root: string, lane: LaneId): Promise<void> {
  const directories = [
    laneDirectory(root, lane),
    stateDirectory(root, lane, "active"),
    stateDirectory(root, lane, "sealed"),
    stateDirectory(root, lane, "poison"),
  ];
  for (const directory of directories) {
    for (const { name, isFile } of await dirEntriesOf(fs, directory)) {
      if (isFile && name.startsWith(".")) await fs.remove(join(directory, name));
    }
  }
}
