/**
 * A store that takes no new objects while its disk has little room. It is for writers that can
 * wait, or go without: drains, merges, the query audit, results of jobs. They leave the rest to
 * what makes room and has to write for that: retention, delete tasks, expiry, and a catalog on this
 * disk. Otherwise a full disk stays full.
 */

import { formatBytes } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";
import type { DiskRoom } from "../os/disk_room.ts";
import type { ObjectInfo, ObjectStore } from "./object_store.ts";

/** What is left free, and the share of a small disk that is. */
const KEPT_BYTES_MAX = 64 * 1024 * 1024;
const KEPT_SHARE = 16;

export class RoomKeepingStore implements ObjectStore {
  readonly rootUri: string;
  readonly #inner: ObjectStore;
  readonly #room: () => Promise<DiskRoom | undefined>;

  /** `room` is undefined where it cannot be told; then every object is taken. */
  constructor(inner: ObjectStore, room: () => Promise<DiskRoom | undefined>) {
    this.#inner = inner;
    this.#room = room;
    this.rootUri = inner.rootUri;
  }

  get(key: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.#inner.get(key);
  }

  getRange(key: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#inner.getRange(key, offset, length);
  }

  head(key: string): Promise<ObjectInfo> {
    return this.#inner.head(key);
  }

  list(prefix: string): AsyncIterable<ObjectInfo> {
    return this.#inner.list(prefix);
  }

  localPath(key: string): string | undefined {
    return this.#inner.localPath(key);
  }

  /** Errors: besides the store's, `unavailable` where too little would stay free. */
  async putNew(key: string, bytes: Uint8Array): Promise<void> {
    const room = await this.#room();
    if (room !== undefined) {
      const keptBytes = Math.min(KEPT_BYTES_MAX, room.bytes / KEPT_SHARE);
      if (room.freeBytes - bytes.byteLength < keptBytes) {
        throw refusal(key, { ...room, keptBytes, byteLength: bytes.byteLength });
      }
    }
    await this.#inner.putNew(key, bytes);
  }

  delete(keys: readonly string[]): Promise<void> {
    return this.#inner.delete(keys);
  }
}

function refusal(
  key: string,
  { freeBytes, keptBytes, byteLength }: DiskRoom & {
    readonly keptBytes: number;
    readonly byteLength: number;
  },
): OperatingError {
  return new OperatingError(
    "unavailable",
    `Cannot store object ${JSON.stringify(key)} of ${formatBytes(byteLength)}: ` +
      `${formatBytes(freeBytes)} are free on the disk of the warehouse, ${
        formatBytes(keptBytes)
      } must stay free for retention, deletes and the ` +
      "catalog; free disk space, or keep rows for less time",
    { reason: "warehouse_disk_full" },
  );
}
