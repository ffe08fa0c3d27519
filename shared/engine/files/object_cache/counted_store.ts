/**
 * A statement's view of the warehouse: its reads of metadata and indexes are counted as its own.
 */

import type { ReadableStore } from "../../../storage/object_store.ts";
import { metadataError } from "./cache_error.ts";
import type { ByteClass } from "./file_layout.ts";
import type { StoreReads } from "./store_reads.ts";

/** A store that counts its reads. `kind` is what is read through it. */
export function countedStore(
  store: ReadableStore,
  reads: StoreReads,
  kind: ByteClass,
): ReadableStore {
  const counted = async (key: string, asked: Promise<Uint8Array<ArrayBuffer>>) => {
    reads.request();
    try {
      const bytes = await reads.awaiting(key, asked);
      reads.fetched({ footer: 0, index: 0, data: 0, other: 0, [kind]: bytes.byteLength });
      return bytes;
    } catch (error) {
      throw metadataError(error);
    }
  };
  return {
    rootUri: store.rootUri,
    get: (key) => counted(key, store.get(key)),
    getRange: (key, offset, length) => counted(key, store.getRange(key, offset, length)),
    head: (key) => {
      reads.request();
      return reads.awaiting(key, store.head(key));
    },
    list: (prefix) => store.list(prefix),
    localPath: (key) => store.localPath(key),
    awaiting: (key, answer) => reads.awaiting(key, answer),
  };
}
