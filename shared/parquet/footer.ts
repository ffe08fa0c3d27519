/**
 * What a Parquet file's footer says: row groups, where each column's bytes lie, and the smallest
 * and largest values. Only the file's end is read.
 *
 * Values are kept as Parquet stores them in plain encoding, which for our column types is also
 * Iceberg's single-value serialization: little-endian integers and floats, UTF-8. Long texts are
 * cut by the writer, on the safe side. Not covered: values of nested columns, encrypted files.
 */

import {
  type ColumnChunk as StoredChunk,
  type ColumnMetaData,
  type FileMetaData,
  parquetMetadata,
  type SchemaElement,
} from "hyparquet";
import { concatBytes, crc32, viewOf } from "../base/bytes.ts";
import { DAMAGED_FILE, damagedFile } from "../base/damaged_file.ts";
import { messageOf, OperatingError } from "../base/errors.ts";
import { sumInName } from "../base/summed_uuid.ts";
import type { ColumnType } from "../schema/schema.ts";
import type { ReadableStore } from "../storage/object_store.ts";
import type { ReadSteps } from "../storage/read_steps.ts";
import { RAW_PARSERS } from "./raw_parsers.ts";
import { columnTypeOf } from "./reader/column_type.ts";
import { parseSums, type PlaceSums, type SumNumbers, SUMS_KEY, sumsIn } from "./sums.ts";
import { CREATED_BY } from "./writer/format.ts";

/** First read of the file's end: footers of our files have about 1 KiB for each row group. */
const TAIL_BYTES = 64 * 1024;
/** First read of the file's end where only the sums are wanted. */
const SUMS_TAIL_BYTES = 16 * 1024;
/** A footer over this is refused: it would be parsed into about ten times its size. */
const FOOTER_BYTES_MAX = 64 * 1024 * 1024;
/** Footer length and magic number, the last bytes of each file. */
const TRAILER_BYTES = 8;
const MAGIC = 0x31524150;

/** Bytes [offset, offset + byteLength) of a file. */
export interface FilePlace {
  readonly offset: number;
  readonly byteLength: number;
}

/** A place, with the CRC-32 of its bytes where the footer has one. */
export interface SummedPlace extends FilePlace {
  readonly sum: number | undefined;
}

export interface ColumnChunk {
  /** Iceberg field id; undefined when the writer gave none. */
  readonly fieldId: number | undefined;
  readonly name: string;
  /** Whether it is a part of a nested column. */
  readonly isNested: boolean;
  /** For a flat column of a type of ours: how its pages are to be read. */
  readonly stored: ChunkForm | undefined;
  /** First byte in the file, dictionary page included. */
  readonly offset: number;
  readonly byteLength: number;
  /** CRC-32 of these bytes; undefined in a file without sums (`sums.ts`). */
  readonly sum: number | undefined;
  /** Where its first page with rows begins, behind the dictionary. */
  readonly dataOffset: number;
  /** Bytes of its pages when they are not compressed. */
  readonly bytesDecompressed: number;
  /** Values including nulls. */
  readonly values: number;
  readonly nulls: number | undefined;
  readonly min: Uint8Array | undefined;
  readonly max: Uint8Array | undefined;
  /** Column index and offset index; empty when there are none. */
  readonly pageIndex: readonly SummedPlace[];
  /** The last of these; undefined when there is none. */
  readonly offsetIndex: SummedPlace | undefined;
  /** A length of 0: the writer did not record it. */
  readonly bloomFilter: FilePlace | undefined;
}

/** Type and codec of a column chunk that `reader/` can read. */
export interface ChunkForm {
  readonly type: ColumnType;
  readonly isRequired: boolean;
  /** With zstd. */
  readonly isPacked: boolean;
}

export interface RowGroup {
  /** Position of the first row in the file. */
  readonly firstRow: number;
  readonly rows: number;
  readonly offset: number;
  readonly byteLength: number;
  /**
   * Bounds of `timestamp` in Unix microseconds and of `timestamp_ns`; undefined when not recorded.
   */
  readonly timestampMin: bigint | undefined;
  readonly timestampMax: bigint | undefined;
  readonly timestampNsMin: bigint | undefined;
  readonly timestampNsMax: bigint | undefined;
  /** In the file's order. */
  readonly columns: readonly ColumnChunk[];
}

/** What the end of a Parquet file says: its rows, row groups and columns. */
export interface ParquetFooter {
  readonly rows: number;
  /** Bytes at the file's end that are the footer, with its length and the magic number. */
  readonly byteLength: number;
  /** Whether `writer/` wrote it. */
  readonly isOwn: boolean;
  readonly rowGroups: readonly RowGroup[];
}

/**
 * Reads the footer of object `key`, of `byteLength` bytes: `tailBytesMax` of its end and, when the
 * footer is longer, the rest. Errors: the store's, and `corrupt`.
 */
