/** The values of one column of one row group, out of its pages into Arrow's buffers. */

import { unpackZstd } from "../../base/unpack_zstd.ts";
import type { Column, ColumnType } from "../../schema/schema.ts";
import { areTexts } from "../writer/chunk_values.ts";
import { ENCODING, PAGE } from "../writer/format.ts";
import type { Arena } from "./arena.ts";
import { checkPage, NotOurs, type PageHeader, readPageHeader } from "./page_header.ts";
import { PageReader, readDeltas, readRuns, readWideDeltas, unpackBits } from "./unpack.ts";

/** Where a chunk is in its file. */
export interface Chunk {
  readonly offset: number;
  readonly byteLength: number;
  readonly isPacked: boolean;
  readonly nulls: number;
}

/** Bytes of an arena. */
export interface ArenaSpan {
  readonly start: number;
  readonly byteLength: number;
}

/** Where the buffers of a column are. */
export interface ColumnPlace {
  readonly nullCount: number;
  readonly validity: ArenaSpan | undefined;
  readonly offsets: ArenaSpan | undefined;
  readonly values: ArenaSpan;
}

interface Source {
  readonly file: Uint8Array;
  readonly rows: number;
  readonly arena: Arena;
}

const BYTES: Readonly<Record<Exclude<ColumnType, "string" | "bool">, number>> = {
  timestamptz: 8,
  long: 8,
  double: 8,
  int: 4,
};
/** What copies of texts go by: a word at a time. */
const WORD = 8;

/** Errors: `NotOurs`; others for a chunk that is damaged. */
export function readChunk(column: Column, chunk: Chunk, source: Source): ColumnPlace {
  const pages = [...pagesOf(chunk, source)];
  const dictionary = pages[0]?.header.type === PAGE.typeDictionary ? pages.shift() : undefined;
  const levels = levelsOf(column, { chunk, pages, rows: source.rows });
  const data = { pages, dictionary, levels, count: source.rows - chunk.nulls };
  const buffers = column.type === "string"
    ? readTexts(data, source)
    : { offsets: undefined, values: readNumbers(column, data, source) };
  return {
    nullCount: chunk.nulls,
    validity: levels && bitsOf(levels, source.arena),
    ...buffers,
  };
}

interface Page {
  readonly header: PageHeader;
  /** Behind the levels, once these were read. */
  readonly body: PageReader;
  /** Values that are not null, once the levels were read. */
  count: number;
}

interface ChunkData {
  readonly pages: readonly Page[];
  readonly dictionary: Page | undefined;
  /** By row: 1 where there is a value; undefined: everywhere. */
  readonly levels: Uint8Array | undefined;
  /** Values that are not null. */
  readonly count: number;
}

function* pagesOf(
  { offset, byteLength, isPacked }: Chunk,
  { file }: Source,
): Generator<Page> {
  const end = offset + byteLength;
  if (end > file.length) throw new Error(`a chunk ends at ${end} of ${file.length} bytes`);
  for (let at = offset; at < end;) {
    const header = readPageHeader(file, at);
    at = header.bodyAt + header.byteLength;
    if (at > end) throw new Error(`a page ends at ${at}, its chunk at ${end}`);
    const stored = file.subarray(header.bodyAt, at);
    checkPage(header, stored);
    // A copy is unpacked: what does it takes no shared memory.
    const body = isPacked ? unpackZstd(new Uint8Array(stored), header.plainBytes) : stored;
    if (body.length !== header.plainBytes) {
      throw new Error(`a page has ${body.length} bytes, its header says ${header.plainBytes}`);
    }
    yield { header, body: new PageReader(body), count: header.values };
  }
}

/** Steps behind the levels of all pages. */
function levelsOf(
  { required }: Column,
  { chunk, pages, rows }: {
    readonly chunk: Chunk;
    readonly pages: readonly Page[];
    readonly rows: number;
  },
): Uint8Array | undefined {
  const levels = chunk.nulls === 0 ? undefined : new Uint8Array(rows);
  let row = 0;
  let nulls = 0;
  for (const page of pages) {
    const { header, body } = page;
    if (header.type !== PAGE.typeData) throw new Error("a second dictionary");
    const from = row;
    row += header.values;
    if (row > rows) throw new Error(`pages have ${row} values, the row group ${rows}`);
    if (required) continue;
    const packed = new PageReader(body.take(body.uint32()));
    if (levels === undefined) continue;
    readRuns(packed, levels, { to: from, count: header.values, width: 1 });
    for (let at = from; at < row; at += 1) page.count -= 1 - (levels[at] as number);
    nulls += header.values - page.count;
  }
  if (row !== rows) throw new Error(`pages have ${row} values, the row group ${rows}`);
  if (nulls !== chunk.nulls) throw new Error(`${nulls} nulls, the footer says ${chunk.nulls}`);
  return levels;
}

