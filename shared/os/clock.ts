/** Time as an interface, so that tests own it. */

/** Wall and monotonic time in milliseconds, and pauses. */
export interface Clock {
  /** Unix milliseconds of the wall clock. */
  nowMs(): number;
  /** Unix nanoseconds of the wall clock; its resolution is the system's, here milliseconds. */
  nowNs(): bigint;
  /** Milliseconds that only go forward, with a fraction; for durations. */
  monotonicMs(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, options?: { signal?: AbortSignal }): Promise<void>;
}

/** The machine's clocks. */
export class SystemClock implements Clock {
  nowMs(): number {
    return Date.now();
  }

  nowNs(): bigint {
    return BigInt(Date.now()) * 1_000_000n;
  }

  monotonicMs(): number {
    return performance.now();
  }

  sleep(ms: number, options: { signal?: AbortSignal } = {}): Promise<void> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, ms);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }
}
