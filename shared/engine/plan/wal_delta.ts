/**
 * Keeps WAL segments as Parquet files in the cache directory, so that statements read them like
 * data files.
 *
 * A segment is converted when a statement wants one of its rows, and once. What a sealed segment
 * held is on record, so one of other times is left as it is. While it is still written, each
 * statement converts what was appended since the last one, as a file of its own. Conversions of one
 * segment never run twice at a time: later callers wait for the running one and then look for more.
 *
 * Files have the promoted columns that statements over their lane read so far, filled from the
 * rows' attributes. A statement that names another attribute finds it in the JSON of files that are
 * there, and in a column of those that follow.
 *
 * Columns of long texts are left out that neither the statement needs nor another one needed lately
 * (`left_out.ts`, `needed_lately.ts`). For one that needs them these rows are converted once more,
 * to a file beside the other.
 *
 * Where a statement's rows all have some text, frames without it hold none of them
 * (`frame_sieve.ts`). If few frames have it, just these are converted, for this statement alone.
 *
 * A statement that only counts rows needs no file. Frames tell how many rows they have, their
 * times, and mostly how many there are of each minute and value. They are checked as they are for a
 * conversion, each once, in a fortieth of the time. Where one is damaged, or does not tell of a
 * column by which is counted, the segment is converted.
 *
 * A statement that looks for a trace needs the frames that may hold it, by what they tell.
 *
 * Files in use are never removed. Idle ones go, least recently used first, when the directory
 * exceeds its bound. They also go when their segment was consumed: at the next statement over its
 * lane, or with `forgetGone`, which is for times without statements.
 *
 * A bad frame costs its rows, never the statement: it is logged and counted, and each statement
 * over it is told what it lacks. The segment is read again only if it was still being written.
 */

import { getLogger } from "@logtape/logtape";
import { present } from "../../base/assert.ts";
import { eachOf } from "../../base/each_of.ts";
import { isOperatingError, messageOf, OperatingError } from "../../base/errors.ts";
import type { Column } from "../../schema/schema.ts";
import { type LaneId, laneName } from "../../tenant/tenant.ts";
import type { FileSystem } from "../../os/file_system.ts";
import { isUnfinishedSegment } from "../../wal/reader.ts";
import type { FrameDamage, WalFrame, WalReader } from "../../wal/types.ts";
import { type CountedRows, talliedColumns, type TallyBy } from "./counted_by.ts";
import { type CountedFrames, isWithin } from "./counted_frames.ts";
import type { DeltaEncoder } from "./delta_encoder.ts";
import { type DeltaFile, type DeltaRows, writeDeltaFile } from "./delta_file.ts";
import {
  type DeltaPiece,
  lackingPieces,
  learnSchema,
  mayCount,
  mayLieIn,
  neededOfNext,
  newSegment,
  type Segment,
  servingFile,
  sumOfRows,
  unconverted,
  type WantedPieces,
} from "./delta_segment.ts";
import type { NeededColumns } from "./left_out.ts";
import { NeededLately } from "./needed_lately.ts";
import { COUNTED_FRAMES_BYTES_MAX, DELTA_CACHE_BYTES_MAX } from "../limits.ts";
import { type LostRows, sumOfLost } from "./lost_rows.ts";
import { meets } from "./plan.ts";
import { framesOfTraces, type FrameTests, siftedFrames } from "./sifted_frames.ts";

/** Segments that are looked at, counted, and converted, at a time. */
const LOOKS_MAX = 16;
const COUNTS_MAX = 4;
const CONVERSIONS_MAX = 2;
/** Rows to convert for one statement from which on they are searched instead. */
const SIFTED_ROWS_MIN = 20_000;
/**
 * A segment is searched so often before it is converted. 1,000,000 rows take 1.1 s of processor
 * time to search, 5.3 to convert, and then 0.8 to read. Mostly they are drained before.
 */
const SIFTINGS_MAX = 12;
/** Where a trace is in more of a segment's rows, finding it counts as searching the segment. */
const MANY_OF_TRACE = 1 / 32;
/** Rows to convert for one statement from which on a thread does it. It takes 0.1 s to start. */
const THREAD_ROWS_MIN = 100_000;
/**
 * While files take less than this share of the directory's bound they are not compressed. Rows are
 * converted in 0.6 of the time so and read in half of it, and take six times the bytes.
 */
const PLAIN_SHARE = 1 / 4;

