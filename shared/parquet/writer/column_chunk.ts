/**
 * One column of one row group: its pages, compressed, and what the footer and the page indexes say
 * of them.
 */

import { present } from "../../base/assert.ts";
import { crc32 } from "../../base/bytes.ts";
import { ByteBuilder } from "../../columns/byte_builder.ts";
import type { ColumnData } from "../../columns/batch.ts";
import { isNull } from "../../columns/rows.ts";
import { ATTRIBUTES } from "../../schema/promoted.ts";
import type { Column } from "../../schema/schema.ts";
import { type Bounds, type Extremes, ValueOrder } from "./bounds.ts";
import { areTexts, type ChunkValues, chunkValues, startOf } from "./chunk_values.ts";
import { type Dictionary, dictionaryOf, writeDictionary } from "./dictionary.ts";
import { ENCODING, PAGE } from "./format.ts";
import { type Effort, packFirst, type Packing, packPage, waysOf } from "./packing.ts";
import { ThriftWriter } from "./thrift_writer.ts";
import { type ValueEncoder, valueEncoder } from "./value_encoder.ts";
import { writeRun, writeRuns } from "./runs.ts";

export interface WrittenPage {
  readonly firstRow: number;
  readonly nulls: number;
  readonly bounds: Bounds | undefined;
  /** From the chunk's start, header included. */
  readonly offset: number;
  readonly byteLength: number;
}

export interface WrittenChunk {
  readonly column: Column;
  readonly rows: number;
  readonly nulls: number;
  readonly bounds: Bounds | undefined;
  /** The bytes of its pages, one after the other. */
  readonly pieces: readonly Uint8Array[];
  readonly byteLength: number;
  /** CRC-32 of these. */
  readonly sum: number;
  /** The bytes that the pages have without compression. */
  readonly plainBytes: number;
  readonly packing: Packing;
  readonly encoding: number;
  /** Bytes of the dictionary's page, which comes first; 0 without one. */
  readonly dictionaryBytes: number;
  /** Pages of data. */
  readonly pages: readonly WrittenPage[];
  /** How the smallest values of the pages follow each other, and the largest. */
  readonly isAscending: boolean;
}

/**
 * A page is closed with so many bytes of values, or so many rows: a multiple of 8. Places in a
 * dictionary are one page: it is small, and each page costs a reader more than its bytes.
 */
const PAGE_BYTES = 1024 * 1024;
/**
 * Attributes are most of a row, and rows are often read one by one. Smaller pages take 2 % more of
 * their bytes at most; of `raw` they would take 3 to 10 %.
 */
const ATTRIBUTES_PAGE_BYTES = 512 * 1024;
const PAGE_ROWS_MAX = 20_480;
/** Pages are looked at in such steps for where to end. */
const PAGE_ROWS_STEP = 8;
/** Bytes of the length of a page's levels. */
const LEVELS_LENGTH_BYTES = 4;

/** Where pages are made: a thread writes one chunk after the other. */
const PAGE_MEMORY = new ByteBuilder();

interface PlainPage {
  readonly plain: Uint8Array;
  readonly type: number;
  /** Writes the last fields of its header. */
  readonly about: (header: ThriftWriter) => void;
}

export interface ChunkOptions {
  /** At least one. */
  readonly rows: number;
  readonly effort: Effort;
  /** What the column was packed with in the row group before. */
  readonly packingBefore?: Packing | undefined;
}

/** What a chunk is written from. */
export interface ChunkSource {
  /** Tells which rows are null. */
  readonly data: ColumnData;
  /** With a dictionary: what it has. */
  readonly values: ChunkValues;
  readonly dictionary: Dictionary | undefined;
}

/** The source for a column's values of so many rows. */
export function chunkSource(column: Column, data: ColumnData, rows: number): ChunkSource {
  const values = chunkValues(column.type, data, rows);
  if (!areTexts(values)) throw new Error(`column ${column.name} is not UTF-8`);
  const hasDictionary = !isTime(column) && column.type !== "bool" && values.count > 0;
  return { data, values, dictionary: hasDictionary ? dictionaryOf(values) : undefined };
}

function isTime({ name, type }: Column): boolean {
  return type === "timestamptz" || (name === "timestamp_ns" && type === "long");
}

