/**
 * The footers of data files' sidecars: read once for the indexes and the summaries that lie in
 * them, kept in the cache of parsed indexes.
 *
 * A sidecar that is mended is made anew under its name. So what is read of one goes by its footer's
 * checksum, a footer is let go when anything of its sidecar fails a check, and that there is no
 * sidecar, or no index in it, is believed for a minute.
 */

import type { WeighedCache } from "../../base/weighed_cache.ts";
import {
  readSidecar,
  type Sidecar,
  sidecarKey,
  type SidecarSource,
  type SidecarSubject,
} from "../../derived/sidecar.ts";
import { isIndexed } from "../../derived/text/text_blobs.ts";
import { type ReadableStore, sharedRead } from "../../storage/object_store.ts";

/** How long what mending would change is believed. */
const LACKING_MS_MAX = 60_000;
/** What a footer takes, and each blob that it names. */
const ENTRY_BYTES = 256;

interface Known {
  readonly sidecar: Sidecar | undefined;
  readonly atMs: number;
}

export class SidecarFooters implements SidecarSource {
  readonly #cache: WeighedCache;
  readonly #nowMs: () => number;

  /**
   * The same for who reads a sidecar once and keeps what it wants of it: finds the footers that are
   * held, and adds none. Held for that alone those of 10,000 files took 70 MB.
   */
  readonly passing: SidecarSource = {
    read: (store, subject) =>
      this.#cache.has(cacheKey(subject)) ? this.read(store, subject) : readSidecar(store, subject),
    distrust: (subject) => this.distrust(subject),
  };

  constructor(cache: WeighedCache, nowMs: () => number) {
    this.#cache = cache;
    this.#nowMs = nowMs;
  }

  async read(store: ReadableStore, subject: SidecarSubject): Promise<Sidecar | undefined> {
    const { sidecar, atMs } = await this.#load(store, subject);
    const isWhole = sidecar !== undefined && isIndexed(sidecar.blobs);
    if (isWhole || this.#nowMs() - atMs < LACKING_MS_MAX) return sidecar;
    this.distrust(subject);
    return (await this.#load(store, subject)).sidecar;
  }

  distrust(subject: SidecarSubject): void {
    this.#cache.forget(cacheKey(subject));
  }

  #load(store: ReadableStore, subject: SidecarSubject): Promise<Known> {
    const loading = this.#cache.load(cacheKey(subject), async () => {
      const atMs = this.#nowMs();
      const sidecar = await readSidecar(store, subject);
      const bytes = ENTRY_BYTES * (1 + (sidecar?.blobs.length ?? 0));
      return { value: { sidecar, atMs }, bytes };
    });
    return sharedRead(store, sidecarKey(subject.key), loading);
  }
}

function cacheKey({ key }: SidecarSubject): string {
  return `${key} sidecar`;
}
