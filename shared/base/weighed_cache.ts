/**
 * Values by key, bounded in bytes and maybe in number; about the least recently used goes first. It
 * is for what never changes under its key: an entry is never stale. Concurrent loads of one key
 * share one load. A failed one is forgotten.
 */

import type { Soon } from "./steps.ts";

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
  /** Settled, once it is there. */
  loading: Soon<Weighed<unknown>>;
  bytes: number;
  /** The number of loads when it came, or was last put behind all others. */
  loads: number;
}

/**
 * A hit moves an entry behind the others once so many of them, as a share, came after it: moving
 * costs more than finding.
 */
const FRESH_SHARE = 0.25;

/** How much of the bytes is made free when they are used up. */
const ROOM_SHARE = 1 / 64;

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
  async load<T>(key: string, read: () => Soon<Weighed<T>>): Promise<T> {
    return await this.take(key, read);
  }

  /** Gives what `load` does, at once where the value is held, or read at once. */
  take<T>(key: string, read: () => Soon<Weighed<T>>): Soon<T> {
    const held = this.#entries.get(key);
    this.#meter?.lookedUp(held === undefined ? "miss" : "hit");
    if (held !== undefined) {
      this.#touch(key, held);
      const { loading } = held;
      return loading instanceof Promise
        ? loading.then(({ value }) => value as T)
        : loading.value as T;
    }
    this.#loads += 1;
    const loading = read();
    const entry: Entry = { loading, bytes: 0, loads: this.#loads };
    if (loading instanceof Promise) return this.#wait(key, entry, loading);
    const { value, bytes, isKept = true } = loading;
    if (isKept) {
      this.#entries.set(key, entry);
      this.#settle(key, entry, bytes);
    }
    return value;
  }

  async #wait<T>(key: string, entry: Entry, loading: Promise<Weighed<T>>): Promise<T> {
    this.#entries.set(key, entry);
    try {
      const weighed = await loading;
      const { value, bytes, isKept = true } = weighed;
      entry.loading = weighed;
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
    if (this.#isOver()) this.#forgetOldest();
    this.#meter?.held(this.#bytes);
  }

  /** Makes some room at once, as a new iterator passes over all that was deleted of late. */
  #forgetOldest(): void {
    const bytesLeft = this.#bytesMax - Math.floor(this.#bytes * ROOM_SHARE);
    for (const [oldest, { bytes }] of this.#entries) {
      this.#bytes -= bytes;
      this.#entries.delete(oldest);
      if (this.#bytes <= bytesLeft && this.#entries.size <= this.#entriesMax) break;
    }
  }

  #isOver(): boolean {
    return this.#bytes > this.#bytesMax || this.#entries.size > this.#entriesMax;
  }
}
