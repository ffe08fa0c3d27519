/**
 * What the ingest server holds, and how `--ingest-mem-limit-mib` is divided among it: the one place
 * from which its budgets and the metrics `svc_memory_…` are made. Without that option the limit is
 * `MEMORY_BYTES_DEFAULT`: more bodies at once would serve nobody.
 *
 * Idempotency keys have no part. Their number is bounded for each lane by
 * `--ingest-idempotency-keys`, about 200 bytes each, and the number of lanes by
 * `--ingest-max-lanes`.
 */

import { type MemoryPart, type MemoryPlan, planMemory } from "../shared/memory/memory_plan.ts";
import type { ThreadMemory } from "../shared/os/task_thread.ts";
import { STREAM_LIMITS } from "./stream/stream_limits.ts";

const MIB = 1024 ** 2;

export const MEMORY_BYTES_DEFAULT = 640 * MIB;

export const MEMORY_PARTS = {
  server: { what: "runtime, code, heaps of threads, what is written to the WAL", base: 156 * MIB },
  bodies: {
    what: "bodies of requests in flight, and the rows made of them; past it 503",
    share: 3,
    min: 24 * MIB,
    max: 256 * MIB,
  },
  streams: {
    what: "rows on their way to readers of streams; a reader past its part of it is cut off",
    share: 1,
    min: 8 * MIB,
    max: STREAM_LIMITS.readersMax * STREAM_LIMITS.readerBytesMax,
  },
} as const satisfies Readonly<Record<string, MemoryPart>>;

export type IngestPart = keyof typeof MEMORY_PARTS;
export function planIngestMemory(
  { ingestMemLimitMib }: { readonly ingestMemLimitMib: number },
): MemoryPlan<IngestPart> {
  const limitBytes = ingestMemLimitMib === 0 ? MEMORY_BYTES_DEFAULT : ingestMemLimitMib * MIB;
  return planMemory<IngestPart>(MEMORY_PARTS, { limitBytes });
}

/** Past this share of the limit the threads collect garbage behind each request. */
const THREADS_COLLECT_SHARE = 0.6;
/** Past this one the thread of the requests does, whose collections keep all senders waiting. */
const COLLECT_SHARE = 0.75;

export interface IngestMemory {
  readonly plan: MemoryPlan<IngestPart>;
  /** What the threads that decode and pack are told of it. */
  readonly threads: ThreadMemory;
  /** With more resident bytes than that, the thread of the requests collects garbage. */
  readonly collectAboveBytes: number;
}

export function ingestMemory(settings: { readonly ingestMemLimitMib: number }): IngestMemory {
  const plan = planIngestMemory(settings);
  const { limitBytes } = plan;
  const threads = {
    collectAboveBytes: Math.floor(THREADS_COLLECT_SHARE * limitBytes),
    heldBytes: new Map(),
  };
  return { plan, threads, collectAboveBytes: Math.floor(COLLECT_SHARE * limitBytes) };
}
