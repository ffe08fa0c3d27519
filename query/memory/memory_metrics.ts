/** Metrics of `memory_parts.ts`: what each part may hold and holds. */

import type { Engine } from "../../shared/engine/types.ts";
import type { MemoryKeeper } from "../../shared/memory/memory_keeper.ts";
import type { MetricTable } from "../../shared/metrics/table.ts";
import type { Metrics } from "../../shared/metrics/metrics.ts";
import { GIVING_ORDER, PART_NAMES, type QueryMemoryPlan, type QueryPart } from "./memory_parts.ts";

export const MEMORY_METRICS = {
  memoryLimitBytes: {
    kind: "gauge",
    name: "svc_memory_limit_bytes",
    help: "Bytes that the process and its children may take together",
  },
  memoryResidentBytes: {
    kind: "gauge",
    name: "svc_memory_resident_bytes",
    help: "Bytes that they take, without pages of program files, about",
  },
  memoryPartLimitBytes: {
    kind: "gauge",
    name: "svc_memory_part_limit_bytes",
    help: "Bytes that each part of them may hold",
    labels: { part: PART_NAMES },
  },
  memoryPartBytes: {
    kind: "gauge",
    name: "svc_memory_part_bytes",
    help:
      "Bytes that each part holds now, about; server and processes: what no other part tells of",
    labels: { part: PART_NAMES },
  },
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

export function gaugeMemory(metrics: Metrics<typeof MEMORY_METRICS>, uses: MemoryUses): void {
  const { plan, keeper, engine, serverBytes, processBytes } = uses;
  metrics.memoryLimitBytes.set(plan.limitBytes, {});
  metrics.memoryResidentBytes.readAtScrape(() => serverBytes() + processBytes(), {});
  for (const part of PART_NAMES) {
    metrics.memoryPartLimitBytes.set(plan.bytes[part], { part });
  }
  const pool = async () => (await engine.memory()).poolBytes;
  const held = (part: QueryPart) =>
    part === "answers"
      ? uses.answersBytes()
      : part === "audit"
      ? uses.auditBytes()
      : keeper.bytesOf(part);
  const inServer = PART_NAMES.filter((part) => !OUTSIDE.has(part));
  const read: Readonly<Record<string, () => number | Promise<number>>> = {
    server: () => Math.max(0, serverBytes() - inServer.reduce((sum, one) => sum + held(one), 0)),
    processes: () => Math.min(plan.bytes.processes, processBytes()),
    pool,
    values: async () => Math.max(0, processBytes() - plan.bytes.processes - await pool()),
  };
  for (const part of PART_NAMES) {
    metrics.memoryPartBytes.readAtScrape(read[part] ?? (() => held(part)), { part });
  }
}

/** Not in the server's memory, or all of it. */
const OUTSIDE: ReadonlySet<QueryPart> = new Set(["server", "processes", "pool", "values"]);
