/**
 * Rows of a part of a data file from one end to the other, written as JSON one after the other. One
 * page of each column is at hand at a time.
 */

import { present } from "../../base/assert.ts";
import { damagedFile } from "../../base/damaged_file.ts";
import { isOperatingError, messageOf } from "../../base/errors.ts";
import type { ColumnChunk, RowGroup } from "../../parquet/footer.ts";
import { dictionaryPlace, type PagePlace } from "../../parquet/reader/chunk_rows.ts";
import { ColumnPages } from "../../parquet/reader/column_pages.ts";
import type { DataFileLease, OpenDataFile } from "../files/data_files.ts";
import { chunkOf, pagePlaces, rangeOf, readPagePlaces } from "../files/page_places.ts";
import type { FilePart } from "../plan/plan.ts";
import { FixedBytes, type JsonBytes } from "./json_bytes.ts";
import { JsonColumn } from "./json_column.ts";
import type { JsonRowsForm } from "./json_rows_form.ts";

/** Memory of a cursor's columns, which the next cursor uses again. */
export interface CursorColumns {
  readonly columns: readonly { readonly pages: ColumnPages; readonly json: JsonColumn }[];
}

export function cursorColumns({ columns, direction }: JsonRowsForm): CursorColumns {
  return {
    columns: columns.map(({ before, isInstant }) => ({
      pages: new ColumnPages(),
      json: new JsonColumn({ before, isInstant, isBackwards: direction === "newest" }),
    })),
  };
}

/** How far rows are written by one call. */
export interface Stretch {
  /** Rows at most. */
  readonly rows: number;
  /** Only rows up to this key (`FileCursor.key`), itself included. */
  readonly upTo: number;
  /** Is told of each row that was written. */
  readonly written: () => void;
}

/** A column in the row group that is read. */
interface GroupColumn {
  readonly chunk: ColumnChunk | undefined;
  readonly pages: readonly PagePlace[];
}

export class FileCursor implements AsyncDisposable {
  /** Microseconds of the next row, negated where the newest come first: the least is next. */
  key = Infinity;
  readonly memory: CursorColumns;
  readonly #form: JsonRowsForm;
  readonly #after: FixedBytes;
  readonly #part: FilePart;
  readonly #file: OpenDataFile;
  readonly #groups: readonly RowGroup[];
  readonly #step: 1 | -1;
  /** Rows of the file that are still to come. */
  #first: number;
  #end: number;
  #group: RowGroup | undefined;
  #own: readonly GroupColumn[] = [];