function bitsOf(levels: Uint8Array, arena: Arena): ArenaSpan {
  const byteLength = (levels.length + 7) >> 3;
  const start = arena.take(byteLength);
  const bits = arena.bytes(start, byteLength).fill(0);
  for (let row = 0; row < levels.length; row += 1) {
    bits[row >> 3] = (bits[row >> 3] as number) | (levels[row] as number) << (row & 7);
  }
  return { start, byteLength };
}

function readNumbers(
  { name, type }: Column,
  { pages, dictionary, levels, count }: ChunkData,
  { rows, arena }: Source,
): ArenaSpan {
  if (type === "string") throw new Error(`column ${name} has texts`);
  if (type === "bool") return readBools({ pages, dictionary, levels, count }, { rows, arena });
  const width = BYTES[type];
  const start = arena.take(width * rows);
  const values = arena.ints(start, width * rows / 4);
  const known = dictionary && wordsOf(dictionary.body.bytes, width);
  let at = 0;
  for (const { header, body, count } of pages) {
    if (header.encoding === ENCODING.plain) {
      arena.bytes(start + width * at, width * count).set(body.take(width * count));
    } else if (header.encoding === ENCODING.deltas && width === 8) {
      readWideDeltas(body, values, { to: at, count });
    } else if (header.encoding === ENCODING.places && known !== undefined) {
      const places = placesOf(body, count, known.length * 4 / width);
      for (let index = 0; index < count; index += 1, at += 1) {
        const place = places[index] as number;
        if (width === 4) values[at] = known[place] as number;
        else {
          values[2 * at] = known[2 * place] as number;
          values[2 * at + 1] = known[2 * place + 1] as number;
        }
      }
      continue;
    } else throw new NotOurs(`numbers in encoding ${header.encoding}`);
    at += count;
  }
  if (levels !== undefined) spread(values, levels, { count, words: width / 4 });
  return { start, byteLength: width * rows };
}

/** A copy at a multiple of what a number has. */
function wordsOf(bytes: Uint8Array, width: number): Int32Array {
  const whole = new Uint8Array(bytes.subarray(0, bytes.length - bytes.length % width));
  return new Int32Array(whole.buffer);
}

/** Moves values to the rows that have one, from behind; others get zeros. */
function spread(
  values: Int32Array,
  levels: Uint8Array,
  { count, words }: { readonly count: number; readonly words: number },
): void {
  let from = count;
  for (let row = levels.length - 1; row >= 0; row -= 1) {
    const isValue = levels[row] === 1;
    if (isValue) from -= 1;
    for (let word = 0; word < words; word += 1) {
      values[row * words + word] = isValue ? values[from * words + word] as number : 0;
    }
  }
}

function readBools(
  { pages, levels, count }: ChunkData,
  { rows, arena }: Pick<Source, "rows" | "arena">,
): ArenaSpan {
  const found = new Uint8Array(count);
  let at = 0;
  for (const { header, body, count } of pages) {
    if (header.encoding !== ENCODING.plain) throw new NotOurs(`bools in ${header.encoding}`);
    unpackBits(body.take((count + 7) >> 3), found, { to: at, count, width: 1 });
    at += count;
  }
  const byteLength = (rows + 7) >> 3;
  const start = arena.take(byteLength);
  const bits = arena.bytes(start, byteLength).fill(0);
  let value = 0;
  for (let row = 0; row < rows; row += 1) {
    if (levels !== undefined && levels[row] === 0) continue;
    bits[row >> 3] = (bits[row >> 3] as number) | (found[value] as number) << (row & 7);
    value += 1;
  }
  return { start, byteLength };
}

/** Checked: below `known`. */
function placesOf(body: PageReader, count: number, known: number): Uint32Array {
  const places = new Uint32Array(count);
  readRuns(body, places, { to: 0, count, width: body.byte() });
  for (let at = 0; at < count; at += 1) {
    if ((places[at] as number) >= known) {
      throw new Error(`place ${places[at]} of a dictionary of ${known} values`);
    }
  }
  return places;
}

