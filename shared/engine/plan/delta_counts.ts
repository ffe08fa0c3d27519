/**
 * Counts the rows of segments for statements that want no more. Frames tell how many rows they
 * have, their times, and mostly how many there are of each minute and value. They are checked as
 * they are for a conversion, each once, in a fortieth of the time.
 */

import { eachOf } from "../../base/each_of.ts";
import type { WalReader } from "../../wal/types.ts";
import { COUNTED_FRAMES_BYTES_MAX } from "../limits.ts";
import { talliedColumns } from "./counted_by.ts";
import { type CountedFrames, isWithin } from "./counted_frames.ts";
import { isIntact, learnSchema, type Segment } from "./delta_segment.ts";
import type { LaneRequest, ServedSegments } from "./lane_request.ts";

/** Segments that are counted at a time. */
const COUNTS_MAX = 4;

/** What is known of the frames of segments. */
export class DeltaCounts {
  readonly #wal: Pick<WalReader, "open">;
  /** Memory of what is known. */
  #bytes = 0;

  constructor(wal: Pick<WalReader, "open">) {
    this.#wal = wal;
  }

  /**
   * Counts segments whose rows are all in the range, and adds them to `served`. What is damaged is
   * not among them, nor that of which a frame does not tell a column by which is counted.
   */
  async countWanted(
    segments: readonly Segment[],
    { range, complete, countedBy: by, epoch, signal }: LaneRequest,
    served: ServedSegments,
  ): Promise<void> {
    if (by === undefined) return;
    const isNumber = by.columns.length === 0 && !by.minutes;
    const wanted = segments.filter((segment) =>
      // What is converted tells its number of rows, too.
      (!segment.isConverted || !isNumber) && isIntact(segment, epoch) &&
      (segment.outline === undefined || isWithin(range, segment.outline))
    );
    await eachOf(wanted, { atOnce: COUNTS_MAX, signal }, async (segment) => {
      const counted = await this.count(segment, complete.has(segment.name));
      if (counted === undefined || !isWithin(range, counted)) return;
      const { rows, timestampNsMin, timestampNsMax, tally } = counted;
      const own = segment.columns ?? [];
      const tallied = isNumber ? undefined : talliedColumns(tally, { by: by.columns, own });
      if (!isNumber && tallied === undefined) return;
      const one = { rows, timestampNsMin, timestampNsMax, ...tallied && { by: tallied } };
      served.set(segment, { counted: rows > 0 ? [one] : [], files: [] });
    });
  }

  /**
   * Counts what is whole on disk of a segment; `isComplete`: nothing is appended any more.
   * Undefined: it is damaged. Errors: the WAL's.
   */
  async count(segment: Segment, isComplete: boolean): Promise<CountedFrames | undefined> {
    try {
      const counted = await segment.count.count(async () => {
        const reader = await this.#wal.open(segment.lane, segment.name);
        learnSchema(segment, reader);
        return reader;
      }, { isComplete, hasRoom: this.#bytes < COUNTED_FRAMES_BYTES_MAX });
      // The end of a segment that is written may be damaged since it was converted.
      const { nextOffset = 0 } = segment;
      return (counted?.frames.at(-1)?.endOffset ?? 0) < nextOffset ? undefined : counted;
    } finally {
      this.#bytes += segment.count.bytes - segment.countedBytes;
      segment.countedBytes = segment.count.bytes;
    }
  }

  /** The segment is dropped. */
  forget(segment: Segment): void {
    this.#bytes -= segment.countedBytes;
  }
}
