/**
 * The table's own rows that a weighted statement reads. They are rows of files without a usable
 * summary, of the WAL, and of the minutes that its range of time cuts through. A file is read once,
 * for all ends of the range that are to be read of it: two scans of a row group each took twice the
 * time.
 */

import { isOperatingError } from "../../base/errors.ts";
import type { DataFile, TimeRange } from "../../iceberg/types.ts";
import type { ParquetFooter } from "../../parquet/footer.ts";
import type { DeltaFile } from "../plan/delta_file.ts";
import { FOOTER_READS_MAX } from "../limits.ts";
import { deltaPart, filePart, meets, type ScanPart } from "../plan/plan.ts";

/** Rows of `parts` in one of `ranges`. */
export interface OwnRows {
  readonly parts: readonly ScanPart[];
  readonly ranges: readonly TimeRange[];
  /** Whether what they have in columns that need not be known (`unneeded`) does not matter. */
  readonly areFilled: boolean;
}

/** A file, and parts of the time of its rows. */
export interface FileRanges {
  readonly file: DataFile;
  readonly ranges: readonly TimeRange[];
}

/** Paths and footers of data files. */
export interface OwnRowsSource {
  readonly path: (file: DataFile) => string;
  readonly footer: (file: DataFile) => Promise<ParquetFooter>;
}

/** Rows with bounds of their columns. */
export type BoundedRows = Pick<DataFile, "rows" | "lowerBounds" | "upperBounds">;

/** Collects what is read of a table's own rows. */
export class OwnRowsReading {
  readonly #source: OwnRowsSource;
  readonly #range: TimeRange;
  readonly #inRange: ScanPart[] = [];
  readonly #filledInRange: ScanPart[] = [];
  /** Parts by their ranges. */
  readonly #atEdges = new Map<string, { readonly parts: ScanPart[] } & OwnRows>();
  readonly #subjects: BoundedRows[] = [];

  constructor(range: TimeRange, source: OwnRowsSource) {
    this.#range = range;
    this.#source = source;
  }

  /** Scans of rows, each row in one of them. */
  get scans(): readonly OwnRows[] {
    const ranges = [this.#range];
    const all = [
      { parts: this.#inRange, ranges, areFilled: false },
      { parts: this.#filledInRange, ranges, areFilled: true },
      ...this.#atEdges.values(),
    ];
    return all.filter(({ parts }) => parts.length > 0);
  }

  /** The files and segments that are read. */
  get subjects(): readonly BoundedRows[] {
    return this.#subjects;
  }

  /** Adds all rows of a file in the range. */
  addFile(file: DataFile): void {
    this.#inRange.push(filePart(file, this.#source.path(file)));
    this.#subjects.push(file);
  }

  /** Adds all rows of a part of the WAL in the range. `isFilled`: `OwnRows.areFilled`. */
  addDelta(delta: DeltaFile, { isFilled }: { readonly isFilled: boolean }): void {
    (isFilled ? this.#filledInRange : this.#inRange).push(deltaPart(delta));
    this.#subjects.push(delta);
  }

  /**
   * Adds rows of files in one of their ranges, which do not overlap. Each file comes once at most,
   * and summaries count its other rows.
   */
  async addEdges(edges: readonly FileRanges[]): Promise<void> {
    for (let start = 0; start < edges.length; start += FOOTER_READS_MAX) {
      const batch = edges.slice(start, start + FOOTER_READS_MAX);
      const found = await Promise.all(
        batch.map(({ file, ranges }) => partsWithin(file, ranges, this.#source)),
      );
      for (const [at, edge] of batch.entries()) this.#addParts(edge, found[at] ?? []);
    }
  }

  #addParts({ file, ranges }: FileRanges, parts: readonly ScanPart[]): void {
    if (parts.length === 0) return;
    const name = ranges.map(({ minNs, maxNs }) => `${minNs} ${maxNs}`).join();
    const scan = this.#atEdges.get(name) ?? { parts: [], ranges, areFilled: true };
    this.#atEdges.set(name, scan);
    scan.parts.push(...parts);
    this.#subjects.push(file);
  }
}

/** The row groups of a file that can have rows in one of `ranges`. */
export async function partsWithin(
  file: DataFile,
  ranges: readonly TimeRange[],
  source: OwnRowsSource,
): Promise<ScanPart[]> {
  const whole = filePart(file, source.path(file));
  let footer: ParquetFooter;
  try {
    footer = await source.footer(file);
  } catch (error) {
    // If the scan cannot read it either, the scan will tell why.
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
