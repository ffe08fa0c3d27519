/**
 * The rows of one part of a data file, out of the pages that hold them. A file that is not of our
 * writer's making is left alone, and so is a part whose pages cost more than its scan.
 */

import { present } from "../../../base/assert.ts";
import { lowerBound } from "../../../base/lower_bound.ts";
import type { ColumnChunk, RowGroup } from "../../../parquet/footer.ts";
import {
  dictionaryPlace,
  pagesWith,
  readChunkRows,
  type StoredValue,
  type WantedPage,
} from "../../../parquet/reader/chunk_rows.ts";
import type { Column } from "../../../schema/schema.ts";
import { FEW_ROWS_BYTES_MAX } from "../../limits.ts";
import type { FilePart, ReadRows, RowRange } from "../../plan/plan.ts";
import type { Predicate } from "../../pruning/predicate.ts";
import type { DataFileLease } from "../data_files.ts";
import { chunkOf, pagePlaces, readPagePlaces } from "../page_places.ts";
import { FilePages } from "./file_pages.ts";
import {
  FILTERED_VALUE_NS,
  type PaysPages,
  type PricedPages,
  readPrice,
  scanPrice,
  VALUE_NS,
} from "./page_price.ts";
import { conditionColumns, rowFilter, type TextFilter, textFilter } from "./row_filter.ts";

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
 *
 * The columns of the condition come first, one after the other, and each leaves fewer rows for the
 * next.
 */
export async function readPartRows(
  wanted: WantedRows,
  { lease, pays }: {
    readonly lease: Pick<DataFileLease, "footer" | "open" | "pages">;
    readonly pays: PaysPages;
  },
): Promise<ReadRows | undefined> {
  const { part: { file, range, rowNumbers = numbersOf(range) }, columns, condition } = wanted;
  if (rowNumbers === undefined) return undefined;
  const footer = await lease.footer(file);
  if (!footer.isOwn || footer.rows !== file.rows) return undefined;
  const all = groupRows(footer.rowGroups, rowNumbers);
  if (!all.every(({ group }) => isReadable(chunksOf(group, columns), columns))) return undefined;
  await using pages = new FilePages(file, lease);
  await readPagePlaces(chunksIn(all, columns), pages.bytes);
  const pagesOf = (groups: readonly GroupRows[], columns: readonly Column[]) =>
    pricedPages(groups, columns, pages);
  const scannedNs = scanPrice(chunksIn(all, columns));
  let left: RowsLeft = { groups: all, values: new Map(), byteLength: 0 };
  let others = columns;
  for (const column of conditionFirst(all, { columns, condition })) {
    const next = pagesOf(left.groups, [column]);
    const whole = readPrice(pagesOf(left.groups, others), VALUE_NS);
    if (!pays({ scannedNs, nextNs: readPrice(next, FILTERED_VALUE_NS), wholeNs: whole })) {
      return undefined;
    }
    const mayMeet = textFilter(condition, column);
    left = filtered(await withColumns(left, [column], { pages, mayMeet }), condition);
    others = others.filter(({ id }) => id !== column.id);
  }
  const restNs = readPrice(pagesOf(left.groups, others), VALUE_NS);
  if (!pays({ scannedNs, nextNs: restNs, wholeNs: restNs })) return undefined;
  if (valueBytes(left.groups, columns) > FEW_ROWS_BYTES_MAX) return undefined;
  const { values, byteLength } = await withColumns(left, others, { pages });
  return { numbers: numbersIn(left.groups), values, byteLength };
}

function numbersOf(range: RowRange | undefined): Uint32Array | undefined {
  if (range === undefined) return undefined;
  return Uint32Array.from({ length: range.end - range.first }, (_, at) => range.first + at);
}

/** Rows that may still be wanted, with the columns that were read of them. */
interface RowsLeft {
  readonly groups: readonly GroupRows[];
  /** By field id, of all these rows. */
  readonly values: ReadonlyMap<number, readonly StoredValue[]>;
  /** Bytes of all pages until now. */
  readonly byteLength: number;
}

/** The condition's columns, those of the fewest bytes first. */
function conditionFirst(
  groups: readonly GroupRows[],
  { columns, condition }: Pick<WantedRows, "columns" | "condition">,
): readonly Column[] {
  const ids = new Set(conditionColumns(condition).map(({ id }) => id));
  const bytesOf = (column: Column) =>
    chunksIn(groups, [column]).reduce((sum, { bytesDecompressed }) => sum + bytesDecompressed, 0);
  return columns.filter(({ id }) => ids.has(id)).sort((a, b) => bytesOf(a) - bytesOf(b));
}

function filtered(left: RowsLeft, condition: Predicate<Column>): RowsLeft {
  const mayMeet = rowFilter(condition);
  const isKept = Array.from(
    { length: rowsIn(left.groups) },
    (_, at) => mayMeet(({ id }) => left.values.get(id)?.[at]),
  );
  let at = 0;
  const groups = left.groups.flatMap(({ group, rows }) => {
    const kept = rows.filter(() => isKept[at++]);
    return kept.length === 0 ? [] : { group, rows: kept };
  });
  const values = [...left.values].map(([id, own]) =>
    [id, own.filter((_, at) => isKept[at])] as const
  );
  return { ...left, groups, values: new Map(values) };
}

