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
    help:
      "How long an expensive query waits for another one to end before it is refused with 429; few of them run at once.",
  },
  dearNiceness: {
    kind: "integer",
    flag: "dear-niceness",
    env: "SVC_QUERY_DEAR_NICENESS",
    placeholder: "N",
    default: 19,
    min: 0,
    max: 19,
    help:
      "Niceness (as of nice(1)) of expensive queries and batch jobs, so that cheap ones go first where processors are " +
      "short. They have a DuckDB of their own then, and three quarters of memory pool and spill space. With 0 they run " +
      "beside the others. So they do with a pool below 1 GiB and where threads have no priority of their own.",
  },
  streamStallSecs: {
    kind: "integer",
    flag: "stream-stall-secs",
    env: "SVC_QUERY_STREAM_STALL_SECS",
    placeholder: "SECONDS",
    default: 30,
    min: 1,
    max: 3_600,
    help: "A client that takes nothing of an NDJSON answer for this long is given up.",
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
