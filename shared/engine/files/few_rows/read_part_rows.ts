/**
 * The rows of one part of a data file, out of the pages that hold them. A file that is not of our
 * writer's making is left alone, and so is a part whose pages cost more than its scan.
 */

import { present } from "../../../base/assert.ts";
import { lowerBound } from "../../../base/lower_bound.ts";
import type { ColumnChunk, FilePlace, RowGroup } from "../../../parquet/footer.ts";
import {
  dictionaryPlace,
  onlyPage,
  type PagePlace,
  pagesOfIndex,
  pagesWith,
  readChunkRows,
  type StoredValue,
} from "../../../parquet/reader/chunk_rows.ts";
import type { Column } from "../../../schema/schema.ts";
import { FEW_ROWS_BYTES_MAX } from "../../limits.ts";
import type { FilePart, ReadRows } from "../../plan/plan.ts";
import type { Predicate } from "../../pruning/predicate.ts";
import type { DataFileLease } from "../data_files.ts";
import { type PagesPrice, pagesPrice, type PagesPrices } from "./page_price.ts";
import { conditionColumns, rowFilter } from "./row_filter.ts";

/** Pages of chunks of which the offset index was read; as long as their footer is kept. */
const PAGES = new WeakMap<ColumnChunk, readonly PagePlace[]>();

/** Some rows of one row group. */
interface GroupRows {
  readonly group: RowGroup;
  /** Counted from its first, ascending. */
  readonly rows: Uint32Array;
}

/** The chunk of a column; undefined: the row group has no such column. */
type Chunks = ReadonlyMap<number, ColumnChunk | undefined>;

/** Which rows, which columns, and what is known of the rows that are needed. */
export interface WantedRows {
  readonly part: FilePart;
  readonly columns: readonly Column[];
  readonly condition: Predicate<Column>;
}

/**
 * The values of `columns` in the rows of a part that may meet the condition. Undefined: they are to
 * be scanned. Errors: the store's; those of a damaged file.
 */
export async function readPartRows(
  { part: { file, rowNumbers }, columns, condition }: WantedRows,
  { lease, pays }: {
    readonly lease: Pick<DataFileLease, "footer" | "open">;
    readonly pays: (prices: PagesPrices) => boolean;
  },
): Promise<ReadRows | undefined> {
  if (rowNumbers === undefined) return undefined;
  const footer = await lease.footer(file);
  if (!footer.isOwn || footer.rows !== file.rows) return undefined;
  await using opened = await lease.open(file);
  const read: PlaceReader = (places) => opened.read(places.map(rangeOf));
  const groups = groupRows(footer.rowGroups, rowNumbers);
  if (!groups.every(({ group }) => isReadable(chunksOf(group, columns), columns))) return undefined;
  await readPagePlaces(groups, columns, read);
  const ids = new Set(conditionColumns(condition).map(({ id }) => id));
  const first = columns.filter(({ id }) => ids.has(id));
  const others = columns.filter(({ id }) => !ids.has(id));
  const price = { whole: priceOf(groups, columns), first: priceOf(groups, first) };
  if (!pays(price)) return undefined;
  const found = await readColumns(groups, first, read);
  const kept = keptRows(found, { groups, columns: first, condition });
  const keptGroups = groupRows(footer.rowGroups, kept.map((at) => rowNumbers[at] as number));
  if (valueBytes(keptGroups, columns) > FEW_ROWS_BYTES_MAX) return undefined;
  const rest = await readColumns(keptGroups, others, read);
  const values = new Map(rest.values);
  for (const [id, own] of found.values) {
    values.set(id, Array.from(kept, (at) => own[at] as StoredValue));
  }
  return { rows: kept.length, values, byteLength: found.byteLength + rest.byteLength };
}

type PlaceReader = (places: readonly FilePlace[]) => Promise<readonly Uint8Array[]>;

interface ColumnsRead {
  /** By field id, of all rows. */
  readonly values: ReadonlyMap<number, readonly StoredValue[]>;
  readonly byteLength: number;
}

