/** Metrics of `memory_parts.ts`: what each part may hold and holds. */

import type { Engine } from "../../shared/engine/types.ts";
import type { MemoryKeeper } from "../../shared/memory/memory_keeper.ts";
import { gaugeMemory, memoryMetrics } from "../../shared/memory/memory_metrics.ts";
import type { MetricTable } from "../../shared/metrics/table.ts";
import type { Metrics } from "../../shared/metrics/metrics.ts";
import { GIVING_ORDER, MEMORY_PARTS, PART_NAMES } from "./memory_parts.ts";
import type { QueryMemoryPlan, QueryPart } from "./memory_parts.ts";

export const MEMORY_METRICS = {
  ...memoryMetrics<QueryPart>(MEMORY_PARTS),
  memoryGivenWayBytes: {
    kind: "counter",
    name: "svc_memory_given_way_bytes_total",
    help: "Bytes that caches gave up because the limit was near, by part",
    labels: { part: GIVING_ORDER },
  },
} as const satisfies MetricTable;

export interface MemoryUses {
  readonly plan: QueryMemoryPlan;
  readonly keeper: MemoryKeeper<QueryPart>;
  readonly engine: Pick<Engine, "memory">;
  /** Bytes of the server itself, and of its DuckDB processes, without pages of files. */
  readonly serverBytes: () => number;
  readonly processBytes: () => number;
  /** Bytes of the parts that are no caches. */
  readonly answersBytes: () => number;
  readonly auditBytes: () => number;
}

export function gaugeQueryMemory(
  metrics: Metrics<typeof MEMORY_METRICS>,
  uses: MemoryUses,
): void {
  const { plan, keeper, engine, serverBytes, processBytes } = uses;
  const pool = async () => (await engine.memory()).poolBytes;
  const heldBytes = (part: QueryPart) =>
    part === "answers"
      ? uses.answersBytes()
      : part === "audit"
      ? uses.auditBytes()
      : keeper.bytesOf(part);
  const inServer = PART_NAMES.filter((part) => !OUTSIDE.has(part));
  const caches = Object.fromEntries(inServer.map((part) => [part, () => heldBytes(part)]));
  const cacheBytes = () => inServer.reduce((sum, part) => sum + heldBytes(part), 0);
  gaugeMemory<QueryPart>(metrics, {
    plan,
    residentBytes: () => serverBytes() + processBytes(),
    held: {
      ...caches,
      server: () => Math.max(0, serverBytes() - cacheBytes()),
      processes: () => Math.min(plan.bytes.processes, processBytes()),
      pool,
      values: async () => Math.max(0, processBytes() - plan.bytes.processes - await pool()),
    },
  });
}

/** Not in the server's memory, or all of it. */
const OUTSIDE: ReadonlySet<QueryPart> = new Set(["server", "processes", "pool", "values"]);
