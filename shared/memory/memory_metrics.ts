/**
 * Metrics of a role's memory plan, made from its table of parts: the limit, what is resident, and
 * for each part what it may hold and holds.
 */

import type { Metrics } from "../metrics/metrics.ts";
import type { MetricTable } from "../metrics/table.ts";
import type { MemoryPart, MemoryPlan } from "./memory_plan.ts";

/** The rows of a role's metric table: `...memoryMetrics(MEMORY_PARTS)`. */
export function memoryMetrics<N extends string>(parts: Readonly<Record<N, MemoryPart>>) {
  const part = Object.keys(parts) as N[];
  return {
    memoryLimitBytes: {
      kind: "gauge",
      name: "svc_memory_limit_bytes",
      help: "Bytes that the process and its children may take together",
    },
    memoryResidentBytes: {
      kind: "gauge",
      name: "svc_memory_resident_bytes",
      help: "Bytes that they take, about",
    },
    memoryPartLimitBytes: {
      kind: "gauge",
      name: "svc_memory_part_limit_bytes",
      help: "Bytes that each part of them may hold",
      labels: { part },
    },
    memoryPartBytes: {
      kind: "gauge",
      name: "svc_memory_part_bytes",
      help: "Bytes that each part holds now, about",
      labels: { part },
    },
  } as const satisfies MetricTable;
}

type Handles = Metrics<ReturnType<typeof memoryMetrics<string>>>;
type ReadBytes = () => number | Promise<number>;

export interface PartUse<N extends string> {
  readonly plan: MemoryPlan<N>;
  readonly residentBytes: () => number;
  /** What each part holds now. One that is absent holds what the others leave of the process. */
  readonly held: { readonly [K in N]?: ReadBytes };
}

/** Sets the limits, and has what is held read at each scrape. */
export function gaugeMemory<N extends string>(
  metrics: Pick<
    Handles,
    "memoryLimitBytes" | "memoryResidentBytes" | "memoryPartLimitBytes" | "memoryPartBytes"
  >,
  { plan, residentBytes, held }: PartUse<N>,
): void {
  metrics.memoryLimitBytes.set(plan.limitBytes, {});
  metrics.memoryResidentBytes.readAtScrape(residentBytes, {});
  const rest = async () => {
    const all = await Promise.all(
      Object.values<ReadBytes>(held as Record<N, ReadBytes>)
        .map((read) => read()),
    );
    return Math.max(0, residentBytes() - all.reduce((sum, bytes) => sum + bytes, 0));
  };
  for (const part of Object.keys(plan.bytes) as N[]) {
    metrics.memoryPartLimitBytes.set(plan.bytes[part], { part });
    metrics.memoryPartBytes.readAtScrape(held[part] ?? rest, { part });
  }
}
