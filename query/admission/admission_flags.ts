/** Options of who waits for how long, and for what: query/README.md#admission. */

import type { OptionTable } from "../../shared/config/options.ts";

export const ADMISSION_OPTIONS = {
  admissionWaitMs: {
    kind: "integer",
    flag: "admission-wait-ms",
    env: "SVC_QUERY_ADMISSION_WAIT_MS",
    placeholder: "MS",
    default: 2000,
    min: 0,
    max: 60_000,
    help:
      "How long a query waits to be planned, and for its part of the memory pool, before it is refused with 429.",
  },
  dearWaitMs: {
    kind: "integer",
    flag: "dear-wait-ms",
    env: "SVC_QUERY_DEAR_WAIT_MS",
    placeholder: "MS",
    default: 10_000,
    min: 0,
    max: 300_000,
    help: "How long an expensive query waits for others to end before it is refused with 429. " +
      "Only a few of them run at a time.",
  },
  dearNiceness: {
    kind: "integer",
    flag: "dear-niceness",
    env: "SVC_QUERY_DEAR_NICENESS",
    placeholder: "N",
    default: 19,
    min: 0,
    max: 19,
    help: "Niceness (see nice(1)) of expensive queries and batch jobs, so that cheap queries go " +
      "first when processors are busy. Expensive ones then have their own DuckDB with three " +
      "quarters of memory pool and spill space. With 0 all share one DuckDB, and so they do " +
      "with a pool below 768 MiB, or where threads cannot have priorities.",
  },
  streamStallSecs: {
    kind: "integer",
    flag: "stream-stall-secs",
    env: "SVC_QUERY_STREAM_STALL_SECS",
    placeholder: "SECONDS",
    default: 30,
    min: 1,
    max: 3_600,
    help: "How long a client may read nothing of an NDJSON answer before the answer is ended.",
  },
  admissionMaxShareDivisor: {
    kind: "integer",
    flag: "admission-max-share-divisor",
    env: "SVC_QUERY_ADMISSION_MAX_SHARE_DIVISOR",
    placeholder: "N",
    default: 4,
    min: 1,
    max: 64,
    help: "One query, or one batch job, reserves at most the memory pool divided by this.",
  },
} as const satisfies OptionTable;
