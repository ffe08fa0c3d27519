/**
 * The fields of a search: columns and attributes, how many rows have each, and how many values each
 * has. Without a search they come from summaries, and from the rows of the WAL. What no summary
 * counts comes from a sample (`newest_sample.ts`), whose shares stand for all rows.
 */

import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import type { ColumnCount, ColumnCounts, Cost, Stats } from "../../shared/engine/types.ts";
import { searchCondition } from "../../shared/search/search_condition.ts";
import type { SearchTable } from "../../shared/search/search_fields.ts";
import { type SearchedRows, whereSql } from "./field_request.ts";
import { FIELD_TYPES, type FieldType, type TalliedField, tally, tallyList } from "./field_tally.ts";
import { newestSample, type Sample } from "./newest_sample.ts";
import type { PartCall } from "./part_call.ts";

/** A field in the answer of `GET /api/v1/fields`: docs/api/query.md#fields. */
export interface Field {
  readonly name: string;
  readonly kind: "column" | "attribute";
  readonly type: FieldType;
  readonly rows: number;
  readonly rowsExact: boolean;
  readonly distinct: number | null;
  readonly distinctExact: boolean;
}

/** Where an answer comes from. */
export interface AnswerSource {
  readonly rows: number;
  readonly rowsExact: boolean;
  readonly answeredFrom: "summaries" | "sample";
  /** Rows of the sample; null: there was none. */
  readonly sampleRows: number | null;
  readonly cost: Cost | undefined;
  readonly stats: Stats | undefined;
}

/** The body of `GET /api/v1/fields`. */
export interface FieldList extends AnswerSource {
  readonly fields: readonly Field[];
}

/** Rows of a sample. Attributes that are rarer than this may be missed. */
const SAMPLE_ROWS = 1_000;
/** Columns that every row has. */
const TIMES = new Set(["timestamp", "timestamp_ns"]);
/** Rows of the WAL that are counted one by one. */
export const WAL_ROWS = 2_000;

/** Errors: `invalid_argument` (`search_syntax`); those of a statement of `/sql`. */
export async function listFields(call: PartCall, asked: SearchedRows): Promise<FieldList> {
  const table = await call.table(asked.table);
  const condition = searchCondition(asked.search, table);
  const sampling = { ...asked, condition, list: tallyList(table), rowsMax: SAMPLE_ROWS };
  if (asked.search.kind !== "all") {
    const sample = await newestSample(call, sampling);
    return sampled(call, { table, sample, rowsAll: undefined });
  }
  const [counted, sample] = await Promise.all([
    countedRows(call, table, asked),
    newestSample(call, sampling),
  ]);
  // A sample of all rows is exact, and knows each attribute.
  if (counted === undefined || sample.isWhole) {
    const rowsAll = sample.isWhole ? undefined : await countAll(call, asked);
    return sampled(call, { table, sample, rowsAll });
  }
  return summarized(call, { table, sample, counted });
}

/** What summaries count, and the rows that only the WAL has. */
interface Counted {
  readonly counts: ColumnCounts;
  readonly wal: readonly TalliedField[];
  readonly walRows: number;
  /** Whether all rows of the WAL were counted. */
  readonly isWalWhole: boolean;
}

async function countedRows(
  call: PartCall,
  table: SearchTable,
  { table: name, range }: SearchedRows,
): Promise<Counted | undefined> {
  const sql = `SELECT ${tallyList(table)} FROM ${quoteName(name)}${whereSql(range)} ` +
    `LIMIT ${WAL_ROWS + 1}`;
  const { rows, counts } = await call.rows(sql, {
    rowsMax: WAL_ROWS + 1,
    columnCounts: { range },
  });
  if (counts === undefined || counts.rows === 0) return undefined;
  const own = rows.slice(0, WAL_ROWS);
  return {
    counts,
    wal: tally(table, own),
    walRows: own.length,
    isWalWhole: rows.length <= WAL_ROWS,
  };
}

