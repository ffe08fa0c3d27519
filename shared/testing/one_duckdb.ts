/**
 * An option of a query server in tests that judge neither memory nor who waits for whom. With a
 * pool below 1 GiB all statements share one DuckDB process, so a start takes a quarter less
 * processor time, and no statement has a low priority. The pool is large enough for rows in memory.
 */

const POOL_BYTES = String(900 * 2 ** 20);

export const ONE_DUCKDB: readonly string[] = ["--memory-pool-bytes", POOL_BYTES];

/** The option for a process. */
export const ONE_DUCKDB_ENV = { SVC_QUERY_MEMORY_POOL_BYTES: POOL_BYTES } as const;
