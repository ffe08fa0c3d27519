/**
 * The most frequent values of one field, with their shares. Without a search they come from
 * summaries where these count the field, and from a sample of the newest rows elsewhere.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import { attributeSql } from "../../shared/search/attribute_sql.ts";
import { searchCondition } from "../../shared/search/search_condition.ts";
import { ATTRIBUTES_NAME, type SearchTable } from "../../shared/search/search_fields.ts";
import { type ValuesRequest, whereSql } from "./field_request.ts";
import { FIELD_TYPES, type FieldType } from "./field_tally.ts";
import { type AnswerSource, WAL_ROWS } from "./list_fields.ts";
import { newestSample } from "./newest_sample.ts";
import type { PartCall } from "./part_call.ts";

/** The body of `GET /api/v1/fields/{name}/values`: docs/api/query.md#fields. */
export interface FieldValues extends AnswerSource {
  readonly name: string;
  readonly kind: "column" | "attribute";
  readonly type: FieldType;
  readonly values: readonly {
    readonly value: string;
    readonly rows: number;
    readonly share: number;
  }[];
  readonly distinct: number | null;
  readonly distinctExact: boolean;
}

/** Rows of a sample: one value of each is read, and not whole rows. */
const VALUE_SAMPLE_ROWS = 10_000;
/** Longer values cannot be told apart. */
const VALUE_LENGTH_MAX = 1_024;

/** Rows by value, and how these were found. */
interface ValueCounts {
  readonly type: FieldType;
  readonly counts: ReadonlyMap<string, number>;
  readonly isExact: boolean;
  readonly sampleRows: number | null;
}

/** Errors: `invalid_argument` (`search_syntax`); those of a statement of `/sql`. */
export async function fieldValues(call: PartCall, asked: ValuesRequest): Promise<FieldValues> {
  const table = await call.table(asked.table);
  const field = fieldOf(asked.name, table);
  const counted = asked.search.kind === "all" ? await countedValues(call, asked, field) : undefined;
  const { counts, type, isExact, sampleRows } = counted ??
    await sampledValues(call, asked, { table, field });
  const rows = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const values = [...counts].filter(([value]) => value.startsWith(asked.prefix))
    .sort(([a, rowsA], [b, rowsB]) => rowsB - rowsA || (a < b ? -1 : 1));
  return {
    name: field.name,
    kind: field.isColumn ? "column" : "attribute",
    type,
    values: values.slice(0, asked.limit)
      .map(([value, own]) => ({ value, rows: own, share: own / rows })),
    rows,
    rowsExact: isExact,
    distinct: counts.size,
    distinctExact: isExact,
    answeredFrom: counted === undefined ? "sample" : "summaries",
    sampleRows,
    ...call.spent,
  };
}

/** A field as statements read it. */
interface ReadField {
  readonly name: string;
  readonly isColumn: boolean;
  readonly type: FieldType;
  /** Its value as text, in SQL. */
  readonly sql: string;
}

/** `attributes.x` is the attribute `x`, as in a search. Errors: `invalid_argument`. */
function fieldOf(name: string, { columns }: SearchTable): ReadField {
  const column = columns.find((one) => one.name === name && name !== ATTRIBUTES_NAME);
  if (column !== undefined) {
    const sql = `CAST(${quoteName(name)} AS VARCHAR)`;
    return { name, isColumn: true, type: FIELD_TYPES[column.type], sql };
  }
  if (!columns.some((one) => one.name === ATTRIBUTES_NAME) || name === ATTRIBUTES_NAME) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot list values of ${
        JSON.stringify(name)
      }: the table has no such field; its fields are ` +
        "those of GET /api/v1/fields",
      { reason: "unknown_field" },
    );
  }
  const own = name.startsWith(`${ATTRIBUTES_NAME}.`)
    ? name.slice(ATTRIBUTES_NAME.length + 1)
    : name;
  return { name: own, isColumn: false, type: "text", sql: attributeSql(own) };
}

async function countedValues(
  call: PartCall,
  { table, range }: ValuesRequest,
  { name, isColumn, sql }: ReadField,
): Promise<ValueCounts | undefined> {
  const { rows, counts } = await call.rows(
    `SELECT ${cut(sql)} FROM ${quoteName(table)}${whereSql(range)} ` +
      `LIMIT ${WAL_ROWS + 1}`,
    { rowsMax: WAL_ROWS + 1, columnCounts: { range, names: [name] } },
  );
  const own = counts?.columns.find((one) => one.isAttribute !== isColumn);
  if (counts === undefined || own === undefined || own.rowsCounted < counts.rows) return undefined;
  const isWhole = rows.length <= WAL_ROWS;
  return {
    type: FIELD_TYPES[own.type],
    counts: addedUp(rows.slice(0, WAL_ROWS), own.values),
    isExact: counts.isExact && isWhole,
    sampleRows: null,
  };
}

async function sampledValues(
  call: PartCall,
  { search, table: name, range }: ValuesRequest,
  { table, field }: { readonly table: SearchTable; readonly field: ReadField },
): Promise<ValueCounts> {
  const sample = await newestSample(call, {
    ...{ table: name, range, condition: searchCondition(search, table) },
    list: cut(field.sql),
    rowsMax: VALUE_SAMPLE_ROWS,
  });
  return {
    type: field.type,
    counts: addedUp(sample.rows, new Map()),
    isExact: sample.isWhole,
    sampleRows: sample.rows.length,
  };
}

function cut(sql: string): string {
  return `left(${sql}, ${VALUE_LENGTH_MAX})`;
}

function addedUp(
  rows: readonly (readonly unknown[])[],
  known: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const counts = new Map(known);
  for (const [value] of rows) {
    if (typeof value === "string") counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return counts;
}
