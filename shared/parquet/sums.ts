/**
 * The checksums of a file's parts, as its footer has them: an entry of its key-value metadata.
 *
 *     svc.chunk-sums = base64 of unsigned 32-bit numbers, little-endian:
 *       row groups, columns                       how many
 *       field id …                                by column
 *       rows …                                    by row group
 *       byte length, CRC-32 …                     by row group and column, of the column chunk
 *       CRC-32, CRC-32 …                          the same, of its column index and offset index
 *
 * Chunks follow each other from byte 4 on, so their lengths tell where they are. A CRC-32 of 0
 * stands for an index that is not there. In a file without page indexes the last line is absent.
 * The footer itself is summed by the file's name (`../base/summed_uuid.ts`).
 *
 * So what is needed to verify a chunk is found without parsing the footer, which takes ten times as
 * long.
 */

import { viewOf } from "../base/bytes.ts";

/** Key of the entry. */
export const SUMS_KEY = "svc.chunk-sums";
const FIRST_CHUNK = 4;
const NUMBER_BYTES = 4;
/** In Thrift's compact protocol: the next field is a binary. */
const BINARY_FIELD = 0x18;

/** CRC-32 of a column chunk, and of its page indexes where it has them. */
export interface PlaceSums {
  readonly byteLength: number;
  readonly sum: number;
  readonly columnIndex: number | undefined;
  readonly offsetIndex: number | undefined;
}

/** A row group's chunks, by column. */
export interface GroupSums {
  readonly rows: number;
  readonly chunks: readonly PlaceSums[];
}

/** What the entry says. */
export interface FileSums {
  readonly fieldIds: readonly number[];
  readonly groups: readonly GroupSums[];
}

/** The entry's value. */
export function sumsText({ fieldIds, groups }: FileSums): string {
  const chunks = groups.flatMap((group) => group.chunks);
  const isIndexed = chunks.some(({ offsetIndex }) => offsetIndex !== undefined);
  const numbers = [
    groups.length,
    fieldIds.length,
    ...fieldIds,
    ...groups.map(({ rows }) => rows),
    ...chunks.flatMap(({ byteLength, sum }) => [byteLength, sum]),
    ...(isIndexed
      ? chunks.flatMap(({ columnIndex = 0, offsetIndex = 0 }) => [columnIndex, offsetIndex])
      : []),
  ];
  const bytes = new Uint8Array(NUMBER_BYTES * numbers.length);
  const view = viewOf(bytes);
  numbers.forEach((number, at) => view.setUint32(NUMBER_BYTES * at, number, true));
  return bytes.toBase64();
}

/** What `sumsText` was given. Throws for a text that is something else. */
export function parseSums(text: string): FileSums {
  const numbers = new SumNumbers(text);
  const { groups, columns, isIndexed } = numbers;
  const chunkOf = (chunk: number): PlaceSums => ({
    byteLength: numbers.byteLength(chunk),
    sum: numbers.sum(chunk),
    columnIndex: isIndexed ? numbers.columnIndex(chunk) : undefined,
    offsetIndex: isIndexed ? numbers.offsetIndex(chunk) : undefined,
  });
  return {
    fieldIds: numbers.fieldIds(),
    groups: Array.from({ length: groups }, (_, group) => ({
      rows: numbers.rows(group),
      chunks: Array.from({ length: columns }, (_, at) => chunkOf(group * columns + at)),
    })),
  };
}

/** The entry's numbers, which are read where they are. Throws for a text that is no entry. */
export class SumNumbers {
  readonly groups: number;
  readonly columns: number;
  /** Whether there are sums of page indexes. */
  readonly isIndexed: boolean;
  readonly #view: DataView;
  readonly #chunksAt: number;
  readonly #indexesAt: number;

  constructor(text: string) {
    this.#view = viewOf(Uint8Array.fromBase64(text));
    const count = this.#view.byteLength / NUMBER_BYTES;
    [this.groups, this.columns] = count < 2 ? [0, 0] : [this.#number(0), this.#number(1)];
    const chunks = this.groups * this.columns;
    this.#chunksAt = 2 + this.columns + this.groups;
    this.#indexesAt = this.#chunksAt + 2 * chunks;
    this.isIndexed = count === this.#indexesAt + 2 * chunks && count > this.#indexesAt;
    if (count < 2 || !this.isIndexed && count !== this.#indexesAt) {
      throw new Error(`${SUMS_KEY} has ${count} numbers for ${this.groups} row groups`);
    }
  }

  /** By column. */
  fieldIds(): number[] {
    return Array.from({ length: this.columns }, (_, at) => this.#number(2 + at));
  }

  rows(group: number): number {
    return this.#number(2 + this.columns + group);
  }

  /** Chunks are numbered by row group and column. */
  byteLength(chunk: number): number {
    return this.#number(this.#chunksAt + 2 * chunk);
  }

  sum(chunk: number): number {
    return this.#number(this.#chunksAt + 2 * chunk + 1);
  }

  columnIndex(chunk: number): number {
    return this.#number(this.#indexesAt + 2 * chunk);
  }

  offsetIndex(chunk: number): number {
    return this.#number(this.#indexesAt + 2 * chunk + 1);
  }

  #number(place: number): number {
    return this.#view.getUint32(NUMBER_BYTES * place, true);
  }
}

/**
 * The entry in the bytes of a footer that was held against its sum. Undefined where there is none.
 * Behind it a footer has no text that could be taken for it.
 */
export function sumsIn(footer: Uint8Array): SumNumbers | undefined {
  const bytes = Buffer.from(footer.buffer, footer.byteOffset, footer.byteLength);
  const at = bytes.lastIndexOf(SUMS_KEY);
  if (at < 0 || bytes[at + SUMS_KEY.length] !== BINARY_FIELD) return undefined;
  let start = at + SUMS_KEY.length + 1;
  let length = 0;
  for (let scale = 1; scale < 2 ** 32; scale *= 128) {
    const byte = bytes[start] ?? 0;
    start += 1;
    length += (byte & 127) * scale;
    if (byte < 128) break;
  }
  return new SumNumbers(bytes.toString("latin1", start, start + length));
}

/** A row group as far as it can be verified. */
export interface SummedGroup {
  readonly firstRow: number;
  readonly rows: number;
  /** The chunk of a column; undefined: the file has none, or no sum of it. */
  readonly chunk: (
    fieldId: number,
  ) => { readonly offset: number; readonly byteLength: number; readonly sum: number } | undefined;
}

/** The row groups of a file, with the places of their chunks. */
export function summedGroups(numbers: SumNumbers): SummedGroup[] {
  const { groups, columns } = numbers;
  const fieldIds = numbers.fieldIds();
  const found: SummedGroup[] = [];
  let offset = FIRST_CHUNK;
  let firstRow = 0;
  for (let group = 0; group < groups; group += 1) {
    const first = group * columns;
    const start = offset;
    const chunk = (fieldId: number) => {
      const at = fieldIds.indexOf(fieldId);
      if (at < 0) return undefined;
      let place = start;
      for (let before = first; before < first + at; before += 1) {
        place += numbers.byteLength(before);
      }
      const byteLength = numbers.byteLength(first + at);
      return { offset: place, byteLength, sum: numbers.sum(first + at) };
    };
    const rows = numbers.rows(group);
    found.push({ firstRow, rows, chunk });
    firstRow += rows;
    for (let at = first; at < first + columns; at += 1) offset += numbers.byteLength(at);
  }
  return found;
}
