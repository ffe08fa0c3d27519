/**
 * What one statement asked the object store for: docs/api/query.md#stats, `stats.scan`. The
 * statement that asks is the one that counts: each request counts once.
 */

import type { UnansweredRead } from "../data_files.ts";
import type { ByteClass } from "./file_layout.ts";

/** Counts of one statement. */
export class StoreReads {
  #requests = 0;
  /** When something came last. */
  #heardMs = 0;
  /** For how long it waited in vain since then, in reads that failed, and when the last one did. */
  #vainMs = 0;
  #failedMs = 0;
  #filesHit = 0;
  #filesMissed = 0;
  readonly #bytes: Record<ByteClass, number> = { footer: 0, index: 0, data: 0, other: 0 };

  /** What is waited for, the longest first: each object, and since when. */
  readonly #awaited = new Set<{ readonly key: string; readonly sinceMs: number }>();

  /** Counts a request that is made, whatever comes of it. */
  request(): void {
    this.#requests += 1;
  }

  /** Gives what comes of an object, asked for by this statement or by another. */
  async awaiting<T>(key: string, answer: Promise<T>): Promise<T> {
    const awaited = { key, sinceMs: performance.now() };
    this.#awaited.add(awaited);
    try {
      const value = await answer;
      this.#hear();
      return value;
    } catch (error) {
      this.#vainMs += this.#waitedMs(awaited.sinceMs);
      this.#failedMs = performance.now();
      throw error;
    } finally {
      this.#awaited.delete(awaited);
    }
  }

  /**
   * What is awaited longest, and for how long nothing has come of that or of anything else. A read
   * that the store's retries gave up counts, because the next one waits for the same store.
   */
  get unanswered(): UnansweredRead | undefined {
    const [oldest] = this.#awaited;
    if (oldest === undefined) return undefined;
    const { key, sinceMs } = oldest;
    return { key, forMs: this.#vainMs + this.#waitedMs(sinceMs) };
  }

  #hear(): void {
    this.#heardMs = performance.now();
    this.#vainMs = 0;
  }

  /** Time since `sinceMs` in which nothing came, without what `#vainMs` has. */
  #waitedMs(sinceMs: number): number {
    return performance.now() - Math.max(sinceMs, this.#heardMs, this.#failedMs);
  }

  fetched(bytes: Readonly<Record<ByteClass, number>>): void {
    this.#hear();
    for (const kind of ["footer", "index", "data", "other"] as const) {
      this.#bytes[kind] += bytes[kind];
    }
  }

  /** Counts a data file that the statement reads. `hit`: all that it needs of it was there. */
  file(hit: boolean): void {
    if (hit) this.#filesHit += 1;
    else this.#filesMissed += 1;
  }

  get requests(): number {
    return this.#requests;
  }

  get filesHit(): number {
    return this.#filesHit;
  }

  get filesMissed(): number {
    return this.#filesMissed;
  }

  get bytes(): Readonly<Record<ByteClass, number>> {
    return this.#bytes;
  }

  get bytesFetched(): number {
    const { footer, index, data, other } = this.#bytes;
    return footer + index + data + other;
  }
}
