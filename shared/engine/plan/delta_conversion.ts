/**
 * Converts segments of the WAL to Parquet files: each once, and while it is still written what was
 * appended since the last time, as a file of its own. Conversions of one segment never run twice at
 * a time: later callers wait for the running one and then look for more.
 *
 * Files have the promoted columns that statements over their lane read so far, filled from the
 * rows' attributes. A statement that names another attribute finds it in the JSON of files that are
 * there, and in a column of those that follow.
 *
 * Columns of long texts are left out that neither the statement needs nor another one needed lately
 * (`left_out.ts`, `needed_lately.ts`). For one that needs them these rows are converted once more,
 * to a file beside the other.
 *
 * A bad frame costs its rows, never the statement: it is logged and counted, and each statement
 * over it is told what it lacks. The segment is read again only if it was still being written.
 */

import { getLogger } from "@logtape/logtape";
import { present } from "../../base/assert.ts";
import { eachOf } from "../../base/each_of.ts";
import { isOperatingError, messageOf } from "../../base/errors.ts";
import { totalRows } from "../../base/total_rows.ts";
import type { Column } from "../../schema/schema.ts";
import { type LaneId, laneName } from "../../tenant/tenant.ts";
import type { WalFrame, WalReader } from "../../wal/types.ts";
import type { DeltaFile } from "./delta_file.ts";
import type { DeltaFiles, DeltaWriting } from "./delta_files.ts";
import { appendedFrames, framesBetween } from "./delta_frames.ts";
import {
  type DeltaPiece,
  lackingPieces,
  mayCount,
  neededOfNext,
  type Segment,
  sumOfRows,
  unconverted,
  type WantedPieces,
} from "./delta_segment.ts";
import { type LostRows, sumOfLost } from "./lost_rows.ts";
import { NeededLately } from "./needed_lately.ts";
import type { LaneRequest } from "./lane_request.ts";

/** Segments that are converted at a time. */
const CONVERSIONS_MAX = 2;
/** Rows to convert for one statement from which on a thread does it. It takes 0.1 s to start. */
const THREAD_ROWS_MIN = 100_000;

const log = getLogger(["svc", "engine"]);

/** Where rows are read and written. */
interface ConversionOptions {
  readonly wal: Pick<WalReader, "open">;
  readonly files: Pick<DeltaFiles, "write">;
  readonly nowMs?: (() => number) | undefined;
  readonly onDamage?: (() => void) | undefined;
}

/** How a segment is converted. */
interface Conversion extends Pick<WantedPieces, "range">, DeltaWriting {
  /** Whether nothing will be appended to it any more. */
  readonly isSealed: boolean;
}

export class DeltaConversion {
  readonly #options: ConversionOptions;
  /** The promoted columns that statements read, by lane and name. */
  readonly #promoted = new Map<string, Map<string, Column>>();
  /** What statements needed lately, by lane. */
  readonly #needed = new Map<string, NeededLately>();

  constructor(options: ConversionOptions) {
    this.#options = options;
  }

  /** Has what is converted of a lane from now on filled in these columns. */
  notePromoted(lane: LaneId, promoted: readonly Column[]): void {
    if (promoted.length === 0) return;
    const known = this.#promoted.get(laneName(lane)) ?? new Map<string, Column>();
    this.#promoted.set(laneName(lane), known);
    for (const column of promoted) known.set(column.name, column);
  }

  /**
   * Converts what can hold a wanted row of segments of one lane, and leaves what is known to hold
   * none. Errors: the WAL's, but not that a segment is damaged; those of `DeltaFiles.write`; the
   * signal's reason.
   */
  async convertWanted(segments: readonly Segment[], wanted: LaneRequest): Promise<void> {
    const [first] = segments;
    if (first === undefined) return;
    const { range, nearest, promoted, needed, complete, epoch, signal } = wanted;
    this.#neededOf(first.lane).note(needed, { isNearest: nearest !== undefined });
    const refresh = async (some: readonly Segment[]) => {
      const isMany = sumOfRows(some) >= THREAD_ROWS_MIN;
      await eachOf(some, { atOnce: CONVERSIONS_MAX, signal }, async (segment) => {
        // A segment with an outline was sealed, also where it was listed before that.
        const isSealed = complete.has(segment.name) || segment.outline !== undefined;
        await this.#refresh(segment, { isSealed, isMany, range, needed, promoted });
      });
    };
    await refresh(
      segments.filter((segment) => segment.outline === undefined && mayCount(segment, epoch)),
    );
    // The epoch of a segment that is still written is known only now.
    const current = segments.filter((segment) => segment.epoch >= epoch);
    for (;;) {
      // A damaged segment gives fewer rows than are on record: then others count.
      const left = unconverted(current, { range, nearest, needed });
      if (left.length === 0) return;
      await refresh(left);
    }
  }

