/** `GET /debug/memory-pool`: what the SQL engine's memory and spill space hold now, and who waits for them. */

import type { Engine, MemoryConsumer } from "../shared/engine/types.ts";
import { jsonResponse } from "../shared/http/error_response.ts";
import type { Admission, AdmissionState } from "./admission.ts";
import type { QueryMetrics } from "./metrics.ts";

/** The body, as SHAPES.md "Query server" has it. */
interface MemoryPoolReport {
  readonly limit_bytes: number;
  readonly reserved_bytes: number;
  readonly spill_bytes: number;
  readonly spill_limit_bytes: number;
  readonly admission: AdmissionState;
  readonly top_consumers: readonly MemoryConsumer[];
}

const TOP_CONSUMERS_MAX = 10;

export async function memoryPool(
  { engine, admission }: { readonly engine: Engine; readonly admission: Admission },
): Promise<Response> {
  const use = await engine.memory();
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

/** The same figures at each scrape. */
export function gaugeMemoryPool(metrics: QueryMetrics, engine: Pick<Engine, "memory">): void {
  metrics.poolBytes.readAtScrape(async () => (await engine.memory()).poolBytes, {});
  metrics.spillBytes.readAtScrape(async () => (await engine.memory()).spillBytes, {});
}
