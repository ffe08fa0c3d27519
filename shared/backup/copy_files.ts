/** Copies objects of the warehouse into a backup, those that it lacks. */

import { eachOf } from "../base/each_of.ts";
import { isOperatingError, OperatingError } from "../base/errors.ts";
import { damagedFile } from "../base/damaged_file.ts";
import { verifyBytes } from "../tables/verify_bytes.ts";
import type { ObjectInfo, ReadableStore } from "../storage/object_store.ts";
import { type BackupTarget, sumOf } from "./backup_target.ts";
import type { BackedUpFile, StoredSum } from "./point.ts";

/** Objects in memory at a time. */
const COPIES_AT_ONCE = 4;

/** How far a backup is: numbers that only grow. */
export interface CopyTotals {
  files: number;
  bytes: number;
  /** What was not there, among these. */
  copiedFiles: number;
  copiedBytes: number;
}

/** What a moment needed has gone since: another moment finds its successor. */
export class MovedOn extends Error {
  override readonly name = "MovedOn";
}

export class FileCopies {
  readonly totals: CopyTotals = { files: 0, bytes: 0, copiedFiles: 0, copiedBytes: 0 };
  readonly #store: ReadableStore;
  readonly #target: BackupTarget;
  /** What an earlier point, or an earlier moment of this one, has under a key. */
  readonly #known: Map<string, BackedUpFile>;

  constructor(
    store: ReadableStore,
    target: BackupTarget,
    earlier: readonly BackedUpFile[],
  ) {
    this.#store = store;
    this.#target = target;
    this.#known = new Map(earlier.map((file) => [file.key, file]));
  }

  /**
   * Errors: `not_found` when there is no such object; `damaged_file` when its bytes are not those
   * that were written; the stores'.
   */
  async copy({ key, size, modifiedMs }: ObjectInfo): Promise<BackedUpFile> {
    const known = this.#known.get(key);
    const isSame = known?.bytes === size && known.modifiedMs === modifiedMs;
    if (known !== undefined && isSame && await this.#target.has(known)) {
      this.#count(known, false);
      return known;
    }
    const bytes = await this.#store.get(key);
    const { damage: [damage] } = await verifyBytes({ key }, bytes);
    if (damage !== undefined) throw damagedFile(key, damage);
    const file = { key, modifiedMs, ...await this.copyBytes(bytes) };
    this.#known.set(key, file);
    return file;
  }

  /** Stores what is no object of the warehouse. */
  async copyBytes(bytes: Uint8Array<ArrayBuffer>): Promise<StoredSum> {
    const stored = { sum: await sumOf(bytes), bytes: bytes.byteLength };
    const isThere = await this.#target.has(stored);
    if (!isThere) await this.#target.put(stored, bytes);
    this.#count(stored, !isThere);
    return stored;
  }

  #count({ bytes }: StoredSum, isCopied: boolean): void {
    this.totals.files += 1;
    this.totals.bytes += bytes;
    if (!isCopied) return;
    this.totals.copiedFiles += 1;
    this.totals.copiedBytes += bytes;
  }
}

/** Calls `work` for each item, as many at a time as are copied at once. Errors: see `eachOf`. */
export function someAtOnce<T>(
  items: Iterable<T>,
  signal: AbortSignal,
  work: (item: T) => Promise<void>,
): Promise<void> {
  return eachOf(items, { atOnce: COPIES_AT_ONCE, signal }, work);
}

/** A file that a table names is not there. */
export function missingFile(table: string, key: string, cause: unknown): unknown {
  if (!isOperatingError(cause, "not_found")) return cause;
  return new OperatingError(
    "corrupt",
    `Cannot back up table ${table}: its file ${key} is not there, so no backup of it would be whole; bring the file ` +
      "back from an earlier backup, or let a delete task take it out of the table",
    { reason: "missing_file", cause },
  );
}
