/** Whether reading pages of a part costs less than scanning its row groups. Pure. */

import type { ColumnChunk } from "../../../parquet/footer.ts";

/** Pages of a column chunk that hold wanted rows. */
export interface PricedPages {
  readonly chunk: Pick<ColumnChunk, "bytesDecompressed">;
  readonly pages: number;
  readonly allPages: number;
  /** Wanted rows of the row group. */
  readonly rows: number;
}

/**
 * Nanoseconds of processor time, fitted to ten rows in ten row groups of log rows, all columns or
 * two of them: a byte that DuckDB unpacks and decodes; a byte that is unpacked here; a page; a
 * value that is decoded, crosses over and becomes a value of DuckDB again.
 */
const SCANNED_BYTE_NS = 0.35;
const READ_BYTE_NS = 1.2;
const PAGE_NS = 40_000;
const VALUE_NS = 1_000;
/** What DuckDB takes to open a file and one of its row groups. */
const SCAN_NS = 300_000;

/** Nanoseconds of processor time. */
export interface PagesPrice {
  readonly scanned: number;
  readonly read: number;
}

/** What pages cost beside the scan of the chunks that they are of. */
export function pagesPrice(priced: readonly PricedPages[]): PagesPrice {
  let [scanned, read] = [SCAN_NS, 0];
  for (const { chunk: { bytesDecompressed }, pages, allPages, rows } of priced) {
    scanned += bytesDecompressed * SCANNED_BYTE_NS;
    const share = pages / Math.max(1, allPages);
    read += bytesDecompressed * share * READ_BYTE_NS + pages * PAGE_NS + rows * VALUE_NS;
  }
  return { scanned, read };
}

/** Share of a scan that may be spent on finding out how many rows are left. */
const VAIN_SHARE_MAX = 1 / 10;

/** Prices of the pages of a part. */
export interface PagesPrices {
  /** All columns, of all rows. */
  readonly whole: PagesPrice;
  /** The columns of the condition, of all rows. How many are left for the others is not known. */
  readonly first: PagesPrice;
}

/** Whether pages cost less than the scan, or next to nothing until that is known. */
export function pay({ whole, first }: PagesPrices): boolean {
  return whole.read <= whole.scanned || first.read <= whole.scanned * VAIN_SHARE_MAX;
}
