/**
 * Which rows of a row group lie within a range of time that cuts it. The rows are in order of time,
 * so those within follow each other, and the page of their times tells where they begin and end.
 */

import { present } from "../../base/assert.ts";
import { firstNotBelow } from "../../base/lower_bound.ts";
import { INT64_EXACT_MAX, int64At } from "../../columns/timestamps.ts";
import type { DataFile, TimeRange } from "../../iceberg/types.ts";
import type { ColumnChunk, FilePlace, RowGroup } from "../../parquet/footer.ts";
import { dictionaryPlace } from "../../parquet/reader/chunk_rows.ts";
import { arePagesReadable, ColumnPages, type PageRows } from "../../parquet/reader/column_pages.ts";
import type { Column } from "../../schema/schema.ts";
import type { DataFileLease } from "../files/data_files.ts";
import { chunkOf, pagePlaces, rangeOf, readPagePlaces } from "../files/page_places.ts";
import type { RowRange } from "../plan/plan.ts";
import type { TimedUnit } from "./nearest_units.ts";

/** Rows of the file that follow each other, with their times. There may be none. */
export type RowsWithin = TimedUnit & Pick<RowRange, "first">;

/**
 * The rows of a row group in `range`. Undefined: its page of times does not tell them, or cannot be
 * read; the scan tells what is wrong.
 */
export async function rowsWithin(
  { file, group, range }: {
    readonly file: DataFile;
    readonly group: RowGroup;
    readonly range: TimeRange;
  },
  { timestamp, lease }: {
    readonly timestamp: Pick<Column, "id">;
    readonly lease: Pick<DataFileLease, "open">;
  },
): Promise<RowsWithin | undefined> {
  const chunk = chunkOf(group, timestamp.id);
  const bounds = boundsOf(group, range);
  if (chunk === undefined || bounds === undefined || !isTold(chunk)) return undefined;
  try {
    await using opened = await lease.open(file);
    const read = (places: readonly FilePlace[]) => opened.read(places.map(rangeOf));
    await readPagePlaces([chunk], read);
    const places = pagePlaces(chunk);
    const dictionary = dictionaryPlace(chunk);
    const bytes = await read([...dictionary === undefined ? [] : [dictionary], ...places]);
    const pages = new ColumnPages();
    pages.begin(chunk, dictionary && bytes[0]);
    let found: RowsWithin | undefined;
    for (const [at, place] of places.entries()) {
      const end = places[at + 1]?.firstRow ?? group.rows;
      const page = present(bytes[bytes.length - places.length + at]);
      found = joined(found, rowsOf(pages.read(place, end, page), bounds));
    }
    return found && { ...found, first: group.firstRow + found.first };
  } catch {
    return undefined;
  }
}

function isTold(chunk: ColumnChunk): boolean {
  return arePagesReadable(chunk) && chunk.stored?.type === "timestamptz" && chunk.nulls === 0;
}

/** Microseconds, the end excluded. */
interface Bounds {
  readonly from: number;
  readonly end: number;
}

/** Undefined: a bound is finer than the times, or these are no exact numbers. */
function boundsOf(
  { timestampMin, timestampMax }: RowGroup,
  { minNs, maxNs }: TimeRange,
): Bounds | undefined {
  const endNs = maxNs === undefined ? undefined : maxNs + 1n;
  if ((minNs ?? 0n) % 1_000n !== 0n || (endNs ?? 0n) % 1_000n !== 0n) return undefined;
  if (timestampMin === undefined || timestampMin < -INT64_EXACT_MAX) return undefined;
  if (timestampMax === undefined || timestampMax > INT64_EXACT_MAX) return undefined;
  return {
    from: minNs === undefined ? -Infinity : Number(minNs / 1_000n),
    end: endNs === undefined ? Infinity : Number(endNs / 1_000n),
  };
}

/** The rows of a page, counted from the row group's first. */
function rowsOf({ first, end, values, places }: PageRows, bounds: Bounds): RowsWithin {
  if (values.kind !== "integers") throw new Error("times that are no integers");
  const { halves } = values;
  const timeOf = (row: number) => int64At(halves, places === undefined ? row : places[row] ?? -1);
  const begin = firstNotBelow(end - first, (row) => timeOf(row) < bounds.from);
  const behind = firstNotBelow(end - first, (row) => timeOf(row) < bounds.end);
  const rows = Math.max(0, behind - begin);
  if (rows === 0) return { first, rows, min: 0n, max: 0n };
  return {
    first: first + begin,
    rows,
    min: BigInt(timeOf(begin)),
    max: BigInt(timeOf(behind - 1)),
  };
}

/** Rows of neighbouring pages as one. */
function joined(before: RowsWithin | undefined, next: RowsWithin): RowsWithin {
  if (before === undefined || before.rows === 0) return next;
  return next.rows === 0 ? before : { ...before, rows: before.rows + next.rows, max: next.max };
}