/** The pages of one column of one row group. */
export function writeChunk(
  column: Column,
  source: ChunkSource,
  options: ChunkOptions,
): WrittenChunk {
  const { rows } = options;
  const writer = new ChunkWriter(column, source, options);
  for (let from = 0; from < rows;) from = writer.page(from);
  return writer.finish();
}

class ChunkWriter {
  readonly #column: Column;
  readonly #data: ColumnData;
  readonly #rows: number;
  readonly #effort: Effort;
  readonly #packingBefore: Packing | undefined;
  readonly #values: ChunkValues;
  readonly #dictionary: Dictionary | undefined;
  readonly #encoder: ValueEncoder;
  readonly #order: ValueOrder;
  readonly #page = PAGE_MEMORY;
  /** The dictionary's, until the first page of data is there to say how both are packed. */
  #held: PlainPage | undefined;
  #packing: Packing | undefined;
  readonly #pieces: Uint8Array[] = [];
  readonly #pages: (Omit<WrittenPage, "bounds"> & { readonly extremes: Extremes | undefined })[] =
    [];
  #byteLength = 0;
  #sum = 0;
  #plainBytes = 0;
  #dictionaryBytes = 0;
  /** The first value that no page has. */
  #next = 0;

  constructor(
    column: Column,
    { data, values, dictionary }: ChunkSource,
    { rows, effort, packingBefore }: ChunkOptions,
  ) {
    this.#page.clear();
    this.#column = column;
    this.#data = data;
    this.#rows = rows;
    this.#effort = effort;
    this.#packingBefore = packingBefore;
    this.#values = values;
    this.#dictionary = dictionary;
    this.#encoder = valueEncoder(values, { isTime: isTime(column), dictionary });
    this.#order = new ValueOrder(values);
    if (dictionary !== undefined) this.#held = this.#dictionaryPage(dictionary);
  }

  /** Writes the page that begins with row `from`; the row behind it. */
  page(from: number): number {
    const to = this.#endOfPage(from);
    const nulls = this.#nullsOf(from, to);
    const values = { from: this.#next, to: this.#next + to - from - nulls };
    this.#next = values.to;
    if (!this.#column.required) this.#writeLevels(from, to, nulls);
    this.#encoder.write(this.#page, values.from, values.to);
    const place = this.#addData(to - from, to === this.#rows);
    const extremes = this.#encoder.extremes(this.#order, values.from, values.to);
    this.#pages.push({ firstRow: from, nulls, extremes, ...place });
    return to;
  }

  finish(): WrittenChunk {
    const all = this.#order.extremesOfAll(this.#pages.map(({ extremes }) => extremes));
    return {
      column: this.#column,
      rows: this.#rows,
      nulls: this.#data.nullCount,
      bounds: all && this.#order.boundsOf(all),
      pieces: this.#pieces,
      byteLength: this.#byteLength,
      sum: this.#sum,
      plainBytes: this.#plainBytes,
      packing: present(this.#packing, "packing"),
      encoding: this.#encoder.encoding,
      dictionaryBytes: this.#dictionaryBytes,
      pages: this.#pages.map(({ extremes, ...page }) => ({
        ...page,
        bounds: extremes && this.#order.boundsOf(extremes),
      })),
      isAscending: this.#isAscending(),
    };
  }

  #isAscending(): boolean {
    const filled = this.#pages.flatMap(({ extremes }) => extremes ?? []);
    return filled.every(({ smallest, largest }, at) => {
      const before = filled[at - 1];
      return before === undefined || (this.#order.compare(before.smallest, smallest) <= 0 &&
        this.#order.compare(before.largest, largest) <= 0);
    });
  }

