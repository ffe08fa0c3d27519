/** Every benchmark, in the order of the table in README.md. */

import type { Benchmark } from "./benchmark.ts";
import { COMMIT } from "./commit_benchmark.ts";
import { DECODE } from "./decode_benchmark.ts";
import { DISTRIBUTED } from "./distributed_benchmark.ts";
import { DRAIN } from "./drain_benchmark.ts";
import { FRESHNESS } from "./freshness_benchmark.ts";
import { HTTP2 } from "./http2_benchmark.ts";
import { INDEX } from "./index_benchmark.ts";
import { INGEST } from "./ingest_benchmark.ts";
import { JOBS } from "./jobs_benchmark.ts";
import { LATENCY } from "./latency_benchmark.ts";
import { LIVE } from "./live_benchmark.ts";
import { MEMORY } from "./memory_benchmark.ts";
import { MERGE } from "./merge_benchmark.ts";
import { METADATA } from "./metadata_benchmark.ts";
import { MIXED } from "./mixed_benchmark.ts";
import { OBJECT_STORE } from "./object_store_benchmark.ts";
import { PG } from "./pg_benchmark.ts";
import { PLAIN } from "./plain_benchmark.ts";
import { QUERY } from "./query_benchmark.ts";
import { RECOVERY } from "./recovery_benchmark.ts";
import { REMOTE } from "./remote_benchmark.ts";
import { SEARCH } from "./search_benchmark.ts";
import { SQL } from "./sql_benchmark.ts";
import { TRACES } from "./traces_benchmark.ts";
import { WEB } from "./web_benchmark.ts";

export const BENCHMARKS: readonly Benchmark[] = [
  DECODE,
  INGEST,
  HTTP2,
  LATENCY,
  MEMORY,
  DRAIN,
  INDEX,
  MERGE,
  COMMIT,
  SQL,
  SEARCH,
  PLAIN,
  QUERY,
  PG,
  METADATA,
  TRACES,
  JOBS,
  RECOVERY,
  MIXED,
  FRESHNESS,
  OBJECT_STORE,
  DISTRIBUTED,
  REMOTE,
  WEB,
  LIVE,
];
