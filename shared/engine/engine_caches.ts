/**
 * The engine's caches in memory: what each may hold, and who is told of them, so that they can be
 * asked to give way. What lies in the cache directory, or in DuckDB's pool, is none of them.
 */

import type { GivingCache } from "../memory/memory_keeper.ts";

const MIB = 1024 ** 2;

/** Bytes where nobody divides the memory: in tests, and programs that run one statement. */
export const ENGINE_CACHE_BYTES = {
  /** Metadata and manifests of tables, decoded. */
  table_metadata: 64 * MIB,
  /** Parquet footers of data files. */
  footers: 64 * MIB,
  /** Pages of data files that were read again and again, unpacked. */
  pages: 8 * MIB,
  /** Instants around the ends of ranges of time. */
  edge_times: 4 * MIB,
  /** Trees, texts, values and columns of statements. */
  statements: 8 * MIB,
  /** Summaries of WAL segments. */
  hot_caches: 64 * MIB,
  /** What is kept of tables' summaries. */
  table_answers: 256 * MIB,
} as const;

export type EngineCacheName = keyof typeof ENGINE_CACHE_BYTES | "parsed_index" | "puffin_blob";

export interface EngineCaches {
  /** Default: `ENGINE_CACHE_BYTES`. */
  readonly bytes?: { readonly [K in keyof typeof ENGINE_CACHE_BYTES]?: number };
  /** Is given each cache once, when the engine opens. */
  readonly keep?: (name: EngineCacheName, cache: GivingCache) => void;
}