  #neededOf(lane: LaneId): NeededLately {
    const key = laneName(lane);
    const lately = this.#needed.get(key) ?? new NeededLately(this.#options.nowMs);
    this.#needed.set(key, lately);
    return lately;
  }

  /** Converts what was appended since the last time, and once more what lacks a needed column. */
  async #refresh(segment: Segment, how: Conversion): Promise<void> {
    // What the running conversion saw may be older than this call, so another one follows it.
    while (segment.running !== undefined) await segment.running.catch(() => undefined);
    if (segment.isConverted && lackingPieces(segment, how).length === 0) return;
    segment.running = this.#convert(segment, how);
    try {
      await segment.running;
    } finally {
      segment.running = undefined;
    }
  }

  async #convert(segment: Segment, how: Conversion): Promise<void> {
    for (const piece of lackingPieces(segment, how)) await this.#convertAgain(segment, piece, how);
    if (segment.isConverted) return;
    const frames = await appendedFrames(
      this.#options.wal,
      segment,
      (lost, error) => this.#tellLost(segment, lost, error),
    );
    const [first, last] = [frames[0], frames.at(-1)];
    if (first !== undefined && last !== undefined) {
      const needed = this.#neededOf(segment.lane).with(how.needed, { isNewest: !how.isSealed });
      const promoted = [...this.#promoted.get(laneName(segment.lane))?.values() ?? []];
      const file = await this.#write(segment, frames, { ...how, promoted, needed });
      if (file !== undefined) {
        const { rows, timestampNsMin, timestampNsMax } = file;
        segment.pieces.push({
          ...{ offset: first.offset, endOffset: last.endOffset, files: [file] },
          ...{ rows, readable: rows, timestampNsMin, timestampNsMax },
        });
      }
      segment.nextOffset = last.endOffset;
    }
    segment.isConverted = how.isSealed;
  }

  /** Converts the rows of a piece once more, with the columns that are needed now. */
  async #convertAgain(segment: Segment, piece: DeltaPiece, how: Conversion): Promise<void> {
    const frames = await framesBetween(this.#options.wal, segment, piece);
    const found = totalRows(frames);
    if (found < piece.readable) {
      const lost = { bytes: 0, rows: piece.readable - found };
      this.#tellLost(segment, lost, "rows that were read before are gone");
    }
    const needed = neededOfNext(piece, how.needed, present(segment.columns));
    const file = frames.length === 0
      ? undefined
      : await this.#write(segment, frames, { ...how, needed });
    piece.readable = file === undefined ? 0 : found;
    if (file !== undefined) piece.files.push(file);
  }

  /** Undefined: the rows cannot be read. */
  async #write(
    segment: Segment,
    frames: readonly WalFrame[],
    how: DeltaWriting,
  ): Promise<DeltaFile | undefined> {
    try {
      return await this.#options.files.write(segment, frames, how);
    } catch (error) {
      if (!isOperatingError(error, "corrupt")) throw error;
      const bytes = frames.reduce((sum, { offset, endOffset }) => sum + endOffset - offset, 0);
      this.#tellLost(segment, { bytes, rows: totalRows(frames) }, messageOf(error));
      return undefined;
    }
  }

  #tellLost(
    segment: Segment,
    { bytes, rows }: Pick<LostRows, "bytes" | "rows">,
    error: string,
  ): void {
    // Counted once for each segment, whatever of it is damaged.
    const segments = segment.lost === undefined ? 1 : 0;
    segment.lost = sumOfLost([segment.lost, { segments, bytes, rows }]);
    this.#options.onDamage?.();
    log.error("rows of WAL segment {segment} of lane {lane} cannot be read: {error}", {
      segment: segment.name,
      lane: laneName(segment.lane),
      error,
    });
  }
}
