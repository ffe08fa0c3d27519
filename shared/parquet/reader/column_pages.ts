/**
 * One column, page by page, as values that lie where the page has them: for whoever reads all rows
 * and needs no value of its own. All pages are unpacked into the same memory.
 */

import { viewOf } from "../../base/bytes.ts";
import { unpackZstd } from "../../base/unpack_zstd.ts";
import type { ColumnChunk } from "../footer.ts";
import { ENCODING, PAGE } from "../writer/format.ts";
import type { PagePlace } from "./chunk_rows.ts";
import { checkPage, NotOurs, type PageHeader, readPageHeader } from "./page_header.ts";
import { PageReader, readDeltas, readRuns, readWideDeltas } from "./unpack.ts";

/** Bytes that may be read behind the last text, whatever they are. */
export const BYTES_BEHIND = 8;

/** Texts within bytes, each from its start to before its end. */
export interface PageTexts {
  readonly kind: "texts";
  readonly count: number;
  readonly bytes: Uint8Array;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** Integers as pairs of halves, the low one first. */
export interface PageIntegers {
  readonly kind: "integers";
  readonly halves: Int32Array;
}

export type PageValues = PageTexts | PageIntegers;

/** The rows of a page, counted from the row group's first. They are good until the next page. */
export interface PageRows {
  readonly first: number;
  /** Behind the last. */
  readonly end: number;
  readonly values: PageValues;
  /** By row of the page, the place of its value, -1 for null; undefined: values are in order. */
  readonly places: Int32Array | undefined;
  /** Whether the values are the dictionary, which all pages of a chunk share. */
  readonly isDictionary: boolean;
}

/** Whether pages of such a chunk can be read here; their sums tell damage. */
export function arePagesReadable({ stored, sum, nulls }: ColumnChunk): boolean {
  return stored !== undefined && sum !== undefined && nulls !== undefined &&
    (stored.type === "string" || stored.type === "long" || stored.type === "timestamptz");
}

/** Errors of all methods: `NotOurs`; others for a damaged chunk. */
export class ColumnPages {
  #chunk: ColumnChunk | undefined;
  #dictionary: PageValues | undefined;
  #room = new Uint8Array(0);
  #offsets = new Int32Array(0);
  #halves = new Int32Array(0);
  #places = new Int32Array(0);
  #levels = new Uint8Array(0);
  #runs = new Uint32Array(0);

  /** Begins a chunk. `dictionary` is what is in the file at `dictionaryPlace`. */
  begin(chunk: ColumnChunk, dictionary: Uint8Array | undefined): void {
    this.#chunk = chunk;
    this.#dictionary = undefined;
    if (dictionary === undefined) return;
    const { header, stored } = storedPage(dictionary);
    if (header.type !== PAGE.typeDictionary) throw new Error("not a dictionary");
    const { type, isPacked } = this.#form();
    const room = new Uint8Array(header.plainBytes + BYTES_BEHIND);
    const body = unpacked(stored, header, { isPacked, room });
    this.#dictionary = type === "string"
      ? knownTexts(body, room, header.values)
      : plainIntegers(new PageReader(body), header.values, new Int32Array(2 * header.values));
  }

