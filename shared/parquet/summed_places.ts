/** What of a Parquet file has a checksum, and whether a file in memory holds what was written. */

import { crc32 } from "../base/bytes.ts";
import { type Damage, damagedFile } from "../base/damaged_file.ts";
import type { ColumnChunk, FilePlace, ParquetFooter, RowGroup } from "./footer.ts";

/** Bytes of a file with their CRC-32, and what they are, for people. */
export interface CheckedPlace extends FilePlace {
  readonly sum: number;
  readonly what: string;
}

/** The column chunks and page indexes of a file that has sums; empty for one that has none. */
export function summedPlaces({ rowGroups }: Pick<ParquetFooter, "rowGroups">): CheckedPlace[] {
  return rowGroups.flatMap((group, at) => placesOfGroup(group, at));
}

/**
 * Throws `damaged_file` where a part of `file`, all bytes of the file of `key`, is not what was
 * written. The footer was checked when it was parsed.
 */
export function checkFile(
  file: Uint8Array,
  { key, footer }: { readonly key: string; readonly footer: Pick<ParquetFooter, "rowGroups"> },
): void {
  const damage = summedPlaces(footer).find((place) => !isIntact(file, place));
  if (damage !== undefined) throw damagedFile(key, damageOf(damage));
}

/** A place as damage. */
export function damageOf({ offset, byteLength, what }: CheckedPlace): Damage {
  return { offset, byteLength, what };
}

function isIntact(file: Uint8Array, { offset, byteLength, sum }: CheckedPlace): boolean {
  const bytes = file.subarray(offset, offset + byteLength);
  return bytes.byteLength === byteLength && crc32(bytes) === sum;
}

/** A chunk of row group `group`; undefined where it has no sum. */
function chunkPlace(
  { name, offset, byteLength, sum }: ColumnChunk,
  group: number,
): CheckedPlace | undefined {
  const what = `the chunk of column ${name} of row group ${group}`;
  return sum === undefined ? undefined : { offset, byteLength, sum, what };
}

function placesOfGroup({ columns }: RowGroup, at: number): CheckedPlace[] {
  return columns.flatMap((chunk) => {
    const where = `of column ${chunk.name} of row group ${at}`;
    const places = [
      chunkPlace(chunk, at),
      ...chunk.pageIndex.map((index) => ({
        ...index,
        what: `the ${
          index.offset === chunk.offsetIndex?.offset ? "offset" : "column"
        } index ${where}`,
      })),
    ];
    return places.flatMap((place) =>
      place?.sum === undefined ? [] : [{ ...place, sum: place.sum }]
    );
  });
}
