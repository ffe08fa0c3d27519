/**
 * What one lane remembers of the requests that had an idempotency key: the newest ones, up to an
 * age and a number. Memory only; `key_files.ts` and the frames hold what outlives the process.
 *
 * Invariant: keys are kept in the order in which they were first seen, so the oldest are in front.
 */

import { OperatingError } from "../base/errors.ts";
import type { Clock } from "../os/clock.ts";
import type { FrameKey } from "./frame_key.ts";
import type { AppendReceipt } from "./types.ts";

export interface KeyWindowOptions {
  /** Keys older than this are forgotten. */
  readonly keyAgeMsMax: number;
  /** Beyond so many keys the oldest are forgotten. */
  readonly keysMax: number;
  readonly clock: Pick<Clock, "nowMs" | "monotonicMs">;
}

/** One remembered request. */
export interface KnownRequest {
  readonly bodyDigest: string;
  /**
   * When it was taken, by the monotonic clock: the wall clock may jump by hours, and its repetition
   * comes a moment later.
   */
  readonly bornMs: number;
  /** How the request goes, until its rows are written for good. */
  pending: Promise<AppendReceipt> | undefined;
  /** Holds the rows once they are written. */
  segment: string | undefined;
}

export class KeyWindow {
  readonly #options: KeyWindowOptions;
  readonly #known = new Map<string, KnownRequest>();

  constructor(options: KeyWindowOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#known.size;
  }

  /**
   * The request that had this key, if it is remembered. Errors: `unprocessable` when that one had
   * another body.
   */
  find(key: FrameKey): KnownRequest | undefined {
    const known = this.#known.get(textOfDigest(key.digest));
    const { clock, keyAgeMsMax } = this.#options;
    if (known === undefined || clock.monotonicMs() - known.bornMs > keyAgeMsMax) return undefined;
    if (known.bodyDigest === textOfDigest(key.bodyDigest)) return known;
    throw new OperatingError(
      "unprocessable",
      "cannot store these rows: an earlier request had the same X-Svc-Idempotency-Key and another " +
        "body; send each request with a key of its own, and its repetitions unchanged",
      { reason: "idempotency_key_reused" },
    );
  }

  /** Remembers a request that is being stored; it is forgotten when that fails. */
  begin(key: FrameKey, pending: Promise<AppendReceipt>): void {
    const name = textOfDigest(key.digest);
    const request = this.#put(name, key, this.#options.clock.monotonicMs());
    request.pending = pending;
    pending.then(({ segment }) => {
      request.segment = segment;
      request.pending = undefined;
    }, () => {
      if (this.#known.get(name) === request) this.#known.delete(name);
    });
  }

  /**
   * Remembers what a segment of this process holds, and forgets what else was thought to be in it.
   * The keys count as new: the wall clock may have jumped since they were taken.
   */
  replace(segment: string, keys: readonly FrameKey[]): void {
    for (const [name, request] of this.#known) {
      if (request.segment === segment) this.#known.delete(name);
    }
    const bornMs = this.#options.clock.monotonicMs();
    for (const key of keys) this.#put(textOfDigest(key.digest), key, bornMs).segment = segment;
  }

  /** Remembers what a segment of an earlier process holds: only the wall clock tells how old. */
  load(segment: string, keys: readonly FrameKey[]): void {
    const { clock } = this.#options;
    for (const key of keys) {
      const bornMs = clock.monotonicMs() - Math.max(0, clock.nowMs() - key.takenMs);
      this.#put(textOfDigest(key.digest), key, bornMs).segment = segment;
    }
  }

  #put(name: string, { bodyDigest }: FrameKey, bornMs: number): KnownRequest {
    const request: KnownRequest = {
      bodyDigest: textOfDigest(bodyDigest),
      bornMs,
      pending: undefined,
      segment: undefined,
    };
    this.#known.delete(name);
    this.#known.set(name, request);
    this.#forget();
    return request;
  }

  #forget(): void {
    const { clock, keyAgeMsMax, keysMax } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const [name, { bornMs, pending }] of this.#known) {
      const isOver = this.#known.size > keysMax || nowMs - bornMs > keyAgeMsMax;
      if (!isOver) return;
      if (pending === undefined) this.#known.delete(name);
    }
  }
}

/** 16 bytes as 16 characters. */
function textOfDigest(digest: Uint8Array): string {
  return String.fromCharCode(...digest);
}
