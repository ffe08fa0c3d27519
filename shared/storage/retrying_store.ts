/**
 * Repeats requests whose failure may pass: an object store behind a network fails now and then.
 * Pauses are random below a bound that doubles, so that clients that failed together do not come
 * back together. They are longer where the store asks for fewer requests. An attempt is begun only
 * while there is time.
 *
 * A write whose answer was lost is found stored when it is tried again. Clients of HTTP try again,
 * too, where a connection breaks, so that may be the first answer that is heard. Each `conflict` is
 * looked into, and an object with the same bytes is ours.
 */

import { areSameBytes } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import type { Clock } from "../os/clock.ts";
import type { Random } from "../os/random.ts";
import type { ObjectInfo, ObjectStore } from "./object_store.ts";
import { SILENT, THROTTLED } from "./s3_errors.ts";

export interface RetryPolicy {
  readonly attemptsMax: number;
  /** Bound of the first pause; each next is twice as long. */
  readonly pauseMsMin: number;
  readonly pauseMsMax: number;
  /** The least pause after `THROTTLED`. */
  readonly throttledMsMin: number;
  /** Attempts that may end without an answer: each takes long, and callers have little time. */
  readonly silentAttemptsMax: number;
  /** From the first attempt to the begin of the last. */
  readonly totalMsMax: number;
}

const RETRY_POLICY_DEFAULT: RetryPolicy = {
  attemptsMax: 6,
  pauseMsMin: 100,
  pauseMsMax: 5_000,
  throttledMsMin: 500,
  silentAttemptsMax: 3,
  totalMsMax: 45_000,
};

export interface RetryDeps {
  readonly clock: Clock;
  readonly random: Random;
}

export class RetryingStore implements ObjectStore {
  readonly rootUri: string;
  readonly #inner: ObjectStore;
  readonly #deps: RetryDeps;
  readonly #policy: RetryPolicy;

  constructor(inner: ObjectStore, deps: RetryDeps, policy: Partial<RetryPolicy> = {}) {
    this.#inner = inner;
    this.#deps = deps;
    this.#policy = { ...RETRY_POLICY_DEFAULT, ...policy };
    this.rootUri = inner.rootUri;
  }

  get(key: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.#retry(() => this.#inner.get(key));
  }

  getRange(key: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#retry(() => this.#inner.getRange(key, offset, length));
  }

  head(key: string): Promise<ObjectInfo> {
    return this.#retry(() => this.#inner.head(key));
  }

  /** Goes on behind the last object that it gave. */
  async *list(prefix: string): AsyncIterable<ObjectInfo> {
    let last: string | undefined;
    let listing = this.#inner.list(prefix)[Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await this.#retry(async () => {
        try {
          return await listing.next();
        } catch (error) {
          listing = this.#inner.list(prefix)[Symbol.asyncIterator]();
          throw error;
        }
      });
      if (done === true) return;
      if (last !== undefined && value.key <= last) continue;
      last = value.key;
      yield value;
    }
  }

  localPath(key: string): string | undefined {
    return this.#inner.localPath(key);
  }

  async putNew(key: string, bytes: Uint8Array): Promise<void> {
    await this.#retry(async () => {
      try {
        await this.#inner.putNew(key, bytes);
      } catch (error) {
        if (!isOperatingError(error, "conflict")) throw error;
        if (!areSameBytes(await this.#inner.get(key), bytes)) throw error;
      }
    });
  }

  delete(keys: readonly string[]): Promise<void> {
    return this.#retry(() => this.#inner.delete(keys));
  }

  async #retry<T>(attempt: () => Promise<T>): Promise<T> {
    const { clock, random } = this.#deps;
    const { attemptsMax, pauseMsMin, pauseMsMax, throttledMsMin, totalMsMax } = this.#policy;
    const untilMs = clock.monotonicMs() + totalMsMax;
    let silences = 0;
    for (let failures = 1;; failures += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!isOperatingError(error, "unavailable") || failures >= attemptsMax) throw error;
        if (error.reason === SILENT) silences += 1;
        if (silences >= this.#policy.silentAttemptsMax) throw error;
        const bound = Math.min(pauseMsMax, pauseMsMin * 2 ** (failures - 1));
        const least = error.reason === THROTTLED ? throttledMsMin : 0;
        const pauseMs = least + random.float() * bound;
        if (clock.monotonicMs() + pauseMs >= untilMs) throw error;
        await clock.sleep(pauseMs);
      }
    }
  }
}
