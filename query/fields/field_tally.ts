/** Counts the fields of rows: which columns and attributes have values, and which. */

import { isExactNumber, parseAsSent } from "../../shared/document/exact_numbers.ts";
import { isJsonObject } from "../../shared/document/json_object.ts";
import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import type { Column, ColumnType } from "../../shared/schema/schema.ts";
import { flatAttributes, type NamedMembers } from "../../shared/search/flat_attributes.ts";
import { ATTRIBUTES_NAME, type SearchTable } from "../../shared/search/search_fields.ts";

/** What the values of a field are. */
export type FieldType = "text" | "integer" | "number" | "time" | "bool";

/** A field as rows have it. */
export interface TalliedField {
  readonly name: string;
  readonly isColumn: boolean;
  readonly type: FieldType;
  readonly rows: number;
  /** Values as texts. */
  readonly values: ReadonlySet<string>;
}

export const FIELD_TYPES: Readonly<Record<ColumnType, FieldType>> = {
  string: "text",
  long: "integer",
  int: "integer",
  double: "number",
  bool: "bool",
  timestamptz: "time",
};

/** Characters of a text that are looked at, and of the attributes of a row. */
const TEXT_LENGTH_MAX = 256;
const ATTRIBUTES_LENGTH_MAX = 65_536;

/**
 * The select list of rows that are to be tallied, in the order of the columns. Long texts are cut.
 * Nothing has a name: ORDER BY would mean it instead of the column.
 */
export function tallyList({ columns }: SearchTable): string {
  return columns.map(({ name, type }) => {
    const column = quoteName(name);
    // It makes -0.0 the value that it is equal to.
    if (type === "double") return `CAST(${column} + 0 AS VARCHAR)`;
    if (type !== "string") return `CAST(${column} AS VARCHAR)`;
    return name === ATTRIBUTES_NAME
      ? `CASE WHEN length(${column}) <= ${ATTRIBUTES_LENGTH_MAX} THEN ${column} END`
      : `left(${column}, ${TEXT_LENGTH_MAX})`;
  }).join(", ");
}

interface Tally {
  rows: number;
  type: FieldType;
  readonly values: Set<string>;
}

/** Tallies rows of `tallyList`, whose values are texts. */
export function tally(
  { columns }: SearchTable,
  rows: readonly (readonly unknown[])[],
): readonly TalliedField[] {
  const own = columns.map((column) => ({ column, tally: tallyOf(column) }));
  const attributes = new Map<string, Tally>();
  for (const row of rows) {
    own.forEach(({ column, tally }, at) => {
      const value = row[at];
      if (value === null || value === undefined) return;
      if (column.name === ATTRIBUTES_NAME) return addAttributes(attributes, String(value));
      tally.rows += 1;
      tally.values.add(String(value));
    });
  }
  const names = new Set(columns.map(({ name }) => name));
  return [
    ...own.filter(({ column }) => column.name !== ATTRIBUTES_NAME)
      .map(({ column: { name }, tally }) => ({ name, isColumn: true, ...tally })),
    ...[...attributes].filter(([name]) => !names.has(name))
      .map(([name, tally]) => ({ name, isColumn: false, ...tally })),
  ];
}

function tallyOf({ type }: Column): Tally {
  return { rows: 0, type: FIELD_TYPES[type], values: new Set() };
}

function addAttributes(attributes: Map<string, Tally>, text: string): void {
  for (const [name, value] of flatAttributes(membersOf(objectOf(text)) ?? [], membersOf)) {
    const type = typeOf(value);
    const known = attributes.get(name) ?? { rows: 0, type, values: new Set<string>() };
    attributes.set(name, known);
    known.rows += 1;
    known.type = commonType(known.type, type);
    known.values.add(typeof value === "string" ? value : JSON.stringify(value));
  }
}

function membersOf(value: unknown): NamedMembers<unknown> | undefined {
  if (!isJsonObject(value) || isExactNumber(value)) return undefined;
  return Object.entries(value).filter(([, member]) => member !== null);
}

/** A text that is no JSON object has no attributes. */
function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed = parseAsSent(text);
    return isJsonObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

function typeOf(value: unknown): FieldType {
  if (typeof value === "boolean") return "bool";
  if (!isExactNumber(value)) return "text";
  return Number.isInteger(Number(value.rawJSON)) ? "integer" : "number";
}

function commonType(one: FieldType, other: FieldType): FieldType {
  if (one === other) return one;
  const areNumbers = [one, other].every((type) => type === "integer" || type === "number");
  return areNumbers ? "number" : "text";
}
