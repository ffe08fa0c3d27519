/** What a field's name means in a table: a column, an attribute or the level. */

import type { Column } from "../schema/schema.ts";

/** What a search needs to know of the table that it searches. */
export interface SearchTable {
  readonly columns: readonly Column[];
  /** Names of the columns in which a term without a field looks for words. */
  readonly texts: readonly string[];
}

/** What a term looks at. */
export type SearchTarget =
  /** Words of a text. */
  | { readonly kind: "text"; readonly column: Column }
  | { readonly kind: "column"; readonly column: Column }
  /** A member within nested objects is called by its path, such as `$.user.id`. */
  | { readonly kind: "attribute"; readonly name: string }
  | { readonly kind: "level"; readonly sources: readonly SearchTarget[] };

/** The column that has a row's attributes; a page in a browser need not load more to know it. */
export const ATTRIBUTES_NAME = "attributes";
/** The attributes that tell a level, in the order in which they are asked. */
export const LEVEL_ATTRIBUTES = ["severity_text", "level"];
const LEVEL_NAMES = new Set(["level", "severity", "severity_text"]);
/** OpenTelemetry's number of a level, asked where a row has no name for it. */
export const LEVEL_NUMBER = "severity_number";
const ATTRIBUTE_PREFIX = `${ATTRIBUTES_NAME}.`;
/** What `events` keeps in columns of other names. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ["service", "source"],
  ["service.name", "source"],
  ["host.name", "host"],
]);

/** Returns what `name` means in `table`. Every name means something. */
export function searchTarget(name: string, table: SearchTable): SearchTarget {
  if (LEVEL_NAMES.has(name)) return { kind: "level", sources: levelSources(name, table) };
  if (name.startsWith(ATTRIBUTE_PREFIX) && name.length > ATTRIBUTE_PREFIX.length) {
    return { kind: "attribute", name: name.slice(ATTRIBUTE_PREFIX.length) };
  }
  const column = columnCalled(name, table) ?? columnCalled(ALIASES.get(name) ?? name, table);
  if (column === undefined) return { kind: "attribute", name };
  return table.texts.includes(column.name) ? { kind: "text", column } : { kind: "column", column };
}

/** Returns the columns in which a term without a field looks for words. */
export function searchTexts({ columns, texts }: SearchTable): readonly SearchTarget[] {
  return columns.filter(({ name }) => texts.includes(name))
    .map((column) => ({ kind: "text", column }));
}

function levelSources(name: string, table: SearchTable): readonly SearchTarget[] {
  const column = columnCalled(name, table) ?? columnCalled("level", table) ??
    columnCalled("severity_text", table);
  if (column !== undefined) return [{ kind: "column", column }];
  return LEVEL_ATTRIBUTES.map((attribute) => ({ kind: "attribute", name: attribute }));
}

function columnCalled(name: string, { columns }: SearchTable): Column | undefined {
  return columns.find((column) => column.name === name);
}
