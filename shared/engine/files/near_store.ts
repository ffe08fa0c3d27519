/**
 * The objects of a local folder, of which short ranges are read by calls that block the thread
 * (`verified/near_reads.ts`). A lookup reads a kilobyte of an index of each data file.
 */

import type { ReadableStore } from "../../storage/object_store.ts";
import type { NearReads } from "./verified/near_reads.ts";

/** Longer ranges are read by the store. */
const NEAR_BYTES_MAX = 64 * 1024;

/** A view of `store`, whose objects lie where `localPath` says. */
export function nearStore(store: ReadableStore, reads: NearReads): ReadableStore {
  const getRange = async (key: string, offset: number, length: number) =>
    await readNear({ store, reads }, { key, offset, length }) ??
      await store.getRange(key, offset, length);
  const room = new Uint8Array(NEAR_BYTES_MAX);
  const rangeNow = (path: string, offset: number, length: number) => {
    if (length > NEAR_BYTES_MAX) return undefined;
    try {
      return reads.readNow(path, room.subarray(0, length), offset);
    } catch {
      // The store tells what is wrong.
      return undefined;
    }
  };
  return {
    rootUri: store.rootUri,
    get: (key) => store.get(key),
    getRange,
    rangeNow,
    head: (key) => store.head(key),
    list: (prefix) => store.list(prefix),
    localPath: (key) => store.localPath(key),
  };
}

/** Undefined: the store is to be asked, and tells what is wrong. */
async function readNear(
  { store, reads }: { readonly store: ReadableStore; readonly reads: NearReads },
  { key, offset, length }: {
    readonly key: string;
    readonly offset: number;
    readonly length: number;
  },
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const path = store.localPath(key);
  if (path === undefined || length > NEAR_BYTES_MAX) return undefined;
  const turn = reads.turn();
  if (turn !== undefined) await turn;
  try {
    using file = await reads.open(path);
    return await file.read(new Uint8Array(length), offset);
  } catch {
    return undefined;
  }
}
