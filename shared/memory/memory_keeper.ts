/**
 * Who knows all of a process's caches and what it and its children take, and lets caches give way
 * before anybody is refused.
 *
 * Each look compares the resident memory with the limit. Past `GIVE_WAY_SHARE` of it garbage is
 * collected first. If that does not help, caches give way until what they held makes up for the
 * excess. The role states their order: first go those that are made again at the least cost. Past
 * `FULL_SHARE`, once none has anything left to give, the process is full: then new work is refused
 * as long as other work is under way.
 *
 * Given-up memory need not go back to the system: it is what the next work takes. So a look that
 * finds nothing to give changes nothing by itself.
 */

import { getLogger } from "@logtape/logtape";

const GIVE_WAY_SHARE = 0.9;
const FULL_SHARE = 0.97;
export const LOOK_MS = 500;
export const COLLECT_MS = 5_000;
/** Less than this is not worth a call. */
const WORTH_BYTES = 256 * 1024;

/** A cache that can be asked to let go of what it holds. */
export interface GivingCache {
  /** Held now, about. */
  readonly bytes: number;
  /** Lets go of all that nobody uses. */
  giveWay(): void;
}

export interface MemoryKeeperOptions<N extends string> {
  readonly limitBytes: number;
  /** The order in which caches give way. */
  readonly order: readonly N[];
  /** Bytes of this process and its children, without pages of files. */
  readonly residentBytes: () => number;
  /**
   * Frees what nobody uses and the runtime's collector has not looked at yet. Takes some tens of
   * milliseconds, so it is called each `COLLECT_MS` at most.
   */
  readonly collect: () => void;
  readonly nowMs: () => number;
  /** Is told of each cache that gave way. */
  readonly onGiven?: (part: N, bytes: number) => void;
}

export class MemoryKeeper<N extends string> implements Disposable {
  readonly #options: MemoryKeeperOptions<N>;
  readonly #caches = new Map<N, GivingCache[]>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #isFull = false;
  #collectedMs = -Infinity;

  constructor(options: MemoryKeeperOptions<N>) {
    this.#options = options;
  }

  /** Whether new work is to wait: all caches gave way, and there is still no room. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** What the caches of `part` hold now. */
  bytesOf(part: N): number {
    return (this.#caches.get(part) ?? []).reduce((sum, cache) => sum + cache.bytes, 0);
  }

  keep(part: N, cache: GivingCache): void {
    this.#caches.set(part, [...this.#caches.get(part) ?? [], cache]);
  }

  /** Looks now and then, until it is disposed of. */
  start(): void {
    this.#timer ??= setInterval(() => this.look(), LOOK_MS);
  }

  /** Once. */
  look(): void {
    const { limitBytes, order, residentBytes, onGiven } = this.#options;
    const mostBytes = GIVE_WAY_SHARE * limitBytes;
    if (residentBytes() > mostBytes) this.#collect();
    const resident = residentBytes();
    let excess = resident - mostBytes;
    let given = 0;
    for (const part of order) {
      if (excess <= 0) break;
      for (const cache of this.#caches.get(part) ?? []) {
        const bytes = cache.bytes;
        if (bytes < WORTH_BYTES) continue;
        cache.giveWay();
        excess -= bytes;
        given += bytes;
        onGiven?.(part, bytes);
      }
    }
    const wasFull = this.#isFull;
    this.#isFull = given === 0 && resident > FULL_SHARE * limitBytes;
    if (this.#isFull && !wasFull) {
      getLogger(["svc", "memory"]).warning(
        "{resident} of {limit} bytes of memory are taken and no cache can give way: new work " +
          "waits for what is under way",
        { resident, limit: limitBytes },
      );
    }
  }

  #collect(): void {
    const { collect, nowMs } = this.#options;
    if (nowMs() - this.#collectedMs < COLLECT_MS) return;
    collect();
    this.#collectedMs = nowMs();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
