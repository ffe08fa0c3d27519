/**
 * How result values become JSON, as SQL around the user's statement: DuckDB renders on all of its
 * threads, and one text per row crosses into this process. 200,000 wide rows take 0.20 s this way,
 * and 0.78 s value by value in JavaScript.
 *
 * | Type | JSON |
 * |---|---|
 * | integers up to 128 bits, DECIMAL | number, every digit |
 * | FLOAT, DOUBLE | number, shortest digits that read back; NaN and infinities are null |
 * | TIMESTAMP WITH TIME ZONE, TIMESTAMP (taken as UTC), _S, _MS | `"2026-11-20T21:04:05.123456Z"` |
 * | TIMESTAMP_NS | `"2026-11-20T21:04:05.123456789Z"` |
 * | DATE, TIME | ISO text |
 * | INTERVAL | ISO 8601 duration, `"P14M3DT4.5S"` |
 * | BLOB | base64 text |
 * | LIST, ARRAY, STRUCT, MAP | arrays, objects; a STRUCT without names, `(a, b)`, is an array |
 * | JSON | itself |
 * | anything else | its text |
 */

import type { DescribedColumn, EngineType } from "../duckdb/driver.ts";
import { quoteText, type StatementText } from "../duckdb/statement_text.ts";
import type { TextShape } from "../types.ts";
import { type AskedRows, selectedSql } from "./selected_sql.ts";

/** What ends each row's text. No row of JSON holds a line feed of its own, which it escapes. */
export const ROW_ENDS: Readonly<Record<TextShape, string>> = {
  arrays: ",",
  array_lines: ",\n",
  objects: "\n",
  csv: "\r\n",
};

/** A statement with one column: the rows of `sql` as JSON texts with their ends. */
export function renderingSql(
  sql: string,
  asked: AskedRows & { readonly shape: TextShape },
): StatementText {
  return selectedSql(sql, asked, [rowSql(asked.shape, asked.columns)]);
}

/** SQL for the text of a row, whose values are `r.c0`, `r.c1` and so on. */
function rowSql(shape: TextShape, columns: readonly DescribedColumn[]): string {
  if (shape === "csv") {
    const cells = columns.map(({ type }, i) => csvTextSql(`r.c${i}`, type));
    return `concat(${cells.join(", ',', ")}, ${quoteText(ROW_ENDS.csv)})`;
  }
  const names = shape === "objects" ? uniqueNames(columns.map(({ name }) => name)) : undefined;
  const written = rowInOneCallSql(columns, names);
  if (written !== undefined) return `${written}::VARCHAR || ${quoteText(ROW_ENDS[shape])}`;
  const values = columns.map(({ type }, i) => jsonTextSql(`r.c${i}`, type));
  return names === undefined
    ? arrayTextSql(values, `]${ROW_ENDS[shape]}`)
    : objectTextSql(names, values, `}${ROW_ENDS.objects}`);
}

/**
 * SQL for a row as JSON by one call of DuckDB's writer, which takes two thirds of the time of one
 * call a value. Undefined where the writer would write a value, or a name, in another way.
 */
function rowInOneCallSql(
  columns: readonly DescribedColumn[],
  names: readonly string[] | undefined,
): string | undefined {
  const values = columns.map(({ type }, i) => writtenSql(`r.c${i}`, type));
  if (values.includes(undefined)) return undefined;
  if (names === undefined) return `json_array(${values.join(", ")})`;
  // It has other letters for the digits of what is escaped by its number.
  if (names.some((name) => /\p{Cc}/u.test(name))) return undefined;
  const members = names.map((name, i) => `${quoteText(name)}, ${values[i]}`);
  return `json_object(${members.join(", ")})`;
}

/** SQL for a value of which DuckDB's writer makes the text of `jsonTextSql`, `null` for NULL. */
function writtenSql(value: string, { kind }: EngineType): string | undefined {
  if (kind === "VARCHAR" || WRITTEN_KINDS.has(kind)) return value;
  if (kind === "DOUBLE") return `CASE WHEN isfinite(${value}) THEN ${value} END`;
  if (kind === "FLOAT") return `CASE WHEN isfinite(${value}) THEN ${value}::VARCHAR::DOUBLE END`;
  return PLAIN_TEXT_KINDS.has(kind) ? textSql(value, kind) : undefined;
}

/**
 * SQL for a cell of a CSV file: texts and bytes in quotes, numbers and times without, nothing for
 * NULL. So NULL and what is empty stay apart.
 */
