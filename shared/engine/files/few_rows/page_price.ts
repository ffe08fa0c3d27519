/** Whether reading pages of a part costs less than scanning its row groups. Pure. */

import type { ColumnChunk } from "../../../parquet/footer.ts";

/** Pages of a column chunk that hold wanted rows. */
export interface PricedPages {
  readonly chunk: Pick<ColumnChunk, "bytesDecompressed">;
  readonly pages: number;
  /** How many pages are unpacked, where one that is unpacked in part counts as a part. */
  readonly unpacked: number;
  readonly allPages: number;
  /** Wanted rows of the row group. */
  readonly rows: number;
}

/**
 * Prices are nanoseconds of processor time. They are fitted to ten rows in ten row groups of log
 * rows, all columns or two of them.
 */
/** A byte that DuckDB unpacks and decodes. */
const SCANNED_BYTE_NS = 0.6;
/**
 * What DuckDB takes to bind the scan of a part and to open its file, and for each column besides.
 * Fitted to ten parts of 1,000 rows: 19 ms with three columns, 24 with nine.
 */
const SCAN_NS = 1_000_000;
const COLUMN_NS = 100_000;
/** A byte that is unpacked here. */
const READ_BYTE_NS = 1;
const PAGE_NS = 40_000;
/** A value that is decoded, crosses over and becomes a value of DuckDB again. */
export const VALUE_NS = 1_000;
/** A value that is decoded and compared. */
export const FILTERED_VALUE_NS = 200;
/**
 * Share of a scan that may be spent on finding out how many rows are left. Most often one of the 16
 * to 256 rows that an index tells is left.
 */
const VAIN_SHARE_MAX = 1 / 2;

/** Nanoseconds of processor time. */
export interface PagesPrices {
  /** The scan of the part. */
  readonly scannedNs: number;
  /** What is read next. Fewer rows may be left after it. */
  readonly nextNs: number;
  /** That and all that would be read if none were left out. */
  readonly wholeNs: number;
}

/** Whether pages are read at these prices. */
export type PaysPages = (prices: PagesPrices) => boolean;

/** Whether pages cost less than the scan, or little until that is known. */
export function pay({ scannedNs, nextNs, wholeNs }: PagesPrices): boolean {
  return wholeNs <= scannedNs || nextNs <= scannedNs * VAIN_SHARE_MAX;
}

/** What DuckDB's scan of some chunks costs. */
export function scanPrice(chunks: readonly Pick<ColumnChunk, "bytesDecompressed">[]): number {
  return chunks.reduce(
    (sum, { bytesDecompressed }) => sum + COLUMN_NS + bytesDecompressed * SCANNED_BYTE_NS,
    SCAN_NS,
  );
}

/** What reading some pages costs, given what each value does. */
export function readPrice(priced: readonly PricedPages[], valueNs: number): number {
  return priced.reduce((sum, { chunk: { bytesDecompressed }, pages, unpacked, allPages, rows }) => {
    const bytes = bytesDecompressed * unpacked / Math.max(1, allPages);
    return sum + bytes * READ_BYTE_NS + pages * PAGE_NS + rows * valueNs;
  }, 0);
}
