/** Pages of one data file: those that are kept, and others, which are read. */

import { present } from "../../../base/assert.ts";
import type { DataFile } from "../../../iceberg/types.ts";
import type { ColumnChunk, FilePlace } from "../../../parquet/footer.ts";
import { storedPage } from "../../../parquet/reader/chunk_rows.ts";
import type { PageSource } from "../../../parquet/reader/stored_page.ts";
import type { DataFileLease, OpenDataFile } from "../data_files.ts";
import { type PlaceReader, rangeOf } from "../page_places.ts";

/** Pages of a column chunk, its dictionary among them. */
export interface ChunkPlaces {
  readonly chunk: ColumnChunk;
  readonly places: readonly FilePlace[];
}

/** Gives a page that was asked for. Errors: those of a damaged page. */
export type PageAt = (place: FilePlace) => PageSource;

/** The file is opened once it is read. Errors of its methods: the store's. */
export class FilePages implements AsyncDisposable {
  readonly #file: DataFile;
  readonly #lease: Pick<DataFileLease, "open" | "pages">;
  #opened: OpenDataFile | undefined;

  constructor(file: DataFile, lease: Pick<DataFileLease, "open" | "pages">) {
    this.#file = file;
    this.#lease = lease;
  }

  /** What is in the file at some places, until the next call of this or of `read`. */
  readonly bytes: PlaceReader = async (places) => {
    this.#opened ??= await this.#lease.open(this.#file);
    return await this.#opened.read(places.map(rangeOf));
  };

  isKept(place: FilePlace): boolean {
    return this.#lease.pages?.has(this.#file.key, place) === true;
  }

  /** Pages of some chunks, until the next call. */
  async read(wanted: readonly ChunkPlaces[]): Promise<PageAt> {
    const { pages } = this.#lease;
    const { key } = this.#file;
    const found = new Map<number, PageSource>();
    const missing = new Map<number, { readonly chunk: ColumnChunk; readonly place: FilePlace }>();
    for (const { chunk, places } of wanted) {
      for (const place of places) {
        const page = pages?.find(key, place);
        if (page === undefined) missing.set(place.offset, { chunk, place });
        else found.set(place.offset, page);
      }
    }
    const left = [...missing.values()];
    const read = left.length === 0 ? [] : await this.bytes(left.map(({ place }) => place));
    left.forEach(({ chunk, place }, at) => {
      const page = storedPage(chunk, present(read[at]));
      found.set(place.offset, pages?.read(key, place, page) ?? page);
    });
    return ({ offset }) => present(found.get(offset), "a page");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened?.[Symbol.asyncDispose]();
  }
}
