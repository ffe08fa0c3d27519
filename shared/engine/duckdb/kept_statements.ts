/**
 * Prepared statements of one connection by their text. They are few, and the least recently used
 * goes first.
 */

import { PREPARED_KEPT_MAX } from "../limits.ts";

/** Up to so many prepared statements, each taken by one run at a time. */
export class KeptStatements<T> {
  readonly #kept = new Map<string, T>();

  /** `destroy` ends a statement that is not kept any longer. */
  constructor(
    private readonly destroy: (prepared: T) => void,
    private readonly keptMax = PREPARED_KEPT_MAX,
  ) {}

  /** The statement of this text. It is the caller's until it is kept again. */
  take(sql: string): T | undefined {
    const prepared = this.#kept.get(sql);
    this.#kept.delete(sql);
    return prepared;
  }

  keep(sql: string, prepared: T): void {
    this.#drop(sql);
    this.#kept.set(sql, prepared);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.keptMax && oldest !== undefined) this.#drop(oldest);
  }

  clear(): void {
    for (const sql of [...this.#kept.keys()]) this.#drop(sql);
  }

  #drop(sql: string): void {
    const prepared = this.take(sql);
    if (prepared !== undefined) this.destroy(prepared);
  }
}
