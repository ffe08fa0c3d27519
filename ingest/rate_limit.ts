/**
 * How fast one sender may write: SPEC.md sections 5 and 8. The unit is a request, whatever it
 * holds: its size has a cap of its own, and a limit that needs the body decoded would spend what it
 * is to save.
 *
 * A sender is its bearer token, or in open mode its address. Not covered: how many different tokens
 * or addresses there are.
 */

import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { OperatingError } from "../shared/base/errors.ts";
import type { Clock } from "../shared/os/clock.ts";
import type { IngestMetrics } from "./metrics.ts";
import { MemoryBuckets, type Rate } from "./rate_limit_memory.ts";
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

/** Whom a request counts for. */
export interface Sender {
  /** Undefined in open mode. */
  readonly tokenDigest?: string;
  /** `X-Forwarded-For`; null when absent. */
  readonly forwardedFor: string | null;
  /** Address of the connection's other end. */
  readonly peer: string;
}

type RateMetrics = Pick<IngestMetrics, "rateLimitRejected" | "rateLimitUnchecked">;

export interface RateLimiterDeps {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly metrics: RateMetrics;
}

/**
 * Buckets in memory: about 35 MB when all are in use. Past it the one least recently used is
 * forgotten.
 */
const BUCKETS_MAX = 100_000;
const RETRY_AFTER_SECS_MAX = 5;

export class RateLimiter implements AsyncDisposable {
  readonly #buckets: MemoryBuckets | RedisBuckets;
  readonly #metrics: RateMetrics;

  constructor(buckets: MemoryBuckets | RedisBuckets, metrics: RateMetrics) {
    this.#buckets = buckets;
    this.#metrics = metrics;
  }

  /** Lets one request pass. Errors: `rate_limited` with whole seconds to wait, 1 to 5. */
  async admit(sender: Sender): Promise<void> {
    const waitMs = await this.#buckets.take(senderKey(sender));
    if (waitMs === 0) return;
    this.#metrics.rateLimitRejected.add(1, {});
    const retryAfterSecs = Math.min(Math.max(Math.ceil(waitMs / 1_000), 1), RETRY_AFTER_SECS_MAX);
    throw new OperatingError(
      "rate_limited",
      "cannot take more requests from this sender now: send fewer and larger ones, " +
        `and this one again in ${retryAfterSecs} s`,
      { reason: "rate_limited", retryAfterSecs },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#buckets instanceof RedisBuckets) await this.#buckets[Symbol.asyncDispose]();
  }
}

/** Undefined when there is no limit. Errors: `invalid_argument` for a Redis URL that is none. */
export function createRateLimiter(
  options: RateOptions,
  { clock, metrics }: RateLimiterDeps,
): RateLimiter | undefined {
  const { ingestRatePerSec: perSec, ingestRateRedisUrl: url } = options;
  if (perSec === 0) return undefined;
  const rate: Rate = { perSec, burst: options.ingestRateBurst || perSec };
  if (url === undefined) {
    return new RateLimiter(new MemoryBuckets(rate, { clock, bucketsMax: BUCKETS_MAX }), metrics);
  }
  const unchecked = metrics.rateLimitUnchecked.at({});
  const buckets = new RedisBuckets(rate, {
    url,
    prefix: options.ingestRateRedisPrefix,
    clock,
    onUnchecked: () => unchecked.add(1),
  });
  return new RateLimiter(buckets, metrics);
}

/** A digest in hexadecimal: neither tokens nor addresses are kept. */
export function senderKey(sender: Sender): string {
  return sender.tokenDigest ??
    createHash("sha256").update(`ip:${senderAddress(sender)}`).digest("hex");
}

/**
 * The last address of `X-Forwarded-For`, which is what the nearest proxy saw; those before it are
 * whatever a client wrote. Without a usable one, the connection's. Where clients connect directly,
 * they can choose it: use tokens there.
 */
function senderAddress({ forwardedFor, peer }: Sender): string {
  const last = forwardedFor?.slice(forwardedFor.lastIndexOf(",") + 1).trim() ?? "";
  return isIP(last) === 0 ? peer : last;
}
