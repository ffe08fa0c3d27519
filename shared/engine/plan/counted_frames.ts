/**
 * Counts the rows of a WAL segment without reading them. Each frame tells how many it has, and
 * their times. Mostly it also tells how many there are of each value, and of which traces.
 * Frames are checked as for reading, so a count never has rows that cannot be read.
 */

import { isOperatingError } from "../../base/errors.ts";
import type { TimeRange } from "../../iceberg/types.ts";
import { isUnfinishedSegment } from "../../wal/reader.ts";
import { readFrameSummary } from "../../wal/frame_summary.ts";
import type { FrameOutline, SegmentOutline, SegmentReader, WalFrameHead } from "../../wal/types.ts";
import { lieIn } from "./plan.ts";
import { RowTally } from "./row_tally.ts";

/** A frame that was counted. */
export interface CountedFrame extends FrameOutline {
  /** Which traces its rows can be of (`shared/wal/trace_filter.ts`); undefined: any. */
  readonly traces: Uint8Array | undefined;
}

/** Frames of a segment, from the first on, that were counted. */
export interface CountedFrames extends SegmentOutline {
  readonly tally: RowTally;
  readonly frames: readonly CountedFrame[];
  /** About how much memory `frames` take. */
  readonly frameBytes: number;
  /** Behind the last of them; undefined: there was none. */
  readonly endOffset: number | undefined;
}

function noFrames(): CountedFrames {
  return {
    rows: 0,
    timestampNsMin: 0n,
    timestampNsMax: 0n,
    tally: new RowTally(),
    frames: [],
    frameBytes: 0,
    endOffset: undefined,
  };
}

/** About what a frame takes besides its filter of traces. */
const FRAME_BYTES = 200;

/** The count of one segment, which goes on from where it ended the last time. */
export class FrameCount {
  #counted = noFrames();
  /** Whether nothing will be appended any more, and all of it was counted. */
  #isDone = false;
  #running: Promise<unknown> | undefined;

  /** About how much memory it takes. */
  get bytes(): number {
    return this.#counted.frameBytes + this.#counted.tally.bytes;
  }

  /**
   * Counts what is whole on disk. Undefined where a frame is damaged, or where the reader has
   * frames only with their rows: whoever reads the rows tells of damage. `isComplete`: nothing is
   * appended any more. `hasRoom`: what further frames say is kept, besides their number of rows.
   * Errors: the WAL's.
   */
  async count(
    open: () => Promise<SegmentReader>,
    { isComplete, hasRoom }: { readonly isComplete: boolean; readonly hasRoom: boolean },
  ): Promise<CountedFrames | undefined> {
    // What the running count saw may be older than this call, so another one follows it.
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    if (this.#isDone) return this.#counted;
    const running = countFrames(open, this.#counted, hasRoom);
    this.#running = running;
    try {
      const counted = await running;
      if (counted === undefined) return undefined;
      this.#counted = counted;
      this.#isDone = isComplete;
      return counted;
    } finally {
      this.#running = undefined;
    }
  }
}

async function countFrames(
  open: () => Promise<SegmentReader>,
  before: CountedFrames,
  hasRoom: boolean,
): Promise<CountedFrames | undefined> {
  const sum = new FrameSum(before);
  try {
    await using segment = await open();
    if (segment.heads === undefined) return undefined;
    for await (const head of segment.heads(before.endOffset)) sum.add(head, hasRoom);
  } catch (error) {
    if (isUnfinishedSegment(error)) return before;
    if (!isOperatingError(error, "corrupt")) throw error;
    return undefined;
  }
  return sum;
}

/** Frames that are counted, and those before them. What was counted before stays as it was. */
class FrameSum implements CountedFrames {
  rows: number;
  timestampNsMin: bigint;
  timestampNsMax: bigint;
  endOffset: number | undefined;
  frameBytes: number;
  readonly tally: RowTally;
  readonly frames: CountedFrame[];

  constructor(before: CountedFrames) {
    this.rows = before.rows;
    this.timestampNsMin = before.timestampNsMin;
    this.timestampNsMax = before.timestampNsMax;
    this.endOffset = before.endOffset;
    this.frameBytes = before.frameBytes;
    this.tally = before.tally.copy();
    this.frames = [...before.frames];
  }

  add({ summary, ...outline }: WalFrameHead, hasRoom: boolean): void {
    const { rows, timestampNsMin: min, timestampNsMax: max, endOffset } = outline;
    if (this.rows === 0 || min < this.timestampNsMin) this.timestampNsMin = min;
    if (this.rows === 0 || max > this.timestampNsMax) this.timestampNsMax = max;
    this.rows += rows;
    this.endOffset = endOffset;
    const said = summary === undefined || !hasRoom ? {} : readFrameSummary(summary);
    this.tally.add(said.counts);
    const traces = said.traces === undefined ? undefined : Uint8Array.fromBase64(said.traces);
    this.frames.push({ ...outline, traces });
    this.frameBytes += FRAME_BYTES + (traces?.byteLength ?? 0);
  }
}

/** Whether all of the rows are in a range. */
export function isWithin(
  range: TimeRange,
  { rows, timestampNsMin, timestampNsMax }: SegmentOutline,
): boolean {
  return rows === 0 || lieIn(range, timestampNsMin, timestampNsMax);
}
