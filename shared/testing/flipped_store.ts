/** A store one of whose objects has one bit other than it was written. */

import type { ObjectInfo, ObjectStore, ReadableStore } from "../storage/object_store.ts";

/** Which bit of which object. */
export interface Flip {
  readonly key: string;
  readonly at: number;
  /** 0 to 7. */
  readonly bit: number;
}

/** `bytes` with one bit flipped: a copy. */
export function flipped<T extends Uint8Array>(bytes: T, { at, bit }: Omit<Flip, "key">) {
  const copy = new Uint8Array(bytes);
  copy[at] = (copy[at] ?? 0) ^ (1 << bit);
  return copy;
}

/** Reads `store` as if one bit of it were another. */
export function flippedStore(store: ObjectStore, flip: Flip): ReadableStore {
  const get = async (key: string) => {
    const bytes = await store.get(key);
    return key === flip.key ? flipped(bytes, flip) : bytes;
  };
  return {
    rootUri: store.rootUri,
    get,
    getRange: async (key, offset, length) => (await get(key)).slice(offset, offset + length),
    head: (key): Promise<ObjectInfo> => store.head(key),
    list: (prefix) => store.list(prefix),
    localPath: () => undefined,
  };
}
