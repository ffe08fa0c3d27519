/**
 * Brings segments that were set aside under `poison/` back to `sealed/`, for a drain that can read
 * them now. A damaged one is moved as it is: the drain takes what is damaged from the mirror's
 * copy, and what it cannot have it sets aside, by frame (`damaged_bytes.ts`). One without an intact
 * frame stays.
 *
 * Interrupted anywhere, it can be run again: a segment keeps its name, and a table takes each name
 * once.
 */

import { dirname } from "node:path";
import { isOperatingError } from "../base/errors.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { FileSystem } from "../os/file_system.ts";
import { rowsLostIn } from "./damaged_bytes.ts";
import { FrameScanner, readSegmentHeader } from "./frame_scanner.ts";
import { lanesIn, segmentNamesIn, segmentPath, stateDirectory } from "./layout.ts";
import { openWalReader } from "./reader.ts";
import { joinTimes } from "./frame_times.ts";
import { replaceSealRecord } from "./seal_record.ts";
import { linkSegment, removeIfPresent } from "./transfer.ts";
import type { FrameDamage, FrameTimes } from "./types.ts";

/** What is done to one segment that was set aside. */
export interface RequeueStep {
  readonly lane: LaneId;
  readonly name: string;
  readonly action: "move" | "refuse";
  /** Why it is refused. */
  readonly why?: string;
  /** Rows of its intact frames; undefined when it is refused. */
  readonly rows?: number;
  /** Its damaged bytes, if any; a drain reads them from the mirror, or leaves them out. */
  readonly damagedBytes?: number;
  /** Rows that lay there, where that is known. */
  readonly damagedRows?: number;
}

/** Plans for every lane, or only for the segments called `name`. Changes nothing. */
export async function planRequeue(
  fs: FileSystem,
  root: string,
  name?: string,
): Promise<RequeueStep[]> {
  const steps: RequeueStep[] = [];
  for (const lane of await lanesIn(fs, root)) {
    for (const found of await segmentNamesIn(fs, stateDirectory(root, lane, "poison"))) {
      if (name !== undefined && found !== name) continue;
      steps.push({ lane, name: found, ...await decide(fs, root, { lane, name: found }) });
    }
  }
  return steps;
}

type Decision = Omit<RequeueStep, "lane" | "name">;

async function decide(
  fs: FileSystem,
  root: string,
  { lane, name }: Pick<RequeueStep, "lane" | "name">,
): Promise<Decision> {
  if (await fs.exists(segmentPath(root, lane, { state: "sealed", name }))) {
    return { action: "refuse", why: "is in sealed/" };
  }
  try {
    await using segment = await openWalReader(fs, root).open(lane, name);
    const damage: FrameDamage[] = [];
    const onDamage = (one: FrameDamage) => damage.push(one);
    let rows = 0;
    for await (const frame of segment.frames(undefined, { onDamage })) rows += frame.rows;
    return decisionOf(segment.framesOffset, rows, damage);
  } catch (error) {
    if (isOperatingError(error)) return { action: "refuse", why: error.message };
    throw error;
  }
}

function decisionOf(
  framesOffset: number,
  rows: number,
  damage: readonly FrameDamage[],
): Decision {
  const [first] = damage;
  if (first === undefined) return { action: "move", rows };
  if (rows === 0) {
    const at = Math.max(framesOffset, first.offset);
    return {
      action: "refuse",
      why: `the frame at offset ${at} is damaged, and no other is intact`,
    };
  }
  const damagedBytes = damage.reduce((sum, { offset, endOffset }) => sum + endOffset - offset, 0);
  const damagedRows = rowsLostIn(damage);
  const known = damagedRows === undefined ? {} : { damagedRows };
  return { action: "move", rows, damagedBytes, ...known };
}

/**
 * Performs a plan, each step durable before the next. A segment that changed since it was planned
 * is taken as it is now.
 */
export async function applyRequeue(
  fs: FileSystem,
  root: string,
  steps: readonly RequeueStep[],
): Promise<void> {
  for (const { lane, name, action } of steps) {
    if (action === "refuse") continue;
    const poison = segmentPath(root, lane, { state: "poison", name });
    const sealed = segmentPath(root, lane, { state: "sealed", name });
    await linkSegment(fs, poison, sealed);
    await fs.syncDir(dirname(sealed));
    // Expected only now that it is there: else whoever looks meanwhile would miss it.
    await expect(fs, root, { lane, name });
    await removeIfPresent(fs, poison);
  }
}

async function expect(
  fs: FileSystem,
  root: string,
  { lane, name }: Pick<RequeueStep, "lane" | "name">,
): Promise<void> {
  await using segment = await fs.openRead(segmentPath(root, lane, { state: "sealed", name }));
  const header = await readSegmentHeader(segment, name);
  if (header === undefined) return;
  const bytes = await segment.size();
  const scanner = new FrameScanner(segment, {
    frameSeed: header.frameSeed,
    offset: header.byteLength,
    size: bytes,
  });
  let rows = 0;
  let times: FrameTimes | undefined;
  let isDamaged = false;
  for await (const { header } of scanner.intact(() => void (isDamaged = true))) {
    rows += header.rows;
    times = joinTimes(times, header);
  }
  // What is damaged may be of any time: whoever asks has to be told of it.
  const record = { rows, bytes, times: isDamaged ? undefined : times };
  await replaceSealRecord(fs, root, { lane, name, record });
}
