/**
 * Reading a WAL that others write: needs no lock, changes nothing. Segments move and go while they
 * are listed and read; README.md says why listing the states in order misses none.
 */

import { isOperatingError, OperatingError } from "../base/errors.ts";
import { WeighedCache } from "../base/weighed_cache.ts";
import { type LaneId, laneName } from "../tenant/tenant.ts";
import type { ReadableFile, ReadableFiles } from "../os/file_system.ts";
import { type DecodedHeader, messageOfFrame, summaryOfFrame } from "./format.ts";
import { listSetAside } from "./damaged_bytes.ts";
import {
  FrameScanner,
  readSegmentHeader,
  type ScannedFrame,
  type SkippedBytes,
} from "./frame_scanner.ts";
import {
  isLanePart,
  lanesIn,
  SEGMENT_STATES,
  segmentNamesIn,
  segmentPath,
  stateDirectory,
  statIfPresent,
} from "./layout.ts";
import { readSealRecord, type SealRecord } from "./seal_record.ts";
import { weighFile } from "./weigh_segment.ts";
import type {
  FrameDamage,
  FrameOutline,
  FramesOptions,
  NamedSegment,
  SegmentInfo,
  SegmentOutline,
  SegmentReader,
  SegmentState,
  WalFrame,
  WalFrameHead,
  WalReader,
} from "./types.ts";

/**
 * A reader of the WAL below `root`. It needs no lock and may run in any process. Errors: those of
 * `WalReader`.
 */
export function openWalReader(fs: ReadableFiles, root: string): WalReader {
  /** Sizes of segments' messages. */
  const weights = new WeighedCache(WEIGHTS_BYTES_MAX);
  return {
    lanes: () => lanesIn(fs, root),
    setAside: (lane) => listSetAside(fs, root, lane),
    list: (lane, states) => listSegments(fs, root, { lane, states }),
    names: (lane, states) => nameSegments(fs, root, { lane, states }),
    open: (lane, name) => openSegment(fs, root, { lane, name }),
    messageBytes: (segment) =>
      weights.load(`${laneName(segment.lane)}/${segment.name} ${segment.byteLength}`, async () => {
        return { value: await weigh(fs, root, segment), bytes: WEIGHT_BYTES };
      }),
  };
}

/** Room for the weights of some 10,000 segments. */
const WEIGHTS_BYTES_MAX = 4 * 1024 * 1024;
const WEIGHT_BYTES = 400;

async function weigh(
  fs: ReadableFiles,
  root: string,
  { lane, name, state }: SegmentInfo,
): Promise<number> {
  await using file = await openIfPresent(fs, segmentPath(root, lane, { state, name }));
  return file === undefined ? 0 : await weighFile(file);
}

interface Wanted {
  readonly lane: LaneId;
  readonly states: readonly SegmentState[];
}

/** A segment that is seen in two states is listed once, in the later one. */
async function listSegments(
  fs: ReadableFiles,
  root: string,
  wanted: Wanted,
): Promise<SegmentInfo[]> {
  const found = new Map<string, SegmentInfo>();
  for await (const segment of segmentsIn(fs, root, wanted)) {
    const stat = await statIfPresent(fs, segmentPath(root, segment.lane, segment));
    if (stat === undefined) continue; // It moved on: a later state lists it.
    found.set(segment.name, { ...segment, byteLength: stat.size, modifiedMs: stat.mtimeMs });
  }
  return [...found.values()].sort(byName);
}

/** A segment that is seen in two states is named once, in the later one. */
async function nameSegments(
  fs: ReadableFiles,
  root: string,
  wanted: Wanted,
): Promise<NamedSegment[]> {
  const found = new Map<string, NamedSegment>();
  for await (const segment of segmentsIn(fs, root, wanted)) found.set(segment.name, segment);
  return [...found.values()].sort(byName);
}

