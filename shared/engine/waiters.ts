/** A first-come, first-served line for things that are lent out. */

export class Waiters<T> {
  readonly #free: T[] = [];
  readonly #line: { resolve: (item: T) => void; reject: (error: unknown) => void }[] = [];
  #closed: { readonly error: unknown } | undefined;

  /** Resolves with a free item; rejects with the signal's reason when it aborts first. */
  take(signal: AbortSignal): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed.error);
    if (signal.aborted) return Promise.reject(signal.reason);
    const item = this.#free.pop();
    if (item !== undefined) return Promise.resolve(item);
    return new Promise<T>((resolve, reject) => {
      const onAbort = () => {
        this.#line.splice(this.#line.indexOf(waiter), 1);
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
      this.#line.push(waiter);
    });
  }

  give(item: T): void {
    const next = this.#line.shift();
    if (next === undefined) this.#free.push(item);
    else next.resolve(item);
  }

  close(error: unknown): void {
    this.#closed = { error };
    for (const waiter of this.#line.splice(0)) waiter.reject(error);
  }
}
