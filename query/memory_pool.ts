/**
 * `GET /debug/memory-pool`: what DuckDB's memory and spill space hold now, and who waits for them.
 * A caller who is one of many tenants is told of that tenant alone.
 */

import type { Engine, MemoryConsumer, MemoryUse } from "../shared/engine/types.ts";
import { jsonResponse } from "../shared/http/error_response.ts";
import type { Admission, AdmissionState } from "./admission/admission.ts";
import type { QueryMetrics } from "./metrics/metrics.ts";
import type { QueryCaller } from "./query_caller.ts";

/** The body, described in docs/api/query.md#memory-pool. */
interface MemoryPoolReport {
  readonly limit_bytes: number;
  readonly reserved_bytes: number;
  readonly spill_bytes: number;
  readonly spill_limit_bytes: number;
  readonly admission: AdmissionState;
  readonly top_consumers: readonly MemoryConsumer[];
}

const TOP_CONSUMERS_MAX = 10;

interface MemoryPoolService {
  readonly engine: Engine;
  readonly admission: Admission;
}

/** 200 with the report, or with the caller's own figures. Errors: those of `Engine.memory`. */
export async function memoryPool(
  { engine, admission }: MemoryPoolService,
  { tenant, isOneOfMany = false }: Pick<QueryCaller, "tenant" | "isOneOfMany">,
): Promise<Response> {
  const use = await engine.memory();
  if (isOneOfMany) return jsonResponse(ownReport(use, admission.state(tenant)));
  const report: MemoryPoolReport = {
    limit_bytes: use.poolBytesMax,
    reserved_bytes: use.poolBytes,
    spill_bytes: use.spillBytes,
    spill_limit_bytes: use.spillBytesMax,
    admission: admission.state(),
    top_consumers: use.consumers.slice(0, TOP_CONSUMERS_MAX),
  };
  return jsonResponse(report);
}

/**
 * DuckDB does not tell whose memory is whose. What a tenant holds is what its statements reserved,
 * and its spilled bytes are 0.
 */
function ownReport(
  { poolBytesMax, spillBytesMax }: MemoryUse,
  admission: AdmissionState,
): MemoryPoolReport {
  return {
    limit_bytes: poolBytesMax,
    reserved_bytes: admission.reserved_bytes,
    spill_bytes: 0,
    spill_limit_bytes: spillBytesMax,
    admission,
    top_consumers: [],
  };
}

/** Reads the pool's and the spill space's gauges from the engine at each scrape. */
export function gaugeMemoryPool(metrics: QueryMetrics, engine: Pick<Engine, "memory">): void {
  metrics.poolBytes.readAtScrape(async () => (await engine.memory()).poolBytes, {});
  metrics.spillBytes.readAtScrape(async () => (await engine.memory()).spillBytes, {});
}
