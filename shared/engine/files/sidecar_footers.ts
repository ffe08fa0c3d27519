/**
 * The footers of data files' sidecars. They are read once for the indexes and the summaries that
 * lie in them, and kept in the cache of parsed indexes.
 *
 * A sidecar that is mended is made anew under its name. So what is read of a sidecar goes by its
 * footer's checksum, and a footer is let go when anything of its sidecar fails a check. That there
 * is no sidecar, or no index in it, is believed for a minute.
 */

import { runSteps, type Soon, soon, type SoonSteps } from "../../base/steps.ts";
import type { WeighedCache } from "../../base/weighed_cache.ts";
import type { BlobPlace } from "../../derived/puffin.ts";
import { LOOKUP_TYPES } from "../../derived/rows/find_rows.ts";
import {
  readSidecar,
  type Sidecar,
  sidecarKey,
  type SidecarSource,
  type SidecarSubject,
} from "../../derived/sidecar.ts";
import { isIndexed } from "../../derived/text/text_blobs.ts";
import { type ReadableStore, sharedRead } from "../../storage/object_store.ts";

/** How long an answer is believed that mending would change. */
const LACKING_MS_MAX = 60_000;
/** Bytes that a footer takes, and bytes for each blob that it names. */
const ENTRY_BYTES = 256;

/** A sidecar, and those of its blobs that rows are found by. */
export interface LookedUpSidecar {
  readonly sidecar: Sidecar;
  /** Where it lies on this machine. */
  readonly path: string | undefined;
  readonly lookups: readonly BlobPlace[];
}

interface Known {
  readonly found: LookedUpSidecar | undefined;
  /** Whether it has an index. */
  readonly isWhole: boolean;
  readonly atMs: number;
}

/** Footers of sidecars, kept in a cache that others share. */
export class SidecarFooters implements SidecarSource {
  readonly #cache: WeighedCache;
  readonly #nowMs: () => number;

  /**
   * Footers for a reader that reads a sidecar once and keeps what it wants of it. It finds the
   * footers that are held, and adds none. Held for that alone, the footers of 10,000 files took 70
   * MB.
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
    return (await this.take(store, subject))?.sidecar;
  }

  /** Gives what `read` does, at once where it is known. */
  take(store: ReadableStore, subject: SidecarSubject): Soon<LookedUpSidecar | undefined> {
    return runSteps(this.#steps(store, subject));
  }

  *#steps(store: ReadableStore, subject: SidecarSubject): SoonSteps<LookedUpSidecar | undefined> {
    const { found, isWhole, atMs } = yield* soon(this.#load(store, subject));
    if (isWhole || this.#nowMs() - atMs < LACKING_MS_MAX) return found;
    this.distrust(subject);
    return (yield* soon(this.#load(store, subject))).found;
  }

  distrust(subject: SidecarSubject): void {
    this.#cache.forget(cacheKey(subject));
  }

  #load(store: ReadableStore, subject: SidecarSubject): Soon<Known> {
    const loading = this.#cache.take(cacheKey(subject), async () => {
      const atMs = this.#nowMs();
      const sidecar = await readSidecar(store, subject);
      const bytes = ENTRY_BYTES * (1 + (sidecar?.blobs.length ?? 0));
      const isWhole = sidecar !== undefined && isIndexed(sidecar.blobs);
      return { value: { found: sidecar && lookedUp(sidecar, store), isWhole, atMs }, bytes };
    });
    if (!(loading instanceof Promise)) return loading;
    return sharedRead(store, sidecarKey(subject.key), loading);
  }
}

function lookedUp(sidecar: Sidecar, store: ReadableStore): LookedUpSidecar {
  const lookups = sidecar.blobs.filter(({ type }) => LOOKUP_TYPES.has(type));
  return { sidecar, path: store.localPath(sidecar.key), lookups };
}

/** Other keys of the cache have more than the key of a data file. */
function cacheKey({ key }: SidecarSubject): string {
  return key;
}