function csvTextSql(value: string, type: EngineType): string {
  const { kind } = type;
  if (DIGIT_KINDS.has(kind)) return `coalesce(${digitsSql(value, type)}, '')`;
  if (kind === "DOUBLE" || kind === "FLOAT") return `coalesce(${value}::VARCHAR, '')`;
  if (PLAIN_TEXT_KINDS.has(kind) && kind !== "BLOB") {
    return `coalesce(${textSql(value, kind)}, '')`;
  }
  const isNested = ["JSON", "LIST", "ARRAY", "STRUCT", "MAP"].includes(kind);
  const text = isNested ? jsonTextSql(value, type) : textSql(value, kind);
  const quoted = `'"' || system.main.replace(${text}, '"', '""') || '"'`;
  return `CASE WHEN ${value} IS NULL THEN '' ELSE ${quoted} END`;
}

/** SQL for the text of a value of an answer: a nested value's JSON, NULL for NULL. */
export function answerTextSql(value: string, type: EngineType): string {
  const isNested = ["LIST", "ARRAY", "STRUCT", "MAP"].includes(type.kind);
  const text = isNested ? jsonTextSql(value, type) : textSql(value, type.kind);
  return `CASE WHEN ${value} IS NOT NULL THEN ${text} END`;
}

/** Returns the first line of a CSV file. */
export function csvHeader(names: readonly string[]): string {
  const cells = names.map((name) => `"${name.replaceAll('"', '""')}"`);
  return `${cells.join(",")}${ROW_ENDS.csv}`;
}

/** Marks the trailer of a stream (docs/api/query.md#ndjson-answer): rows never have it. */
const TRAILER_MEMBER = "_meta";

/** Names for an object's members. A repeated name, and `_meta`, gets `_1`, `_2`, … */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names);
  const seen = new Set<string>([TRAILER_MEMBER]);
  return names.map((name) => {
    let unique = name;
    for (let i = 1; seen.has(unique); i += 1) {
      const candidate = `${name}_${i}`;
      if (!taken.has(candidate)) unique = candidate;
    }
    seen.add(unique);
    return unique;
  });
}

/**
 * SQL for the JSON text of a value, never NULL. Texts are put together as texts. A JSON value
 * inside another one would be parsed again, and a DECIMAL would come out as the nearest double.
 */
function jsonTextSql(value: string, type: EngineType, depth = 0): string {
  const { kind } = type;
  if (DIGIT_KINDS.has(kind)) return orNull(digitsSql(value, type));
  if (isPlain(type)) return orNull(`to_json(${value})::VARCHAR`);
  if (kind === "DOUBLE") return finiteSql(value, value);
  if (kind === "FLOAT") return finiteSql(value, `${value}::VARCHAR::DOUBLE`);
  if (kind === "JSON") return orNull(`json(${value})::VARCHAR`);
  if (kind === "LIST" || kind === "ARRAY") return listSql(value, type, depth);
  if (kind === "STRUCT") return structSql(value, type, depth);
  if (kind === "MAP") return mapSql(value, type, depth);
  if (PLAIN_TEXT_KINDS.has(kind)) return orNull(`'"' || ${textSql(value, kind)} || '"'`);
  return orNull(`to_json(${textSql(value, kind)})::VARCHAR`);
}

/** DuckDB writes `.5` where the type has no digit before the point. That is no JSON. */
function digitsSql(value: string, { text }: EngineType): string {
  const digits = `${value}::VARCHAR`;
  return /^DECIMAL\((\d+),\1\)$/.test(text) ? `replace(${digits}, '.', '0.')` : digits;
}

function orNull(text: string): string {
  return `coalesce(${text}, 'null')`;
}

function finiteSql(value: string, rendered: string): string {
  return `CASE WHEN isfinite(${value}) THEN to_json(${rendered})::VARCHAR ELSE 'null' END`;
}

/** SQL for the text of a value that JSON has no type for. */
function textSql(value: string, kind: string): string {
  if (kind === "BLOB") return `to_base64(${value})`;
  if (kind === "INTERVAL") return intervalSql(value);
  if (kind === "TIMESTAMP_NS") return nanosecondsSql(value);
  return TIMESTAMP_KINDS.has(kind) ? timestampSql(value, kind) : `${value}::VARCHAR`;
}

const TIMESTAMP_KINDS: ReadonlySet<string> = new Set([
  "TIMESTAMP",
  "TIMESTAMP_S",
  "TIMESTAMP_MS",
  "TIMESTAMP_TZ",
]);

/** Kinds whose text has nothing that JSON escapes. */
const PLAIN_TEXT_KINDS: ReadonlySet<string> = new Set([
  ...TIMESTAMP_KINDS,
  ...["TIMESTAMP_NS", "DATE", "TIME", "INTERVAL", "BLOB", "UUID"],
]);

/** Kinds of which DuckDB's JSON writer writes every digit. */
const WRITTEN_KINDS: ReadonlySet<string> = new Set([
  "BOOLEAN",
  "TINYINT",
  "SMALLINT",
  "INTEGER",
  "BIGINT",
  "UTINYINT",
  "USMALLINT",
  "UINTEGER",
  "UBIGINT",
]);

