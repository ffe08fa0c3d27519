/**
 * What the query server and its DuckDB processes hold, and how the memory limit is divided among
 * it. The one place: flags' defaults, README.md's table and the metrics `svc_memory_…` are made of
 * it. Caches give way in the order of `GIVING_ORDER`.
 */

import { type MemoryPart, type MemoryPlan, planMemory } from "../../shared/memory/memory_plan.ts";
import { DIVIDED_POOL_BYTES_MIN } from "../../shared/engine/limits.ts";
import { headroomBytesFor } from "../../shared/engine/duckdb/process/resident_watch.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/**
 * Resident memory of the server without pages of files and caches, when it is busy; and of a DuckDB
 * process before its first statement. Measured (`docs/measurements/` has the runs).
 */
const SERVER_BYTES = 112 * MIB;
const PROCESS_BYTES = 36 * MIB;

export const POOL_BYTES_MIN = 32 * MIB;

export const MEMORY_PARTS = {
  server: {
    what: "the server's own: runtime, code, heaps of its threads, statements being planned",
    base: SERVER_BYTES,
  },
  processes: { what: "DuckDB's processes before their first statement", base: PROCESS_BYTES },
  pool: {
    what: "DuckDB's memory pool, of both processes where there are two",
    share: 64,
    min: POOL_BYTES_MIN,
  },
  values: {
    what:
      "what functions make of texts, and DuckDB counts in no pool; past half of it statements " +
      "are stopped",
    share: 20,
    min: 16 * MIB,
  },
  answers: {
    what: "answers held until they are sent; one alone has 256 MiB at most",
    share: 10,
    min: 12 * MIB,
    max: GIB,
  },
  audit: { what: "rows of query_audit on their way", share: 2, min: 2 * MIB, max: 64 * MIB },
  parsed_index: {
    what: "headers and answers of data files' indexes",
    share: 10,
    min: 4 * MIB,
    max: 256 * MIB,
  },
  puffin_blob: { what: "pieces of those indexes", share: 3, min: 2 * MIB, max: 32 * MIB },
  table_answers: { what: "sums of data files' summaries", share: 8, min: 4 * MIB, max: 256 * MIB },
  table_metadata: {
    what: "metadata and manifests of tables",
    share: 3,
    min: 4 * MIB,
    max: 64 * MIB,
  },
  footers: { what: "footers of data files", share: 2, min: 2 * MIB, max: 64 * MIB },
  pages: {
    what: "pages of data files that few rows are read of again and again, unpacked",
    share: 2,
    min: 2 * MIB,
    max: 8 * MIB,
  },
  edge_times: {
    what: "times around the ends of ranges",
    share: 1,
    min: MIB,
    max: 4 * MIB,
  },
  statements: {
    what: "trees and columns of statements asked again",
    share: 2,
    min: 2 * MIB,
    max: 8 * MIB,
  },
  hot_caches: {
    what: "`last_values` and `distinct_values`; nothing without --query-hot-caches",
    share: 2,
    min: 2 * MIB,
    max: 64 * MIB,
  },
  trace_names: { what: "names of services and operations", share: 1, min: MIB, max: 32 * MIB },
} as const satisfies Readonly<Record<string, MemoryPart>>;

export type QueryPart = keyof typeof MEMORY_PARTS;
export const PART_NAMES = Object.keys(MEMORY_PARTS) as QueryPart[];

/** First what is read again at the least cost, last what takes a pass over many files. */
export const GIVING_ORDER = [
  "pages",
  "puffin_blob",
  "statements",
  "edge_times",
  "footers",
  "trace_names",
  "table_metadata",
  "parsed_index",
  "hot_caches",
  "table_answers",
] as const satisfies readonly QueryPart[];

export type QueryMemoryPlan = MemoryPlan<QueryPart> & {
  /** What each DuckDB process may take beyond its pool before its statements are stopped. */
  readonly headroomBytes: number;
  /** DuckDB's threads at most: each holds what it decompresses. */
  readonly threadsMax: number;
};

/** A thread of a scan holds about so much of the pool. */
const POOL_BYTES_PER_THREAD = 20 * MIB;

export function planQueryMemory(
  limitBytes: number,
  { dearNiceness, ...given }: {
    readonly pool?: number | undefined;
    readonly parsed_index?: number | undefined;
    readonly puffin_blob?: number | undefined;
    /** 0: there is one DuckDB process, whatever the pool. */
    readonly dearNiceness: number;
  },
): QueryMemoryPlan {
  const single = planMemory<QueryPart>(MEMORY_PARTS, { limitBytes, given });
  const isDivided = dearNiceness > 0 && single.bytes.pool >= DIVIDED_POOL_BYTES_MIN;
  const processes = isDivided ? 2 : 1;
  const all = { ...given, processes: processes * PROCESS_BYTES };
  const first = planMemory<QueryPart>(MEMORY_PARTS, { limitBytes, given: all });
  // Past it statements are interrupted, past twice as much their process is ended.
  const headroomBytes = Math.min(
    headroomBytesFor(first.bytes.pool),
    Math.floor(first.bytes.values / (2 * processes)),
  );
  const values = 2 * processes * headroomBytes;
  const given2 = { ...all, pool: first.bytes.pool, values };
  const plan = planMemory<QueryPart>(MEMORY_PARTS, { limitBytes, given: given2 });
  return {
    ...plan,
    headroomBytes,
    threadsMax: Math.max(1, Math.floor(plan.bytes.pool / processes / POOL_BYTES_PER_THREAD)),
  };
}
