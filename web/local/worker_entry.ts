/**
 * A module with two lives. The page imports it to learn its address, which holds a hash; a worker
 * that is started from that address becomes DuckDB's. So the build needs no second entry.
 */

export const workerUrl: string = import.meta.url;

/** What the worker says once it takes messages. */
export const WORKER_READY = "duckdb worker ready";

if (typeof document === "undefined") {
  // In this order: DuckDB takes what the guard leaves.
  await import("./network_guard.ts");
  await import("@duckdb/duckdb-wasm/dist/duckdb-browser-eh.worker.js");
  globalThis.postMessage(WORKER_READY);
}
