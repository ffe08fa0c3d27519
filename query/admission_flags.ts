/** Options of admission to the memory pool: SPEC.md section 8. */

import type { OptionTable } from "../shared/config/options.ts";

export const ADMISSION_OPTIONS = {
  admissionWaitMs: {
    kind: "integer",
    flag: "admission-wait-ms",
    env: "SVC_QUERY_ADMISSION_WAIT_MS",
    placeholder: "MS",
    default: 2000,
    min: 0,
    max: 60_000,
    help: "How long a query waits for its part of the memory pool before it is refused with 429.",
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