/** The segments in each state, in the order in which they pass the states. */
async function* segmentsIn(
  fs: ReadableFiles,
  root: string,
  { lane, states }: Wanted,
): AsyncIterable<NamedSegment> {
  // The name of a lane may come from a reader's SQL: one that no writer could have made holds
  // nothing.
  if (!isLanePart(lane.tenant) || !isLanePart(lane.index)) return;
  for (const state of SEGMENT_STATES) {
    if (!states.includes(state)) continue;
    for (const name of await segmentNamesIn(fs, stateDirectory(root, lane, state))) {
      yield { lane, name, state };
    }
  }
}

function byName(a: NamedSegment, b: NamedSegment): number {
  return a.name < b.name ? -1 : 1;
}

/**
 * A complete copy is preferred to the active one, which a power failure may have damaged. A segment
 * that moves on after it was looked for is met in the second round.
 */
const OPEN_ORDER: readonly SegmentState[] = [
  "sealed",
  "committed",
  "active",
  "sealed",
  "committed",
  "poison",
];

async function openSegment(
  fs: ReadableFiles,
  root: string,
  segment: { lane: LaneId; name: string },
): Promise<SegmentReader> {
  const { lane, name } = segment;
  let isUnfinished = false;
  for (const state of OPEN_ORDER) {
    const path = segmentPath(root, lane, { state, name });
    const file = await openIfPresent(fs, path);
    if (file === undefined) continue;
    try {
      const header = await readSegmentHeader(file, path);
      if (header !== undefined) {
        const record = state === "sealed"
          ? await readSealRecord(fs, root, { lane, name })
          : undefined;
        const outline = await outlineOf(file, record);
        const expectedBytes = record?.bytes;
        return new OpenSegment(file, header, { lane, name, state, path, expectedBytes, outline });
      }
      if (state !== "active") throw cutOff(path);
      file.close(); // Left by a power failure: nothing of it was durable.
      isUnfinished = true;
    } catch (error) {
      file.close();
      throw error;
    }
  }
  const [why, reason] = isUnfinished
    ? ["it has no header: the power failed before it held a row", UNFINISHED]
    : ["segment no longer present", "wal_segment_swept"];
  throw new OperatingError(
    "not_found",
    `cannot read WAL segment ${name} of lane ${laneName(lane)}: ${why}`,
    { reason },
  );
}

const UNFINISHED = "wal_segment_unfinished";

/**
 * Whether `open` failed at a segment that a power failure left without a header. It has no rows,
 * and is listed until its ingest server starts again.
 */
export function isUnfinishedSegment(error: unknown): boolean {
  return isOperatingError(error, "not_found") && error.reason === UNFINISHED;
}

async function outlineOf(
  file: ReadableFile,
  record: SealRecord | undefined,
): Promise<SegmentOutline | undefined> {
  if (record?.times === undefined || await file.size() !== record.bytes) return undefined;
  return { rows: record.rows, ...record.times };
}

function cutOff(path: string): OperatingError {
  return new OperatingError("corrupt", `cannot read WAL segment ${path}: its header is cut off`, {
    reason: "wal_segment_corrupt",
  });
}

