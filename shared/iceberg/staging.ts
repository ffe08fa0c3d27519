/**
 * Objects written for a commit that may not come about. Until the commit point nothing refers to them, so
 * they are removed when the commit fails, and harmless when the process ends before that.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../base/errors.ts";
import type { ObjectStore } from "../storage/object_store.ts";

const logger = getLogger(["svc", "iceberg"]);

export class Staging {
  readonly #store: ObjectStore;
  readonly #keys: string[] = [];

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** Durable when it returns; gives the location to write into metadata. */
  async put(key: string, bytes: Uint8Array): Promise<string> {
    // Noted first: a failed write may have left the object behind.
    this.#keys.push(key);
    await this.#store.putNew(key, bytes);
    return `${this.#store.rootUri}/${key}`;
  }

  /** Removes what was staged; never throws. */
  discard(): Promise<void> {
    return removeQuietly(this.#store, this.#keys);
  }
}

/** Removes objects that nothing needs; one that cannot be removed is an orphan, reported and left. */
export async function removeQuietly(store: ObjectStore, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  try {
    await store.delete(keys);
  } catch (error) {
    logger.warn("Cannot remove {count} files that no table needs, first {key}: {error}", {
      count: keys.length,
      key: keys[0],
      error: messageOf(error),
    });
  }
}
