/**
 * What routes that bring rows pass: the access check, then whether there is room for the rows now.
 */

import type { Clock } from "../../shared/os/clock.ts";
import { residentBytes } from "../../shared/os/resident_memory.ts";
import type { Admission } from "../admission.ts";
import { WriterQueues } from "./writer_queues.ts";
import { type BackpressureSettings, requireQueueFor } from "./backpressure_flags.ts";
import { GarbageWatch } from "./garbage_watch.ts";
import { collectGarbage } from "../../shared/os/garbage.ts";
import { MemoryBreaker } from "./memory_breaker.ts";
import type { IngestMetrics } from "../metrics.ts";

const BYTES_PER_MIB = 1024 * 1024;

/** What bounds this server; a part is undefined where its option switches it off. */
export class Backpressure implements AsyncDisposable {
  constructor(
    readonly queues: WriterQueues | undefined,
    readonly breaker: MemoryBreaker | undefined,
    readonly watch?: GarbageWatch,
  ) {}

  /**
   * `admission` for rows. Errors: its own, then the breaker's, then those of the tenant's queue.
   */
  guarded(admission: Pick<Admission, "admit">): Pick<Admission, "admit"> {
    const { queues, breaker, watch } = this;
    if (queues === undefined && breaker === undefined && watch === undefined) return admission;
    return {
      async admit(head, peer) {
        const tenant = await admission.admit(head, peer);
        watch?.look();
        breaker?.requireClosed();
        queues?.requireRoom(tenant);
        return tenant;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.breaker?.[Symbol.asyncDispose]();
  }
}

/**
 * Opens the backpressure that the options describe. Errors: `invalid_argument` for options that do
 * not go together.
 */
export function openBackpressure(
  settings: BackpressureSettings,
  parts: {
    metrics: IngestMetrics;
    clock: Clock;
    residentBytes?: () => number;
    /** Garbage is collected above it; undefined: when the runtime sees fit. */
    collectAboveBytes?: number;
  },
): Backpressure {
  requireQueueFor(settings);
  const { metrics } = parts;
  const capacity = settings.ingestBackpressureCapacity;
  const shards = settings.ingestBackpressureShards;
  const queues = capacity === 0 ? undefined : new WriterQueues({ capacity, shards }, metrics);
  const breaker = settings.ingestMemLimitMib === 0 ? undefined : new MemoryBreaker({
    collect: collectGarbage,
    limitBytes: settings.ingestMemLimitMib * BYTES_PER_MIB,
    sampleSecs: settings.ingestMemSampleSecs,
    residentBytes: parts.residentBytes ?? residentBytes,
    clock: parts.clock,
  });
  metrics.memBreakerOpen.readAtScrape(() => breaker?.isOpen ? 1 : 0, {});
  metrics.backpressureQueued.readAtScrape(() => queues?.taken ?? 0, {});
  const { collectAboveBytes: aboveBytes } = parts;
  const watch = aboveBytes === undefined
    ? undefined
    : new GarbageWatch({ aboveBytes, residentBytes, collect: collectGarbage, clock: parts.clock });
  return new Backpressure(queues, breaker, watch);
}
