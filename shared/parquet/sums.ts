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

import { textOf, viewOf } from "../base/bytes.ts";

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
  const view = viewOf(Uint8Array.fromBase64(text));
  const count = view.byteLength / NUMBER_BYTES;
  const numberAt = (place: number) => view.getUint32(NUMBER_BYTES * place, true);
  const [groups, columns] = count < 2 ? [0, 0] : [numberAt(0), numberAt(1)];
  const rowsAt = 2 + columns;
  const chunksAt = rowsAt + groups;
  const indexesAt = chunksAt + 2 * groups * columns;
  const isIndexed = count === indexesAt + 2 * groups * columns && count > indexesAt;
  if (count < 2 || !isIndexed && count !== indexesAt) {
    throw new Error(`${SUMS_KEY} has ${count} numbers for ${groups} row groups`);
  }
  const chunkOf = (chunk: number): PlaceSums => ({
    byteLength: numberAt(chunksAt + 2 * chunk),
    sum: numberAt(chunksAt + 2 * chunk + 1),
    columnIndex: isIndexed ? numberAt(indexesAt + 2 * chunk) : undefined,
    offsetIndex: isIndexed ? numberAt(indexesAt + 2 * chunk + 1) : undefined,
  });
  return {
    fieldIds: Array.from({ length: columns }, (_, at) => numberAt(2 + at)),
    groups: Array.from({ length: groups }, (_, group) => ({
      rows: numberAt(rowsAt + group),
      chunks: Array.from({ length: columns }, (_, at) => chunkOf(group * columns + at)),
    })),
  };
}

/**
 * The entry in the bytes of a footer that was held against its sum. Undefined where there is none.
 * Behind it a footer has no text that could be taken for it.
 */
export function sumsIn(footer: Uint8Array): FileSums | undefined {
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
  return parseSums(textOf(footer.subarray(start, start + length)));
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
export function summedGroups({ fieldIds, groups }: FileSums): SummedGroup[] {
  let offset = FIRST_CHUNK;
  let firstRow = 0;
  return groups.map(({ rows, chunks }) => {
    const starts = chunks.map(({ byteLength }) => (offset += byteLength) - byteLength);
    firstRow += rows;
    return {
      firstRow: firstRow - rows,
      rows,
      chunk: (fieldId) => {
        const at = fieldIds.indexOf(fieldId);
        const chunk = chunks[at];
        const start = starts[at];
        if (chunk === undefined || start === undefined) return undefined;
        return { offset: start, byteLength: chunk.byteLength, sum: chunk.sum };
      },
    };
  });
}