/** Kinds whose text is their JSON. */
const DIGIT_KINDS: ReadonlySet<string> = new Set([
  ...WRITTEN_KINDS,
  ...["HUGEINT", "UHUGEINT", "DECIMAL"],
]);

/** Whether DuckDB's own JSON writer already does what the table above says. */
function isPlain(type: EngineType): boolean {
  if (type.kind === "VARCHAR" || type.kind === "SQLNULL") return true;
  if (type.kind !== "LIST" || type.item === undefined) return false;
  const { kind } = type.item;
  return kind === "VARCHAR" || (DIGIT_KINDS.has(kind) && kind !== "DECIMAL");
}

/**
 * A time zone is taken out of the value first. All connections are in UTC, and the calendar takes
 * three times as long. Seconds and milliseconds become microseconds: for `strftime` they would
 * become nanoseconds, which end in 2262.
 */
function timestampSql(value: string, kind: string): string {
  const plain = kind === "TIMESTAMP_TZ"
    ? `make_timestamp(epoch_us(${value}))`
    : kind === "TIMESTAMP"
    ? value
    : `${value}::TIMESTAMP`;
  return `CASE WHEN isfinite(${value}) THEN strftime(${plain}, '%Y-%m-%dT%H:%M:%S.%fZ') ` +
    `ELSE ${value}::VARCHAR END`;
}

/** DuckDB's own `%n` writes past its text (1.5.5), so the fraction is put together here. */
function nanosecondsSql(value: string): string {
  const fraction = `((epoch_ns(${value}) % 1000000000 + 1000000000) % 1000000000)`;
  const second = `make_timestamp((epoch_ns(${value}) - ${fraction}) // 1000)`;
  return `CASE WHEN isfinite(${value}) THEN strftime(${second}, '%Y-%m-%dT%H:%M:%S.') || ` +
    `lpad(${fraction}::VARCHAR, 9, '0') || 'Z' ELSE ${value}::VARCHAR END`;
}

/** Months, days and seconds are what an interval holds; larger units would only repeat them. */
function intervalSql(value: string): string {
  const months = `(datepart('year', ${value}) * 12 + datepart('month', ${value}))`;
  const micros =
    `(datepart('hour', ${value}) * 3600000000 + datepart('minute', ${value}) * 60000000` +
    ` + datepart('microsecond', ${value}))`;
  const seconds =
    `rtrim(rtrim((${micros}::DECIMAL(30, 6) / 1000000)::DECIMAL(30, 6)::VARCHAR, '0'), '.')`;
  return `'P' || ${months} || 'M' || datepart('day', ${value}) || 'DT' || ${seconds} || 'S'`;
}

function listSql(value: string, type: EngineType, depth: number): string {
  const element = `e${depth}`;
  const item = jsonTextSql(element, type.item ?? ANY_TYPE, depth + 1);
  return orNull(
    `'[' || ${
      joinedSql(`system.main.list_transform(${value}, lambda ${element}: ${item})`)
    } || ']'`,
  );
}

function structSql(value: string, type: EngineType, depth: number): string {
  const fields = type.fields ?? [];
  const texts = fields.map((field, i) =>
    jsonTextSql(
      field.name === ""
        ? `struct_extract_at(${value}, ${i + 1})`
        : `struct_extract(${value}, ${quoteText(field.name)})`,
      field.type,
      depth,
    )
  );
  // Members of one name would become one for a program that parses the object.
  const isTuple = fields.every((field) => field.name === "");
  const whole = isTuple
    ? arrayTextSql(texts, "]")
    : objectTextSql(fields.map((field) => field.name), texts);
  return `CASE WHEN ${value} IS NULL THEN 'null' ELSE ${whole} END`;
}

function mapSql(value: string, type: EngineType, depth: number): string {
  const entry = `e${depth}`;
  const item = jsonTextSql(`${entry}.value`, type.item ?? ANY_TYPE, depth + 1);
  const members = `system.main.list_transform(map_entries(${value}), lambda ${entry}: ` +
    `to_json(${entry}.key::VARCHAR)::VARCHAR || ':' || ${item})`;
  return orNull(`'{' || ${joinedSql(members)} || '}'`);
}

/** NULL for a NULL list, an empty text for an empty list. */
function joinedSql(list: string): string {
  return `array_to_string(${list}, ',')`;
}

const ANY_TYPE: EngineType = { text: "ANY", kind: "ANY" };

function arrayTextSql(values: readonly string[], end: string): string {
  return `concat('[', ${values.join(", ',', ")}, ${quoteText(end)})`;
}

function objectTextSql(names: readonly string[], values: readonly string[], end = "}"): string {
  const members = names.map((name, i) => {
    const before = `${i === 0 ? "{" : ","}${JSON.stringify(name)}:`;
    return `${quoteText(before)}, ${values[i]}`;
  });
  return `concat(${members.join(", ")}, ${quoteText(end)})`;
}
