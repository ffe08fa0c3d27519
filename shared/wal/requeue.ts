/**
 * Moves segments that were set aside under `poison/` back to `sealed/`, for a drain that can read
 * them now. One that still cannot be read stays: until a drain had set it aside again, every
 * statement over its table would fail.
 */

import { isOperatingError } from "../base/errors.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { FileSystem } from "../os/file_system.ts";
import { lanesIn, segmentNamesIn, segmentPath, stateDirectory } from "./layout.ts";
import { openWalReader } from "./reader.ts";
import { moveSegment } from "./transfer.ts";

/** What is done to one segment that was set aside. */
export interface RequeueStep {
  readonly lane: LaneId;
  readonly name: string;
  readonly action: "move" | "refuse";
  /** Why it is refused. */
  readonly why?: string;
}

/** Plans for every lane, or only for the segments called `name`. */
export async function planRequeue(
  fs: FileSystem,
  root: string,
  name?: string,
): Promise<RequeueStep[]> {
  const steps: RequeueStep[] = [];
  for (const lane of await lanesIn(fs, root)) {
    for (const found of await segmentNamesIn(fs, stateDirectory(root, lane, "poison"))) {
      if (name !== undefined && found !== name) continue;
      const why = await refusal(fs, root, { lane, name: found });
      steps.push({
        lane,
        name: found,
        ...(why === undefined ? { action: "move" } : { action: "refuse", why }),
      });
    }
  }
  return steps;
}

async function refusal(
  fs: FileSystem,
  root: string,
  { lane, name }: Pick<RequeueStep, "lane" | "name">,
): Promise<string | undefined> {
  if (await fs.exists(segmentPath(root, lane, { state: "sealed", name }))) return "is in sealed/";
  try {
    await using segment = await openWalReader(fs, root).open(lane, name);
    for await (const _ of segment.frames());
    return undefined;
  } catch (error) {
    if (isOperatingError(error)) return error.message;
    throw error;
  }
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
