/**
 * A Parquet file from rows as columns: row groups, page indexes, footer, as parquet.thrift and the
 * format's pages have them. All columns are flat. Pages are of the first version.
 *
 * The writer is in TypeScript, because most of a file of logs is texts that go into their pages as
 * they lie in the batch. It takes a third of the processor's time of the WASM writer, and none of
 * the memory that WASM never gives back.
 */

import { concatBytes, crc32, utf8 } from "../../base/bytes.ts";
import { ColumnMemory } from "../../columns/column_memory.ts";
import { type BatchSlice, joinColumn } from "../../columns/gather.ts";
import type { WordsColumn } from "../../schema/row_words.ts";
import type { Column, ColumnType, TableSchema } from "../../schema/schema.ts";
import { type ChunkOptions, chunkSource, writeChunk, type WrittenChunk } from "./column_chunk.ts";
import {
  CHUNK,
  CODEC,
  COLUMN_INDEX,
  CONVERTED,
  CREATED_BY,
  ELEMENT,
  ENCODING,
  FILE,
  GROUP,
  LOGICAL,
  METADATA,
  OFFSET_INDEX,
  ORDER,
  PAGE,
  REPETITION,
  STATISTICS,
  TYPE,
} from "./format.ts";
import type { Effort, Packing } from "./packing.ts";
import { type PlaceSums, SUMS_KEY, sumsText } from "../sums.ts";
import { ThriftWriter } from "./thrift_writer.ts";
import { wordsChunk } from "./words_chunk.ts";

const MAGIC = utf8("PAR1");
const LENGTH_BYTES = 4;
const VERSION = 1;
const ROOT = "schema";
/** An ordinal has 16 bits. */
const ORDINAL_MAX = 0x7fff;
const NO_BYTES = new Uint8Array();

const TYPES: Readonly<Record<ColumnType, number>> = {
  timestamptz: TYPE.long,
  long: TYPE.long,
  int: TYPE.int,
  double: TYPE.double,
  bool: TYPE.bool,
  string: TYPE.bytes,
};

/** Bytes in the file. */
interface Place {
  readonly offset: number;
  readonly byteLength: number;
}

interface SummedPlace extends Place {
  /** CRC-32 of what is there. */
  readonly sum: number;
}

interface PlacedChunk extends WrittenChunk {
  readonly offset: number;
  columnIndex?: SummedPlace;
  offsetIndex?: SummedPlace;
}

interface PlacedGroup {
  readonly rows: number;
  readonly chunks: readonly PlacedChunk[];
}

export class ParquetFileWriter {
  readonly #columns: readonly Column[];
  /** They come behind the others. */
  readonly #words: readonly WordsColumn[];
  readonly #effort: Effort;
  readonly #pieces: Uint8Array[] = [MAGIC];
  readonly #groups: PlacedGroup[] = [];
  readonly #memory = new ColumnMemory();
  /** By column: what its last chunk was packed with. */
  readonly #packings: Packing[] = [];
  #length = MAGIC.byteLength;
  #rows = 0;

  constructor(
    { columns }: TableSchema,
    { effort, words = [] }: Pick<ChunkOptions, "effort"> & {
      /** Columns of all rows of the file, besides those of the batches. */
      readonly words?: readonly WordsColumn[] | undefined;
    },
  ) {
    this.#columns = [...columns, ...words.map(({ column }) => column)];
    this.#words = words;
    this.#effort = effort;
  }

