/** What the SQL engine says of its memory: one row for each kind of use. */

import type { MemoryUse } from "./types.ts";

/** Gives rows for `memoryUse`. */
export const MEMORY_SQL =
  "SELECT tag, memory_usage_bytes, temporary_storage_bytes FROM duckdb_memory()";

export function memoryUse(
  rows: readonly (readonly (string | null)[])[],
): Pick<MemoryUse, "poolBytes" | "spillBytes" | "consumers"> {
  let poolBytes = 0;
  let spillBytes = 0;
  const consumers = [];
  for (const [tag, pool, spill] of rows) {
    const bytes = Number(pool ?? 0);
    poolBytes += bytes;
    spillBytes += Number(spill ?? 0);
    if (bytes > 0) consumers.push({ tag: (tag ?? "other").toLowerCase(), bytes });
  }
  consumers.sort((a, b) => b.bytes - a.bytes);
  return { poolBytes, spillBytes, consumers };
}
