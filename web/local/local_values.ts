/** How values of DuckDB in the page become those of an answer: docs/api/query.md#records-answer. */

import type { Value } from "../api/sql_client.ts";

const PLAIN = /^(?:BOOLEAN|U?(?:TINYINT|SMALLINT|INTEGER)|DOUBLE|FLOAT|VARCHAR)$/;
const DIGITS = /^(?:U?(?:BIGINT|HUGEINT)|DECIMAL)\b/;

/** SQL for a value of `type` as what `localValue` reads. */
export function localValueSql(value: string, type: string): string {
  if (PLAIN.test(type)) return value;
  if (type === "TIMESTAMP WITH TIME ZONE") return instantSql(`make_timestamp(epoch_us(${value}))`);
  if (/^TIMESTAMP(?:_S|_MS)?$/.test(type)) return instantSql(`${value}::TIMESTAMP`);
  if (type === "TIMESTAMP_NS") {
    return `replace(${value}::VARCHAR, ' ', 'T') || 'Z'`;
  }
  return `${value}::VARCHAR`;
}

function instantSql(value: string): string {
  return `CASE WHEN isfinite(${value}) THEN strftime(${value}, '%Y-%m-%dT%H:%M:%S.%fZ') ` +
    `ELSE ${value}::VARCHAR END`;
}

/** Numbers that a double holds are numbers, longer ones stay texts with all of their digits. */
export function localValue(value: unknown, type: string): Value {
  if (value === null || value === undefined) return null;
  if (typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  const text = String(value);
  if (!DIGITS.test(type)) return text;
  const number = Number(text);
  const digits = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  return String(number) === digits ? number : text;
}
