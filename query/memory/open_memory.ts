/**
 * The query server's memory: its plan, made of the settings and the system's limit, and the keeper
 * of its caches.
 */

import { getLogger } from "@logtape/logtape";
import { formatBytes } from "../../shared/base/bytes.ts";
import { IdleGarbage } from "../../shared/memory/idle_garbage.ts";
import { MemoryKeeper } from "../../shared/memory/memory_keeper.ts";
import { collectGarbage } from "../../shared/os/garbage.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { Engine } from "../../shared/engine/types.ts";
import type { Metrics } from "../../shared/metrics/metrics.ts";
import { gaugeQueryMemory, type MEMORY_METRICS, type MemoryUses } from "./memory_metrics.ts";
import { memoryLimitBytes } from "../../shared/os/memory_limit.ts";
import { residentBytes } from "../../shared/os/resident_memory.ts";
import type { QuerySettings } from "../flags.ts";
import {
  GIVING_ORDER,
  planQueryMemory,
  type QueryMemoryPlan,
  type QueryPart,
} from "./memory_parts.ts";

/**
 * Bytes of program files' pages that a process has in memory. They are shared, and the system takes
 * them back when it wants to: no limit of a container is hit because of them. Measured, of a server
 * and of a process with DuckDB's library.
 */
const SERVER_FILE_BYTES = 48 * 1024 ** 2;
const PROCESS_FILE_BYTES = 64 * 1024 ** 2;

type MemorySettings = Pick<
  QuerySettings,
  | "memoryBytes"
  | "memoryPoolBytes"
  | "queryParsedIndexCacheMaxBytes"
  | "queryPuffinBlobCacheMaxBytes"
  | "dearNiceness"
>;

function memoryPlanOf(settings: MemorySettings): QueryMemoryPlan {
  return planQueryMemory(settings.memoryBytes ?? memoryLimitBytes(), {
    pool: settings.memoryPoolBytes,
    parsed_index: settings.queryParsedIndexCacheMaxBytes,
    puffin_blob: settings.queryPuffinBlobCacheMaxBytes,
    dearNiceness: settings.dearNiceness,
  });
}

function warnOfMemory({ excessBytes, limitBytes }: QueryMemoryPlan): void {
  if (excessBytes === 0) return;
  getLogger(["svc", "query"]).warning(
    "the parts of memory come to {excess} more than the limit of {limit}: give a larger " +
      "--memory-bytes, or less to --memory-pool-bytes and the caches",
    { excess: formatBytes(excessBytes), limit: formatBytes(limitBytes) },
  );
}

/** Bytes of this process, without pages of files. */
function serverBytes(): number {
  return Math.max(0, residentBytes() - SERVER_FILE_BYTES);
}

/** Bytes of DuckDB's processes, whose resident memory is given, without pages of files. */
function processBytes(residentEach: readonly number[]): number {
  return residentEach.reduce((sum, bytes) => sum + Math.max(0, bytes - PROCESS_FILE_BYTES), 0);
}

export interface QueryMemory extends Disposable {
  readonly plan: QueryMemoryPlan;
  readonly keeper: MemoryKeeper<QueryPart>;
  /** From now on caches give way while the limit is near, and garbage is collected in pauses. */
  watch(engine: Engine, held: Pick<MemoryUses, "answersBytes" | "auditBytes">): void;
}

/** The plan is warned of where its parts exceed the limit. */
export function openMemory(
  settings: MemorySettings,
  { clock, metrics }: { readonly clock: Clock; readonly metrics: Metrics<typeof MEMORY_METRICS> },
): QueryMemory {
  const plan = memoryPlanOf(settings);
  warnOfMemory(plan);
  let watched: Engine | undefined;
  const processes = () => processBytes(watched?.residentBytes ?? []);
  const keeper = new MemoryKeeper<QueryPart>({
    limitBytes: plan.limitBytes,
    order: GIVING_ORDER,
    residentBytes: () => serverBytes() + processes(),
    collect: collectGarbage,
    nowMs: () => clock.monotonicMs(),
    onGiven: (part, bytes) => metrics.memoryGivenWayBytes.add(bytes, { part }),
  });
  const garbage = new IdleGarbage({
    residentBytes,
    isIdle: () => watched?.isIdle === true,
    collect: collectGarbage,
    nowMs: () => clock.monotonicMs(),
  });
  return {
    plan,
    keeper,
    watch(engine, held) {
      watched = engine;
      gaugeQueryMemory(metrics, {
        ...{ plan, keeper, engine, serverBytes, ...held },
        processBytes: processes,
      });
      keeper.start();
      garbage.start();
    },
    [Symbol.dispose]() {
      garbage[Symbol.dispose]();
      keeper[Symbol.dispose]();
    },
  };
}
