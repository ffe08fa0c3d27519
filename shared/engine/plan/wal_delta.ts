/**
 * Gives statements the rows that only the WAL has, as Parquet files in the cache directory that
 * they read like data files.
 *
 * A segment is converted when a statement wants one of its rows, and once (`delta_conversion.ts`).
 * What a sealed segment held is on record, so one of other times is left as it is. A statement that
 * only counts rows needs no file (`delta_counts.ts`). One that looks for a trace or a text may need
 * few frames (`delta_search.ts`).
 *
 * Files in use are never removed. Idle ones go, least recently used first, when the directory
 * exceeds its bound. They also go when their segment was consumed: at the next statement over its
 * lane, or with `forgetGone`, which is for times without statements.
 */

import { present } from "../../base/assert.ts";
import { eachOf } from "../../base/each_of.ts";
import { isOperatingError } from "../../base/errors.ts";
import type { Column } from "../../schema/schema.ts";
import type { LaneId } from "../../tenant/tenant.ts";
import { DELTA_CACHE_BYTES_MAX } from "../limits.ts";
import type { CountedRows } from "./counted_by.ts";
import { DeltaConversion } from "./delta_conversion.ts";
import { DeltaCounts } from "./delta_counts.ts";
import type { DeltaFile } from "./delta_file.ts";
import { DeltaFiles, type DeltaFilesOptions } from "./delta_files.ts";
import { DeltaSearch } from "./delta_search.ts";
import { filesOf, learnSchema, newSegment, type Segment } from "./delta_segment.ts";
import { type LostRows, sumOfLost } from "./lost_rows.ts";
import type { LaneRequest, ServedSegments } from "./lane_request.ts";

/** Segments that are looked at at a time. */
const LOOKS_MAX = 16;

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

/** Where segments are read, and where their files are written. */
export interface WalDeltaOptions extends DeltaFilesOptions {
  readonly bytesMax?: number;
  /** Rows to convert from which on a text is looked for in them first; default 20,000. */
  readonly siftedRowsMin?: number | undefined;
  /** Milliseconds that only rise; default: the process's. */
  readonly nowMs?: () => number;
  /** Called for each part of a segment that cannot be read: answers lack its rows. */
  readonly onDamage?: () => void;
}

/** What a statement wants that says no more. */
const ALL_ROWS: Omit<LaneRequest, "range" | "complete"> = {
  nearest: undefined,
  promoted: [],
  needed: undefined,
  countedBy: undefined,
  frames: undefined,
  epoch: 0,
  signal: undefined,
};

/** The WAL segments that one engine converted, and the leases on them. */
export class WalDelta {
  /** Segments, the least recently used first. */
  readonly #segments = new Map<string, Segment>();
  readonly #wal: WalDeltaOptions["wal"];
  readonly #files: DeltaFiles;
  readonly #counts: DeltaCounts;
  readonly #search: DeltaSearch;
  readonly #conversion: DeltaConversion;

  constructor(options: WalDeltaOptions) {
    const { wal, bytesMax = DELTA_CACHE_BYTES_MAX } = options;
    this.#wal = wal;
    const files = this.#files = new DeltaFiles(options, bytesMax);
    const counts = this.#counts = new DeltaCounts(wal);
    this.#search = new DeltaSearch({ ...options, files, counts });
    this.#conversion = new DeltaConversion({ ...options, files });
  }

  /** Bytes of all files in the directory. */
  get bytes(): number {
    return this.#files.bytes;
  }

  /**
   * Leases the rows of `names` (segments of `lane`) that can lie in `range`, as far as they were
   * whole on disk when this was called. Errors: `not_found` when a segment is gone, so that its
   * rows must be elsewhere by now; `unavailable` when the directory cannot be written.
   */
  async lease(
    lane: LaneId,
    names: readonly string[],
    some: Pick<LaneRequest, "range" | "complete"> & Partial<LaneRequest>,
  ): Promise<DeltaLease> {
    const wanted: LaneRequest = { ...ALL_ROWS, ...some };
    const segments = names.map((name) => this.#take(lane, name));
    const served: ServedSegments = new Map();
    const left = () => segments.filter((segment) => !served.has(segment));
    const giveBack = () => {
      for (const { files } of served.values()) this.#files.remove(files);
      for (const segment of segments) segment.leases -= 1;
      this.#trim();
    };
    this.#conversion.notePromoted(lane, wanted.promoted);
    try {
      await this.#lookAt(segments, wanted);
      await this.#counts.countWanted(segments, wanted, served);
      await this.#search.findTraces(left(), wanted, served);
      await this.#search.findTexts(left(), wanted, served);
      await this.#conversion.convertWanted(left(), wanted);
    } catch (error) {
      giveBack();
      throw error;
    }
    this.#trim();
    const current = segments.filter((segment) => segment.epoch >= wanted.epoch);
    const rows = current.map((segment) =>
      served.get(segment) ?? { counted: [], files: filesOf(segment, wanted) }
    );
    return {
      files: rows.flatMap(({ files }) => files),
      counted: rows.flatMap(({ counted }) => counted),
      columns: current.findLast(({ columns }) => columns !== undefined)?.columns,
      lost: sumOfLost(current.map(({ lost }) => lost)),
      [Symbol.dispose]: giveBack,
    };
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
    const lanes = Map.groupBy(this.#segments.values(), ({ lane }) => keyOf(lane, ""));
    for (const cached of lanes.values()) {
      const { lane } = present(cached[0]);
      const listed = await this.#wal.names(lane, ["active", "sealed"]);
      const waiting = new Set(listed.map(({ name }) => name));
      this.forget(lane, cached.map(({ name }) => name).filter((name) => !waiting.has(name)));
    }
  }

  #take(lane: LaneId, name: string): Segment {
    const key = keyOf(lane, name);
    const segment = this.#segments.get(key) ?? newSegment(lane, name);
    this.#segments.delete(key);
    this.#segments.set(key, segment);
    segment.leases += 1;
    return segment;
  }

  async #lookAt(
    segments: readonly Segment[],
    { complete, signal }: Pick<LaneRequest, "complete" | "signal">,
  ): Promise<void> {
    const sealed = segments.filter(({ name }) => complete.has(name));
    await eachOf(sealed, { atOnce: LOOKS_MAX, signal }, (segment) => this.#look(segment));
  }

  /** Learns what a sealed segment holds without reading its rows. */
  async #look(segment: Segment): Promise<void> {
    if (segment.isLookedAt || segment.isConverted) return;
    try {
      await using reader = await this.#wal.open(segment.lane, segment.name);
      learnSchema(segment, reader);
      segment.outline = reader.outline;
      segment.isLookedAt = true;
    } catch (error) {
      // Whoever reads its rows tells of it.
      if (!isOperatingError(error, "corrupt")) throw error;
    }
  }

  #trim(): void {
    for (const segment of [...this.#segments.values()]) {
      if (!this.#files.exceedBound) return;
      if (segment.leases === 0 && segment.pieces.length > 0) this.#drop(segment);
    }
  }

  #drop(segment: Segment): void {
    this.#counts.forget(segment);
    this.#segments.delete(keyOf(segment.lane, segment.name));
    this.#files.remove(segment.pieces.splice(0).flatMap(({ files }) => files));
  }
}

function keyOf(lane: LaneId, name: string): string {
  return `${lane.tenant}/${lane.index}/${name}`;
}
