/**
 * An option of a query server whose memory pool is divided, in tests. With the default niceness of
 * 19 its expensive statements, and the start of their DuckDB, get no processor time for long where
 * other tests run beside it.
 */
export const YIELD_LITTLE: readonly string[] = ["--dear-niceness", "1"];

/** The option for a process. */
export const YIELD_LITTLE_ENV = { SVC_QUERY_DEAR_NICENESS: "1" } as const;
