/**
 * A line for things that are lent out: who waits for the same key is served in order, and the keys take turns,
 * so that the burst of one does not hold up another. Bounded, in all and for each key.
 */

import { OperatingError } from "../base/errors.ts";
import { TurnQueue } from "../base/turn_queue.ts";
import { WAITERS_MAX, WAITERS_PER_KEY_MAX } from "./limits.ts";

export interface PlaceInLine {
  /** Whose turn it takes. */
  readonly key?: string;
  /** Milliseconds after which the wait is given up; undefined: never. */
  readonly waitMs?: number | undefined;
}

interface Waiter<T> {
  resolve(item: T): void;
  reject(error: unknown): void;
}

export class Waiters<T> {
  readonly #free: T[] = [];
  readonly #line = new TurnQueue<Waiter<T>>();
  #closed: { readonly error: unknown } | undefined;

  /** How many are in line. */
  get size(): number {
    return this.#line.size;
  }

  /**
   * Resolves with a free item; rejects with the signal's reason when it aborts first, and with `rate_limited`
   * when the line is full or none was free within `waitMs`.
   */
  take(signal: AbortSignal, { key = "", waitMs }: PlaceInLine = {}): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed.error);
    if (signal.aborted) return Promise.reject(signal.reason);
    const item = this.#free.pop();
    if (item !== undefined) return Promise.resolve(item);
    if (this.#line.size >= WAITERS_MAX || this.#line.sizeOf(key) >= WAITERS_PER_KEY_MAX) {
      return Promise.reject(refused(`${this.#line.size} others wait for the SQL engine already`));
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
          resolve(taken);
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

  give(item: T): void {
    const next = this.#line.shift();
    if (next === undefined) this.#free.push(item);
    else next.resolve(item);
  }

  close(error: unknown): void {
    this.#closed = { error };
    for (const waiter of this.#line.drain()) waiter.reject(error);
  }
}

function waitedInVain(waitMs: number): OperatingError {
  return refused(`other statements keep the SQL engine busy, none ended within ${waitMs / 1000} s`);
}

function refused(why: string): OperatingError {
  return new OperatingError("rate_limited", `Cannot take the statement: ${why}; retry`, {
    reason: "admission_full",
    retryAfterSecs: 1,
  });
}
