/**
 * Lines by key: every key has a line of its own, first come first served, and the keys take turns.
 * The first item of a key waits for at most one of each other key, however many came before. Pure
 * and synchronous. A key without anything in line is forgotten.
 */

import { assert } from "./assert.ts";

/** Items in line by key. How many may wait is for the caller to bound. */
export class TurnQueue<T> {
  /** In the order of their turns; no line is empty. */
  readonly #lines = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many `key` has in line. */
  sizeOf(key: string): number {
    return this.#lines.get(key)?.length ?? 0;
  }

  push(key: string, item: T): void {
    const line = this.#lines.get(key);
    if (line === undefined) this.#lines.set(key, [item]);
    else line.push(item);
    this.#size += 1;
  }

  /** Whose turn it is. */
  peek(): T | undefined {
    for (const [first] of this.#lines.values()) return first;
    return undefined;
  }

  /**
   * Takes whose turn it is, of the keys that `may`; the others of its key are behind every other
   * key then.
   */
  shift(may: (key: string) => boolean = () => true): T | undefined {
    for (const [key, line] of this.#lines) {
      if (!may(key)) continue;
      const item = line.shift();
      this.#size -= 1;
      this.#lines.delete(key);
      if (line.length > 0) this.#lines.set(key, line);
      return item;
    }
    return undefined;
  }

  /** `item` of `key` leaves; the turns of the others stay as they are. */
  remove(key: string, item: T): void {
    const line = this.#lines.get(key) ?? [];
    const at = line.indexOf(item);
    assert(at >= 0, "only what is in line leaves it");
    line.splice(at, 1);
    this.#size -= 1;
    if (line.length === 0) this.#lines.delete(key);
  }

  /** Everything in line, in the order of its turns; the queue is empty then. */
  drain(): T[] {
    const items: T[] = [];
    while (this.#size > 0) items.push(this.shift() as T);
    return items;
  }
}
