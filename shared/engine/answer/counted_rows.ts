/** Rows of an answer that summaries count, as JSON (`fast_paths/counted_answer.ts`). */

import { utf8 } from "../../base/bytes.ts";
import type { TextChunk } from "../duckdb/driver.ts";
import type { CountedAnswer, CountedItem, CountedValue } from "../fast_paths/counted_answer.ts";
import type { Prepared } from "../prepared.ts";
import type { PackedShape, RowShape } from "../types.ts";
import { ROW_ENDS } from "./render.ts";

/** The types of which values are written here as DuckDB writes them. */
const KINDS: Readonly<Record<CountedItem["kind"], string>> = {
  count: "BIGINT",
  text: "VARCHAR",
  minute: "TIMESTAMP_TZ",
};

type Counted = Pick<Prepared, "path" | "columns">;

/** At most `rowsMax` rows, or undefined: DuckDB is to be asked. The bytes are those of DuckDB. */
export function countedRows(
  prepared: Counted,
  shape: RowShape | PackedShape,
  rowsMax: number,
): AsyncGenerator<TextChunk> | undefined {
  const counted = countedOf(prepared, shape);
  return counted && chunks(counted.rows().slice(0, rowsMax), counted.items);
}

/** Whether `countedRows` gives the rows. */
export function areCounted(prepared: Counted, shape: RowShape | PackedShape): boolean {
  return countedOf(prepared, shape) !== undefined;
}

function countedOf(
  { path, columns }: Counted,
  shape: RowShape | PackedShape,
): CountedAnswer | undefined {
  const counted = path.kind === "summaries" ? path.fast.counted : undefined;
  if (counted === undefined || shape !== "arrays") return undefined;
  const isKnown = counted.items.every(({ kind }, at) => columns[at]?.type.kind === KINDS[kind]);
  return isKnown ? counted : undefined;
}

async function* chunks(
  rows: readonly (readonly CountedValue[])[],
  items: readonly CountedItem[],
): AsyncGenerator<TextChunk> {
  if (rows.length === 0) return;
  const writers = items.map(writerOf);
  const texts = rows.map((row) => {
    const values = row.map((value, at) => writers[at]?.(value));
    return `[${values.join(",")}]${ROW_ENDS.arrays}`;
  });
  yield await Promise.resolve({
    rowCount: rows.length,
    bytes: (count = rows.length) => utf8(texts.slice(0, count).join("")),
    ends: () => endsOf(texts),
  });
}

/** Writes values of a column, each of them once. */
function writerOf({ kind }: CountedItem): (value: CountedValue) => string {
  if (kind === "count") return String;
  const written = new Map<CountedValue, string>();
  return (value) => {
    const known = written.get(value) ?? textOfValue(value);
    written.set(value, known);
    return known;
  };
}

function textOfValue(value: CountedValue): string {
  if (value === null) return "null";
  if (typeof value === "string") return jsonText(value);
  return `"${new Date(value * MINUTE_MS).toISOString().slice(0, -1)}000Z"`;
}

const MINUTE_MS = 60_000;
// deno-lint-ignore no-control-regex -- they are what is looked for
const CONTROL = /[\0-\x1f]/;

/** DuckDB's writer has capital letters for the digits of what is escaped by its number. */
function jsonText(text: string): string {
  const json = JSON.stringify(text);
  if (!CONTROL.test(text)) return json;
  return json.replaceAll(
    /\\(?:u(00[\da-f]{2})|.)/g,
    (escape, digits: string | undefined) =>
      digits === undefined ? escape : `\\u${digits.toUpperCase()}`,
  );
}

function endsOf(texts: readonly string[]): Uint32Array<ArrayBuffer> {
  let end = 0;
  return Uint32Array.from(texts, (text) => end += utf8(text).byteLength);
}
