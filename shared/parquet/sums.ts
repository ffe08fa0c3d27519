/**
 * The checksums of a file's parts, as its footer has them: an entry of its key-value metadata.
 *
 *     svc.chunk-sums = base64 of unsigned 32-bit numbers, little-endian
 *
 * By row group and column, there is the CRC-32 of the column chunk: its pages with their headers.
 * In a file that has page indexes, that of its column index (0: it has none) and of its offset
 * index follow. The footer itself is summed by the file's name (`../base/summed_uuid.ts`).
 */

import { viewOf } from "../base/bytes.ts";

/** Key of the entry. */
export const SUMS_KEY = "svc.chunk-sums";
const SUM_BYTES = 4;
/** Numbers of a chunk in a file with page indexes. */
const INDEXED_SUMS = 3;

/** CRC-32 of a column chunk, and of its page indexes where it has them. */
export interface PlaceSums {
  readonly chunk: number;
  readonly columnIndex: number | undefined;
  readonly offsetIndex: number | undefined;
}

/** The entry's value for chunks in order. */
export function sumsText(chunks: readonly PlaceSums[]): string {
  const isIndexed = chunks.some(({ offsetIndex }) => offsetIndex !== undefined);
  const sums = chunks.flatMap(({ chunk, columnIndex, offsetIndex }) =>
    isIndexed ? [chunk, columnIndex ?? 0, offsetIndex ?? 0] : [chunk]
  );
  const bytes = new Uint8Array(SUM_BYTES * sums.length);
  const view = viewOf(bytes);
  sums.forEach((sum, at) => view.setUint32(SUM_BYTES * at, sum, true));
  return bytes.toBase64();
}

/** What `sumsText` was given for `chunks` chunks. Throws for a text that is something else. */
export function parseSums(text: string, chunks: number): PlaceSums[] {
  const bytes = Uint8Array.fromBase64(text);
  const each = bytes.byteLength / SUM_BYTES / chunks;
  if (chunks > 0 && each !== 1 && each !== INDEXED_SUMS) {
    throw new Error(`${SUMS_KEY} has ${bytes.byteLength} bytes for ${chunks} column chunks`);
  }
  const view = viewOf(bytes);
  const sumAt = (place: number) => view.getUint32(SUM_BYTES * place, true);
  return Array.from({ length: chunks }, (_, at) => ({
    chunk: sumAt(each * at),
    columnIndex: each === 1 ? undefined : sumAt(each * at + 1),
    offsetIndex: each === 1 ? undefined : sumAt(each * at + 2),
  }));
}
