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
import type { MetricTable } from "../shared/metrics/table.ts";
import { STREAM_LIMITS } from "./stream/stream_limits.ts";

const MIB = 1024 ** 2;

export const MEMORY_BYTES_DEFAULT = 640 * MIB;

export const MEMORY_PARTS = {
  server: { what: "runtime, code, heaps of threads, what is written to the WAL", base: 144 * MIB },
  bodies: {
    what: "bodies of requests in flight, and the rows made of them; past it 503",
    share: 2,
    min: 32 * MIB,
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
export const PART_NAMES = Object.keys(MEMORY_PARTS) as IngestPart[];
const HELD_PARTS = ["bodies", "streams"] as const satisfies readonly IngestPart[];

export const MEMORY_METRICS = {
  memoryPartLimitBytes: {
    kind: "gauge",
    name: "svc_memory_part_limit_bytes",
    help: "Bytes that each part of the process's memory may hold",
    labels: { part: PART_NAMES },
  },
  memoryPartBytes: {
    kind: "gauge",
    name: "svc_memory_part_bytes",
    help: "Bytes that each part holds now; server: resident memory less the others",
    labels: { part: PART_NAMES },
  },
} as const satisfies MetricTable;

export function planIngestMemory(
  { ingestMemLimitMib }: { readonly ingestMemLimitMib: number },
): MemoryPlan<IngestPart> {
  const limitBytes = ingestMemLimitMib === 0 ? MEMORY_BYTES_DEFAULT : ingestMemLimitMib * MIB;
  return planMemory<IngestPart>(MEMORY_PARTS, { limitBytes });
}

interface MemoryGauge {
  set(value: number, labels: { readonly part: string }): void;
  readAtScrape(read: () => number, labels: { readonly part: string }): void;
}

export function gaugeMemory(
  { memoryPartLimitBytes, memoryPartBytes }: {
    readonly memoryPartLimitBytes: MemoryGauge;
    readonly memoryPartBytes: MemoryGauge;
  },
  { plan, residentBytes, held }: {
    readonly plan: MemoryPlan<IngestPart>;
    readonly residentBytes: () => number;
    readonly held: Readonly<Record<typeof HELD_PARTS[number], () => number>>;
  },
): void {
  for (const part of PART_NAMES) memoryPartLimitBytes.set(plan.bytes[part], { part });
  for (const part of HELD_PARTS) memoryPartBytes.readAtScrape(held[part], { part });
  const heldBytes = () => HELD_PARTS.reduce((sum, part) => sum + held[part](), 0);
  memoryPartBytes.readAtScrape(() => Math.max(0, residentBytes() - heldBytes()), {
    part: "server",
  });
}