  private constructor(
    form: JsonRowsForm,
    { part, file, groups, memory }: {
      readonly part: FilePart;
      readonly file: OpenDataFile;
      readonly groups: readonly RowGroup[];
      readonly memory: CursorColumns;
    },
  ) {
    this.#form = form;
    this.#after = new FixedBytes(form.after);
    this.#part = part;
    this.#file = file;
    this.#groups = groups;
    this.memory = memory;
    this.#step = form.direction === "newest" ? -1 : 1;
    const { first, end } = part.range ?? { first: 0, end: part.rows };
    [this.#first, this.#end] = [first, end];
  }

  /**
   * Its first rows are at hand. `columns` are those of `form`. Errors: the store's; others for a
   * damaged file.
   */
  static async open(
    form: JsonRowsForm,
    { part, lease, memory }: {
      readonly part: FilePart;
      readonly lease: Pick<DataFileLease, "footer" | "open">;
      readonly memory: CursorColumns;
    },
  ): Promise<FileCursor> {
    const { rowGroups: groups } = await lease.footer(part.file);
    await using opening = new AsyncDisposableStack();
    const file = opening.use(await lease.open(part.file));
    const cursor = new FileCursor(form, { part, file, groups, memory });
    await cursor.load();
    opening.move();
    return cursor;
  }

  get isOver(): boolean {
    return this.#first >= this.#end;
  }

  /** Whether `load` must come before the next row. */
  get isBare(): boolean {
    if (this.isOver || this.#group === undefined) return true;
    const row = this.#next - this.#group.firstRow;
    return this.memory.columns.some(({ json }) => row < json.first || row >= json.end);
  }

  get #next(): number {
    return this.#step === 1 ? this.#first : this.#end - 1;
  }

  /** Reads the pages of the next row that are not at hand. */
  async load(): Promise<void> {
    try {
      await this.#load();
    } catch (error) {
      if (isOperatingError(error)) throw error;
      const { file: { key, byteLength } } = this.#part;
      throw damagedFile(key, { offset: 0, byteLength, what: `the file (${messageOf(error)})` });
    }
  }

  async #load(): Promise<void> {
    const group = this.#groupOf(this.#next);
    if (group !== this.#group) await this.#enter(group);
    const row = this.#next - group.firstRow;
    const missing = this.memory.columns.flatMap(({ json, pages }, at) => {
      if (row >= json.first && row < json.end) return [];
      const { chunk, pages: places } = present(this.#own[at]);
      if (chunk === undefined) {
        json.turnToNulls(0, group.rows);
        return [];
      }
      const index = places.findLastIndex(({ firstRow }) => firstRow <= row);
      const end = places[index + 1]?.firstRow ?? group.rows;
      return { json, pages, place: present(places[index], "a page"), end };
    });
    const bytes = missing.length === 0
      ? []
      : await this.#file.read(missing.map(({ place }) => rangeOf(place)));
    missing.forEach(({ json, pages, place, end }, at) =>
      json.turn(pages.read(place, end, present(bytes[at])))
    );
    this.#tellKey();
  }

  /** Writes rows that are at hand, while there is room for the next one. */
  write(to: JsonBytes, { rows, upTo, written }: Stretch): void {
    const { ordered, shown: count } = this.#form;
    const columns = this.memory.columns.map(({ json }) => json);
    const shown = columns.slice(0, count);
    const group = present(this.#group);
    const step = this.#step;
    // Rows of the row group for which all columns have a page.
    const low = columns.reduce(
      (most, { first }) => Math.max(most, first),
      this.#first - group.firstRow,
    );
    const high = columns.reduce(
      (least, { end }) => Math.min(least, end),
      this.#end - group.firstRow,
    );
    const times = present(columns[ordered]);
    let row = this.#next - group.firstRow;
    for (let left = rows; left > 0 && row >= low && row < high; left -= 1, row += step) {
      if (step * times.microsAt(row) > upTo) break;
      if (to.at > 0 && this.#bytesMax(shown, row) > to.left) break;
      for (const column of shown) column.write(row, to);
      to.piece(this.#after);
      written();
    }
    if (step === 1) this.#first = group.firstRow + row;
    else this.#end = group.firstRow + row + 1;
    if (!this.isBare) this.#tellKey();
  }

  /** The most bytes that the next row takes. */
  get nextBytesMax(): number {
    const row = this.#next - present(this.#group).firstRow;
    const shown = this.memory.columns.slice(0, this.#form.shown);
    return this.#bytesMax(shown.map(({ json }) => json), row);
  }

  #bytesMax(columns: readonly JsonColumn[], row: number): number {
    let bytes = this.#form.after.length;
    for (const column of columns) bytes += column.bytesMax(row);
    return bytes;
  }

  #tellKey(): void {
    const row = this.#next - present(this.#group).firstRow;
    const { json } = present(this.memory.columns[this.#form.ordered]);
    this.key = this.#step * json.microsAt(row);
  }

  #groupOf(row: number): RowGroup {
    const group = this.#groups.find(({ firstRow, rows }) =>
      row >= firstRow && row < firstRow + rows
    );
    return present(group, `the row group of row ${row}`);
  }

  async #enter(group: RowGroup): Promise<void> {
    const chunks = this.#form.columns.map(({ id }) => chunkOf(group, id));
    const there = chunks.filter((chunk) => chunk !== undefined);
    const read = (places: readonly { readonly offset: number; readonly byteLength: number }[]) =>
      this.#file.read(places.map(rangeOf));
    await readPagePlaces(there, read);
    const places = there.flatMap((chunk) => dictionaryPlace(chunk) ?? []);
    const bytes = places.length === 0 ? [] : await read(places);
    const dictionaries = new Map(places.map(({ offset }, at) => [offset, bytes[at]]));
    this.memory.columns.forEach(({ pages, json }, at) => {
      const chunk = chunks[at];
      if (chunk !== undefined) pages.begin(chunk, dictionaries.get(chunk.offset));
      json.turnToNulls(0, 0);
    });
    this.#own = chunks.map((chunk) => ({
      chunk,
      pages: chunk === undefined ? [] : pagePlaces(chunk),
    }));
    this.#group = group;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file[Symbol.asyncDispose]();
  }
}
