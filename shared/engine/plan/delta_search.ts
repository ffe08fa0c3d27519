/**
 * Finds frames of segments that can hold a statement's rows, where these are few. Just these frames
 * are converted, for this statement alone.
 *
 * A trace is looked for in what frames tell of theirs, also where the segment is converted already.
 * A text that the wanted rows all have is looked for in the frames' bytes (`frame_sieve.ts`). A
 * segment whose files serve is left to these.
 */

import { eachOf } from "../../base/each_of.ts";
import { isOperatingError } from "../../base/errors.ts";
import { totalRows } from "../../base/total_rows.ts";
import type { WalFrame, WalReader } from "../../wal/types.ts";
import type { DeltaCounts } from "./delta_counts.ts";
import type { DeltaFiles } from "./delta_files.ts";
import { isIntact, lackingPieces, mayLieIn, type Segment, sumOfRows } from "./delta_segment.ts";
import { framesOfTraces, siftedFrames } from "./sifted_frames.ts";
import type { DeltaColumns, LaneRequest, ServedSegments } from "./lane_request.ts";

/** Segments that are searched at a time, for traces and for texts. */
const TRACED_MAX = 4;
const SIFTED_MAX = 2;
/** Rows to convert for one statement from which on they are searched instead. */
const SIFTED_ROWS_MIN = 20_000;
/**
 * A segment is searched so often before it is converted. 1,000,000 rows take 1.1 s of processor
 * time to search, 5.3 to convert, and then 0.8 to read. Mostly they are drained before.
 */
const SIFTINGS_MAX = 12;
/** Where a trace is in more of a segment's rows, finding it counts as searching the segment. */
const MANY_OF_TRACE = 1 / 32;

/** What is searched, and where found rows go. */
interface SearchOptions {
  readonly wal: WalReader;
  readonly counts: Pick<DeltaCounts, "count">;
  readonly files: Pick<DeltaFiles, "write">;
  /** Rows to convert from which on a text is looked for in them first; default 20,000. */
  readonly siftedRowsMin?: number | undefined;
}

export class DeltaSearch {
  readonly #options: SearchOptions;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  /** Adds segments to `served` whose frames say which of them can have the wanted traces. */
  async findTraces(
    segments: readonly Segment[],
    wanted: LaneRequest,
    served: ServedSegments,
  ): Promise<void> {
    const { range, nearest, needed, complete, frames: tests, epoch, signal } = wanted;
    if (tests?.traces === undefined || nearest !== undefined) return;
    const { sieve, traces } = tests;
    const { wal, counts } = this.#options;
    const known = segments.filter((segment) =>
      isIntact(segment, epoch) && mayLieIn(segment, range)
    );
    await eachOf(known, { atOnce: TRACED_MAX, signal }, async (segment) => {
      const counted = await counts.count(segment, complete.has(segment.name));
      if (counted === undefined || segment.epoch < epoch) return;
      const isConverted = segment.isConverted &&
        lackingPieces(segment, { range, needed }).length === 0;
      const frames = { frames: counted.frames, rows: counted.rows, isConverted };
      const found = await framesOfTraces(wal, segment, frames, { range, sieve, traces, signal });
      if (found === undefined) return;
      if (totalRows(found) > MANY_OF_TRACE * counted.rows) {
        if (segment.siftings >= SIFTINGS_MAX) return;
        segment.siftings += 1;
      }
      await this.#serve(segment, found, { wanted, served });
    });
  }

  /** Adds segments to `served` of which few frames have the text of the wanted rows. */
  async findTexts(
    segments: readonly Segment[],
    wanted: LaneRequest,
    served: ServedSegments,
  ): Promise<void> {
    const { range, nearest, needed, frames: tests, epoch, signal } = wanted;
    if (tests === undefined || nearest !== undefined) return;
    const { sieve } = tests;
    const { wal, siftedRowsMin = SIFTED_ROWS_MIN } = this.#options;
    const unserved = segments.filter((segment) => {
      if (segment.siftings >= SIFTINGS_MAX || !isIntact(segment, epoch)) return false;
      return segment.pieces.length > 0
        ? lackingPieces(segment, { range, needed }).length > 0
        : mayLieIn(segment, range);
    });
    if (sumOfRows(unserved) < siftedRowsMin) return;
    await eachOf(unserved, { atOnce: SIFTED_MAX, signal }, async (segment) => {
      const found = await siftedFrames(wal, segment, { range, sieve, signal });
      if (found === undefined) return;
      segment.siftings += 1;
      await this.#serve(segment, found, { wanted, served });
    });
  }

  async #serve(
    segment: Segment,
    frames: readonly WalFrame[],
    { wanted: { promoted, needed }, served }: {
      readonly wanted: DeltaColumns;
      readonly served: ServedSegments;
    },
  ): Promise<void> {
    const { files } = this.#options;
    try {
      const own = frames.length === 0
        ? []
        : [await files.write(segment, frames, { promoted, needed, isMany: false })];
      served.set(segment, { counted: [], files: own });
    } catch (error) {
      // Whoever converts the segment tells of it.
      if (!isOperatingError(error, "corrupt")) throw error;
    }
  }
}
