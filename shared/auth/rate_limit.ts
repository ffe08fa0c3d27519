/**
 * How often one caller may ask. The unit is a request, whatever it holds. Its size has a cap of its
 * own, and a limit that needs the decoded body would spend what it is to save.
 *
 * A caller is its bearer token, or in open mode its address. Not covered: how many different tokens
 * or addresses there are.
 */

import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { OperatingError } from "../base/errors.ts";
import type { Rate } from "./rate_limit_memory.ts";

/** Whom a request counts for. */
export interface Sender {
  /** Undefined in open mode. */
  readonly tokenDigest?: string;
  /** `X-Forwarded-For`; null when absent. */
  readonly forwardedFor: string | null;
  /** Address of the connection's other end. */
  readonly peer: string;
}

/** Where the budgets are kept. */
export interface Buckets extends Partial<AsyncDisposable> {
  /** Takes one from the bucket of `key`: 0, or the milliseconds until there is one again. */
  take(key: string): number | Promise<number>;
  /** Resolves when they are where they are kept, or cannot be for a while; at once when absent. */
  started?(): Promise<void>;
}

export interface RateLimiterOptions {
  readonly buckets: Buckets;
  readonly onRejected: () => void;
  /** What the caller is to do instead, for the error text: "send fewer and larger ones". */
  readonly advice: string;
}

const RETRY_AFTER_SECS_MAX = 5;

export class RateLimiter implements AsyncDisposable {
  readonly #options: RateLimiterOptions;

  constructor(options: RateLimiterOptions) {
    this.#options = options;
  }

  /** Resolves when requests may come, after some seconds at the latest. */
  async started(): Promise<void> {
    await this.#options.buckets.started?.();
  }

  /** Lets one request pass. Errors: `rate_limited` with whole seconds to wait, 1 to 5. */
  async admit(sender: Sender): Promise<void> {
    const { buckets, onRejected, advice } = this.#options;
    const waitMs = await buckets.take(senderKey(sender));
    if (waitMs === 0) return;
    onRejected();
    const retryAfterSecs = Math.min(Math.max(Math.ceil(waitMs / 1_000), 1), RETRY_AFTER_SECS_MAX);
    throw new OperatingError(
      "rate_limited",
      `cannot take more requests from this sender now: ${advice}, ` +
        `and this one again in ${retryAfterSecs} s`,
      { reason: "rate_limited", retryAfterSecs },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#options.buckets[Symbol.asyncDispose]?.();
  }
}

/**
 * Options as servers have them: a rate of 0 is no limit, a burst of 0 what the rate allows in one
 * second.
 */
export function rateOf(perSec: number, burst: number): Rate | undefined {
  return perSec === 0 ? undefined : { perSec, burst: burst || perSec };
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
  if (isIP(last) !== 0) return last;
  // Some gateways write the port, too, which changes with each connection.
  const [, v6, v4] = /^(?:\[([^\]]+)\]|([^:]+))(?::[0-9]+)?$/.exec(last) ?? [];
  const address = v6 ?? v4 ?? "";
  return isIP(address) === 0 ? peer : address;
}
