/** Options of the index caches: docs/api/command_line.md#options-of-the-servers. */

import type { OptionTable } from "../shared/config/options.ts";

const BYTES_MAX = Number.MAX_SAFE_INTEGER;

export const INDEX_CACHE_OPTIONS = {
  queryParsedIndexCacheMaxBytes: {
    kind: "integer",
    flag: "query-parsed-index-cache-max-bytes",
    env: "SVC_PARSED_INDEX_CACHE_MAX_BYTES",
    placeholder: "BYTES",
    min: 0,
    max: BYTES_MAX,
    help: "Memory for headers of data files' indexes and for answers found in them; 0: none. " +
      "When not given: a part of --memory-bytes, 256 MiB at most.",
  },
  queryPuffinBlobCacheMaxBytes: {
    kind: "integer",
    flag: "query-puffin-blob-cache-max-bytes",
    env: "SVC_PUFFIN_BLOB_CACHE_MAX_BYTES",
    placeholder: "BYTES",
    min: 0,
    max: BYTES_MAX,
    help: "Memory for pieces of data files' indexes as they are stored; 0: none. When not " +
      "given: a part of --memory-bytes, 32 MiB at most.",
  },
  queryPuffinBlobCacheMaxEntries: {
    kind: "integer",
    flag: "query-puffin-blob-cache-max-entries",
    env: "SVC_PUFFIN_BLOB_CACHE_MAX_ENTRIES",
    placeholder: "N",
    default: 128,
    min: 1,
    max: 10_000_000,
    help: "Most pieces that this cache keeps.",
  },
} as const satisfies OptionTable;
