/**
 * Objects written for a commit that may not come about. Until the commit point nothing refers to
 * them, so they are removed when the commit fails, and harmless when the process ends before that.
 */

import { getLogger } from "@logtape/logtape";
import { counted } from "../base/counted.ts";
import { messageOf } from "../base/errors.ts";
import type { ObjectStore } from "../storage/object_store.ts";

const logger = getLogger(["svc", "iceberg"]);

/**
 * Objects that are written at the same time; a rewrite can put one for each manifest of the table.
 */
const WRITES_AT_ONCE = 16;

export class Staging {
  readonly #store: ObjectStore;
  readonly #keys: string[] = [];
  readonly #writes: Promise<void>[] = [];

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /**
   * Begins to write an object, and gives the location to write into metadata: objects that name
   * each other are on their way to the disk together. Durable once `written` has ended.
   */
  put(key: string, bytes: Uint8Array): string {
    // Noted first: a failed write may have left the object behind.
    this.#keys.push(key);
    const before = this.#writes.at(-WRITES_AT_ONCE);
    const write = before === undefined
      ? this.#store.putNew(key, bytes)
      : before.then(() => this.#store.putNew(key, bytes));
    // `written` reports the failure.
    write.catch(() => {});
    this.#writes.push(write);
    return `${this.#store.rootUri}/${key}`;
  }

  /** Ends when all that was put is durable. Errors: the store's. */
  async written(): Promise<void> {
    await Promise.all(this.#writes);
  }

  /** Removes what was staged; never throws. */
  async discard(): Promise<void> {
    // A write that is still on its way could land after its object is removed.
    await Promise.allSettled(this.#writes);
    await removeQuietly(this.#store, this.#keys);
  }
}

/**
 * Removes objects that nothing needs; one that cannot be removed is an orphan, reported and left.
 */
export async function removeQuietly(store: ObjectStore, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  try {
    await store.delete(keys);
  } catch (error) {
    logger.warn("Cannot remove {files} that no table needs, first {key}: {error}", {
      files: counted(keys.length, "file"),
      key: keys[0],
      error: messageOf(error),
    });
  }
}
