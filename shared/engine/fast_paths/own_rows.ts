/**
 * The table's own rows that a weighted statement reads: of files without a usable summary, of the WAL, and of the minutes that
 * its range of time cuts through. All of one kind are read in one scan: two scans of a row group each took twice the time.
 */

import { isOperatingError } from "../../base/errors.ts";
import type { DataFile, TimeRange } from "../../iceberg/types.ts";
import type { ParquetFooter } from "../../parquet/footer.ts";
import type { DeltaFile } from "../delta_file.ts";
import { deltaPart, filePart, meets, type ScanPart } from "../plan.ts";

/** Rows of `parts` in one of `ranges`. */
export interface OwnRows {
  readonly parts: readonly ScanPart[];
  readonly ranges: readonly TimeRange[];
}

export interface OwnRowsSource {
  readonly path: (file: DataFile) => string;
  readonly footer: (file: DataFile) => Promise<ParquetFooter>;
}

/** Rows with bounds of their columns. */
export type BoundedRows = Pick<DataFile, "rows" | "lowerBounds" | "upperBounds">;

export class OwnRowsReading {
  readonly #source: OwnRowsSource;
  readonly #range: TimeRange;
  readonly #inRange: ScanPart[] = [];
  readonly #atEdges: ScanPart[] = [];
  #edges: readonly TimeRange[] = [];
  readonly #subjects: BoundedRows[] = [];

  constructor(range: TimeRange, source: OwnRowsSource) {
    this.#range = range;
    this.#source = source;
  }

  /** Scans of rows, each row in one of them. */
  get scans(): readonly OwnRows[] {
    return [
      { parts: this.#inRange, ranges: [this.#range] },
      { parts: this.#atEdges, ranges: this.#edges },
    ].filter(({ parts }) => parts.length > 0);
  }

  /** What they are of. */
  get subjects(): readonly BoundedRows[] {
    return this.#subjects;
  }

  /** All rows of the range. */
  addFile(file: DataFile): void {
    this.#inRange.push(filePart(file, this.#source.path(file)));
    this.#subjects.push(file);
  }

  /** All rows of the range. */
  addDelta(delta: DeltaFile): void {
    this.#inRange.push(deltaPart(delta));
    this.#subjects.push(delta);
  }

  /** Rows of `files` in one of `edges`, which do not overlap; once at most. */
  async addEdges(files: readonly DataFile[], edges: readonly TimeRange[]): Promise<void> {
    this.#edges = edges;
    for (const file of files) {
      const meeting = edges.filter((edge) => meets(edge, file.timestampNsMin, file.timestampNsMax));
      if (meeting.length === 0) continue;
      const parts = await this.#partsIn(file, meeting);
      if (parts.length === 0) continue;
      this.#atEdges.push(...parts);
      this.#subjects.push(file);
    }
  }

  /** The row groups of a file that can have rows in one of `ranges`. */
  async #partsIn(file: DataFile, ranges: readonly TimeRange[]): Promise<ScanPart[]> {
    const whole = filePart(file, this.#source.path(file));
    let footer: ParquetFooter;
    try {
      footer = await this.#source.footer(file);
    } catch (error) {
      // The scan itself will tell why, if it cannot read it either.
      if (!isOperatingError(error) || error.code === "not_found") throw error;
      return [whole];
    }
    const parts: ScanPart[] = [];
    let run: { first: number; end: number; groups: number } | undefined;
    const close = () => {
      if (run === undefined) return;
      const { first, end, groups } = run;
      const isAll = first === 0 && end === file.rows;
      parts.push(isAll ? whole : { ...whole, range: { first, end }, rowGroupsRead: groups });
      run = undefined;
    };
    for (const { firstRow, rows, timestampMin: min, timestampMax: max } of footer.rowGroups) {
      const mayHold = min === undefined || max === undefined ||
        ranges.some((range) => meets(range, min * 1_000n, max * 1_000n + 999n));
      if (!mayHold) {
        close();
        continue;
      }
      run = {
        first: run?.first ?? firstRow,
        end: firstRow + rows,
        groups: (run?.groups ?? 0) + 1,
      };
    }
    close();
    return parts;
  }
}