async function withColumns(
  { groups, values, byteLength }: RowsLeft,
  columns: readonly Column[],
  reading: Reading,
): Promise<RowsLeft> {
  const own = await readColumns(groups, columns, reading);
  return {
    groups,
    values: new Map([...values, ...own.values]),
    byteLength: byteLength + own.byteLength,
  };
}

function rowsIn(groups: readonly GroupRows[]): number {
  return groups.reduce((sum, { rows }) => sum + rows.length, 0);
}

/** Their numbers in the file. */
function numbersIn(groups: readonly GroupRows[]): Uint32Array {
  const numbers = new Uint32Array(rowsIn(groups));
  let at = 0;
  for (const { group, rows } of groups) {
    for (const row of rows) numbers[at++] = group.firstRow + row;
  }
  return numbers;
}

function chunksIn(groups: readonly GroupRows[], columns: readonly Column[]): ColumnChunk[] {
  return groups.flatMap(({ group }) =>
    columns.flatMap((column) => chunkOf(group, column.id) ?? [])
  );
}

/** The pages that hold some rows of some columns. */
function pricedPages(
  groups: readonly GroupRows[],
  columns: readonly Column[],
  kept: Pick<FilePages, "isKept">,
): PricedPages[] {
  return groups.flatMap(({ group, rows }) =>
    chunksIn([{ group, rows }], columns).map((chunk) => {
      const all = pagePlaces(chunk);
      const wanted = pagesWith(all, rows).filter((page) => !kept.isKept(page));
      return {
        chunk,
        pages: wanted.length,
        unpacked: wanted.reduce((sum, page) => sum + wantedShare(page, group.rows), 0),
        allPages: all.length,
        rows: rows.length,
      };
    })
  );
}

/** What of a page lies before the end of its last wanted row. */
function wantedShare({ firstRow, endRow, rows }: WantedPage, groupRows: number): number {
  const own = Math.min(endRow, groupRows) - firstRow;
  return own <= 0 ? 1 : Math.min(1, ((rows.at(-1) ?? firstRow) + 1 - firstRow) / own);
}

interface Reading {
  readonly pages: FilePages;
  /** Values of which it is false may be null in place of what they are. */
  readonly mayMeet?: TextFilter | undefined;
}

interface ColumnsRead {
  /** By field id, of all rows. */
  readonly values: ReadonlyMap<number, readonly StoredValue[]>;
  readonly byteLength: number;
}

async function readColumns(
  groups: readonly GroupRows[],
  columns: readonly Column[],
  { pages: file, mayMeet }: Reading,
): Promise<ColumnsRead> {
  const wanted = groups.flatMap(({ group, rows }) =>
    columns.map((column) => {
      const chunk = chunkOf(group, column.id);
      const pages = chunk === undefined ? [] : pagesWith(pagePlaces(chunk), rows);
      return { column, chunk, rows, pages };
    })
  );
  const read = wanted.flatMap(({ chunk, pages }) =>
    chunk === undefined ? [] : [{ chunk, places: [dictionaryPlace(chunk) ?? [], pages].flat() }]
  );
  const pageAt = await file.read(read);
  const values = new Map<number, StoredValue[]>(columns.map(({ id }) => [id, []]));
  for (const { column, chunk, rows, pages } of wanted) {
    const own = chunk === undefined
      ? Array.from(rows, () => null)
      : readChunkRows(chunk, pages, { pageAt, mayMeet });
    const all = present(values.get(column.id));
    for (const value of own) {
      if (column.type === "timestamptz" && !isInstant(value)) {
        throw new Error("an infinite instant");
      }
      all.push(value);
    }
  }
  const places = read.flatMap((one) => one.places);
  return { values, byteLength: places.reduce((sum, { byteLength }) => sum + byteLength, 0) };
}

/** What DuckDB reads as an instant, and not as one of its infinities. */
const MICROS_MAX = 2n ** 62n;

function isInstant(value: StoredValue): boolean {
  return typeof value !== "bigint" || (value < MICROS_MAX && value > -MICROS_MAX);
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

function chunksOf(group: RowGroup, columns: readonly Column[]): Chunks {
  return new Map(columns.map((column) => [column.id, chunkOf(group, column.id)]));
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

/** About how many bytes the values take, going by the average of their chunks. */
function valueBytes(groups: readonly GroupRows[], columns: readonly Column[]): number {
  return groups.reduce((sum, { group, rows }) =>
    columns.reduce((own, column) => {
      const chunk = chunkOf(group, column.id);
      if (chunk === undefined || chunk.values === 0) return own;
      return own + rows.length * chunk.bytesDecompressed / chunk.values;
    }, sum), 0);
}
