/**
 * Some rows of one column of one row group, out of the pages that hold them: few rows are read as
 * few rows. A page is unpacked up to the last row that is wanted of it.
 */

import { textOf, utf8, viewOf } from "../../base/bytes.ts";
import type { ColumnType } from "../../schema/schema.ts";
import type { ColumnChunk, FilePlace } from "../footer.ts";
import { ENCODING, OFFSET_INDEX, PAGE } from "../writer/format.ts";
import { NotOurs, type PageHeader, ThriftReader } from "./page_header.ts";
import { type PageSource, StoredPage } from "./stored_page.ts";
import { PageReader, readDeltas, readRuns, readRunsAt, readWideDeltasAt } from "./unpack.ts";

/** `timestamptz` as Unix microseconds; null where there is no value. */
export type StoredValue = string | bigint | number | boolean | null;

/** A page in its file, with its header; rows are counted from the row group's first. */
export interface PagePlace extends FilePlace {
  readonly firstRow: number;
}

/** A page and which of its rows are wanted, ascending and counted from the row group's first. */
export interface WantedPage extends PagePlace {
  /** Behind its last row; Infinity: it is the last page. */
  readonly endRow: number;
  readonly rows: Uint32Array;
}

/** The pages that an offset index tells of. Errors: `NotOurs`; others for bytes that are none. */
export function pagesOfIndex(index: Uint8Array): PagePlace[] {
  const { lists } = new ThriftReader(index, 0).struct();
  return (lists.get(OFFSET_INDEX.pages) ?? []).map(({ numbers }) => ({
    offset: numbers.get(OFFSET_INDEX.offset) ?? 0,
    byteLength: numbers.get(OFFSET_INDEX.bytes) ?? 0,
    firstRow: numbers.get(OFFSET_INDEX.firstRow) ?? 0,
  }));
}

/** The one page of rows of a chunk whose file has no offset index. */
export function onlyPage({ offset, byteLength, dataOffset }: ColumnChunk): PagePlace {
  return { offset: dataOffset, byteLength: offset + byteLength - dataOffset, firstRow: 0 };
}

/** The pages with `rows`, which ascend and are counted from the row group's first. */
export function pagesWith(pages: readonly PagePlace[], rows: Uint32Array): WantedPage[] {
  const wanted: WantedPage[] = [];
  let from = 0;
  pages.forEach((page, at) => {
    const end = pages[at + 1]?.firstRow ?? Infinity;
    let to = from;
    while (to < rows.length && (rows[to] as number) < end) to += 1;
    if (to > from) {
      wanted.push({ ...page, endRow: end, rows: rows.subarray(from, to) });
    }
    from = to;
  });
  return wanted;
}

/** Where the dictionary is; undefined for a chunk that has none. */
export function dictionaryPlace({ offset, dataOffset }: ColumnChunk): FilePlace | undefined {
  return dataOffset > offset ? { offset, byteLength: dataOffset - offset } : undefined;
}

/** A page of a chunk out of its bytes in the file. Errors: those of a damaged page. */
export function storedPage(
  { name, stored, sum }: Pick<ColumnChunk, "name" | "stored" | "sum">,
  bytes: Uint8Array,
): StoredPage {
  if (stored === undefined) throw new NotOurs(name);
  return new StoredPage(bytes, { isPacked: stored.isPacked, isSummed: sum !== undefined });
}

/** What is known beside the places of values. */
export interface RowsSource {
  /** One of the pages, or the dictionary. */
  readonly pageAt: (place: FilePlace) => PageSource;
  /**
   * Texts of which it is false may be null in the answer. Where it is false for a text, it is so
   * for each part of it, so many values are asked about at once. It is asked about ASCII alone.
   */
  readonly mayMeet?: ((text: string) => boolean) | undefined;
}

/**
 * The values of the rows that are wanted of `pages`, in order. Errors: `NotOurs`; others for a
 * damaged chunk.
 */
export function readChunkRows(
  chunk: ColumnChunk,
  pages: readonly WantedPage[],
  { pageAt, mayMeet }: RowsSource,
): StoredValue[] {
  const { stored } = chunk;
  if (stored === undefined || chunk.nulls === undefined) throw new NotOurs(chunk.name);
  const place = dictionaryPlace(chunk);
  const dictionary = place === undefined
    ? undefined
    : new StoredDictionary(stored.type, pageAt(place));
  return pages.flatMap((page) => {
    const read = pageAt(page);
    if (read.header.type !== PAGE.typeData) throw new Error("a second dictionary");
    if (chunk.sum !== undefined && read.header.values !== rowsOf(page, chunk)) {
      throw new Error(`a page has ${read.header.values} values`);
    }
    const rows = page.rows.map((row) => row - page.firstRow);
    const last = rows.at(-1) ?? 0;
    if (last >= read.header.values) throw new Error(`row ${last} of ${read.header.values}`);
    const wanted = { type: stored.type, hasLevels: !stored.isRequired, rows, dictionary, mayMeet };
    const hasNulls = chunk.nulls !== 0;
    return read.upTo(
      (last + 1) / read.header.values,
      (body) => valuesAt(body, read.header, { ...wanted, hasNulls }),
    );
  });
}

