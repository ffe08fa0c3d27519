/** The ingest server's rate limit per sender (`shared/auth/rate_limit.ts`), from its options. */

import { RateLimiter, rateOf } from "../../shared/auth/rate_limit.ts";
import { MemoryBuckets } from "../../shared/auth/rate_limit_memory.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { IngestMetrics } from "../metrics.ts";
import { RedisBuckets } from "./rate_limit_redis.ts";

export interface RateOptions {
  /** 0: no limit. */
  readonly ingestRatePerSec: number;
  /** 0: what the rate allows in one second. */
  readonly ingestRateBurst: number;
  /** Without it each process counts for itself. */
  readonly ingestRateRedisUrl: string | undefined;
  readonly ingestRateRedisPrefix: string;
}

export interface RateLimiterDeps {
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly metrics: Pick<
    IngestMetrics,
    "rateLimitRejected" | "rateLimitUnchecked" | "rateLimitAwaySecs"
  >;
}

/** Undefined when there is no limit. */
export function createRateLimiter(
  options: RateOptions,
  { clock, metrics }: RateLimiterDeps,
): RateLimiter | undefined {
  const rate = rateOf(options.ingestRatePerSec, options.ingestRateBurst);
  if (rate === undefined) return undefined;
  const { ingestRateRedisUrl: url, ingestRateRedisPrefix: prefix } = options;
  const rejected = metrics.rateLimitRejected.at({});
  const unchecked = metrics.rateLimitUnchecked.at({});
  const onUnchecked = () => unchecked.add(1);
  const shared = url === undefined
    ? undefined
    : new RedisBuckets(rate, { url, prefix, clock, onUnchecked });
  metrics.rateLimitAwaySecs.readAtScrape(() => shared?.awaySecs ?? 0, {});
  return new RateLimiter({
    buckets: shared ?? new MemoryBuckets(rate, { clock }),
    onRejected: () => rejected.add(1),
    advice: "send fewer and larger ones",
  });
}
