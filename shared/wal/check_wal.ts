/**
 * What a WAL directory holds, segment by segment: frames, rows, damage with its offsets, what was
 * set aside, what is expected and gone. Reads every byte once, with memory for one frame, and
 * changes nothing; the ingest server and drains may be at work meanwhile.
 */

import { join } from "node:path";
import { isOperatingError, messageOf } from "../base/errors.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { ReadableFiles } from "../os/file_system.ts";
import { readDamaged, rowsLostIn } from "./damaged_bytes.ts";
import { readSegmentHeader } from "./frame_scanner.ts";
import {
  dirEntriesOf,
  lanesIn,
  SEGMENT_STATES,
  segmentNamesIn,
  segmentOfDamagedFile,
  segmentPath,
  stateDirectory,
} from "./layout.ts";
import { OpenSegment } from "./reader.ts";
import { missingSegments, readSealRecord } from "./seal_record.ts";
import type { FrameDamage, SegmentState } from "./types.ts";

/** One thing that a WAL directory holds, or lacks. */
export type WalFinding = { readonly lane: LaneId; readonly name: string } & FindingKind;

/** A segment that could be looked at. */
export interface CheckedSegment {
  readonly kind: "segment";
  readonly state: SegmentState;
  readonly bytes: number;
  /** Intact frames, and the rows in them. */
  readonly frames: number;
  readonly rows: number;
  readonly damage: readonly FrameDamage[];
  /** Bytes of a frame that is being written, or was when its ingester ended. */
  readonly unfinishedBytes: number;
  /** Why its header cannot be read: nothing of it can. */
  readonly unreadable?: string;
}

type FindingKind =
  | CheckedSegment
  /** Damaged bytes of a segment whose other rows went on. */
  | {
    readonly kind: "damaged";
    readonly bytes: number;
    /** Rows that were lost with them, where that is known. */
    readonly rows: number | undefined;
    readonly damage: readonly FrameDamage[];
    readonly unreadable?: string;
  }
  /** It was sealed and is gone; where the catalog was not asked, a table may have its rows. */
  | {
    readonly kind: "missing";
    readonly rows: number | undefined;
    readonly bytes: number | undefined;
  };

/** Which of some segments a table has; undefined: nobody can tell. */
export type ConsumedOf = (names: readonly string[]) => Promise<ReadonlySet<string>>;

/** Whether somebody has to do something about it. */
export function isFault(finding: WalFinding): boolean {
  if (finding.kind !== "segment") return true;
  return finding.state === "poison" || finding.damage.length > 0 ||
    finding.unreadable !== undefined;
}

/**
 * Looks at every lane below `root`. Segments that are swept meanwhile are left out. Errors: the
 * file system's, the catalog's.
 */
export async function* checkWal(
  fs: ReadableFiles,
  root: string,
  { consumedOf = () => Promise.resolve(new Set<string>()) }: { readonly consumedOf?: ConsumedOf } =
    {},
): AsyncGenerator<WalFinding> {
  for (const lane of await lanesIn(fs, root)) {
    const seen = new Set<string>();
    for (const state of SEGMENT_STATES) {
      for (const name of await segmentNamesIn(fs, stateDirectory(root, lane, state))) {
        // One that moved on meanwhile, or has two names for a moment, is looked at once.
        if (seen.has(name)) continue;
        const checked = await checkSegment(fs, root, { lane, name, state });
        if (checked === undefined) continue;
        seen.add(name);
        yield { lane, name, ...checked };
      }
    }
    yield* checkDamaged(fs, root, lane);
    for (const missing of await missingSegments(fs, root, { lane, consumedOf })) {
      yield { lane, kind: "missing", ...missing };
    }
  }
}

async function checkSegment(
  fs: ReadableFiles,
  root: string,
  { lane, name, state }: {
    readonly lane: LaneId;
    readonly name: string;
    readonly state: SegmentState;
  },
): Promise<CheckedSegment | undefined> {
  const path = segmentPath(root, lane, { state, name });
  const nothing = { kind: "segment", state, frames: 0, rows: 0, unfinishedBytes: 0 } as const;
  try {
    await using file = await fs.openRead(path);
    const bytes = await file.size();
    const unreadable = (why: string) => ({ ...nothing, bytes, damage: [], unreadable: why });
    let header;
    try {
      header = await readSegmentHeader(file, path);
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      return unreadable(messageOf(error));
    }
    if (header === undefined) {
      // Left by a power failure: nothing of it was durable.
      if (state === "active") return { ...nothing, bytes, damage: [], unfinishedBytes: bytes };
      return unreadable("its header is cut off");
    }
    const record = state === "sealed" ? await readSealRecord(fs, root, { lane, name }) : undefined;
    const place = { lane, name, state, path, expectedBytes: record?.bytes };
    try {
      return {
        ...nothing,
        bytes,
        ...await checkFrames(new OpenSegment(file, header, place), bytes),
      };
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      return unreadable(messageOf(error));
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

async function checkFrames(
  segment: OpenSegment,
  bytes: number,
): Promise<Pick<CheckedSegment, "frames" | "rows" | "damage" | "unfinishedBytes">> {
  const damage: FrameDamage[] = [];
  let [frames, rows, end] = [0, 0, segment.framesOffset];
  const onDamage = (one: FrameDamage) => {
    damage.push(one);
    end = Math.max(end, one.endOffset);
  };
  for await (const frame of segment.frames(undefined, { onDamage })) {
    frames += 1;
    rows += frame.rows;
    end = frame.endOffset;
  }
  return { frames, rows, damage, unfinishedBytes: Math.max(0, bytes - end) };
}

async function* checkDamaged(
  fs: ReadableFiles,
  root: string,
  lane: LaneId,
): AsyncGenerator<WalFinding> {
  const directory = stateDirectory(root, lane, "poison");
  const files = (await dirEntriesOf(fs, directory)).filter(({ isFile }) => isFile);
  for (const { name: file } of files.sort((a, b) => a.name < b.name ? -1 : 1)) {
    const name = segmentOfDamagedFile(file);
    if (name === undefined) continue;
    try {
      const { damage } = await readDamaged(fs, join(directory, file));
      const bytes = damage.reduce((sum, { offset, endOffset }) => sum + endOffset - offset, 0);
      yield { lane, name, kind: "damaged", bytes, rows: rowsLostIn(damage), damage };
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) continue;
      if (!isOperatingError(error)) throw error;
      const unreadable = messageOf(error);
      yield { lane, name, kind: "damaged", bytes: 0, rows: undefined, damage: [], unreadable };
    }
  }
}
