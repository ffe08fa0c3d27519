/** Objects in memory: nothing survives the process. For tests only. */

import { OperatingError } from "../base/errors.ts";
import { checkKey, checkPrefix } from "../storage/object_key.ts";
import type { ObjectInfo, ObjectStore } from "../storage/object_store.ts";

interface StoredObject {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly modifiedMs: number;
}

export class MemoryStore implements ObjectStore {
  private readonly objects = new Map<string, StoredObject>();

  constructor(readonly rootUri = "memory://warehouse", private readonly nowMs = () => Date.now()) {}

  get(key: string): Promise<Uint8Array<ArrayBuffer>> {
    return settle(() => this.find(key).bytes.slice());
  }

  getRange(key: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return settle(() => this.find(key).bytes.slice(offset, offset + length));
  }

  head(key: string): Promise<ObjectInfo> {
    return settle(() => infoOf(key, this.find(key)));
  }

  async *list(prefix: string): AsyncIterable<ObjectInfo> {
    checkPrefix(prefix);
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    for (const key of keys) {
      const object = this.objects.get(key);
      if (object !== undefined) yield await Promise.resolve(infoOf(key, object));
    }
  }

  localPath(_key: string): undefined {
    return undefined;
  }

  putNew(key: string, bytes: Uint8Array): Promise<void> {
    return settle(() => {
      if (this.objects.has(checkKey(key))) {
        throw new OperatingError(
          "conflict",
          `Cannot store object ${JSON.stringify(key)}: it exists, and objects are never replaced`,
        );
      }
      this.objects.set(key, { bytes: new Uint8Array(bytes), modifiedMs: this.nowMs() });
    });
  }

  delete(keys: readonly string[]): Promise<void> {
    return settle(() => {
      keys.forEach(checkKey);
      for (const key of keys) this.objects.delete(key);
    });
  }

  private find(key: string): StoredObject {
    const object = this.objects.get(checkKey(key));
    if (object === undefined) {
      throw new OperatingError(
        "not_found",
        `Cannot read object ${JSON.stringify(key)}: there is none`,
      );
    }
    return object;
  }
}

function infoOf(key: string, object: StoredObject): ObjectInfo {
  return { key, size: object.bytes.byteLength, modifiedMs: object.modifiedMs };
}

/** Runs `action` so that what it throws is a rejection, as with every other store. */
function settle<T>(action: () => T): Promise<T> {
  return new Promise((resolve) => resolve(action()));
}
