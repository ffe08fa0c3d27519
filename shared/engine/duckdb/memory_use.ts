/**
 * What DuckDB says of its memory: one row for each kind of use, of one database or of several.
 */

import type { MemoryUse } from "../types.ts";

/** SQL that gives rows for `memoryUse`. */
export const MEMORY_SQL =
  "SELECT tag, memory_usage_bytes, temporary_storage_bytes FROM duckdb_memory()";

/** Adds up rows of `MEMORY_SQL`. Bytes; consumers with the largest first. */
export function memoryUse(
  rows: readonly (readonly (string | null)[])[],
): Pick<MemoryUse, "poolBytes" | "spillBytes" | "consumers"> {
  let poolBytes = 0;
  let spillBytes = 0;
  const byTag = new Map<string, number>();
  for (const [name, pool, spill] of rows) {
    const tag = (name ?? "other").toLowerCase();
    const bytes = Number(pool ?? 0);
    poolBytes += bytes;
    spillBytes += Number(spill ?? 0);
    if (bytes > 0) byTag.set(tag, bytes + (byTag.get(tag) ?? 0));
  }
  const consumers = Array.from(byTag, ([tag, bytes]) => ({ tag, bytes }));
  consumers.sort((a, b) => b.bytes - a.bytes);
  return { poolBytes, spillBytes, consumers };
}