export async function readFooter(
  store: Pick<ReadableStore, "getRange">,
  key: string,
  byteLength: number,
  { tailBytesMax = TAIL_BYTES }: { readonly tailBytesMax?: number } = {},
): Promise<ParquetFooter> {
  const tailBytes = Math.min(tailBytesMax, byteLength);
  const tail = await store.getRange(key, byteLength - tailBytes, tailBytes);
  const wanted = footerBytes(tail, key) + TRAILER_BYTES;
  if (wanted <= tail.byteLength) return parseFooter(tail, key, byteLength);
  if (wanted > byteLength) throw corrupt(key, `its footer of ${wanted} bytes exceeds the file`);
  const head = await store.getRange(key, byteLength - wanted, wanted - tail.byteLength);
  return parseFooter(concatBytes([head, tail]), key, byteLength);
}

/**
 * The footer in `tail`, the last bytes of a file of `byteLength` bytes. `key` is the file's: where
 * its name carries a sum, the footer is held against it. Errors: `corrupt`, `damaged_file`.
 */
export function parseFooter(
  tail: Uint8Array,
  key: string,
  byteLength: number = tail.byteLength,
): ParquetFooter {
  const ownBytes = footerBytes(tail, key) + TRAILER_BYTES;
  if (ownBytes > tail.byteLength) throw corrupt(key, "its footer is longer than the bytes given");
  const expected = sumInName(key);
  if (expected !== undefined && footerSum(tail) !== expected) {
    throw damagedFile(key, {
      offset: byteLength - ownBytes,
      byteLength: ownBytes,
      what: "the footer",
    });
  }
  let metadata;
  let sums: readonly PlaceSums[] | undefined;
  try {
    metadata = parquetMetadata(tail, { parsers: RAW_PARSERS, geoparquet: false });
    sums = sumsOf(metadata);
  } catch (error) {
    throw corrupt(key, messageOf(error));
  }
  const elements = metadata.schema.filter((element) => element.type !== undefined);
  let firstRow = 0;
  let chunkAt = 0;
  const rowGroups = metadata.row_groups.map((group) => {
    const columns = group.columns.map((stored, at): ColumnChunk => {
      const chunk = columnChunk(stored, elements[at], sums?.[chunkAt++]);
      if (chunk === undefined) throw corrupt(key, `column ${at} lies in another file`);
      return chunk;
    });
    const rows = Number(group.num_rows);
    const rowGroup = rowGroupOf(firstRow, rows, columns);
    firstRow += rows;
    return rowGroup;
  });
  if (firstRow !== Number(metadata.num_rows)) {
    throw corrupt(key, `its row groups hold ${firstRow} rows, the file says ${metadata.num_rows}`);
  }
  return {
    rows: firstRow,
    byteLength: ownBytes,
    isOwn: metadata.created_by === CREATED_BY,
    rowGroups,
  };
}

/**
 * CRC-32 of a file's footer with its length and the magic number, out of the file or its last
 * bytes: what the file's name is to carry. Errors: `corrupt`.
 */
export function footerSum(tail: Uint8Array): number {
  const byteLength = footerBytes(tail, "a Parquet file") + TRAILER_BYTES;
  return crc32(tail.subarray(tail.byteLength - byteLength));
}

/**
 * The sums that the footer of `key` has, without parsing the rest of it. Undefined for a file whose
 * name carries no sum: nothing is known of its footer. Errors: `damaged_file`.
 */
export function* readSums(key: string, byteLength: number): ReadSteps<SumNumbers | undefined> {
  const expected = sumInName(key);
  if (expected === undefined) return undefined;
  const tailBytes = Math.min(SUMS_TAIL_BYTES, byteLength);
  const first = yield* footerIn(key, byteLength, tailBytes);
  const { ownBytes, own } = first.ownBytes <= tailBytes || first.ownBytes > byteLength
    ? first
    : yield* footerIn(key, byteLength, first.ownBytes);
  if (crc32(own) === expected) return sumsIn(own);
  throw damagedFile(key, {
    offset: byteLength - Math.min(ownBytes, byteLength),
    byteLength: Math.min(ownBytes, byteLength),
    what: "the footer",
  });
}

/** How long a file's footer is, and what the last `length` bytes of the file have of it. */
function* footerIn(
  key: string,
  byteLength: number,
  length: number,
): ReadSteps<{ readonly ownBytes: number; readonly own: Uint8Array }> {
  const tail = yield { offset: byteLength - length, length };
  const ownBytes = footerBytes(tail, key) + TRAILER_BYTES;
  return { ownBytes, own: tail.subarray(Math.max(0, tail.byteLength - ownBytes)) };
}

/** The sums of all chunks in order; undefined for a file that has none. */
function sumsOf(metadata: FileMetaData): readonly PlaceSums[] | undefined {
  const text = metadata.key_value_metadata?.find(({ key }) => key === SUMS_KEY)?.value;
  if (text === undefined) return undefined;
  return parseSums(text).groups.flatMap(({ chunks }) => chunks);
}