  #endOfPage(from: number): number {
    if (this.#dictionary !== undefined) return this.#rows;
    const most = Math.min(this.#rows, from + PAGE_ROWS_MAX);
    if (this.#values.width !== 0) return most;
    const pageBytes = this.#column.name === ATTRIBUTES ? ATTRIBUTES_PAGE_BYTES : PAGE_BYTES;
    let value = this.#next;
    const start = startOf(this.#values, value);
    for (let to = from; to < most;) {
      const end = Math.min(most, to + PAGE_ROWS_STEP);
      value += end - to - this.#nullsOf(to, end);
      to = end;
      if (startOf(this.#values, value) - start >= pageBytes) return to;
    }
    return most;
  }

  #nullsOf(from: number, to: number): number {
    if (this.#data.nullCount === 0) return 0;
    let nulls = 0;
    for (let row = from; row < to; row += 1) if (isNull(this.#data, row)) nulls += 1;
    return nulls;
  }

  /** 1 where there is a value. */
  #writeLevels(from: number, to: number, nulls: number): void {
    const page = this.#page;
    const start = page.length;
    page.reserve(LEVELS_LENGTH_BYTES);
    page.length += LEVELS_LENGTH_BYTES;
    if (nulls === 0) writeRun(page, { value: 1, count: to - from, width: 1 });
    else {
      const levels = new Uint8Array(to - from);
      for (let row = from; row < to; row += 1) {
        levels[row - from] = isNull(this.#data, row) ? 0 : 1;
      }
      writeRuns(page, levels, { from: 0, to: to - from, width: 1 });
    }
    page.view.setUint32(start, page.length - start - LEVELS_LENGTH_BYTES, true);
  }

  #dictionaryPage(dictionary: Dictionary): PlainPage {
    writeDictionary(this.#page, this.#values, dictionary);
    return {
      plain: this.#page.take(),
      type: PAGE.typeDictionary,
      about: (header) =>
        header.struct(PAGE.dictionary, () => {
          header.i32(PAGE.dictionaryValues, dictionary.firsts.length);
          header.i32(PAGE.dictionaryEncoding, ENCODING.plain);
        }),
    };
  }

  /** Ends a page of data of `rows` rows. */
  #addData(rows: number, isLast: boolean): Pick<WrittenPage, "offset" | "byteLength"> {
    const page: PlainPage = {
      plain: this.#page.bytes.subarray(0, this.#page.length),
      type: PAGE.typeData,
      about: (header) =>
        header.struct(PAGE.data, () => {
          header.i32(PAGE.dataValues, rows);
          header.i32(PAGE.dataEncoding, this.#encoder.encoding);
          header.i32(PAGE.dataDefinitionLevels, ENCODING.runs);
          header.i32(PAGE.dataRepetitionLevels, ENCODING.runs);
        }),
    };
    const byteLength = this.#packing === undefined
      ? this.#addFirst(page, isLast)
      : this.#add(page, packPage(page.plain, this.#packing));
    this.#page.clear();
    return { offset: this.#byteLength - byteLength, byteLength };
  }

  /** Bytes that the first page of data takes; the dictionary's goes before it. */
  #addFirst(page: PlainPage, isLast: boolean): number {
    const pages = this.#held === undefined ? [page] : [this.#held, page];
    const isText = this.#column.type === "string";
    const plain = pages.map((one) => one.plain);
    const { packing, bodies } = packFirst(plain, {
      ways: waysOf(plain, { isText, rows: this.#rows, isAll: isLast, effort: this.#effort }),
      isAll: isLast,
      isThorough: this.#effort === "thorough" && isText,
      before: this.#packingBefore,
    });
    this.#packing = packing;
    const sizes = pages.map((one, at) => this.#add(one, present(bodies[at])));
    if (this.#held !== undefined) this.#dictionaryBytes = present(sizes[0]);
    this.#held = undefined;
    return present(sizes.at(-1));
  }

  /** Bytes that it takes. */
  #add({ plain, type, about }: PlainPage, body: Uint8Array): number {
    const header = new ThriftWriter();
    header.i32(PAGE.type, type);
    header.i32(PAGE.plainBytes, plain.byteLength);
    header.i32(PAGE.bytes, body.byteLength);
    // Thrift's numbers have a sign.
    header.i32(PAGE.crc, crc32(body) | 0);
    about(header);
    const head = header.finish();
    this.#pieces.push(head, body);
    this.#sum = crc32(body, crc32(head, this.#sum));
    this.#byteLength += head.byteLength + body.byteLength;
    this.#plainBytes += head.byteLength + plain.byteLength;
    return head.byteLength + body.byteLength;
  }
}