const log = getLogger(["svc", "engine"]);

/** Files that one statement reads; they stay until it is disposed. */
export interface DeltaLease extends Disposable {
  readonly files: readonly DeltaFile[];
  /** Segments whose rows are in none of the files: all of these are in the wanted range. */
  readonly counted: readonly CountedRows[];
  /** Columns of the newest segment that was read, for a table without a snapshot. */
  readonly columns: readonly Column[] | undefined;
  /** Rows of the segments that cannot be read. */
  readonly lost: LostRows | undefined;
}

/** Which columns of rows are wanted. */
export interface DeltaColumns {
  /** Promoted columns that the statement reads: what is converted from now on has them. */
  readonly promoted: readonly Column[];
  /** What is converted for it may lack others; undefined: none. */
  readonly needed: NeededColumns | undefined;
}

/** Which rows of a lane's segments are wanted. */
interface WantedRows extends WantedPieces, DeltaColumns {
  /** Segments of an earlier epoch are left out. */
  readonly epoch: number;
  /** Segments to which nothing is appended any more. */
  readonly complete: ReadonlySet<string>;
  /**
   * What rows are counted by, where that is all that is wanted of segments that lie in `range`;
   * undefined: more is.
   */
  readonly countedBy: TallyBy | undefined;
  /** What tells frames with wanted rows; undefined: any frame can have some. */
  readonly frames: FrameTests | undefined;
  /** Ends the work between two segments, with its reason. */
  readonly signal: AbortSignal | undefined;
}

/** Where segments are read, and where their files are written. */
export interface WalDeltaOptions {
  readonly wal: WalReader;
  readonly files: Pick<FileSystem, "create" | "remove">;
  /** Directory of the files. It exists and is empty. */
  readonly dir: string;
  /** Writes the files of many rows; default: the caller's thread does. */
  readonly encoder?: Pick<DeltaEncoder, "encode">;
  readonly bytesMax?: number;
  /** Rows to convert from which on a text is looked for in them first; default 20,000. */
  readonly siftedRowsMin?: number | undefined;
  /** Milliseconds that only rise; default: the process's. */
  readonly nowMs?: () => number;
  /** Called for each part of a segment that cannot be read: answers lack its rows. */
  readonly onDamage?: () => void;
}

/** How a segment is converted. */
interface Conversion extends Pick<WantedPieces, "range">, DeltaColumns {
  /** Whether nothing will be appended to it any more. */
  readonly complete: boolean;
  /** Whether it is one of many that a statement waits for. */
  readonly isMany: boolean;
}

/** The WAL segments that one engine converted, and the leases on them. */
export class WalDelta {
  /** Segments, the least recently used first. */
  readonly #segments = new Map<string, Segment>();
  /** The promoted columns that statements read, by lane and name. */
  readonly #promoted = new Map<string, Map<string, Column>>();
  /** What statements needed lately, by lane. */
  readonly #needed = new Map<string, NeededLately>();
  readonly #options: WalDeltaOptions;
  readonly #bytesMax: number;
  #bytes = 0;
  /** Memory of what is known of frames that were counted. */
  #countedBytes = 0;
  #filesMade = 0;

  constructor(options: WalDeltaOptions) {
    this.#options = options;
    this.#bytesMax = options.bytesMax ?? DELTA_CACHE_BYTES_MAX;
  }

