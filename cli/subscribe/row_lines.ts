/** Rows of data files as NDJSON, in order of a time column. */

import { seenColumns } from "../../shared/schema/promoted.ts";
import type { Column, ColumnType } from "../../shared/schema/schema.ts";
import type { LoadedTable } from "../../shared/iceberg/iceberg_reader.ts";
import { decodeSingleValue } from "../../shared/iceberg/single_value.ts";
import type { DataFile } from "../../shared/iceberg/types.ts";
import { formatMicros, NS_PER_US } from "../../shared/base/time.ts";
import { type ColumnValue, type RowObject, rowsOf } from "../../shared/columns/rows.ts";
import { fitTo } from "../../shared/tables/fit_schema.ts";
import { readParquet } from "../../shared/parquet/read_parquet.ts";
import type { ReadableStore } from "../../shared/storage/object_store.ts";

export interface RowLinesOptions {
  readonly store: Pick<ReadableStore, "get">;
  readonly table: LoadedTable;
  /** `timestamptz`, or `long` in Unix nanoseconds. */
  readonly timeColumn: Column;
  /** Rows that are older are left out: Unix nanoseconds. */
  readonly sinceNs: bigint;
}

/**
 * Files read side by side; more are read in such groups, one after another, and so less in order.
 */
const SIDE_BY_SIDE_MAX = 16;

/**
 * Each line with its line feed. Rows without a time are left out. Errors: the store's, `corrupt`.
 */
export async function* rowLines(
  files: readonly DataFile[],
  options: RowLinesOptions,
): AsyncGenerator<string> {
  const lineOf = lineWriter(seenColumns(options.table.schema.columns));
  const wanted = files.filter((file) => mayHold(file, options));
  for (let start = 0; start < wanted.length; start += SIDE_BY_SIDE_MAX) {
    const group = wanted.slice(start, start + SIDE_BY_SIDE_MAX);
    yield* inOrder(group.map((file) => timedRows(file, options)), lineOf);
  }
}

/** Whether a file's bounds leave room for a row that is wanted. */
function mayHold(file: DataFile, { timeColumn, sinceNs }: RowLinesOptions): boolean {
  const bound = file.upperBounds.get(timeColumn.id);
  if (bound === undefined) return true;
  const largest = decodeSingleValue(timeColumn.type, bound);
  // Microseconds are cut: the row may lie later by less than one.
  return typeof largest !== "bigint" || nsOf(largest, timeColumn) + NS_PER_US > sinceNs;
}

interface TimedRow {
  readonly ns: bigint;
  readonly row: RowObject;
}

async function* timedRows(file: DataFile, options: RowLinesOptions): AsyncGenerator<TimedRow> {
  const { store, table, timeColumn, sinceNs } = options;
  const { schema } = table;
  for await (const batch of readParquet(await store.get(file.key), file.key)) {
    for (const row of rowsOf(fitTo(schema, batch.schema.columns)(batch))) {
      const value = row[timeColumn.name];
      if (typeof value !== "bigint") continue;
      const ns = nsOf(value, timeColumn);
      if (ns >= sinceNs) yield { ns, row };
    }
  }
}

function nsOf(value: bigint, { type }: Column): bigint {
  return type === "timestamptz" ? value * NS_PER_US : value;
}

/** Merges rows that are each in order. */
async function* inOrder(
  sources: readonly AsyncGenerator<TimedRow>[],
  lineOf: (row: RowObject) => string,
): AsyncGenerator<string> {
  const open: { readonly source: AsyncGenerator<TimedRow>; next: TimedRow }[] = [];
  for (const source of sources) {
    const first = await source.next();
    if (first.done !== true) open.push({ source, next: first.value });
  }
  for (;;) {
    let earliest = open[0];
    if (earliest === undefined) return;
    for (const one of open) if (one.next.ns < earliest.next.ns) earliest = one;
    yield lineOf(earliest.next.row);
    const next = await earliest.source.next();
    if (next.done === true) open.splice(open.indexOf(earliest), 1);
    else earliest.next = next.value;
  }
}

/**
 * Renders rows as a query does: times with microseconds, integers with every digit, NaN and
 * infinities null.
 */
function lineWriter(columns: readonly Column[]): (row: RowObject) => string {
  const members = columns.map(({ name, type }) => ({ name, type, key: JSON.stringify(name) }));
  return (row) => {
    const texts = members.map(({ name, type, key }) => `${key}:${valueText(row[name], type)}`);
    return `{${texts.join(",")}}\n`;
  };
}

function valueText(value: ColumnValue | undefined, type: ColumnType): string {
  if (typeof value === "bigint") {
    return type === "timestamptz" ? `"${formatMicros(value)}"` : String(value);
  }
  return JSON.stringify(value ?? null);
}
