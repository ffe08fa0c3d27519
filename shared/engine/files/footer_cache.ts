/**
 * Parquet footers of data files, which never change, kept by key. The least recently used go first.
 */

import type { DataFile } from "../../iceberg/types.ts";
import { type ParquetFooter, readFooter } from "../../parquet/footer.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import { FOOTERS_KEPT_MAX } from "../limits.ts";

/** Up to `FOOTERS_KEPT_MAX` footers. */
export class FooterCache {
  readonly #footers = new Map<string, Promise<ParquetFooter>>();

  constructor(private readonly store: Pick<ReadableStore, "getRange">) {}

  /** The footer of a data file. Errors: the store's, and `corrupt`. A failure is not kept. */
  footer(file: DataFile): Promise<ParquetFooter> {
    const known = this.#footers.get(file.key);
    const footer = known ?? readFooter(this.store, file.key, file.byteLength);
    this.#footers.delete(file.key);
    this.#footers.set(file.key, footer);
    if (known === undefined) {
      footer.catch(() => this.#footers.delete(file.key));
      const [oldest] = this.#footers.keys();
      if (this.#footers.size > FOOTERS_KEPT_MAX && oldest !== undefined) {
        this.#footers.delete(oldest);
      }
    }
    return footer;
  }
}