  /** Bytes of all files in the directory. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Leases the rows of `names` (segments of `lane`) that can lie in `range`, as far as they were
   * whole on disk when this was called. Errors: `not_found` when a segment is gone, so that its
   * rows must be elsewhere by now; `unavailable` when the directory cannot be written.
   */
  async lease(
    lane: LaneId,
    names: readonly string[],
    {
      range,
      nearest,
      complete,
      countedBy,
      promoted = [],
      needed,
      frames,
      epoch = 0,
      signal,
    }:
      & Pick<WantedRows, "range" | "complete">
      & Partial<WantedRows>,
  ): Promise<DeltaLease> {
    const segments = names.map((name) => this.#take(lane, name));
    const wanted = { range, nearest, promoted, needed, complete, countedBy, frames, epoch, signal };
    this.#note(lane, promoted);
    const sifted = new Map<Segment, readonly DeltaFile[]>();
    const giveBack = () => {
      this.#remove([...sifted.values()].flat());
      this.#giveBack(segments);
    };
    let counts: ReadonlyMap<Segment, CountedRows>;
    try {
      await this.#lookAt(segments, wanted);
      counts = await this.#countWanted(segments, wanted);
      const uncounted = segments.filter((segment) => !counts.has(segment));
      await this.#findTraces(uncounted, wanted, sifted);
      await this.#siftWanted(uncounted.filter((segment) => !sifted.has(segment)), wanted, sifted);
      const rest = uncounted.filter((segment) => !sifted.has(segment));
      if (rest.length > 0) this.#neededOf(lane).note(needed, { isNearest: nearest !== undefined });
      await this.#convertWanted(rest, wanted);
    } catch (error) {
      giveBack();
      throw error;
    }
    this.#trim();
    const current = segments.filter((segment) => segment.epoch >= epoch);
    const counted = current.flatMap((segment) => counts.get(segment) ?? [])
      .filter(({ rows }) => rows > 0);
    const files = current.filter((segment) => !counts.has(segment)).flatMap((segment) =>
      sifted.get(segment) ??
        segment.pieces.filter((piece) => meets(range, piece.timestampNsMin, piece.timestampNsMax))
          // One that lacks a column holds no row that counts, or came after this was called.
          .flatMap((piece) => servingFile(piece, needed) ?? [])
    );
    const columns = current.findLast((segment) => segment.columns !== undefined)?.columns;
    const lost = sumOfLost(current.map((segment) => segment.lost));
    return { files, counted, columns, lost, [Symbol.dispose]: giveBack };
  }

  /** Drops segments whose rows the table holds, unless a statement still reads them. */
  forget(lane: LaneId, names: Iterable<string>): void {
    for (const name of names) {
      const segment = this.#segments.get(keyOf(lane, name));
      if (segment !== undefined && segment.leases === 0) this.#drop(segment);
    }
  }

  /**
   * Drops segments that the WAL has no more, or only as what a table holds, unless a statement
   * still reads them. Errors: the WAL's.
   */
  async forgetGone(): Promise<void> {
    const lanes = new Map<string, LaneId>();
    for (const { lane } of this.#segments.values()) lanes.set(keyOf(lane, ""), lane);
    for (const lane of lanes.values()) {
      const cached = [...this.#segments.values()].filter((segment) =>
        segment.lane.tenant === lane.tenant && segment.lane.index === lane.index
      );
      const listed = await this.#options.wal.names(lane, ["active", "sealed"]);
      const waiting = new Set(listed.map(({ name }) => name));
      this.forget(lane, cached.map(({ name }) => name).filter((name) => !waiting.has(name)));
    }
  }

  #note(lane: LaneId, promoted: readonly Column[]): void {
    if (promoted.length === 0) return;
    const known = this.#promoted.get(laneName(lane)) ?? new Map<string, Column>();
    this.#promoted.set(laneName(lane), known);
    for (const column of promoted) known.set(column.name, column);
  }

  #neededOf(lane: LaneId): NeededLately {
    const key = laneName(lane);
    const lately = this.#needed.get(key) ?? new NeededLately(this.#options.nowMs);
    this.#needed.set(key, lately);
    return lately;
  }

