/** The summary of one data file, read blob by blob as it is asked. */

import type { ReadableStore } from "../../storage/object_store.ts";
import type { BlobPlace } from "../puffin.ts";
import { readBlob, type Sidecar } from "../sidecar.ts";
import {
  CUBE_COUNTS_BLOB,
  type CubeCounts,
  decodeCubeCounts,
  decodeGroupCounts,
  decodeMeasures,
  GROUP_COUNTS_BLOB,
  type GroupCounts,
  type Measures,
  MEASURES_BLOB,
  SUMMARY_BLOB,
} from "./summary_blobs.ts";
import {
  decodeValueCounts,
  type StoredCounts,
  TOP_VALUES_BLOB,
  VALUE_COUNTS_BLOB,
} from "./value_counts.ts";
import { corruptSummary } from "./summary_bytes.ts";
import type { ToldWords } from "../text/told_words.ts";
import {
  countedWords,
  FALSE_PAIRS_TYPE,
  type FileWordRows,
  findWordRows,
  TOLD_WORDS_PROPERTY,
  WORD_COUNTS_TYPE,
} from "../text/word_counts.ts";
import { findWordGroups, type GroupRows, WORD_GROUPS_TYPE } from "../text/word_groups.ts";

/** What the summary does not have is undefined. Errors of all: `corrupt`; the store's. */
export class FileSummary {
  private constructor(
    private readonly store: ReadableStore,
    private readonly sidecar: Sidecar,
    readonly rows: number,
    /** The file's columns: every row of another one is NULL. */
    readonly columnIds: ReadonlySet<number>,
  ) {}

  /** undefined: the sidecar has none. */
  static of(store: ReadableStore, sidecar: Sidecar, rows: number): FileSummary | undefined {
    const place = sidecar.blobs.find(({ type }) => type === SUMMARY_BLOB);
    // The footer, which has a checksum, vouches for the number of rows and names the columns.
    return place === undefined
      ? undefined
      : new FileSummary(store, sidecar, rows, new Set(place.fields));
  }

  /** What there is: types and fields of all blobs. */
  get blobs(): readonly Pick<BlobPlace, "type" | "fields">[] {
    return this.sidecar.blobs;
  }

  async groupCounts(column: number): Promise<GroupCounts | undefined> {
    const blob = await this.#read(GROUP_COUNTS_BLOB, [column]);
    return blob === undefined ? undefined : decodeGroupCounts(blob, this.rows);
  }

  /** Counts of a column that `groupCounts` does not have, because it has more values. */
  async valueCounts(column: number): Promise<StoredCounts | undefined> {
    const blob = await this.#read(VALUE_COUNTS_BLOB, [column]);
    return blob === undefined ? undefined : decodeValueCounts(blob);
  }

  /**
   * The most frequent values of a column that `valueCounts` does not have, because it has still
   * more.
   */
  async topValues(column: number): Promise<StoredCounts | undefined> {
    const blob = await this.#read(TOP_VALUES_BLOB, [column]);
    return blob === undefined ? undefined : decodeValueCounts(blob);
  }

  /** `fields`: of the key, `a` first. */
  async cubeCounts(fields: readonly number[]): Promise<CubeCounts | undefined> {
    const blob = await this.#read(CUBE_COUNTS_BLOB, fields);
    if (blob === undefined) return undefined;
    const cube = decodeCubeCounts(blob, this.rows);
    if (cube.dims !== fields.length) throw corruptSummary(`it has keys of ${cube.dims} parts`);
    return cube;
  }

  async measures(fields: readonly number[], column: number): Promise<Measures | undefined> {
    const blob = await this.#read(MEASURES_BLOB, [...fields, column]);
    if (blob === undefined) return undefined;
    const measures = decodeMeasures(blob);
    if (measures.dims !== fields.length) {
      throw corruptSummary(`it has keys of ${measures.dims} parts`);
    }
    return measures;
  }

  /** Rows with a word of a text column, or with two of them side by side. */
  async wordRows(column: number, words: readonly string[]): Promise<FileWordRows | undefined> {
    const blob = await this.#wordCounts(column, words);
    return blob === undefined ? undefined : findWordRows(blob, words, this.rows);
  }

  /** The words of a text that each row of the data file tells of. */
  toldWords(text: number): ToldWords | undefined {
    const told = this.#placeOf(WORD_COUNTS_TYPE, [text])?.properties[TOLD_WORDS_PROPERTY];
    return told === "all" || told === "counted" ? told : undefined;
  }

  /** The words, and pairs of them, that are counted of a text. undefined: none are. */
  async countedWords(text: number): Promise<readonly (readonly string[])[] | undefined> {
    const place = this.#placeOf(WORD_COUNTS_TYPE, [text]);
    if (place === undefined) return undefined;
    return countedWords(await readBlob(this.store, this.sidecar, { place }), this.rows);
  }

  /** These rows by minute and by the value of another column. */
  async wordGroups(
    { text, column }: { readonly text: number; readonly column: number },
    words: readonly string[],
  ): Promise<readonly GroupRows[] | undefined> {
    const groups = await this.#read(WORD_GROUPS_TYPE, [text, column]);
    const counts = groups && await this.#wordCounts(text, words);
    return counts && findWordGroups({ groups, counts }, words, this.rows);
  }

  /** Reads and decodes everything that cubes are made of. */
  async check(): Promise<void> {
    for (const { type, fields } of this.blobs) {
      const last = fields.at(-1) ?? 0;
      if (type === GROUP_COUNTS_BLOB) await this.groupCounts(last);
      if (type === CUBE_COUNTS_BLOB) await this.cubeCounts(fields);
      if (type === WORD_COUNTS_TYPE || type === FALSE_PAIRS_TYPE) await this.wordRows(last, []);
      if (type === WORD_GROUPS_TYPE) {
        await this.wordGroups({ text: fields[0] ?? 0, column: last }, []);
      }
      if (type === MEASURES_BLOB) await this.measures(fields.slice(0, -1), last);
    }
  }

  /** Counts in which words can be looked up: earlier ones have no pairs that are true. */
  async #wordCounts(column: number, words: readonly string[]): Promise<Uint8Array | undefined> {
    const counts = await this.#read(WORD_COUNTS_TYPE, [column]);
    return counts ?? (words.length > 1 ? undefined : this.#read(FALSE_PAIRS_TYPE, [column]));
  }

  async #read(type: string, fields: readonly number[]): Promise<Uint8Array | undefined> {
    const place = this.#placeOf(type, fields);
    return place === undefined ? undefined : await readBlob(this.store, this.sidecar, { place });
  }

  #placeOf(type: string, fields: readonly number[]): BlobPlace | undefined {
    return this.sidecar.blobs.find((blob) =>
      blob.type === type && blob.fields.length === fields.length &&
      blob.fields.every((field, at) => field === fields[at])
    );
  }
}
