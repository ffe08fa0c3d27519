/**
 * Values by key, bounded in bytes and maybe in number; about the least recently used goes first. It
 * is for what never changes under its key: an entry is never stale. Concurrent loads of one key
 * share one load. A failed one is forgotten.
 */

export interface Weighed<T> {
  readonly value: T;
  /** Estimated bytes in memory. */
  readonly bytes: number;
  /** False: it is as quickly read again. Default true. */
  readonly isKept?: boolean;
}

/** Counts what a cache does. */
export interface CacheMeter {
  lookedUp(outcome: "hit" | "miss"): void;
  /** Bytes that are held from now on. */
  held(bytes: number): void;
}

export interface WeighedCacheOptions {
  /** Default: no limit. */
  readonly entriesMax?: number;
  readonly meter?: CacheMeter;
}

interface Entry {
  readonly loading: Promise<Weighed<unknown>>;
  bytes: number;
  /** The number of loads when it came, or was last put behind all others. */
  loads: number;
}

/**
 * A hit moves an entry behind the others once so many of them, as a share, came after it: moving
 * costs more than finding.
 */
const FRESH_SHARE = 0.25;

export class WeighedCache {
  readonly #bytesMax: number;
  readonly #entriesMax: number;
  readonly #meter: CacheMeter | undefined;
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  #loads = 0;

  /** With 0 bytes nothing is kept. */
  constructor(bytesMax: number, { entriesMax = Infinity, meter }: WeighedCacheOptions = {}) {
    this.#bytesMax = bytesMax;
    this.#entriesMax = entriesMax;
    this.#meter = meter;
  }

  /** Bytes held, estimated. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the value of `key` is held, or on its way. */
  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** The value of `key`, loaded when it is not held. One key always has one type of value. */
  async load<T>(key: string, read: () => Promise<Weighed<T>>): Promise<T> {
    const held = this.#entries.get(key);
    this.#meter?.lookedUp(held === undefined ? "miss" : "hit");
    if (held !== undefined) {
      this.#touch(key, held);
      return (await held.loading).value as T;
    }
    this.#loads += 1;
    const entry: Entry = { loading: read(), bytes: 0, loads: this.#loads };
    this.#entries.set(key, entry);
    try {
      const { value, bytes, isKept = true } = await (entry.loading as Promise<Weighed<T>>);
      if (this.#entries.get(key) === entry) this.#settle(key, entry, isKept ? bytes : Infinity);
      return value;
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      throw error;
    }
  }

  /** The next `load` of `key` reads it again. */
  forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
    this.#meter?.held(this.#bytes);
  }

  /** Forgets all values; those on their way still come to whoever waits for them. */
  giveWay(): void {
    this.#entries.clear();
    this.#bytes = 0;
    this.#meter?.held(0);
  }

  #touch(key: string, entry: Entry): void {
    if (this.#loads - entry.loads <= FRESH_SHARE * this.#entries.size) return;
    entry.loads = this.#loads;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
  }

  #settle(key: string, entry: Entry, bytes: number): void {
    // What does not fit at all would only drive out the others.
    if (bytes > this.#bytesMax || this.#bytesMax === 0) {
      this.#entries.delete(key);
      return;
    }
    entry.bytes = bytes;
    this.#bytes += bytes;
    for (const [oldest, { bytes: own }] of this.#entries) {
      if (this.#bytes <= this.#bytesMax && this.#entries.size <= this.#entriesMax) break;
      this.#bytes -= own;
      this.#entries.delete(oldest);
    }
    this.#meter?.held(this.#bytes);
  }
}
