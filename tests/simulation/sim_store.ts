/** The object store that all machines share, and how one process sees it. */

import { MemoryStore } from "../../shared/testing/memory_store.ts";
import type { ObjectInfo, ObjectStore } from "../../shared/storage/object_store.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { SimProcess } from "./sim_process.ts";

export class SimStore {
  readonly objects: MemoryStore;
  readonly keys = new Set<string>();
  /** Told before objects go. */
  removing: (keys: readonly string[]) => void = () => {};

  constructor(clock: Pick<Clock, "nowMs">) {
    this.objects = new MemoryStore("memory://warehouse", () => clock.nowMs());
  }

  async putNew(key: string, bytes: Uint8Array): Promise<void> {
    await this.objects.putNew(key, bytes);
    this.keys.add(key);
  }

  async delete(keys: readonly string[]): Promise<void> {
    this.removing(keys);
    await this.objects.delete(keys);
    for (const key of keys) this.keys.delete(key);
  }
}

/** Each call is a step of the schedule, and may be lost or late. */
export class GatedStore implements ObjectStore {
  readonly rootUri: string;

  constructor(readonly process: SimProcess, readonly store: SimStore) {
    this.rootUri = store.objects.rootUri;
  }

  get(key: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.#gate("get", key, () => this.store.objects.get(key));
  }

  getRange(key: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#gate("getRange", key, () => this.store.objects.getRange(key, offset, length));
  }

  head(key: string): Promise<ObjectInfo> {
    return this.#gate("head", key, () => this.store.objects.head(key));
  }

  async *list(prefix: string): AsyncIterable<ObjectInfo> {
    yield* await this.#gate(
      "list",
      prefix,
      () => Array.fromAsync(this.store.objects.list(prefix)),
    );
  }

  localPath(_key: string): undefined {
    return undefined;
  }

  putNew(key: string, bytes: Uint8Array): Promise<void> {
    // It may take effect when its caller has used the buffer for something else.
    const sent = bytes.slice();
    return this.#gate("putNew", key, () => this.store.putNew(key, sent));
  }

  delete(keys: readonly string[]): Promise<void> {
    const sent = [...keys];
    return this.#gate("delete", sent.join(" "), () => this.store.delete(sent));
  }

  #gate<T>(kind: string, key: string, act: () => Promise<T>): Promise<T> {
    const call = { label: `${kind} ${key}`, place: "network" } as const;
    return this.process.scheduler.call(this.process, call, act);
  }
}