/** Undefined for a chunk that lies in another file. */
function columnChunk(
  { meta_data: chunk, ...index }: StoredChunk,
  element: SchemaElement | undefined,
  sums: PlaceSums | undefined,
): ColumnChunk | undefined {
  if (chunk === undefined) return undefined;
  const { statistics } = chunk;
  const columnIndex = placeOf(index.column_index_offset, index.column_index_length);
  const offsetIndex = placeOf(index.offset_index_offset, index.offset_index_length);
  const summed = {
    column: columnIndex && { ...columnIndex, sum: sums?.columnIndex },
    offset: offsetIndex && { ...offsetIndex, sum: sums?.offsetIndex },
  };
  return {
    fieldId: element?.field_id,
    name: chunk.path_in_schema.join("."),
    isNested: chunk.path_in_schema.length > 1,
    stored: chunkForm(element, chunk),
    offset: firstByte(chunk),
    byteLength: Number(chunk.total_compressed_size),
    sum: sums?.sum,
    dataOffset: Number(chunk.data_page_offset),
    bytesDecompressed: Number(chunk.total_uncompressed_size),
    values: Number(chunk.num_values),
    nulls: statistics?.null_count === undefined ? undefined : Number(statistics.null_count),
    min: plainBytes(chunk.type, statistics?.min_value),
    max: plainBytes(chunk.type, statistics?.max_value),
    pageIndex: [summed.column, summed.offset].filter((place) => place !== undefined),
    offsetIndex: summed.offset,
    bloomFilter: placeOf(chunk.bloom_filter_offset, chunk.bloom_filter_length),
  };
}

function chunkForm(
  element: SchemaElement | undefined,
  { codec, path_in_schema: path }: ColumnMetaData,
): ChunkForm | undefined {
  if (element === undefined || path.length > 1 || element.repetition_type === "REPEATED") {
    return undefined;
  }
  const type = columnTypeOf(element);
  if (type === undefined || (codec !== "ZSTD" && codec !== "UNCOMPRESSED")) return undefined;
  const isRequired = element.repetition_type === "REQUIRED";
  return { type, isRequired, isPacked: codec === "ZSTD" };
}

/**
 * The dictionary comes first where there is one; some writers record one at 0, where only the magic
 * number is.
 */
function firstByte(
  chunk: { readonly dictionary_page_offset?: bigint; readonly data_page_offset: bigint },
): number {
  const data = Number(chunk.data_page_offset);
  const dictionary = Number(chunk.dictionary_page_offset ?? 0n);
  return dictionary > 0 ? Math.min(dictionary, data) : data;
}

function placeOf(offset: bigint | undefined, byteLength = 0): FilePlace | undefined {
  return offset === undefined ? undefined : { offset: Number(offset), byteLength };
}

function rowGroupOf(firstRow: number, rows: number, columns: readonly ColumnChunk[]): RowGroup {
  const timestamp = columns.find((column) => column.name === "timestamp");
  const timestampNs = columns.find((column) => column.name === "timestamp_ns");
  const offset = Math.min(...columns.map((column) => column.offset));
  const end = Math.max(...columns.map((column) => column.offset + column.byteLength));
  return {
    firstRow,
    rows,
    offset,
    byteLength: end - offset,
    timestampMin: int64Of(timestamp?.min),
    timestampMax: int64Of(timestamp?.max),
    timestampNsMin: int64Of(timestampNs?.min),
    timestampNsMax: int64Of(timestampNs?.max),
    columns,
  };
}

/** Length of the footer, read from the file's last bytes. */
function footerBytes(tail: Uint8Array, what: string): number {
  if (tail.byteLength < TRAILER_BYTES) throw corrupt(what, `${tail.byteLength} bytes are too few`);
  const view = viewOf(tail);
  if (view.getUint32(tail.byteLength - 4, true) !== MAGIC) {
    throw corrupt(what, "it has no PAR1 end");
  }
  const length = view.getUint32(tail.byteLength - TRAILER_BYTES, true);
  if (length > FOOTER_BYTES_MAX) {
    throw corrupt(what, `its footer of ${length} bytes is over the limit of ${FOOTER_BYTES_MAX}`);
  }
  return length;
}

/**
 * A statistic back in plain encoding; undefined when absent or of a type that no column of ours
 * has.
 */
function plainBytes(type: string, value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value.slice();
  if (typeof value === "boolean") return Uint8Array.of(value ? 1 : 0);
  const view = new DataView(new ArrayBuffer(8));
  if (type === "INT64" && typeof value === "bigint") view.setBigInt64(0, value, true);
  else if (type === "DOUBLE" && typeof value === "number") view.setFloat64(0, value, true);
  else if (type === "INT32" && typeof value === "number") view.setInt32(0, value, true);
  else return undefined;
  return new Uint8Array(view.buffer, 0, type === "INT32" ? 4 : 8);
}

function int64Of(bytes: Uint8Array | undefined): bigint | undefined {
  if (bytes?.byteLength !== 8) return undefined;
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigInt64(0, true);
}

function corrupt(what: string, why: string): OperatingError {
  return new OperatingError("corrupt", `Cannot read the Parquet footer of ${what}: ${why}`, {
    reason: DAMAGED_FILE,
    details: { file: what },
  });
}
