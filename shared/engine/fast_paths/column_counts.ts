/**
 * What summaries say of all columns of a table at once: how many rows have a value, and how many
 * have each. Attributes that have a column are among them. A statement for each column would be
 * planned and bound a dozen times; this adds up cubes that are in memory.
 *
 * The range is widened to whole minutes, by which summaries count. Rows that only the WAL has are
 * not counted here: the statement that asks reads them.
 */

import { totalRows } from "../../base/total_rows.ts";
import { type Cells, IDS_MAX } from "../../derived/summary/cells.ts";
import type { DataFile, TimeRange } from "../../iceberg/types.ts";
import { attributeOf, isUnasked, unaskedColumn } from "../../schema/promoted.ts";
import { type Column, columnOf } from "../../schema/schema.ts";
import { meets, type TablePlan } from "../plan/plan.ts";
import type { ColumnCount, ColumnCounts, ColumnCountsRequest } from "../types.ts";
import {
  cellsIn,
  type FilesOfRange,
  filesOfRange,
  type MinuteRange,
  timesOf,
  touchedMinutes,
  widenedBy,
} from "./cut_range.ts";
import type { CubesOfFiles, TableCubes } from "./table_answers.ts";

/**
 * Counts the committed rows of `table` that the range holds. Undefined: none of its columns has
 * counts. Errors: the store's.
 */
export async function columnCounts(
  table: TablePlan,
  cubes: TableCubes,
  { range, names }: ColumnCountsRequest,
): Promise<ColumnCounts | undefined> {
  if (table.committed.kind !== "all") return undefined;
  const wanted = countedColumns(table)
    .filter(({ name }) => names === undefined || names.includes(attributeOf(name)));
  if (wanted.length === 0) return undefined;
  const files = await filesOfRange(range, table.committed.filesIn);
  const source = { table, cubes, files, minutes: touchedMinutes(range) };
  const [rows, counts] = await Promise.all([
    countRows(source),
    Promise.all(wanted.map((column) => countColumn(source, column))),
  ]);
  const counted = bestOfEach(counts.filter(({ rowsCounted }) => rowsCounted > 0));
  if (rows.rowsCounted > 0 && counted.length === 0) return undefined;
  const isWhole = rows.rowsMissed === 0 && !isWidened(range, files);
  return { rows: rows.rowsCounted, isExact: isWhole, columns: counted };
}

interface CountSource {
  readonly table: TablePlan;
  readonly cubes: TableCubes;
  readonly files: FilesOfRange;
  /** Minutes that the range touches. */
  readonly minutes: MinuteRange;
}

/** Columns that summaries may count by value. Doubles of attributes are measures. */
function countedColumns({ stored }: TablePlan): readonly Column[] {
  const byValue = new Set([...stored.tags, ...stored.promoted ?? []]);
  return stored.columns.filter(({ name, type }) =>
    name !== "timestamp_ns" && !(isUnasked(name) && type === "double") &&
    (byValue.has(name) || type === "bool" || type === "int" || type === "long" || type === "double")
  );
}

/** Whether a minute that the range cuts may have rows outside of it. */
function isWidened(range: TimeRange, { cut }: FilesOfRange): boolean {
  return widenedBy(range).some((edge) =>
    cut.some((file) => meets(edge, file.timestampNsMin, file.timestampNsMax))
  );
}

/** Rows of files by whether summaries tell their number in the range. */
interface CountedRows {
  readonly rowsCounted: number;
  readonly rowsMissed: number;
}

async function countRows({ table, cubes, files, minutes }: CountSource): Promise<CountedRows> {
  let rowsCounted = totalRows(files.whole);
  if (files.cut.length === 0) return { rowsCounted, rowsMissed: 0 };
  const cut = await cubesOf({ table, cubes, files: files.cut, byMinute: true }, []);
  for (const { cells } of cut.cubes) {
    const { counts } = cellsIn(cells, minutes);
    for (const count of counts) rowsCounted += count;
  }
  const inRange = timesOf(minutes);
  const rowsMissed = totalRows(
    cut.without.filter((file) => meets(inRange, file.timestampNsMin, file.timestampNsMax)),
  );
  return { rowsCounted: rowsCounted + rowsMissed, rowsMissed };
}

async function countColumn(
  { table, cubes, files, minutes }: CountSource,
  column: Column,
): Promise<ColumnCount & { readonly stored: string }> {
  const whole = await cubesOf({ table, cubes, files: files.whole, byMinute: false }, [column]);
  const cut = await cubesOf({ table, cubes, files: files.cut, byMinute: true }, [column]);
  const { values } = cubes.valuesOf(column);
  const totals = new Float64Array(values.length);
  const add = ({ keys, counts }: Cells) => {
    for (let at = 0; at < keys.length; at += 1) {
      const id = (keys[at] as number) % IDS_MAX;
      // Keys of minutes before 1970 are negative.
      const place = id < 0 ? id + IDS_MAX : id;
      totals[place] = (totals[place] as number) + (counts[at] as number);
    }
  };
  for (const { cells } of whole.cubes) add(cells);
  for (const { cells } of cut.cubes) add(cellsIn(cells, minutes));
  const counted = new Map<string, number>();
  let rows = 0;
  totals.forEach((count, id) => {
    const value = values[id];
    if (count === 0 || value === null || value === undefined) return;
    counted.set(value, count);
    rows += count;
  });
  return {
    name: attributeOf(column.name),
    isAttribute: isUnasked(column.name),
    type: column.type,
    rows,
    rowsCounted: rows + (totals[0] ?? 0),
    values: counted,
    stored: column.name,
  };
}

/** Cubes of the files whose summary counts the columns as they are. */
async function cubesOf(
  { table, cubes, files, byMinute }: Omit<CountSource, "files" | "minutes"> & {
    readonly files: readonly DataFile[];
    readonly byMinute: boolean;
  },
  columns: readonly Column[],
): Promise<CubesOfFiles> {
  const promoted = new Set(table.stored.promoted);
  const isComplete = (file: DataFile) =>
    columns.every((column) => !promoted.has(column.name) || table.isComplete(file, column));
  const complete = files.filter(isComplete);
  if (complete.length === 0) return { cubes: [], without: files };
  const { cubes: found, without } = await cubes.of(complete, {
    timeId: columnOf(table.stored, "timestamp").id,
    minutes: byMinute,
    columns,
    measures: [],
  });
  return { cubes: found, without: [...without, ...files.filter((file) => !isComplete(file))] };
}

/** An attribute may have a column for its texts and one for its integers: the fuller one counts. */
function bestOfEach(
  counts: readonly (ColumnCount & { readonly stored: string })[],
): readonly ColumnCount[] {
  const best = new Map<string, ColumnCount & { readonly stored: string }>();
  for (const count of counts) {
    const known = best.get(count.name);
    const isText = count.stored === unaskedColumn(count.name)?.name;
    const isBetter = known === undefined || count.rowsCounted > known.rowsCounted ||
      (count.rowsCounted === known.rowsCounted && isText);
    if (isBetter && known?.isAttribute !== false) best.set(count.name, count);
  }
  return [...best.values()].map(({ stored: _, ...count }) => count);
}
