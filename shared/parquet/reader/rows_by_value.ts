/**
 * Rows of a column of texts by their value, where the chunk has a dictionary. Each distinct text is
 * compared once, as bytes. Rows are then compared by their places in the dictionary.
 */

import type { ColumnChunk, FilePlace } from "../footer.ts";
import { ENCODING, PAGE } from "../writer/format.ts";
import { dictionaryPlace, type PagePlace, StoredDictionary } from "./chunk_rows.ts";
import { NotOurs } from "./page_header.ts";
import type { PageSource } from "./stored_page.ts";
import { PageReader, readRuns, unpackBits } from "./unpack.ts";

/** Which rows of a row group are looked at, counted from its first, and by what. */
export interface RowsByValue {
  readonly first: number;
  /** Behind the last. */
  readonly end: number;
  readonly texts: Iterable<string>;
  /** The page, or the dictionary. */
  readonly pageAt: (place: FilePlace) => PageSource;
}

/** Whether the rows of a chunk with these pages can be told so. */
export function hasPlaces(chunk: ColumnChunk, pages: readonly PagePlace[]): boolean {
  return chunk.stored?.type === "string" && chunk.nulls !== undefined && pages.length === 1 &&
    dictionaryPlace(chunk) !== undefined;
}

/** The rows with one of the texts, ascending. Errors: `NotOurs`; others for a damaged chunk. */
export function rowsByValue(
  chunk: ColumnChunk,
  page: PagePlace,
  { first, end, texts, pageAt }: RowsByValue,
): Uint32Array {
  const { stored, nulls } = chunk;
  const place = dictionaryPlace(chunk);
  if (stored === undefined || place === undefined) throw new NotOurs(chunk.name);
  const dictionary = new StoredDictionary(stored.type, pageAt(place));
  const kept = dictionary.placesOf(texts);
  const read = pageAt(page);
  const { header } = read;
  if (header.type !== PAGE.typeData || header.values !== chunk.values || end > header.values) {
    throw new Error(`a page has ${header.values} values`);
  }
  if (header.encoding !== ENCODING.places) throw new NotOurs(`encoding ${header.encoding}`);
  if (!kept.includes(1)) return new Uint32Array(0);
  return read.upTo(end / header.values, (body) => {
    const levels = stored.isRequired ? undefined : new PageReader(body.take(body.uint32()));
    if (levels === undefined || nulls === 0) return keptPlaces(body, kept, { first, end });
    const filled = new Uint8Array(header.values);
    readRuns(levels, filled, { to: 0, count: header.values, width: 1 });
    return keptRows(body, kept, { filled, first, end });
  });
}

/** Rows of a chunk with nulls, of which the page has no places. */
function keptRows(
  body: PageReader,
  kept: Uint8Array,
  { filled, first, end }: {
    readonly filled: Uint8Array;
    readonly first: number;
    readonly end: number;
  },
): Uint32Array {
  const before = (row: number) => filled.subarray(0, row).reduce((sum, one) => sum + one, 0);
  const places = keptPlaces(body, kept, { first: before(first), end: before(end) });
  const rows = new Uint32Array(places.length);
  let value = before(first);
  let next = 0;
  for (let row = first; row < end && next < rows.length; row += 1) {
    if (filled[row] === 0) continue;
    if (places[next] === value) rows[next++] = row;
    value += 1;
  }
  return rows;
}

/** Values that are unpacked at a time: whole bytes of any width. */
const STEP = 4_096;
const codes = new Uint32Array(STEP);

/** The numbers of values from `first` on whose place in the dictionary is kept. */
function keptPlaces(
  reader: PageReader,
  kept: Uint8Array,
  { first, end }: { readonly first: number; readonly end: number },
): Uint32Array {
  const width = reader.byte();
  if (width > 32) throw new Error(`places of ${width} bits`);
  const found = new Uint32Array(end - first);
  let next = 0;
  const isKept = (code: number): boolean => {
    if (code >= kept.length) throw new Error(`place ${code} of ${kept.length} values`);
    return kept[code] === 1;
  };
  for (let start = 0; start < end;) {
    const head = reader.varint();
    const length = Math.floor(head / 2);
    if (length === 0) throw new Error("a run of nothing");
    if (head % 2 === 0) {
      let code = 0;
      for (let bits = 0; bits < width; bits += 8) code += reader.byte() * 2 ** bits;
      const to = Math.min(end, start + length);
      if (to > first && isKept(code)) {
        for (let at = Math.max(first, start); at < to; at += 1) found[next++] = at;
      }
      start += length;
      continue;
    }
    const from = reader.skip(length * width);
    const to = Math.min(end, start + 8 * length);
    const skipped = Math.max(0, first - start) >> 3 << 3;
    for (let at = start + skipped; at < to; at += STEP) {
      const count = Math.min(STEP, to - at);
      unpackBits(reader.bytes, codes, {
        from: from + (at - start) / 8 * width,
        to: 0,
        count,
        width,
      });
      for (let i = 0; i < count; i += 1) {
        if (isKept(codes[i] as number) && at + i >= first) found[next++] = at + i;
      }
    }
    start += 8 * length;
  }
  return found.slice(0, next);
}