async function readColumns(
  groups: readonly GroupRows[],
  columns: readonly Column[],
  read: PlaceReader,
): Promise<ColumnsRead> {
  const wanted = groups.flatMap(({ group, rows }) =>
    columns.map((column) => {
      const chunk = chunkOf(group, column);
      const pages = chunk === undefined ? [] : pagesWith(PAGES.get(chunk) ?? [], rows);
      return { column, chunk, rows, pages };
    })
  );
  const places = wanted.flatMap(({ chunk, pages }) =>
    chunk === undefined ? [] : [dictionaryPlace(chunk) ?? [], pages].flat()
  );
  const bytes = places.length === 0 ? [] : await read(places);
  const bytesAt = new Map(places.map(({ offset }, at) => [offset, bytes[at]]));
  const bytesOf = ({ offset }: FilePlace) => present(bytesAt.get(offset), "a page");
  const values = new Map<number, StoredValue[]>(columns.map(({ id }) => [id, []]));
  for (const { column, chunk, rows, pages } of wanted) {
    const own = chunk === undefined
      ? Array.from(rows, () => null)
      : readChunkRows(chunk, pages, bytesOf);
    const all = present(values.get(column.id));
    for (const value of own) all.push(value);
  }
  return { values, byteLength: places.reduce((sum, { byteLength }) => sum + byteLength, 0) };
}

/** Places, among all rows, of those that may meet the condition. */
function keptRows(
  { values }: ColumnsRead,
  { groups, columns, condition }: {
    readonly groups: readonly GroupRows[];
    readonly columns: readonly Column[];
    readonly condition: Predicate<Column>;
  },
): Uint32Array {
  const count = groups.reduce((sum, { rows }) => sum + rows.length, 0);
  const all = Uint32Array.from({ length: count }, (_, at) => at);
  if (columns.length === 0) return all;
  const mayMeet = rowFilter(condition);
  return all.filter((at) => mayMeet(({ id }) => values.get(id)?.[at]));
}

function groupRows(groups: readonly RowGroup[], numbers: Uint32Array): GroupRows[] {
  let from = 0;
  return groups.flatMap((group) => {
    const to = lowerBound(numbers, group.firstRow + group.rows, from);
    const rows = numbers.subarray(from, to).map((row) => row - group.firstRow);
    from = to;
    return rows.length === 0 ? [] : { group, rows };
  });
}

function chunkOf(group: RowGroup, { id }: Column): ColumnChunk | undefined {
  return group.columns.find(({ fieldId }) => fieldId === id);
}

function chunksOf(group: RowGroup, columns: readonly Column[]): Chunks {
  return new Map(columns.map((column) => [column.id, chunkOf(group, column)]));
}

function isReadable(chunks: Chunks, columns: readonly Column[]): boolean {
  return columns.every(({ id, type }) => {
    const chunk = chunks.get(id);
    return chunk === undefined || chunk.stored !== undefined && isSameType(chunk.stored.type, type);
  });
}

/** A column of `int` may have become one of `long` since the file was written. */
function isSameType(stored: Column["type"], now: Column["type"]): boolean {
  return stored === now || stored === "int" && now === "long";
}

function priceOf(groups: readonly GroupRows[], columns: readonly Column[]): PagesPrice {
  return pagesPrice(groups.flatMap(({ group, rows }) =>
    columns.flatMap((column) => {
      const chunk = chunkOf(group, column);
      if (chunk === undefined) return [];
      const all = PAGES.get(chunk) ?? [];
      const pages = pagesWith(all, rows).length;
      return { chunk, pages, allPages: all.length, rows: rows.length };
    })
  ));
}

/** About how many bytes the values take, going by the average of their chunks. */
function valueBytes(groups: readonly GroupRows[], columns: readonly Column[]): number {
  return groups.reduce((sum, { group, rows }) =>
    columns.reduce((own, column) => {
      const chunk = chunkOf(group, column);
      if (chunk === undefined || chunk.values === 0) return own;
      return own + rows.length * chunk.bytesDecompressed / chunk.values;
    }, sum), 0);
}

async function readPagePlaces(
  groups: readonly GroupRows[],
  columns: readonly Column[],
  read: PlaceReader,
): Promise<void> {
  const unknown = groups.flatMap(({ group }) =>
    columns.flatMap((column) => chunkOf(group, column) ?? [])
  )
    .filter((chunk) => !PAGES.has(chunk));
  for (const chunk of unknown) {
    if (chunk.offsetIndex === undefined) PAGES.set(chunk, [onlyPage(chunk)]);
  }
  const indexed = unknown.flatMap((chunk) =>
    chunk.offsetIndex === undefined ? [] : [{ chunk, index: chunk.offsetIndex }]
  );
  if (indexed.length === 0) return;
  const bytes = await read(indexed.map(({ index }) => index));
  indexed.forEach(({ chunk }, at) => PAGES.set(chunk, pagesOfIndex(present(bytes[at]))));
}

function rangeOf({ offset, byteLength }: FilePlace) {
  return { start: offset, end: offset + byteLength };
}