function rowsOf({ firstRow, endRow }: WantedPage, { values }: ColumnChunk): number {
  return Math.min(endRow, values) - firstRow;
}

interface Wanted {
  readonly type: ColumnType;
  /** Whether the page tells which rows have a value. */
  readonly hasLevels: boolean;
  readonly hasNulls: boolean;
  /** Counted from the page's first row, ascending. */
  readonly rows: Uint32Array;
  readonly dictionary: StoredDictionary | undefined;
  readonly mayMeet: RowsSource["mayMeet"];
}

function valuesAt(body: PageReader, header: PageHeader, wanted: Wanted): StoredValue[] {
  const { rows, hasLevels, hasNulls } = wanted;
  const levels = hasLevels ? new PageReader(body.take(body.uint32())) : undefined;
  if (levels === undefined || !hasNulls) return storedAt(body, header, { ...wanted, places: rows });
  const filled = new Uint8Array(header.values);
  readRuns(levels, filled, { to: 0, count: header.values, width: 1 });
  const places: number[] = [];
  let values = 0;
  let next = 0;
  for (let row = 0; row < filled.length; row += 1) {
    const isFilled = filled[row] === 1;
    if (rows[next] === row) {
      if (isFilled) places.push(values);
      next += 1;
    }
    if (isFilled) values += 1;
  }
  const stored = storedAt(body, { ...header, values }, {
    ...wanted,
    places: Uint32Array.from(places),
  });
  let at = 0;
  return Array.from(rows, (row) => filled[row] === 1 ? stored[at++] as StoredValue : null);
}

/** Values by their places among those that are not null; `header.values` counts these. */
function storedAt(
  body: PageReader,
  { encoding, values: total }: Pick<PageHeader, "encoding" | "values">,
  { type, places, dictionary, mayMeet }: Pick<Wanted, "type" | "dictionary" | "mayMeet"> & {
    readonly places: Uint32Array;
  },
): StoredValue[] {
  if (places.length === 0) return [];
  switch (encoding) {
    case ENCODING.places: {
      if (dictionary === undefined) throw new Error("no dictionary");
      const found = readRunsAt(body, places, body.byte());
      return dictionary.values(found);
    }
    case ENCODING.lengths:
      if (type !== "string") break;
      return textsAt(body, { total, places, mayMeet });
    case ENCODING.deltas: {
      if (type !== "long" && type !== "timestamptz") break;
      return readWideDeltasAt(body, places, total);
    }
    case ENCODING.plain:
      return plainAt(body, type, places);
  }
  throw new NotOurs(`${type} in encoding ${encoding}`);
}

function textsAt(
  body: PageReader,
  { total, places, mayMeet }: Pick<Wanted, "mayMeet"> & {
    readonly total: number;
    readonly places: Uint32Array;
  },
): StoredValue[] {
  const count = (places.at(-1) ?? 0) + 1;
  const lengths = new Int32Array(count);
  readDeltas(body, lengths, { to: 0, count, total });
  const texts: StoredValue[] = [];
  let next = 0;
  for (let place = 0, start = body.at; next < places.length;) {
    // Neighbours are decoded at once.
    const first = next;
    const ends: number[] = [];
    let end = start;
    for (; places[next] === place; next += 1, place += 1) {
      end += lengthAt(lengths, place);
      ends.push(end);
    }
    if (end > body.bytes.length) throw new Error("a page's texts are cut");
    if (next > first) pushTexts(texts, body.bytes, { start, ends, mayMeet });
    start = end;
    if (next === places.length) break;
    for (; place < (places[next] as number); place += 1) start += lengthAt(lengths, place);
  }
  return texts;
}

function lengthAt(lengths: Int32Array, place: number): number {
  const length = lengths[place] as number;
  if (length < 0) throw new Error(`a text of ${length} bytes`);
  return length;
}

