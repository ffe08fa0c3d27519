/**
 * Counts the rows of a WAL segment without reading them. Each frame tells how many it has, and
 * their times. Mostly it also tells how many there are of each value, and of which traces.
 * Frames are checked as for reading, so a count never has rows that cannot be read.
 */

import { isOperatingError } from "../../base/errors.ts";
import type { TimeRange } from "../../iceberg/types.ts";
import { isUnfinishedSegment } from "../../wal/reader.ts";
import { readFrameSummary } from "../../wal/frame_summary.ts";
import { joinTimes } from "../../wal/frame_times.ts";
import type { FrameOutline, FrameTimes, SegmentOutline, SegmentReader } from "../../wal/types.ts";
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
  /** About how much memory these take. */
  readonly bytes: number;
}

/** About what a frame takes besides its filter of traces. */
const FRAME_BYTES = 200;

/** The count of one segment, which goes on from where it ended the last time. */
export class FrameCount {
  #counted = countedFrames([], new RowTally());
  /** Whether nothing will be appended any more, and all of it was counted. */
  #isDone = false;
  #running: Promise<unknown> | undefined;

  /** About how much memory it takes. */
  get bytes(): number {
    return this.#counted.bytes;
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

/** What was counted before stays as it was. */
async function countFrames(
  open: () => Promise<SegmentReader>,
  before: CountedFrames,
  hasRoom: boolean,
): Promise<CountedFrames | undefined> {
  const frames = [...before.frames];
  const tally = before.tally.copy();
  try {
    await using segment = await open();
    if (segment.heads === undefined) return undefined;
    for await (const { summary, ...outline } of segment.heads(frames.at(-1)?.endOffset)) {
      const said = summary === undefined || !hasRoom ? {} : readFrameSummary(summary);
      tally.add(said.counts);
      const traces = said.traces === undefined ? undefined : Uint8Array.fromBase64(said.traces);
      frames.push({ ...outline, traces });
    }
  } catch (error) {
    if (isUnfinishedSegment(error)) return before;
    if (!isOperatingError(error, "corrupt")) throw error;
    return undefined;
  }
  return countedFrames(frames, tally);
}

function countedFrames(frames: readonly CountedFrame[], tally: RowTally): CountedFrames {
  let times: FrameTimes | undefined;
  let rows = 0;
  let { bytes } = tally;
  for (const frame of frames) {
    times = joinTimes(times, frame);
    rows += frame.rows;
    bytes += FRAME_BYTES + (frame.traces?.byteLength ?? 0);
  }
  return { rows, ...times ?? NO_TIMES, frames, tally, bytes };
}

const NO_TIMES: FrameTimes = { timestampNsMin: 0n, timestampNsMax: 0n };

/** Whether all of the rows are in a range. */
export function isWithin(
  range: TimeRange,
  { rows, timestampNsMin, timestampNsMax }: SegmentOutline,
): boolean {
  return rows === 0 || lieIn(range, timestampNsMin, timestampNsMax);
}
