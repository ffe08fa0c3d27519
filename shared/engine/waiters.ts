/**
 * A line for things that are lent out: who waits for the same key is served in order, and the keys take turns,
 * so that the burst of one does not hold up another. Bounded, in all and for each key.
 */

import { OperatingError } from "../base/errors.ts";
import { TurnQueue } from "../base/turn_queue.ts";
import { WAITERS_MAX, WAITERS_PER_KEY_MAX } from "./limits.ts";

interface Waiter<T> {
  resolve(item: T): void;
  reject(error: unknown): void;
}

export class Waiters<T> {
  readonly #free: T[] = [];
  readonly #line = new TurnQueue<Waiter<T>>();
  #closed: { readonly error: unknown } | undefined;

  /**
   * Resolves with a free item; rejects with the signal's reason when it aborts first, and with `rate_limited`
   * when the line is full.
   */
  take(signal: AbortSignal, key = ""): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed.error);
    if (signal.aborted) return Promise.reject(signal.reason);
    const item = this.#free.pop();
    if (item !== undefined) return Promise.resolve(item);
    if (this.#line.size >= WAITERS_MAX || this.#line.sizeOf(key) >= WAITERS_PER_KEY_MAX) {
      return Promise.reject(lineFull(this.#line.size));
    }
    return new Promise<T>((resolve, reject) => {
      const onAbort = () => {
        this.#line.remove(key, waiter);
        reject(signal.reason);
      };
      const waiter = {
        resolve: (taken: T) => {
          signal.removeEventListener("abort", onAbort);
          resolve(taken);
        },
        reject: (error: unknown) => {
          signal.removeEventListener("abort", onAbort);
          reject(error);
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
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

function lineFull(waiting: number): OperatingError {
  return new OperatingError(
    "rate_limited",
    `Cannot take the statement: ${waiting} others wait for the SQL engine already; retry`,
    { reason: "admission_full", retryAfterSecs: 1 },
  );
}