/** Texts that follow each other. Where all are ASCII, one call decodes them. */
function pushTexts(
  texts: StoredValue[],
  bytes: Uint8Array,
  { start, ends, mayMeet }: Pick<Wanted, "mayMeet"> & {
    readonly start: number;
    readonly ends: readonly number[];
  },
): void {
  const all = bytes.subarray(start, ends.at(-1));
  const text = ends.length > 1 && all.length <= TOGETHER_BYTES_MAX ? textOf(all) : "";
  if (text.length !== all.length) {
    let from = start;
    for (const end of ends) {
      texts.push(textOf(bytes.subarray(from, end)));
      from = end;
    }
    return;
  }
  const endOf = (at: number) => (ends[at] as number) - start;
  const push = (from: number, to: number) => {
    const part = text.slice(from === 0 ? 0 : endOf(from - 1), endOf(to - 1));
    if (mayMeet?.(part) === false) {
      for (let at = from; at < to; at += 1) texts.push(null);
    } else if (to - from === 1) {
      texts.push(part);
    } else {
      const step = mayMeet === undefined ? 1 : Math.ceil((to - from) / PARTS);
      for (let at = from; at < to; at += step) push(at, Math.min(to, at + step));
    }
  };
  push(0, ends.length);
}

/** Texts of which some may meet a condition are asked about in so many parts. */
const PARTS = 8;

/** A text that is kept keeps its neighbours with it. */
const TOGETHER_BYTES_MAX = 128 * 1024;

const PLAIN_BYTES = { timestamptz: 8, long: 8, double: 8, int: 4 } as const;

function plainAt(body: PageReader, type: ColumnType, places: Uint32Array): StoredValue[] {
  const count = (places.at(-1) ?? 0) + 1;
  if (type === "bool") {
    const bits = body.take((count + 7) >> 3);
    return Array.from(places, (at) => (((bits[at >> 3] as number) >> (at & 7)) & 1) === 1);
  }
  if (type === "string") throw new NotOurs("texts in plain encoding");
  const view = viewOf(body.take(PLAIN_BYTES[type] * count));
  return Array.from(places, (at) => numberAt(view, type, at));
}

function numberAt(
  view: DataView,
  type: Exclude<ColumnType, "string" | "bool">,
  at: number,
): StoredValue {
  if (type === "int") return view.getInt32(4 * at, true);
  return type === "double" ? view.getFloat64(8 * at, true) : view.getBigInt64(8 * at, true);
}

/** The distinct values of a chunk, of which few are wanted. */
export class StoredDictionary {
  readonly #type: ColumnType;
  readonly #page: PageSource;

  constructor(type: ColumnType, page: PageSource) {
    if (page.header.type !== PAGE.typeDictionary) throw new Error("not a dictionary");
    this.#type = type;
    this.#page = page;
  }

  /** By their places, 1 for each value that is one of the texts. */
  placesOf(texts: Iterable<string>): Uint8Array {
    const wanted = Array.from(texts, utf8);
    const kept = new Uint8Array(this.#page.header.values);
    return this.#page.upTo(1, (body) => {
      for (let place = 0; place < kept.length; place += 1) {
        const length = body.uint32();
        const start = body.skip(length);
        for (const text of wanted) {
          if (text.length === length && isAt(body.bytes, start, text)) kept[place] = 1;
        }
      }
      return kept;
    });
  }

  values(places: Uint32Array): StoredValue[] {
    const known = this.#page.header.values;
    const last = places.reduce((most, place) => Math.max(most, place), 0);
    if (last >= known) throw new Error(`place ${last} of a dictionary of ${known} values`);
    return this.#page.upTo((last + 1) / known, (body) => {
      if (this.#type !== "string") {
        const wanted = [...new Set(places)].sort((a, b) => a - b);
        const values = plainAt(body, this.#type, Uint32Array.from(wanted));
        const byPlace = new Map(wanted.map((place, at) => [place, values[at] as StoredValue]));
        return Array.from(places, (place) => byPlace.get(place) as StoredValue);
      }
      const wanted = new Map<number, string>();
      for (const place of places) wanted.set(place, "");
      for (let place = 0; place <= last; place += 1) {
        const length = body.uint32();
        const start = body.skip(length);
        if (!wanted.has(place)) continue;
        wanted.set(place, textOf(body.bytes.subarray(start, start + length)));
      }
      return Array.from(places, (place) => wanted.get(place) as string);
    });
  }
}

function isAt(bytes: Uint8Array, start: number, text: Uint8Array): boolean {
  // Texts that are alike often have their beginnings in common.
  for (let at = text.length - 1; at >= 0; at -= 1) {
    if (bytes[start + at] !== text[at]) return false;
  }
  return true;
}
