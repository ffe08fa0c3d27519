/** Moves segments that were set aside under `poison/` back to `sealed/`, for a drain that can read them now. */

import type { LaneId } from "../event/tenant.ts";
import type { FileSystem } from "../os/file_system.ts";
import { lanesIn, segmentNamesIn, segmentPath, stateDirectory } from "./layout.ts";
import { moveSegment } from "./transfer.ts";

export interface RequeueStep {
  readonly lane: LaneId;
  readonly name: string;
  /** `refuse`: `sealed/` has a segment of that name. */
  readonly action: "move" | "refuse";
}

/** Of every lane, or only of the segments called `name`. */
export async function planRequeue(
  fs: FileSystem,
  root: string,
  name?: string,
): Promise<RequeueStep[]> {
  const steps: RequeueStep[] = [];
  for (const lane of await lanesIn(fs, root)) {
    for (const found of await segmentNamesIn(fs, stateDirectory(root, lane, "poison"))) {
      if (name !== undefined && found !== name) continue;
      const isTaken = await fs.exists(segmentPath(root, lane, { state: "sealed", name: found }));
      steps.push({ lane, name: found, action: isTaken ? "refuse" : "move" });
    }
  }
  return steps;
}

/** Performs the moves of a plan, each durable before the next. */
export async function applyRequeue(
  fs: FileSystem,
  root: string,
  steps: readonly RequeueStep[],
): Promise<void> {
  for (const { lane, name, action } of steps) {
    if (action === "refuse") continue;
    await moveSegment(
      fs,
      segmentPath(root, lane, { state: "poison", name }),
      segmentPath(root, lane, { state: "sealed", name }),
    );
  }
}