  /**
   * Adds a row group: the rows of `ranges`, at least one, of batches with the schema's columns.
   * Their memory is free again.
   */
  add(ranges: readonly BatchSlice[]): void {
    const rows = sum(ranges, ({ count }) => count);
    const ownColumns = this.#columns.length - this.#words.length;
    const range = { from: this.#rows, to: this.#rows + rows };
    const chunks = this.#columns.map((column, at): PlacedChunk => {
      const words = this.#words[at - ownColumns];
      const source = words === undefined
        ? chunkSource(column, joinColumn(ranges, at, this.#memory.take), rows)
        : wordsChunk(words, range);
      const offset = this.#length;
      const packingBefore = this.#packings[at];
      const chunk = writeChunk(column, source, { rows, effort: this.#effort, packingBefore });
      this.#packings[at] = chunk.packing;
      this.#memory.free();
      for (const piece of chunk.pieces) this.#append(piece);
      return { ...chunk, pieces: [], offset };
    });
    this.#rows += rows;
    this.#groups.push({ rows, chunks });
  }

  /** The file; nothing can be added afterwards. */
  finish(): Uint8Array<ArrayBuffer> {
    const chunks = this.#groups.flatMap((group) => group.chunks);
    // For chunks of one page each the footer says all that page indexes would. In a small file they
    // took a third of its end.
    if (chunks.some(({ pages }) => pages.length > 1)) this.#appendPageIndexes(chunks);
    const { byteLength } = this.#append(footerOf(this.#columns, this.#groups));
    const length = new DataView(new ArrayBuffer(LENGTH_BYTES));
    length.setUint32(0, byteLength, true);
    this.#append(new Uint8Array(length.buffer));
    this.#append(MAGIC);
    return concatBytes(this.#pieces);
  }

  #appendPageIndexes(chunks: readonly PlacedChunk[]): void {
    for (const chunk of chunks) {
      const index = columnIndexOf(chunk);
      if (index !== undefined) chunk.columnIndex = this.#appendIndex(index);
    }
    for (const chunk of chunks) {
      chunk.offsetIndex = this.#appendIndex(offsetIndexOf(chunk));
    }
  }

  #appendIndex(bytes: Uint8Array): SummedPlace {
    return { ...this.#append(bytes), sum: crc32(bytes) };
  }

  #append(bytes: Uint8Array): Place {
    const place = { offset: this.#length, byteLength: bytes.byteLength };
    this.#pieces.push(bytes);
    this.#length += bytes.byteLength;
    return place;
  }
}

/** Undefined where a page has values and no bounds: an index would have to have them. */
function columnIndexOf({ pages, rows, isAscending }: WrittenChunk): Uint8Array | undefined {
  const nullPages = pages.map(({ firstRow, nulls }, at) =>
    nulls === (pages[at + 1]?.firstRow ?? rows) - firstRow
  );
  if (pages.some(({ bounds }, at) => bounds === undefined && nullPages[at] === false)) {
    return undefined;
  }
  const index = new ThriftWriter();
  index.bools(COLUMN_INDEX.nullPages, nullPages);
  index.binaries(COLUMN_INDEX.mins, pages.map(({ bounds }) => bounds?.min ?? NO_BYTES));
  index.binaries(COLUMN_INDEX.maxs, pages.map(({ bounds }) => bounds?.max ?? NO_BYTES));
  index.i32(COLUMN_INDEX.order, isAscending ? ORDER.ascending : ORDER.none);
  index.i64s(COLUMN_INDEX.nulls, pages.map(({ nulls }) => nulls));
  return index.finish();
}

function offsetIndexOf({ pages, offset }: PlacedChunk): Uint8Array {
  const index = new ThriftWriter();
  index.structs(OFFSET_INDEX.pages, pages, (page) => {
    index.i64(OFFSET_INDEX.offset, offset + page.offset);
    index.i32(OFFSET_INDEX.bytes, page.byteLength);
    index.i64(OFFSET_INDEX.firstRow, page.firstRow);
  });
  return index.finish();
}

function footerOf(columns: readonly Column[], groups: readonly PlacedGroup[]): Uint8Array {
  const footer = new ThriftWriter();
  footer.i32(FILE.version, VERSION);
  footer.structs(FILE.schema, [undefined, ...columns], (column) => {
    if (column === undefined) {
      footer.text(ELEMENT.name, ROOT);
      footer.i32(ELEMENT.children, columns.length);
    } else writeElement(footer, column);
  });
  footer.i64(FILE.rows, sum(groups, ({ rows }) => rows));
  let ordinal = 0;
  footer.structs(FILE.groups, groups, ({ rows, chunks }) => {
    footer.structs(GROUP.chunks, chunks, (chunk) => writeChunkOf(footer, chunk));
    footer.i64(GROUP.plainBytes, sum(chunks, ({ plainBytes }) => plainBytes));
    footer.i64(GROUP.rows, rows);
    footer.i64(GROUP.offset, chunks[0]?.offset ?? 0);
    footer.i64(GROUP.bytes, sum(chunks, ({ byteLength }) => byteLength));
    if (ordinal <= ORDINAL_MAX) footer.i16(GROUP.ordinal, ordinal);
    ordinal += 1;
  });
  const sums = {
    fieldIds: columns.map(({ id }) => id),
    groups: groups.map(({ rows, chunks }) => ({ rows, chunks: chunks.map(sumsOf) })),
  };
  footer.structs(FILE.metadata, [sumsText(sums)], (text) => {
    footer.text(FILE.metadataKey, SUMS_KEY);
    footer.text(FILE.metadataValue, text);
  });
  footer.text(FILE.createdBy, CREATED_BY);
  // Without it readers do not trust bounds.
  footer.structs(FILE.columnOrders, columns, () => {
    footer.struct(FILE.orderOfType, () => {});
  });
  return footer.finish();
}

function sumsOf({ byteLength, sum, columnIndex, offsetIndex }: PlacedChunk): PlaceSums {
  return { byteLength, sum, columnIndex: columnIndex?.sum, offsetIndex: offsetIndex?.sum };
}

function writeElement(footer: ThriftWriter, { id, name, type, required }: Column): void {
  footer.i32(ELEMENT.type, TYPES[type]);
  footer.i32(ELEMENT.repetition, required ? REPETITION.required : REPETITION.optional);
  footer.text(ELEMENT.name, name);
  if (type === "string") footer.i32(ELEMENT.convertedType, CONVERTED.utf8);
  if (type === "timestamptz") footer.i32(ELEMENT.convertedType, CONVERTED.micros);
  footer.i32(ELEMENT.fieldId, id);
  if (type === "string") {
    footer.struct(ELEMENT.logicalType, () => footer.struct(LOGICAL.string, () => {}));
  }
  if (type === "timestamptz") {
    footer.struct(ELEMENT.logicalType, () =>
      footer.struct(LOGICAL.timestamp, () => {
        footer.bool(LOGICAL.timestampIsUtc, true);
        footer.struct(
          LOGICAL.timestampUnit,
          () => footer.struct(LOGICAL.unitMicros, () => {}),
        );
      }));
  }
}

function writeChunkOf(footer: ThriftWriter, chunk: PlacedChunk): void {
  // No longer used, and to be 0.
  footer.i64(CHUNK.offset, 0);
  footer.struct(CHUNK.metadata, () => writeMetadata(footer, chunk));
  const { offsetIndex, columnIndex } = chunk;
  if (offsetIndex !== undefined) {
    footer.i64(CHUNK.offsetIndexOffset, offsetIndex.offset);
    footer.i32(CHUNK.offsetIndexLength, offsetIndex.byteLength);
  }
  if (columnIndex !== undefined) {
    footer.i64(CHUNK.columnIndexOffset, columnIndex.offset);
    footer.i32(CHUNK.columnIndexLength, columnIndex.byteLength);
  }
}

function writeMetadata(footer: ThriftWriter, chunk: PlacedChunk): void {
  const { column, encoding, dictionaryBytes, bounds, offset, pages } = chunk;
  const hasDictionary = dictionaryBytes > 0;
  footer.i32(METADATA.type, TYPES[column.type]);
  footer.i32s(
    METADATA.encodings,
    hasDictionary ? [ENCODING.plain, ENCODING.runs, encoding] : [ENCODING.runs, encoding],
  );
  footer.binaries(METADATA.path, [utf8(column.name)]);
  footer.i32(METADATA.codec, chunk.packing === "none" ? CODEC.none : CODEC.zstd);
  footer.i64(METADATA.values, chunk.rows);
  footer.i64(METADATA.plainBytes, chunk.plainBytes);
  footer.i64(METADATA.bytes, chunk.byteLength);
  footer.i64(METADATA.dataOffset, offset + dictionaryBytes);
  if (hasDictionary) footer.i64(METADATA.dictionaryOffset, offset);
  footer.struct(METADATA.statistics, () => {
    footer.i64(STATISTICS.nulls, chunk.nulls);
    if (bounds === undefined) return;
    footer.binary(STATISTICS.max, bounds.max);
    footer.binary(STATISTICS.min, bounds.min);
  });
  const data = { type: PAGE.typeData, encoding, count: pages.length };
  const dictionary = { type: PAGE.typeDictionary, encoding: ENCODING.plain, count: 1 };
  footer.structs(
    METADATA.encodingStats,
    hasDictionary ? [dictionary, data] : [data],
    ({ type, encoding, count }) => {
      footer.i32(METADATA.statsPageType, type);
      footer.i32(METADATA.statsEncoding, encoding);
      footer.i32(METADATA.statsCount, count);
    },
  );
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
