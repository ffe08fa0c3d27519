/**
 * An object store that is elsewhere: no local paths, every read is recorded, and a test decides
 * what becomes of it. The objects are in memory.
 */

import { MemoryStore } from "./memory_store.ts";
import type { ObjectInfo, ObjectStore } from "../storage/object_store.ts";

export interface RemoteRead {
  readonly key: string;
  /** The bytes asked for; undefined: all. */
  readonly range: { readonly start: number; readonly end: number } | undefined;
}

export class RemoteStore implements ObjectStore {
  /** Every read so far, in order. */
  readonly reads: RemoteRead[] = [];
  /** Called for each read, which waits for it; what it throws, the read throws. */
  onRead: (read: RemoteRead) => Promise<void> | void = () => {};
  /** Makes another answer of the right one. */
  answer: (bytes: Uint8Array<ArrayBuffer>, read: RemoteRead) => Uint8Array<ArrayBuffer> = (bytes) =>
    bytes;
  readonly #objects = new MemoryStore("memory://elsewhere");

  get rootUri(): string {
    return this.#objects.rootUri;
  }

  /** Reads of data files; the others are of table metadata. */
  get dataReads(): readonly RemoteRead[] {
    return this.reads.filter(({ key }) => key.endsWith(".parquet"));
  }

  get(key: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.#read({ key, range: undefined }, () => this.#objects.get(key));
  }

  getRange(key: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const range = { start: offset, end: offset + length };
    return this.#read({ key, range }, () => this.#objects.getRange(key, offset, length));
  }

  head(key: string): Promise<ObjectInfo> {
    return this.#objects.head(key);
  }

  list(prefix: string): AsyncIterable<ObjectInfo> {
    return this.#objects.list(prefix);
  }

  localPath(_key: string): undefined {
    return undefined;
  }

  putNew(key: string, bytes: Uint8Array): Promise<void> {
    return this.#objects.putNew(key, bytes);
  }

  delete(keys: readonly string[]): Promise<void> {
    return this.#objects.delete(keys);
  }

  async #read(
    read: RemoteRead,
    get: () => Promise<Uint8Array<ArrayBuffer>>,
  ): Promise<Uint8Array<ArrayBuffer>> {
    this.reads.push(read);
    await this.onRead(read);
    return this.answer(await get(), read);
  }
}
