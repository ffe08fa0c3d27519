/**
 * Options of the cache of decoded source files: docs/api/command_line.md#options-of-the-servers.
 */

import type { OptionTable } from "../shared/config/options.ts";

export const SCAN_FILE_CACHE_OPTIONS = {
  queryScanFileCacheMaxBytes: {
    kind: "integer",
    flag: "query-scan-file-cache-max-bytes",
    env: "SVC_QUERY_SCAN_FILE_CACHE_MAX_BYTES",
    placeholder: "BYTES",
    default: 0,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    help: "Bytes of decompressed columns of data files in the cache directory, for queries that " +
      "read the same files again. Off unless --query-scan-file-cache-max-entries is " +
      "positive, too.",
  },
  queryScanFileCacheMaxEntries: {
    kind: "integer",
    flag: "query-scan-file-cache-max-entries",
    env: "SVC_QUERY_SCAN_FILE_CACHE_MAX_ENTRIES",
    placeholder: "N",
    default: 0,
    min: 0,
    max: 1_000_000,
    help: "Most data files of which this cache keeps columns; each set of columns counts by " +
      "itself.",
  },
} as const satisfies OptionTable;