async function openIfPresent(fs: ReadableFiles, path: string): Promise<ReadableFile | undefined> {
  try {
    return await fs.openRead(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** The error for a frame of a segment that is not intact; `where` names the segment. */
export function damagedFrame(where: string, offset: number): OperatingError {
  return new OperatingError(
    "corrupt",
    `cannot read WAL segment ${where}: the frame at offset ${offset} is damaged`,
    { reason: "wal_segment_corrupt" },
  );
}

/**
 * A segment in an open file, which it closes. Errors of the constructor: `corrupt` for one of
 * another lane.
 */
export class OpenSegment implements SegmentReader {
  readonly lane: LaneId;
  readonly name: string;
  readonly schemaMessage: Uint8Array;
  readonly framesOffset: number;
  readonly outline: SegmentOutline | undefined;
  readonly #file: ReadableFile;
  readonly #frameSeed: number;
  readonly #path: string;
  readonly #growing: boolean;
  readonly #expectedBytes: number;

  constructor(
    file: ReadableFile,
    header: DecodedHeader,
    place: {
      lane: LaneId;
      name: string;
      state: SegmentState;
      path: string;
      /** Bytes that it had when it was sealed, where that is known. */
      expectedBytes?: number | undefined;
      outline?: SegmentOutline | undefined;
    },
  ) {
    const { lane, name, state, path, expectedBytes = 0, outline } = place;
    if (header.lane.tenant !== lane.tenant || header.lane.index !== lane.index) {
      throw new OperatingError(
        "corrupt",
        `cannot read WAL segment ${path}: it was written for lane ${laneName(header.lane)}; ` +
          `move it back there`,
        { reason: "wal_segment_misplaced" },
      );
    }
    this.lane = lane;
    this.name = name;
    this.schemaMessage = header.schemaMessage;
    this.framesOffset = header.byteLength;
    this.outline = outline;
    this.#file = file;
    this.#frameSeed = header.frameSeed;
    this.#path = path;
    this.#growing = state === "active";
    this.#expectedBytes = expectedBytes;
  }

  async *frames(offset?: number, options: FramesOptions = {}): AsyncGenerator<WalFrame> {
    const { onDamage = (damage) => this.#refuse(damage), endOffset: end } = options;
    for await (const { head, bytes, header } of this.#scanned(offset, { onDamage, end })) {
      const { offset, endOffset, rows } = head;
      const message = messageOfFrame(bytes, header);
      if (message === undefined) onDamage({ offset, endOffset, rows });
      else yield { ...head, message };
    }
  }

  async *heads(offset?: number, options: FramesOptions = {}): AsyncGenerator<WalFrameHead> {
    const { onDamage = (damage) => this.#refuse(damage), endOffset: end } = options;
    for await (const { head, bytes, header } of this.#scanned(offset, { onDamage, end })) {
      const summary = summaryOfFrame(bytes, header);
      yield summary === undefined ? head : { ...head, summary };
    }
  }

  /** Intact frames up to `end`; what lies between them goes to `onDamage`. */
  async *#scanned(
    offset: number | undefined,
    { onDamage, end = Infinity }: {
      readonly onDamage: (damage: FrameDamage) => void;
      readonly end: number | undefined;
    },
  ): AsyncGenerator<Pick<ScannedFrame, "bytes" | "header"> & { readonly head: FrameOutline }> {
    const whole = await this.#file.size();
    const size = Math.min(whole, end);
    const expectedBytes = size < whole ? size : this.#expectedBytes;
    const scanner = new FrameScanner(this.#file, {
      frameSeed: this.#frameSeed,
      offset: offset ?? this.framesOffset,
      size,
    });
    let isCut = expectedBytes > size;
    const tell = (damage: SkippedBytes) => {
      // The end of a segment that is still written may be half a frame.
      if (this.#growing && !damage.isFollowed) return;
      isCut &&= damage.isFollowed;
      onDamage(toItsEnd(damage, expectedBytes));
    };
    for (;;) {
      const frame = await scanner.next();
      if (frame === undefined) {
        const damage = await scanner.skip();
        if (damage === undefined) break;
        tell(damage);
        continue;
      }
      const { offset, endOffset, header, bytes } = frame;
      const { rows, timestampNsMin, timestampNsMax } = header;
      yield { head: { offset, endOffset, rows, timestampNsMin, timestampNsMax }, bytes, header };
    }
    // Cut off where a frame ends.
    if (isCut) onDamage({ offset: size, endOffset: expectedBytes, rows: undefined });
  }

  #refuse({ offset }: FrameDamage): never {
    throw damagedFrame(this.#path, offset);
  }

  close(): Promise<void> {
    this.#file.close();
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Damage at the end of a file that had more when it was sealed reaches to where it ended. */
function toItsEnd(
  { offset, endOffset, rows, isFollowed }: SkippedBytes,
  expectedBytes: number,
): FrameDamage {
  const isCut = !isFollowed && expectedBytes > endOffset;
  return isCut
    ? { offset, endOffset: expectedBytes, rows: undefined }
    : { offset, endOffset, rows };
}
