/**
 * Counts the rows of a WAL segment without reading them: each frame tells how many it has, and
 * their times. Frames are checked as for reading, so a count never has rows that cannot be read.
 */

import { isOperatingError } from "../../base/errors.ts";
import type { TimeRange } from "../../iceberg/types.ts";
import { isUnfinishedSegment } from "../../wal/reader.ts";
import type { FrameOutline, SegmentOutline, SegmentReader } from "../../wal/types.ts";
import { lieIn } from "./plan.ts";

/** How many rows a segment has, and their times, in Unix nanoseconds, both inclusive. */
export type CountedRows = SegmentOutline;

/** Frames of a segment, from the first on, that were counted. */
interface CountedFrames extends CountedRows {
  /** Behind the last of them; undefined: there was none. */
  readonly endOffset: number | undefined;
}

const NO_FRAMES: CountedFrames = {
  rows: 0,
  timestampNsMin: 0n,
  timestampNsMax: 0n,
  endOffset: undefined,
};

/** The count of one segment, which goes on from where it ended the last time. */
export class FrameCount {
  #counted = NO_FRAMES;
  /** Whether nothing will be appended any more, and all of it was counted. */
  #isDone = false;
  #running: Promise<unknown> | undefined;

  /**
   * Counts what is whole on disk. Undefined where a frame is damaged, or where the reader has
   * frames only with their rows: whoever reads the rows tells of damage. `isComplete`: nothing is
   * appended any more. Errors: the WAL's.
   */
  async count(
    open: () => Promise<SegmentReader>,
    { isComplete }: { readonly isComplete: boolean },
  ): Promise<CountedRows | undefined> {
    // What the running count saw may be older than this call, so another one follows it.
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    if (this.#isDone) return this.#counted;
    const running = countFrames(open, this.#counted);
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
): Promise<CountedFrames | undefined> {
  let counted = before;
  try {
    await using segment = await open();
    if (segment.heads === undefined) return undefined;
    for await (const head of segment.heads(before.endOffset)) counted = plus(counted, head);
  } catch (error) {
    if (isUnfinishedSegment(error)) return before;
    if (!isOperatingError(error, "corrupt")) throw error;
    return undefined;
  }
  return counted;
}

function plus(counted: CountedFrames, head: FrameOutline): CountedFrames {
  const { rows, timestampNsMin: min, timestampNsMax: max } = counted;
  const { timestampNsMin, timestampNsMax, endOffset } = head;
  return {
    rows: rows + head.rows,
    timestampNsMin: rows > 0 && min < timestampNsMin ? min : timestampNsMin,
    timestampNsMax: rows > 0 && max > timestampNsMax ? max : timestampNsMax,
    endOffset,
  };
}

/** Whether all of the rows are in a range. */
export function isWithin(
  range: TimeRange,
  { rows, timestampNsMin, timestampNsMax }: CountedRows,
): boolean {
  return rows === 0 || lieIn(range, timestampNsMin, timestampNsMax);
}
