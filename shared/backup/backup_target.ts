/**
 * The objects of a backup, each under the sum of its bytes, and its points.
 *
 * Invariants: an object is never changed; one whose bytes are not those of its sum is removed and
 * stored anew. A point is written when all that it names is durable.
 */

import { hexOf } from "../base/bytes.ts";
import { isOperatingError, OperatingError } from "../base/errors.ts";
import type { ObjectStore } from "../storage/object_store.ts";
import {
  decodePoint,
  encodePoint,
  type Point,
  pointKey,
  pointOfKey,
  POINTS_PREFIX,
  type StoredSum,
} from "./point.ts";

const OBJECTS_PREFIX = "objects/";
const OBJECT_KEY = /^objects\/[0-9a-f]{2}\/([0-9a-f]{64})$/;

export interface TargetOptions {
  /** Whether objects that are there are read and compared with their sums; default true. */
  readonly verifies?: boolean;
}

export class BackupTarget {
  /** Objects that were there and did not hold what their sum says. */
  damaged = 0;
  readonly #store: ObjectStore;
  readonly #verifies: boolean;
  /** Bytes by sum, of all that is there. */
  #objects: Promise<Map<string, number>> | undefined;
  /** By sum: whether the object was found to be as it should. */
  readonly #checked = new Map<string, Promise<boolean>>();

  constructor(store: ObjectStore, { verifies = true }: TargetOptions = {}) {
    this.#store = store;
    this.#verifies = verifies;
  }

  get rootUri(): string {
    return this.#store.rootUri;
  }

  /** Names of the points, oldest first. */
  async points(): Promise<string[]> {
    const names: string[] = [];
    for await (const { key } of this.#store.list(POINTS_PREFIX)) {
      const name = pointOfKey(key);
      if (name !== undefined) names.push(name);
    }
    return names.sort();
  }

  /** `points` for what needs one: `verb` says what. Errors: `not_found` where there is none. */
  async pointsTo(verb: string): Promise<string[]> {
    const names = await this.points();
    if (names.length > 0) return names;
    throw new OperatingError(
      "not_found",
      `Cannot ${verb} from ${this.rootUri}: there is no point of a backup; give what was --to of \`svc backup\``,
      { reason: "no_such_point" },
    );
  }

  /** Errors: `not_found`, `corrupt`, `unimplemented`; the store's. */
  async point(name: string): Promise<Point> {
    return decodePoint(name, await this.#store.get(pointKey(name)));
  }

  /** Stores the point; its name. */
  async putPoint(point: Point): Promise<string> {
    const { name, bytes } = encodePoint(point, (await this.points()).at(-1));
    await putOnce(this.#store, pointKey(name), bytes);
    return name;
  }

  /** Whether the object is there, and good. */
  async has(stored: StoredSum): Promise<boolean> {
    const objects = await this.#list();
    const bytes = objects.get(stored.sum);
    if (bytes === undefined) return false;
    let checked = this.#checked.get(stored.sum);
    if (checked === undefined) {
      checked = this.#check(stored, { bytes, objects });
      this.#checked.set(stored.sum, checked);
    }
    return await checked;
  }

  /** Stores `bytes`, of that sum. */
  async put({ sum }: StoredSum, bytes: Uint8Array): Promise<void> {
    await putOnce(this.#store, objectKey(sum), bytes);
    (await this.#list()).set(sum, bytes.byteLength);
    this.#checked.set(sum, Promise.resolve(true));
  }

  /** Stores an object anew that is not as its sum says. */
  async mend(stored: StoredSum, bytes: Uint8Array): Promise<void> {
    this.damaged += 1;
    await this.#store.delete([objectKey(stored.sum)]);
    await this.put(stored, bytes);
  }

  /** The object's bytes. Errors: `corrupt` when they are not those of its sum; `not_found`. */
  async get({ sum, bytes: length }: StoredSum): Promise<Uint8Array<ArrayBuffer>> {
    const key = objectKey(sum);
    const bytes = await this.#store.get(key);
    if (bytes.byteLength === length && await sumOf(bytes) === sum) return bytes;
    throw new OperatingError(
      "corrupt",
      `Cannot use object ${key} of the backup ${this.#store.rootUri}: its bytes are not those of its sum; ` +
        "restore an earlier point with --point, or copy the object from another copy of the backup",
      { reason: "damaged_backup" },
    );
  }

  /** Sums of all objects, with their bytes. */
  async objects(): Promise<ReadonlyMap<string, number>> {
    return await this.#list();
  }

  async removePoints(names: readonly string[]): Promise<void> {
    await this.#store.delete(names.map(pointKey));
  }

  async removeObjects(sums: readonly string[]): Promise<void> {
    const objects = await this.#list();
    await this.#store.delete(sums.map(objectKey));
    for (const sum of sums) objects.delete(sum);
  }

  /** Removes one that is not good: whoever waits for this stores it anew. */
  async #check(
    stored: StoredSum,
    { bytes, objects }: { readonly bytes: number; readonly objects: Map<string, number> },
  ): Promise<boolean> {
    if (bytes === stored.bytes && (!this.#verifies || await this.#isGood(stored))) return true;
    this.damaged += 1;
    objects.delete(stored.sum);
    await this.#store.delete([objectKey(stored.sum)]);
    return false;
  }

  async #isGood(stored: StoredSum): Promise<boolean> {
    try {
      await this.get(stored);
      return true;
    } catch (error) {
      if (isOperatingError(error, "corrupt") || isOperatingError(error, "not_found")) return false;
      throw error;
    }
  }

  #list(): Promise<Map<string, number>> {
    return this.#objects ??= this.#listed();
  }

  async #listed(): Promise<Map<string, number>> {
    const objects = new Map<string, number>();
    for await (const { key, size } of this.#store.list(OBJECTS_PREFIX)) {
      const sum = OBJECT_KEY.exec(key)?.[1];
      if (sum !== undefined) objects.set(sum, size);
    }
    return objects;
  }
}

/** SHA-256 in hexadecimal digits. */
export async function sumOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

function objectKey(sum: string): string {
  return `${OBJECTS_PREFIX}${sum.slice(0, 2)}/${sum}`;
}

/** Two may store the same bytes at a time: then the first one did it. */
async function putOnce(store: ObjectStore, key: string, bytes: Uint8Array): Promise<void> {
  try {
    await store.putNew(key, bytes);
  } catch (error) {
    if (!isOperatingError(error, "conflict")) throw error;
  }
}