  /** Reads a page, whose bytes are `bytes`; `endRow` is behind its last row. */
  read({ firstRow }: PagePlace, endRow: number, bytes: Uint8Array): PageRows {
    const { header, stored } = storedPage(bytes);
    if (header.type !== PAGE.typeData) throw new Error("a second dictionary");
    if (header.values !== endRow - firstRow) throw new Error(`a page has ${header.values} values`);
    const { isPacked, isRequired } = this.#form();
    this.#room = roomFor(this.#room, header.plainBytes + BYTES_BEHIND);
    const body = new PageReader(unpacked(stored, header, { isPacked, room: this.#room }));
    const levels = isRequired ? undefined : this.#levelsOf(body, header);
    const count = levels === undefined ? header.values : levels.reduce((sum, one) => sum + one, 0);
    const rows = { first: firstRow, end: endRow };
    if (header.encoding === ENCODING.places) {
      const values = this.#dictionary;
      if (values === undefined) throw new Error("no dictionary");
      const places = this.#knownPlaces(body, { levels, count, rows: header.values, values });
      return { ...rows, values, places, isDictionary: true };
    }
    return {
      ...rows,
      values: this.#ownValues(body, header, count),
      places: levels === undefined ? undefined : this.#spread(levels),
      isDictionary: false,
    };
  }

  #form() {
    const { stored } = this.#chunk ?? {};
    if (stored === undefined) throw new NotOurs("a column of another type");
    return stored;
  }

  /** By row 1 where it has a value; undefined: everywhere. */
  #levelsOf(body: PageReader, { values }: PageHeader): Uint8Array | undefined {
    const packed = new PageReader(body.take(body.uint32()));
    if (this.#chunk?.nulls === 0) return undefined;
    if (this.#levels.length < values) this.#levels = new Uint8Array(values);
    const levels = this.#levels.subarray(0, values);
    readRuns(packed, levels, { to: 0, count: values, width: 1 });
    return levels;
  }

  #knownPlaces(
    body: PageReader,
    { levels, count, rows, values }: {
      readonly levels: Uint8Array | undefined;
      readonly count: number;
      readonly rows: number;
      readonly values: PageValues;
    },
  ): Int32Array {
    if (this.#runs.length < count) this.#runs = new Uint32Array(count);
    readRuns(body, this.#runs, { to: 0, count, width: body.byte() });
    const known = values.kind === "texts" ? values.starts.length : values.halves.length / 2;
    const places = this.#placesFor(rows);
    let next = 0;
    for (let row = 0; row < rows; row += 1) {
      if (levels !== undefined && levels[row] === 0) {
        places[row] = -1;
        continue;
      }
      const place = this.#runs[next] as number;
      if (place >= known) throw new Error(`place ${place} of a dictionary of ${known} values`);
      places[row] = place;
      next += 1;
    }
    return places;
  }

  #spread(levels: Uint8Array): Int32Array {
    const places = this.#placesFor(levels.length);
    let next = 0;
    for (let row = 0; row < levels.length; row += 1) places[row] = levels[row] === 0 ? -1 : next++;
    return places;
  }

  #placesFor(rows: number): Int32Array {
    if (this.#places.length < rows) this.#places = new Int32Array(rows);
    return this.#places;
  }

  #ownValues(body: PageReader, { encoding }: PageHeader, count: number): PageValues {
    const { type } = this.#form();
    if (encoding === ENCODING.lengths && type === "string") return this.#texts(body, count);
    if (type === "long" || type === "timestamptz") {
      if (this.#halves.length < 2 * count) this.#halves = new Int32Array(2 * count);
      if (encoding === ENCODING.plain) return plainIntegers(body, count, this.#halves);
      if (encoding === ENCODING.deltas) {
        if (count > 0) readWideDeltas(body, this.#halves, { to: 0, count });
        return { kind: "integers", halves: this.#halves };
      }
    }
    throw new NotOurs(`${type} in encoding ${encoding}`);
  }

  #texts(body: PageReader, count: number): PageTexts {
    if (this.#offsets.length <= count) this.#offsets = new Int32Array(count + 1);
    const offsets = this.#offsets;
    if (count > 0) readDeltas(body, offsets, { to: 1, count });
    let at = body.at;
    offsets[0] = at;
    for (let place = 1; place <= count; place += 1) {
      const length = offsets[place] as number;
      if (length < 0) throw new Error(`a text of ${length} bytes`);
      at += length;
      offsets[place] = at;
    }
    if (at > body.bytes.length) throw new Error("a page's texts are cut");
    return { kind: "texts", count, bytes: this.#room, starts: offsets, ends: offsets.subarray(1) };
  }
}

function storedPage(bytes: Uint8Array) {
  const header = readPageHeader(bytes, 0);
  const { bodyAt, byteLength } = header;
  // The header has no sum of its own: what it says is held against what else is known.
  if (header.crc === undefined || bodyAt + byteLength !== bytes.length) {
    throw new Error("a page's header is damaged");
  }
  const stored = bytes.subarray(bodyAt);
  checkPage(header, stored);
  return { header, stored };
}

function unpacked(
  stored: Uint8Array,
  { plainBytes }: PageHeader,
  { isPacked, room }: { readonly isPacked: boolean; readonly room: Uint8Array },
): Uint8Array {
  if (!isPacked && stored.length !== plainBytes) {
    throw new Error(`a page of ${stored.length} bytes`);
  }
  const body = isPacked ? unpackZstd(stored, plainBytes, room) : stored;
  // What is too long for the one decoder has memory of its own.
  if (body.buffer !== room.buffer || body.byteOffset !== room.byteOffset) room.set(body);
  return room.subarray(0, plainBytes);
}

function roomFor(room: Uint8Array<ArrayBuffer>, byteLength: number): Uint8Array<ArrayBuffer> {
  return room.length >= byteLength ? room : new Uint8Array(byteLength);
}

function knownTexts(page: Uint8Array, bytes: Uint8Array, count: number): PageTexts {
  const body = new PageReader(page);
  // Each takes four bytes at least.
  if (count * 4 > page.length) throw new Error(`a dictionary of ${count} values`);
  const [starts, ends] = [new Int32Array(count), new Int32Array(count)];
  for (let place = 0; place < count; place += 1) {
    const length = body.uint32();
    starts[place] = body.skip(length);
    ends[place] = body.at;
  }
  return { kind: "texts", count, bytes, starts, ends };
}

function plainIntegers(body: PageReader, count: number, halves: Int32Array): PageIntegers {
  const view = viewOf(body.take(8 * count));
  for (let half = 0; half < 2 * count; half += 1) halves[half] = view.getInt32(4 * half, true);
  return { kind: "integers", halves };
}
