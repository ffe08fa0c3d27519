/**
 * Decoded metadata by key, bounded in bytes, least recently used out first. Metadata files are immutable,
 * so an entry is never stale. Concurrent loads of one key share one read; a failed one is forgotten.
 */

export interface Weighed<T> {
  readonly value: T;
  /** Estimated bytes in memory. */
  readonly bytes: number;
}

export class MetadataCache {
  readonly #bytesMax: number;
  readonly #entries = new Map<string, { loading: Promise<Weighed<unknown>>; bytes: number }>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes held, estimated. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The value of `key`, loaded when it is not held. One key always has one type of value. */
  async load<T>(key: string, read: () => Promise<Weighed<T>>): Promise<T> {
    const held = this.#entries.get(key);
    if (held !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, held);
      return (await held.loading).value as T;
    }
    const entry = { loading: read(), bytes: 0 };
    this.#entries.set(key, entry);
    try {
      const { value, bytes } = await entry.loading;
      if (this.#entries.get(key) === entry) {
        entry.bytes = bytes;
        this.#bytes += bytes;
        this.#evict();
      }
      return value;
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      throw error;
    }
  }

  #evict(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#bytes -= entry.bytes;
      this.#entries.delete(key);
    }
  }
}
