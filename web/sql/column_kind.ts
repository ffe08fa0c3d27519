/** What can be done with the values of a column: sort, align and draw them. */

import type { Value } from "../api/sql_client.ts";

export type ColumnKind = "number" | "time" | "text" | "bool" | "nested";

const NUMBERS = /^(?:U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|DOUBLE|FLOAT|DECIMAL)\b/;

/** A column as results show it. */
export interface ResultColumn {
  readonly name: string;
  /** DuckDB's name of its type; undefined where the answer does not tell. */
  readonly type: string | undefined;
  readonly kind: ColumnKind;
}

/** Makes the columns of an answer; where it tells no types, its values decide. */
export function resultColumns(
  { columns, types, rows }: {
    readonly columns: readonly string[];
    readonly types?: readonly string[] | undefined;
    readonly rows: readonly (readonly Value[])[];
  },
): readonly ResultColumn[] {
  return columns.map((name, at) => {
    const type = types?.[at];
    const kind = type === undefined ? kindOfValues(rows, at) : kindOfType(type);
    return { name, type, kind };
  });
}

function kindOfType(type: string): ColumnKind {
  if (/\[\d*\]$|^(?:STRUCT|MAP|JSON|UNION)\b/.test(type)) return "nested";
  if (NUMBERS.test(type)) return "number";
  if (/^(?:TIMESTAMP|DATE)\b/.test(type) || type.startsWith("TIMESTAMP_")) return "time";
  return type === "BOOLEAN" ? "bool" : "text";
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}/;
const VALUES_MAX = 100;

function kindOfValues(rows: readonly (readonly Value[])[], at: number): ColumnKind {
  const values = rows.slice(0, VALUES_MAX).map((row) => row[at] ?? null)
    .filter((value) => value !== null);
  const is = (test: (value: Value) => boolean) => values.length > 0 && values.every(test);
  if (is((value) => typeof value === "number")) return "number";
  if (is((value) => typeof value === "boolean")) return "bool";
  if (is((value) => typeof value === "string" && INSTANT.test(value))) return "time";
  return is((value) => typeof value === "object") ? "nested" : "text";
}

/** The words of a type in a head: the long names of instants are cut to what tells them apart. */
export function shortType(type: string): string {
  return type.replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ");
}
