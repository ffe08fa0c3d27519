/**
 * A line for things that are lent out. Those who wait for one key are served in order, and the keys
 * one after the other, so that the burst of one key does not hold up another. The line is bounded,
 * in all and for each key.
 */

import { OperatingError } from "../../base/errors.ts";
import { TurnQueue } from "../../base/turn_queue.ts";
import { WAITERS_MAX, WAITERS_PER_KEY_MAX } from "../limits.ts";

/** For whom an item is wanted, and for how long that waits. */
export interface PlaceInLine {
  /** The key for which it waits. */
  readonly key?: string;
  /** Milliseconds after which the wait is given up; undefined: never. */
  readonly waitMs?: number | undefined;
}

interface Waiter<T> {
  resolve(item: T): void;
  reject(error: unknown): void;
}

/** Whether a key that holds so many items may have one more. */
export type MayTake = (key: string, held: number) => boolean;

/** Items that are lent out, and the line for them. */
export class Waiters<T> {
  readonly #free: T[] = [];
  readonly #held = new Map<string, number>();
  readonly #line = new TurnQueue<Waiter<T>>();
  #closed: { readonly error: unknown } | undefined;

  /** Without `mayTake` a key may have any number of items, and nobody counts them. */
  constructor(private readonly mayTake?: MayTake) {}

  /** How many are in line. */
  get size(): number {
    return this.#line.size;
  }

  /**
   * Resolves with a free item, which comes back with its key. Rejects with the signal's reason when
   * the signal aborts first. Rejects with `rate_limited` when the line is full or no item was free
   * within `waitMs`.
   */
  take(signal: AbortSignal, { key = "", waitMs }: PlaceInLine = {}): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed.error);
    if (signal.aborted) return Promise.reject(signal.reason);
    const item = this.#may(key) ? this.#free.pop() : undefined;
    if (item !== undefined) return Promise.resolve(this.#lent(item, key));
    if (this.#line.size >= WAITERS_MAX || this.#line.sizeOf(key) >= WAITERS_PER_KEY_MAX) {
      return Promise.reject(refused(`${this.#line.size} others wait for DuckDB already`));
    }
    return new Promise<T>((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const settled = () => {
        signal.removeEventListener("abort", onAbort);
        clearTimeout(timer);
      };
      const waiter = {
        resolve: (taken: T) => {
          settled();
          resolve(this.#lent(taken, key));
        },
        reject: (error: unknown) => {
          settled();
          reject(error);
        },
      };
      const leave = (error: unknown) => {
        this.#line.remove(key, waiter);
        waiter.reject(error);
      };
      const onAbort = () => leave(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      if (waitMs !== undefined) timer = setTimeout(() => leave(waitedInVain(waitMs)), waitMs);
      this.#line.push(key, waiter);
    });
  }

  /**
   * Takes an item back. `key` says who had it, for `mayTake`; default: nobody, or one without a
   * key.
   */
  give(item: T, key = ""): void {
    if (this.mayTake !== undefined) {
      const held = this.#held.get(key) ?? 0;
      if (held > 1) this.#held.set(key, held - 1);
      else this.#held.delete(key);
    }
    this.#free.push(item);
    while (this.#free.length > 0) {
      const next = this.#line.shift((waiting) => this.#may(waiting));
      if (next === undefined) return;
      next.resolve(this.#free.pop() as T);
    }
  }

  #may(key: string): boolean {
    return this.mayTake === undefined || this.mayTake(key, this.#held.get(key) ?? 0);
  }

  #lent(item: T, key: string): T {
    if (this.mayTake !== undefined) this.#held.set(key, (this.#held.get(key) ?? 0) + 1);
    return item;
  }

  close(error: unknown): void {
    this.#closed = { error };
    for (const waiter of this.#line.drain()) waiter.reject(error);
  }
}

function waitedInVain(waitMs: number): OperatingError {
  const secs = waitMs / 1000;
  return refused(`its turn did not come within ${secs} s, other statements keep DuckDB busy`);
}

function refused(why: string): OperatingError {
  return new OperatingError("rate_limited", `Cannot take the statement: ${why}; retry`, {
    reason: "admission_full",
    retryAfterSecs: 1,
  });
}
