/** Options that bound how much this server takes on: ingest/README.md#load. */

import { UsageError } from "../../shared/base/errors.ts";
import type { OptionTable, Settings } from "../../shared/config/options.ts";

export const BACKPRESSURE_OPTIONS = {
  ingestBackpressureCapacity: {
    kind: "integer",
    flag: "ingest-backpressure-capacity",
    placeholder: "n",
    default: 1024,
    min: 0,
    max: 1_000_000,
    help: "Most requests of a tenant whose rows wait for the WAL. Further ones are refused with " +
      "503. 0: no limit.",
  },
  ingestGroupCommitMs: {
    kind: "integer",
    flag: "ingest-group-commit-ms",
    placeholder: "ms",
    default: 0,
    min: 0,
    max: 1_000,
    help: "How long a lane's writer waits for more requests before it writes them together; " +
      "needs a capacity above 0.",
  },
  ingestBackpressureShards: {
    kind: "integer",
    flag: "ingest-backpressure-shards",
    placeholder: "n",
    default: 1,
    min: 1,
    max: 1_024,
    help: "Queues of each tenant, each with the full capacity. An index always uses the same " +
      "queue. Needs a capacity above 0.",
  },
  ingestIdempotencySecs: {
    kind: "integer",
    flag: "ingest-idempotency-secs",
    env: "SVC_INGEST_IDEMPOTENCY_SECS",
    placeholder: "secs",
    default: 600,
    min: 1,
    max: 86_400,
    help: "How long a lane remembers the X-Svc-Idempotency-Key of a request.",
  },
  ingestIdempotencyKeys: {
    kind: "integer",
    flag: "ingest-idempotency-keys",
    env: "SVC_INGEST_IDEMPOTENCY_KEYS",
    placeholder: "n",
    default: 100_000,
    min: 1,
    max: 10_000_000,
    help: "Most idempotency keys that a lane remembers. It keeps the newest.",
  },
  ingestMemLimitMib: {
    kind: "integer",
    flag: "ingest-mem-limit-mib",
    placeholder: "MiB",
    default: 0,
    min: 0,
    max: 16 * 1024 * 1024,
    help: "Limit of memory: rows are refused with 503 while resident memory is above it. 0: no " +
      "refusals.",
  },
  ingestMemSampleSecs: {
    kind: "integer",
    flag: "ingest-mem-sample-secs",
    placeholder: "secs",
    default: 60,
    min: 1,
    max: 86_400,
    help: "How often resident memory is measured.",
  },
} as const satisfies OptionTable;

export type BackpressureSettings = Settings<typeof BACKPRESSURE_OPTIONS>;

/** Throws `invalid_argument` for options that need a queue where there is none. */
export function requireQueueFor(settings: BackpressureSettings): void {
  if (settings.ingestBackpressureCapacity > 0) return;
  const { ingestGroupCommitMs, ingestBackpressureShards } = BACKPRESSURE_OPTIONS;
  const given = settings.ingestGroupCommitMs > 0
    ? `--${ingestGroupCommitMs.flag} ${settings.ingestGroupCommitMs}`
    : settings.ingestBackpressureShards > 1
    ? `--${ingestBackpressureShards.flag} ${settings.ingestBackpressureShards}`
    : undefined;
  if (given === undefined) return;
  throw new UsageError(
    `cannot use ${given} with --ingest-backpressure-capacity 0: it works on a tenant's queue; ` +
      `set a capacity above 0 or drop the option`,
  );
}
