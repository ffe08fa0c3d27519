/**
 * Brings segments that were set aside under `poison/` back to `sealed/`, for a drain that can read
 * them now. One that is intact is moved. One that is damaged is salvaged: its intact frames are
 * copied, and its damaged bytes stay with where they were (`damaged_bytes.ts`). One without an
 * intact frame stays as it is.
 *
 * Interrupted anywhere, it can be run again: a segment keeps its name, and a table takes each name
 * once.
 */

import { dirname } from "node:path";
import { hexOf } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { FileSystem } from "../os/file_system.ts";
import { type Random, SystemRandom } from "../os/random.ts";
import { rowsLostIn, writeDamaged } from "./damaged_bytes.ts";
import { FrameScanner, readSegmentHeader } from "./frame_scanner.ts";
import { lanesIn, segmentNamesIn, segmentPath, stateDirectory, temporaryPath } from "./layout.ts";
import { openWalReader } from "./reader.ts";
import { copyIntact } from "./salvage.ts";
import { replaceSealRecord } from "./seal_record.ts";
import { linkSegment, removeIfPresent } from "./transfer.ts";
import type { FrameDamage } from "./types.ts";

/** What is done to one segment that was set aside. */
export interface RequeueStep {
  readonly lane: LaneId;
  readonly name: string;
  /** `salvage`: some of its frames are damaged, and stay. */
  readonly action: "move" | "salvage" | "refuse";
  /** Why it is refused. */
  readonly why?: string;
  /** Rows of its intact frames; undefined when it is refused. */
  readonly rows?: number;
  /** Bytes of it that are damaged, of a segment that is salvaged. */
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
  return { action: "salvage", rows, damagedBytes, ...known };
}

/**
 * Performs a plan, each step durable before the next. A segment that changed since it was planned
 * is taken as it is now.
 */
export async function applyRequeue(
  fs: FileSystem,
  root: string,
  steps: readonly RequeueStep[],
  { random = new SystemRandom() }: { readonly random?: Random } = {},
): Promise<void> {
  for (const { lane, name, action } of steps) {
    if (action === "refuse") continue;
    const poison = segmentPath(root, lane, { state: "poison", name });
    const sealed = segmentPath(root, lane, { state: "sealed", name });
    if (action === "move") await linkSegment(fs, poison, sealed);
    else await salvage(fs, root, { lane, name, poison, sealed, random });
    await fs.syncDir(dirname(sealed));
    // Expected only now that it is there: else whoever looks meanwhile would miss it.
    await expect(fs, root, { lane, name });
    await removeIfPresent(fs, poison);
  }
}

interface Salvaging {
  readonly lane: LaneId;
  readonly name: string;
  readonly poison: string;
  readonly sealed: string;
  readonly random: Random;
}

async function salvage(
  fs: FileSystem,
  root: string,
  { lane, name, poison, sealed, random }: Salvaging,
): Promise<void> {
  await using segment = await fs.openRead(poison);
  const header = await readSegmentHeader(segment, poison);
  if (header === undefined) return;
  const temporary = temporaryPath(dirname(sealed), `${name}.${hexOf(random.bytes(8))}`);
  const damage: FrameDamage[] = [];
  const onDamage = (one: FrameDamage) => damage.push(one);
  try {
    await copyIntact(fs, segment, { header, to: temporary, onDamage });
    if (damage.length > 0) await writeDamaged(fs, root, { lane, name, damage, segment, random });
    await fs.rename(temporary, sealed);
  } catch (error) {
    await removeIfPresent(fs, temporary).catch(() => {});
    throw error;
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
  for await (const frame of scanner.intact(() => {})) rows += frame.header.rows;
  await replaceSealRecord(fs, root, { lane, name, record: { rows, bytes } });
}
