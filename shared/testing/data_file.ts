/** Data files that nobody wrote, for tests of what is planned with them. */

import type { DataFile } from "../iceberg/types.ts";

/** A file of one row group without any figures, but for `known`. */
export function dataFile(known: Partial<DataFile> = {}): DataFile {
  return {
    key: "file.parquet",
    location: "memory:///file.parquet",
    rows: 0,
    byteLength: 0,
    day: 0,
    timestampNsMin: undefined,
    timestampNsMax: undefined,
    lowerBounds: new Map(),
    upperBounds: new Map(),
    nullCounts: new Map(),
    valueCounts: new Map(),
    columnSizes: new Map(),
    splitOffsets: [4],
    sortOrderId: 0,
    ...known,
  };
}