  #take(lane: LaneId, name: string): Segment {
    const key = keyOf(lane, name);
    const segment = this.#segments.get(key) ?? newSegment(lane, name);
    this.#segments.delete(key);
    this.#segments.set(key, segment);
    segment.leases += 1;
    return segment;
  }

  #giveBack(segments: readonly Segment[]): void {
    for (const segment of segments) segment.leases -= 1;
    this.#trim();
  }

  /**
   * Converts just the frames of segments that can hold rows of the wanted traces, where frames say
   * so. Their files go to `sifted`; the other segments are not in it.
   */
  async #findTraces(
    segments: readonly Segment[],
    { range, nearest, promoted, needed, complete, frames: of, epoch, signal }: WantedRows,
    sifted: Map<Segment, readonly DeltaFile[]>,
  ): Promise<void> {
    if (of?.traces === undefined || nearest !== undefined) return;
    const { sieve, traces } = of;
    const known = segments.filter((segment) =>
      segment.lost === undefined && mayCount(segment, epoch) && mayLieIn(segment, range)
    );
    await eachOf(known, { atOnce: COUNTS_MAX, signal }, async (segment) => {
      const counted = await this.#count(segment, complete.has(segment.name));
      if (counted === undefined || segment.epoch < epoch) return;
      const { wal } = this.#options;
      const isConverted = segment.complete &&
        lackingPieces(segment, { range, needed }).length === 0;
      const frames = { frames: counted.frames, rows: counted.rows, isConverted };
      const found = await framesOfTraces(wal, segment, frames, { range, sieve, traces, signal });
      if (found === undefined) return;
      const rows = found.reduce((sum, frame) => sum + frame.rows, 0);
      if (rows > MANY_OF_TRACE * counted.rows) {
        if (segment.siftings >= SIFTINGS_MAX) return;
        segment.siftings += 1;
      }
      await this.#writeSifted(segment, found, { needed, promoted }, sifted);
    });
  }

  /**
   * Converts just the frames of segments that can hold a wanted row, where a sieve tells them and
   * they are few. Their files go to `sifted`; the other segments are not in it. A segment whose
   * files serve is left to these.
   */
  async #siftWanted(
    segments: readonly Segment[],
    { range, nearest, promoted, needed, frames: of, epoch, signal }: WantedRows,
    sifted: Map<Segment, readonly DeltaFile[]>,
  ): Promise<void> {
    if (of === undefined || nearest !== undefined) return;
    const unserved = segments.filter((segment) => {
      const { pieces, lost, siftings } = segment;
      if (siftings >= SIFTINGS_MAX || lost !== undefined || !mayCount(segment, epoch)) return false;
      if (pieces.length > 0) return lackingPieces(segment, { range, needed }).length > 0;
      return mayLieIn(segment, range);
    });
    const { siftedRowsMin = SIFTED_ROWS_MIN } = this.#options;
    if (sumOfRows(unserved) < siftedRowsMin) return;
    await eachOf(unserved, { atOnce: CONVERSIONS_MAX, signal }, async (segment) => {
      const { sieve } = of;
      const frames = await siftedFrames(this.#options.wal, segment, { range, sieve, signal });
      if (frames === undefined) return;
      segment.siftings += 1;
      await this.#writeSifted(segment, frames, { needed, promoted }, sifted);
    });
  }

  /** Converts frames for one statement alone. */
  async #writeSifted(
    segment: Segment,
    frames: readonly WalFrame[],
    columns: DeltaColumns,
    sifted: Map<Segment, readonly DeltaFile[]>,
  ): Promise<void> {
    const how = { ...columns, isMany: false };
    try {
      const file = frames.length > 0 ? await this.#writeFile(segment, frames, how) : undefined;
      sifted.set(segment, file === undefined ? [] : [file]);
    } catch (error) {
      // Whoever converts the segment tells of it.
      if (!isOperatingError(error, "corrupt")) throw error;
    }
  }

  /** Converts what can hold a wanted row, and leaves what is known to hold none. */
  async #convertWanted(
    segments: readonly Segment[],
    { range, nearest, promoted, needed, complete, epoch, signal }: WantedRows,
  ): Promise<void> {
    // A segment with an outline was sealed, also where it was listed before that.
    const refresh = async (wanted: readonly Segment[]) => {
      const isMany = sumOfRows(wanted) >= THREAD_ROWS_MIN;
      await eachOf(wanted, { atOnce: CONVERSIONS_MAX, signal }, async (segment) => {
        const isSealed = complete.has(segment.name) || segment.outline !== undefined;
        await this.#refresh(segment, { complete: isSealed, isMany, range, needed, promoted });
      });
    };
    const unknown = segments.filter((segment) =>
      segment.outline === undefined && mayCount(segment, epoch)
    );
    await refresh(unknown);
    // The epoch of a segment that is still written is known only now.
    const current = segments.filter((segment) => segment.epoch >= epoch);
    for (;;) {
      // A damaged segment gives fewer rows than are on record: then others count.
      const wanted = unconverted(current, { range, nearest, needed });
      if (wanted.length === 0) return;
      await refresh(wanted);
    }
  }

  /**
   * Counts segments whose rows are all in the range, and were not converted. What is damaged is not
   * among them.
   */
  async #countWanted(
    segments: readonly Segment[],
    { range, complete, countedBy: by, epoch, signal }: WantedRows,
  ): Promise<ReadonlyMap<Segment, CountedRows>> {
    const counts = new Map<Segment, CountedRows>();
    if (by === undefined) return counts;
    const isNumber = by.columns.length === 0 && !by.minutes;
    const wanted = segments.filter((segment) => {
      const { outline, lost, complete } = segment;
      // What is converted tells its number of rows, too.
      return (!complete || !isNumber) && lost === undefined && mayCount(segment, epoch) &&
        (outline === undefined || isWithin(range, outline));
    });
    await eachOf(wanted, { atOnce: COUNTS_MAX, signal }, async (segment) => {
      const counted = await this.#count(segment, complete.has(segment.name));
      if (counted === undefined || !isWithin(range, counted)) return;
      const { rows, timestampNsMin, timestampNsMax, tally } = counted;
      const outline = { rows, timestampNsMin, timestampNsMax };
      if (isNumber) {
        counts.set(segment, outline);
        return;
      }
      const tallied = talliedColumns(tally, { by: by.columns, own: segment.columns ?? [] });
      if (tallied !== undefined) counts.set(segment, { ...outline, by: tallied });
    });
    return counts;
  }

  /** Undefined: it is damaged. */
  async #count(segment: Segment, isComplete: boolean): Promise<CountedFrames | undefined> {
    try {
      const counted = await segment.count.count(async () => {
        const reader = await this.#options.wal.open(segment.lane, segment.name);
        learnSchema(segment, reader);
        return reader;
      }, { isComplete, hasRoom: this.#countedBytes < COUNTED_FRAMES_BYTES_MAX });
      // The end of a segment that is written may be damaged since it was converted.
      const { nextOffset = 0 } = segment;
      return (counted?.frames.at(-1)?.endOffset ?? 0) < nextOffset ? undefined : counted;
    } finally {
      this.#countedBytes += segment.count.bytes - segment.countedBytes;
      segment.countedBytes = segment.count.bytes;
    }
  }

  async #lookAt(
    segments: readonly Segment[],
    { complete, signal }: Pick<WantedRows, "complete" | "signal">,
  ): Promise<void> {
    const sealed = segments.filter(({ name }) => complete.has(name));
    await eachOf(sealed, { atOnce: LOOKS_MAX, signal }, (segment) => this.#look(segment));
  }

  /** Learns what a sealed segment holds without reading its rows. */
  async #look(segment: Segment): Promise<void> {
    if (segment.looked || segment.complete) return;
    try {
      await using reader = await this.#options.wal.open(segment.lane, segment.name);
      learnSchema(segment, reader);
      segment.outline = reader.outline;
      segment.looked = true;
    } catch (error) {
      // Whoever reads its rows tells of it.
      if (!isOperatingError(error, "corrupt")) throw error;
    }
  }

  /** Converts what was appended since the last time, and once more what lacks a needed column. */
  async #refresh(segment: Segment, how: Conversion): Promise<void> {
    // What the running conversion saw may be older than this call, so another one follows it.
    while (segment.running !== undefined) await segment.running.catch(() => undefined);
    if (segment.complete && lackingPieces(segment, how).length === 0) return;
    segment.running = this.#convert(segment, how);
    try {
      await segment.running;
    } finally {
      segment.running = undefined;
    }
  }

  async #convert(segment: Segment, how: Conversion): Promise<void> {
    for (const piece of lackingPieces(segment, how)) await this.#convertAgain(segment, piece, how);
    if (segment.complete) return;
    const frames = await this.#framesOf(segment);
    const [first, last] = [frames[0], frames.at(-1)];
    if (first !== undefined && last !== undefined) {
      const needed = this.#neededOf(segment.lane).with(how.needed, { isNewest: !how.complete });
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
    segment.complete = how.complete;
  }

  /** Converts the rows of a piece once more, with the columns that are needed now. */
  async #convertAgain(segment: Segment, piece: DeltaPiece, how: Conversion): Promise<void> {
    const frames = await this.#framesAgain(segment, piece);
    const found = frames.reduce((sum, frame) => sum + frame.rows, 0);
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

  /**
   * Returns frames that were read before, as far as they are still intact. Errors: the WAL's, but
   * not that the segment is damaged.
   */
  async #framesAgain(
    segment: Segment,
    { offset, endOffset }: Pick<DeltaPiece, "offset" | "endOffset">,
  ): Promise<WalFrame[]> {
    const frames: WalFrame[] = [];
    try {
      await using reader = await this.#options.wal.open(segment.lane, segment.name);
      for await (const frame of reader.frames(offset, { onDamage: () => {} })) {
        if (frame.offset < endOffset) frames.push(frame);
        if (frame.endOffset >= endOffset) break;
      }
    } catch (error) {
      if (!isOperatingError(error, "corrupt")) throw error;
    }
    return frames;
  }

  /**
   * Returns what was appended since the last time, as far as it is intact. Errors: the WAL's, but
   * not that a segment is damaged.
   */
  async #framesOf(segment: Segment): Promise<WalFrame[]> {
    const frames: WalFrame[] = [];
    try {
      await using reader = await this.#options.wal.open(segment.lane, segment.name);
      learnSchema(segment, reader);
      const onDamage = ({ offset, endOffset, rows }: FrameDamage) =>
        this.#tellLost(segment, { bytes: endOffset - offset, rows }, `at offset ${offset}`);
      for await (const frame of reader.frames(segment.nextOffset, { onDamage })) {
        frames.push(frame);
      }
    } catch (error) {
      if (isUnfinishedSegment(error)) return [];
      if (!isOperatingError(error, "corrupt")) throw error;
      this.#tellLost(segment, { bytes: 0, rows: undefined }, messageOf(error));
    }
    return frames;
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

  /** Undefined: the rows cannot be read. */
  async #write(
    segment: Segment,
    frames: readonly WalFrame[],
    how: DeltaColumns & Pick<Conversion, "isMany">,
  ): Promise<DeltaFile | undefined> {
    try {
      return await this.#writeFile(segment, frames, how);
    } catch (error) {
      if (!isOperatingError(error, "corrupt")) throw error;
      const bytes = frames.reduce((sum, { offset, endOffset }) => sum + endOffset - offset, 0);
      const rows = frames.reduce((sum, frame) => sum + frame.rows, 0);
      this.#tellLost(segment, { bytes, rows }, messageOf(error));
      return undefined;
    }
  }

  /** Errors: `corrupt` when the rows cannot be read; `unavailable` as `lease`. */
  async #writeFile(
    segment: Segment,
    frames: readonly WalFrame[],
    { needed, promoted, isMany }: DeltaColumns & Pick<Conversion, "isMany">,
  ): Promise<DeltaFile> {
    const { files, dir, encoder } = this.#options;
    this.#filesMade += 1;
    const path = `${dir}/delta-${this.#filesMade}.parquet`;
    const [offset, endOffset] = [present(frames[0]).offset, present(frames.at(-1)).endOffset];
    const again = async (rows: DeltaRows) => {
      const read = await this.#framesAgain(segment, { offset, endOffset });
      if (read.length < frames.length) throw new OperatingError("corrupt", "frames are gone");
      return { ...rows, messages: read.map(({ message }) => message) };
    };
    try {
      const effort = this.#bytes < this.#bytesMax * PLAIN_SHARE ? "none" : "quick";
      const file = await writeDeltaFile(files, path, {
        columns: present(segment.columns),
        ...{ frames, effort, needed, promoted },
        encode: encoder && isMany ? (rows) => encoder.encode(rows, () => again(rows)) : undefined,
      });
      this.#bytes += file.byteLength;
      return file;
    } catch (error) {
      throw isOperatingError(error) ? error : cannotWrite(path, error);
    }
  }

  #trim(): void {
    for (const segment of [...this.#segments.values()]) {
      if (this.#bytes <= this.#bytesMax) return;
      if (segment.leases === 0 && segment.pieces.length > 0) this.#drop(segment);
    }
  }

  #drop(segment: Segment): void {
    this.#countedBytes -= segment.countedBytes;
    this.#segments.delete(keyOf(segment.lane, segment.name));
    this.#remove(segment.pieces.splice(0).flatMap(({ files }) => files));
  }

  #remove(files: readonly DeltaFile[]): void {
    for (const { path, byteLength } of files) {
      this.#bytes -= byteLength;
      this.#options.files.remove(path).catch((error) => {
        log.warn("cannot remove {path}: {error}", { path, error: messageOf(error) });
      });
    }
  }
}

function cannotWrite(path: string, cause: unknown): OperatingError {
  log.error("cannot write {path}: {error}", { path, error: messageOf(cause) });
  return new OperatingError(
    "unavailable",
    "Cannot convert rows of the WAL: the query server's cache directory cannot be written; free space there",
    { reason: "cache_not_writable", retryAfterSecs: 5, cause },
  );
}

function keyOf(lane: LaneId, name: string): string {
  return `${lane.tenant}/${lane.index}/${name}`;
}
