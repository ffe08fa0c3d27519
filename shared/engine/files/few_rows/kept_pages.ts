/**
 * Pages of data files that are read again and again, unpacked. Whoever looks around in the newest
 * rows, or asks anew, reads the same pages each time.
 *
 * A page is kept when it is read for the second time. It drives out only what was not used since it
 * was last read itself. So pages that are more than there is room for do not take turns.
 *
 * Relies on: a data file never changes under its key.
 */

import type { FilePlace } from "../../../parquet/footer.ts";
import type { StoredPage, UnpackedPage } from "../../../parquet/reader/stored_page.ts";

/** So many pages are known that were read once. */
const SEEN_MAX = 8_192;
/** What an entry takes besides its bytes. */
const ENTRY_BYTES = 512;

interface Kept {
  readonly page: UnpackedPage;
  readonly bytes: number;
  used: number;
}

export class KeptPages {
  readonly #bytesMax: number;
  /** The least recently used first. */
  readonly #kept = new Map<string, Kept>();
  /** When a page was last read that is not kept, the earliest first. */
  readonly #seen = new Map<string, number>();
  #bytes = 0;
  #now = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Held now, about. */
  get bytes(): number {
    return this.#bytes;
  }

  giveWay(): void {
    this.#kept.clear();
    this.#bytes = 0;
  }

  /** Whether a page is kept. */
  has(file: string, place: FilePlace): boolean {
    return this.#kept.has(keyOf(file, place));
  }

  /** A page that is kept; undefined: it is to be read. */
  find(file: string, place: FilePlace): UnpackedPage | undefined {
    const key = keyOf(file, place);
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    kept.used = this.#now += 1;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept.page;
  }

  /** Is told of a page that was read, and gives what is to be used of it. */
  read(file: string, place: FilePlace, page: StoredPage): StoredPage | UnpackedPage {
    const key = keyOf(file, place);
    const before = this.#seen.get(key);
    this.#see(key);
    const bytes = page.header.plainBytes + ENTRY_BYTES;
    if (before === undefined || !this.#makeRoom(bytes, before)) return page;
    const unpacked = page.unpacked();
    this.#seen.delete(key);
    this.#kept.set(key, { page: unpacked, bytes, used: this.#now });
    this.#bytes += bytes;
    return unpacked;
  }

  #see(key: string): void {
    this.#seen.delete(key);
    this.#seen.set(key, this.#now += 1);
    if (this.#seen.size <= SEEN_MAX) return;
    for (const [oldest] of this.#seen) {
      this.#seen.delete(oldest);
      return;
    }
  }

  /** Whether there is room for `bytes` without what was used after `before`. */
  #makeRoom(bytes: number, before: number): boolean {
    const leaving: string[] = [];
    let left = this.#bytesMax - this.#bytes;
    for (const [key, { bytes: own, used }] of this.#kept) {
      if (left >= bytes) break;
      if (used > before) return false;
      leaving.push(key);
      left += own;
    }
    if (left < bytes) return false;
    for (const key of leaving) {
      this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
      this.#kept.delete(key);
    }
    return true;
  }
}

function keyOf(file: string, { offset }: FilePlace): string {
  return `${offset} ${file}`;
}
