/**
 * Which bytes of a Parquet file a scan reads: those of some columns and row groups, or all of them
 * where that cannot be proved. Pure.
 *
 * What DuckDB 1.5.5 reads was measured (system calls traced, README.md). It reads the footer,
 * exactly. Then it reads the chunk's pages for each column that the statement needs, in each row
 * group that statistics and `file_row_number` leave. With each page header it reads up to 256 bytes
 * from the header's start, past the end of the chunk if need be. It keeps what it read so and uses
 * it for later statements, so those bytes must be true ones, too.
 */

import { firstNotBelow } from "../../../base/lower_bound.ts";
import type { Column } from "../../../schema/schema.ts";
import type { FilePlace, ParquetFooter } from "../../../parquet/footer.ts";
import type { RowRange } from "../../plan/plan.ts";
import type { ByteRange } from "./byte_ranges.ts";

/** Bytes that are fetched after each chunk: four times what DuckDB was seen to read ahead. */
export const READ_AHEAD_BYTES = 1024;
/**
 * At most so many bytes between a chunk and the next thing in the file are taken for the chunk's.
 * Some old writers recorded chunks without their dictionary's header.
 */
const CHUNK_GAP_BYTES_MAX = 4096;

/** What of a file a byte belongs to. The classes are those of docs/api/query.md#stats. */
export type ByteClass = "footer" | "index" | "data" | "other";

interface Section extends ByteRange {
  readonly kind: ByteClass;
}

/** Where the parts of one Parquet file lie. */
export class FileLayout {
  /** Sections sorted by start. */
  readonly #sections: readonly Section[];
  readonly #isProvable: boolean;

  constructor(readonly footer: ParquetFooter, readonly byteLength: number) {
    const chunks = footer.rowGroups.flatMap((group) => group.columns);
    const end = byteLength - footer.byteLength;
    const indexes = chunks.flatMap((chunk) => [
      ...chunk.pageIndex,
      ...(chunk.bloomFilter === undefined ? [] : [chunk.bloomFilter]),
    ]);
    this.#sections = [
      ...chunks.map((chunk) => sectionOf(chunk, "data")),
      ...indexes.map((place) => sectionOf(place, "index")),
      { start: end, end: byteLength, kind: "footer" as const },
    ].sort((a, b) => a.start - b.start || a.end - b.end);
    this.#isProvable = inOrder(this.#sections, byteLength) &&
      !chunks.some(({ isNested, fieldId }) => isNested || fieldId === undefined);
  }

  get footerRange(): ByteRange {
    return { start: this.byteLength - this.footer.byteLength, end: this.byteLength };
  }

  /**
   * What a scan of `columns` reads, of the row groups that hold `rows` (undefined: all), with the
   * footer.
   */
  scanned(columns: readonly Column[], rows: RowRange | undefined): ByteRange[] {
    const everything = [{ start: 0, end: this.byteLength }];
    if (!this.#isProvable) return everything;
    const wanted = new Set(columns.map(({ id }) => id));
    const ranges = [this.footerRange];
    for (const group of this.footer.rowGroups) {
      if (rows !== undefined && !overlap(group, rows)) continue;
      for (const chunk of group.columns) {
        if (!wanted.has(chunk.fieldId ?? NaN)) continue;
        ranges.push(this.#withReadAhead(chunk));
        if (chunk.bloomFilter === undefined) continue;
        // A Bloom filter is read for `column = value`. If its length is not recorded, nobody knows
        // how much is read.
        if (chunk.bloomFilter.byteLength === 0) return everything;
        ranges.push(this.#withReadAhead(chunk.bloomFilter));
      }
    }
    return ranges;
  }

  /** How many bytes of `range` are of which class. */
  classify({ start, end }: ByteRange): Record<ByteClass, number> {
    const bytes = { footer: 0, index: 0, data: 0, other: end - start };
    let at = start;
    for (const section of this.#sections) {
      if (section.start >= end) break;
      // A byte of two sections, in a file whose layout is not provable, counts for the first one.
      const from = Math.max(at, section.start);
      const count = Math.min(end, section.end) - from;
      if (count <= 0) continue;
      bytes[section.kind] += count;
      bytes.other -= count;
      at = from + count;
    }
    return bytes;
  }

  #withReadAhead({ offset, byteLength }: FilePlace): ByteRange {
    const end = offset + byteLength;
    const next = this.#nextStart(end);
    const gapEnd = next - end <= CHUNK_GAP_BYTES_MAX ? next : end;
    return { start: offset, end: Math.min(this.byteLength, gapEnd + READ_AHEAD_BYTES) };
  }

  /** Start of the first section from `offset` on. */
  #nextStart(offset: number): number {
    const sections = this.#sections;
    const last = sections.length - 1;
    const next = firstNotBelow(last, (at) => (sections[at]?.start ?? 0) < offset);
    return Math.max(offset, sections[next]?.start ?? offset);
  }
}

function sectionOf({ offset, byteLength }: FilePlace, kind: ByteClass): Section {
  return { start: offset, end: offset + byteLength, kind };
}

/** Whether the sections lie in the file, one after another. */
function inOrder(sections: readonly Section[], byteLength: number): boolean {
  return sections.every((section, at) =>
    section.start >= (sections[at - 1]?.end ?? 0) && section.end <= byteLength
  );
}

function overlap(
  group: { readonly firstRow: number; readonly rows: number },
  rows: RowRange,
): boolean {
  return group.firstRow < rows.end && group.firstRow + group.rows > rows.first;
}