function readTexts(
  data: ChunkData,
  source: Source,
): { readonly offsets: ArenaSpan; readonly values: ArenaSpan } {
  const { levels, count, dictionary } = data;
  const { rows, arena } = source;
  const start = arena.take(4 * (rows + 1));
  const values = dictionary === undefined
    ? readPlainTexts(data, arena, start)
    : readKnownTexts(data, { arena, start, dictionary });
  const offsets = arena.ints(start, rows + 1);
  const bytes = arena.bytes(values.start, values.byteLength);
  if (!areTexts({ type: "string", width: 0, count, bytes, offsets })) {
    throw new Error("a text is not UTF-8");
  }
  if (levels !== undefined) spreadOffsets(offsets, levels, count);
  return { offsets: { start, byteLength: 4 * (rows + 1) }, values };
}

/** Writes the ends of the texts behind the 0 at `start`. */
function readPlainTexts({ pages, count }: ChunkData, arena: Arena, start: number): ArenaSpan {
  const room = pages.reduce((sum, { body }) => sum + body.left, 0);
  const valuesAt = arena.take(room);
  const offsets = arena.ints(start, count + 1);
  offsets[0] = 0;
  let at = 0;
  let byteLength = 0;
  for (const { header, body, count } of pages) {
    if (header.encoding !== ENCODING.lengths) throw new NotOurs(`texts in ${header.encoding}`);
    readDeltas(body, offsets, { to: at + 1, count });
    const pageStart = byteLength;
    for (const end = at + count; at < end; at += 1) {
      const length = offsets[at + 1] as number;
      if (length < 0) throw new Error(`a text of ${length} bytes`);
      byteLength += length;
      offsets[at + 1] = byteLength;
    }
    if (byteLength > room) throw new Error(`texts of ${byteLength} bytes in ${room}`);
    const length = byteLength - pageStart;
    arena.bytes(valuesAt + pageStart, length).set(body.take(length));
  }
  arena.keepUpTo(valuesAt + byteLength);
  return { start: valuesAt, byteLength };
}

/**
 * Writes the ends of texts that are named by their place in a dictionary behind the 0 at `start`.
 */
function readKnownTexts(
  { pages, count }: ChunkData,
  { arena, start, dictionary }: {
    readonly arena: Arena;
    readonly start: number;
    readonly dictionary: Page;
  },
): ArenaSpan {
  const known = knownTexts(dictionary);
  const places = new Uint32Array(count);
  const ends = arena.ints(start, count + 1);
  ends[0] = 0;
  let at = 0;
  let byteLength = 0;
  for (const { header, body, count } of pages) {
    if (header.encoding !== ENCODING.places) throw new NotOurs(`texts in ${header.encoding}`);
    places.set(placesOf(body, count, known.starts.length - 1), at);
    for (const end = at + count; at < end; at += 1) {
      const place = places[at] as number;
      byteLength += (known.ends[place] as number) - (known.starts[place] as number);
      if (byteLength > 0x7fff_ffff) throw new Error("texts of more than 2 GiB");
      ends[at + 1] = byteLength;
    }
  }
  const valuesAt = arena.take(byteLength);
  const target = new DataView(arena.buffer, valuesAt);
  let to = 0;
  for (const place of places) {
    const end = known.ends[place] as number;
    const length = end - (known.starts[place] as number);
    // Past its end the next text follows, or what nobody reads.
    for (
      let from = known.starts[place] as number, word = to;
      from < end;
      from += WORD, word += WORD
    ) {
      target.setBigInt64(word, known.view.getBigInt64(from, true), true);
    }
    to += length;
  }
  return { start: valuesAt, byteLength };
}

interface KnownTexts {
  /** With a word behind the last text. */
  readonly view: DataView;
  /** One more than there are texts. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

function knownTexts({ header, body }: Page): KnownTexts {
  const { bytes } = body;
  const padded = new Uint8Array(bytes.length + WORD);
  padded.set(bytes);
  // Each takes four bytes at least.
  if (header.values * 4 > bytes.length) throw new Error(`a dictionary of ${header.values} values`);
  const starts = new Uint32Array(header.values + 1);
  const ends = new Uint32Array(header.values + 1);
  for (let at = 0; at < header.values; at += 1) {
    const length = body.uint32();
    starts[at] = body.at;
    body.take(length);
    ends[at] = body.at;
  }
  return { view: new DataView(padded.buffer), starts, ends };
}

/** Ends of `count` texts to those of all rows: one that is null is as long as nothing. */
function spreadOffsets(offsets: Int32Array, levels: Uint8Array, count: number): void {
  let from = count;
  for (let row = levels.length - 1; row >= 0; row -= 1) {
    offsets[row + 1] = offsets[from] as number;
    if (levels[row] === 1) from -= 1;
  }
}
