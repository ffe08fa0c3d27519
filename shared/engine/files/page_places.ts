/** Where the pages of column chunks are, read once for as long as their footer is kept. */

import { present } from "../../base/assert.ts";
import { crc32 } from "../../base/bytes.ts";
import type { ColumnChunk, FilePlace, RowGroup, SummedPlace } from "../../parquet/footer.ts";
import { onlyPage, type PagePlace, pagesOfIndex } from "../../parquet/reader/chunk_rows.ts";

/** What is in a file at each of some places, until the next call. Errors: the store's. */
export type PlaceReader = (places: readonly FilePlace[]) => Promise<readonly Uint8Array[]>;

const PAGES = new WeakMap<ColumnChunk, readonly PagePlace[]>();

/** Reads the places of all pages of `chunks`. Errors: the reader's; others for a damaged index. */
export async function readPagePlaces(
  chunks: readonly ColumnChunk[],
  read: PlaceReader,
): Promise<void> {
  const unknown = chunks.filter((chunk) => !PAGES.has(chunk));
  for (const chunk of unknown) {
    if (chunk.offsetIndex === undefined) PAGES.set(chunk, [onlyPage(chunk)]);
  }
  const indexed = unknown.flatMap((chunk) =>
    chunk.offsetIndex === undefined ? [] : [{ chunk, index: chunk.offsetIndex }]
  );
  if (indexed.length === 0) return;
  const bytes = await read(indexed.map(({ index }) => index));
  indexed.forEach(({ chunk, index }, at) =>
    PAGES.set(chunk, pagesOfIndex(checked(present(bytes[at]), index)))
  );
}

/** The chunk of a column, by its field id; undefined: the row group has no such column. */
export function chunkOf({ columns }: Pick<RowGroup, "columns">, id: number) {
  return columns.find(({ fieldId }) => fieldId === id);
}

/** The pages of a chunk whose places were read. */
export function pagePlaces(chunk: ColumnChunk): readonly PagePlace[] {
  return PAGES.get(chunk) ?? [];
}

/** Whoever scans the file tells which one it is. */
function checked(bytes: Uint8Array, { sum }: SummedPlace): Uint8Array {
  if (sum !== undefined && sum !== crc32(bytes)) throw new Error("a page index is damaged");
  return bytes;
}

/** A place as a range of bytes. */
export function rangeOf({ offset, byteLength }: FilePlace) {
  return { start: offset, end: offset + byteLength };
}
