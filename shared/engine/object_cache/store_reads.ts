/** What one statement asked the object store for: SPEC.md 2.5, `stats.scan`. Who asks is who counts: each request once. */

import type { ByteClass } from "./file_layout.ts";

export class StoreReads {
  #requests = 0;
  #filesHit = 0;
  #filesMissed = 0;
  readonly #bytes: Record<ByteClass, number> = { footer: 0, index: 0, data: 0, other: 0 };

  /** A request that is made, whatever comes of it. */
  request(): void {
    this.#requests += 1;
  }

  fetched(bytes: Readonly<Record<ByteClass, number>>): void {
    for (const kind of ["footer", "index", "data", "other"] as const) {
      this.#bytes[kind] += bytes[kind];
    }
  }

  /** A data file that the statement reads; `hit`: all that it needs of it was there. */
  file(hit: boolean): void {
    if (hit) this.#filesHit += 1;
    else this.#filesMissed += 1;
  }

  get requests(): number {
    return this.#requests;
  }

  get filesHit(): number {
    return this.#filesHit;
  }

  get filesMissed(): number {
    return this.#filesMissed;
  }

  get bytes(): Readonly<Record<ByteClass, number>> {
    return this.#bytes;
  }

  get bytesFetched(): number {
    const { footer, index, data, other } = this.#bytes;
    return footer + index + data + other;
  }
}
