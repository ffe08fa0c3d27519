/**
 * Options of a query server in tests that judge neither memory nor who waits for whom. All
 * statements share one DuckDB process, so a start takes a quarter less processor time, and no
 * statement has a low priority.
 */

const POOL_BYTES = String(900 * 2 ** 20);

export const ONE_DUCKDB: readonly string[] = [
  ...["--memory-pool-bytes", POOL_BYTES, "--dear-niceness", "0"],
];

/** The options for a process. */
export const ONE_DUCKDB_ENV = {
  SVC_QUERY_MEMORY_POOL_BYTES: POOL_BYTES,
  SVC_QUERY_DEAR_NICENESS: "0",
} as const;
