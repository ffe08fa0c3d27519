/**
 * Parquet footers of data files, which never change, kept by key. The least recently used go first.
 */

import { WeighedCache } from "../../base/weighed_cache.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { type ParquetFooter, readFooter } from "../../parquet/footer.ts";
import type { ReadableStore } from "../../storage/object_store.ts";

/** What a footer takes in memory, and each of its column chunks with the places of its pages. */
const FOOTER_BYTES = 512;
const CHUNK_BYTES = 800;

/** Up to `FOOTERS_KEPT_MAX` footers. */
export class FooterCache {
  readonly #footers: WeighedCache;

  /** `bytesMax`: of all footers, about. */
  constructor(
    private readonly store: Pick<ReadableStore, "getRange">,
    bytesMax: number,
  ) {
    this.#footers = new WeighedCache(bytesMax);
  }

  /** Held now, about. */
  get bytes(): number {
    return this.#footers.bytes;
  }

  giveWay(): void {
    this.#footers.giveWay();
  }

  /** The footer of a data file. Errors: the store's, and `corrupt`. A failure is not kept. */
  footer(file: DataFile): Promise<ParquetFooter> {
    return this.#footers.load(file.key, async () => {
      const value = await readFooter(this.store, file.key, file.byteLength);
      return { value, bytes: bytesOf(value) };
    });
  }
}

function bytesOf({ rowGroups }: ParquetFooter): number {
  const chunks = rowGroups.reduce((sum, { columns }) => sum + columns.length, 0);
  return FOOTER_BYTES + CHUNK_BYTES * chunks;
}