async function countAll(
  call: PartCall,
  { table, range }: SearchedRows,
): Promise<number | undefined> {
  const sql = `SELECT count(*) FROM ${quoteName(table)}${whereSql(range)}`;
  const { rows: [[count] = []] } = await call.rows(sql, { rowsMax: 1 });
  return typeof count === "number" ? count : undefined;
}

function sampled(
  call: PartCall,
  { table, sample, rowsAll }: {
    readonly table: SearchTable;
    readonly sample: Sample;
    /** Rows that the sample stands for; undefined: nobody knows. */
    readonly rowsAll: number | undefined;
  },
): FieldList {
  const rows = rowsAll ?? sample.rows.length;
  const isExact = sample.isWhole || rowsAll !== undefined;
  const fields = tally(table, sample.rows)
    .map((field) => estimated(field, { sample, rowsAll: rows, isExact }));
  return {
    fields: inOrder(fields),
    rows,
    rowsExact: isExact,
    answeredFrom: "sample",
    sampleRows: sample.rows.length,
    ...call.spent,
  };
}

function summarized(
  call: PartCall,
  { table, sample, counted }: {
    readonly table: SearchTable;
    readonly sample: Sample;
    readonly counted: Counted;
  },
): FieldList {
  const { counts, wal, walRows, isWalWhole } = counted;
  const rows = counts.rows + walRows;
  const isExact = counts.isExact && isWalWhole;
  const byName = new Map(wal.map((field) => [field.name, field]));
  const exact = counts.columns.map((column) =>
    countedField(column, { counts, isWalWhole, wal: byName.get(column.name) })
  );
  const known = new Set(exact.map(({ name }) => name));
  const others = tally(table, sample.rows).filter(({ name }) => !known.has(name))
    .map((field) => estimated(field, { sample, rowsAll: rows, isExact }));
  return {
    fields: inOrder([...exact, ...others]),
    rows,
    rowsExact: isExact,
    answeredFrom: "summaries",
    sampleRows: sample.rows.length,
    ...call.spent,
  };
}

function countedField(
  column: ColumnCount,
  { counts, isWalWhole, wal }: {
    readonly counts: ColumnCounts;
    readonly isWalWhole: boolean;
    readonly wal: TalliedField | undefined;
  },
): Field {
  const { name, isAttribute, type, values, rowsCounted } = column;
  const isWhole = rowsCounted === counts.rows;
  // Files without counts of it are taken for files as the others.
  const rows = isWhole ? column.rows : Math.round(column.rows * counts.rows / rowsCounted);
  const isExact = counts.isExact && isWhole && isWalWhole;
  const fresh = [...wal?.values ?? []].filter((value) => !values.has(value)).length;
  return {
    name,
    kind: isAttribute ? "attribute" : "column",
    type: FIELD_TYPES[type],
    rows: rows + (wal?.rows ?? 0),
    rowsExact: isExact,
    distinct: values.size + fresh,
    distinctExact: isExact,
  };
}

/** A field of the sample: its share of these rows is its share of all. */
function estimated(
  { name, isColumn, type, rows, values }: TalliedField,
  { sample, rowsAll, isExact }: {
    readonly sample: Sample;
    readonly rowsAll: number;
    /** Whether `rowsAll` is exact. */
    readonly isExact: boolean;
  },
): Field {
  const share = sample.rows.length === 0 ? 0 : rowsAll / sample.rows.length;
  const isOfEach = isColumn && TIMES.has(name);
  return {
    name,
    kind: isColumn ? "column" : "attribute",
    type,
    rows: isOfEach ? rowsAll : Math.round(rows * share),
    rowsExact: sample.isWhole || (isOfEach && isExact),
    distinct: values.size,
    distinctExact: sample.isWhole,
  };
}

function inOrder(fields: readonly Field[]): readonly Field[] {
  return [...fields].sort((a, b) => b.rows - a.rows || (a.name < b.name ? -1 : 1));
}
