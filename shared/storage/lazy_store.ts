/**
 * A store that is made when it is first used: for one whose library is costly to load, or needs
 * rights that most do not.
 */

import type { ObjectInfo, ObjectStore } from "./object_store.ts";

export class LazyStore implements ObjectStore {
  readonly rootUri: string;
  readonly #open: () => Promise<ObjectStore>;
  #opened: Promise<ObjectStore> | undefined;

  /**
   * `open` gives the store of that `rootUri`, which has no local paths; called once, again after it
   * failed.
   */
  constructor(rootUri: string, open: () => Promise<ObjectStore>) {
    this.rootUri = rootUri;
    this.#open = open;
  }

  async get(key: string): Promise<Uint8Array<ArrayBuffer>> {
    return await (await this.#store()).get(key);
  }

  async getRange(key: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return await (await this.#store()).getRange(key, offset, length);
  }

  async head(key: string): Promise<ObjectInfo> {
    return await (await this.#store()).head(key);
  }

  async *list(prefix: string): AsyncIterable<ObjectInfo> {
    yield* (await this.#store()).list(prefix);
  }

  localPath(_key: string): undefined {
    return undefined;
  }

  async putNew(key: string, bytes: Uint8Array): Promise<void> {
    await (await this.#store()).putNew(key, bytes);
  }

  async delete(keys: readonly string[]): Promise<void> {
    await (await this.#store()).delete(keys);
  }

  #store(): Promise<ObjectStore> {
    return this.#opened ??= this.#open().catch((error) => {
      this.#opened = undefined;
      throw error;
    });
  }
}
