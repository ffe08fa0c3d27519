/**
 * Promoted columns: typed columns that hold an attribute of their name
 * (docs/api/tables.md#promoted-columns). `attributes` keeps it as well, so a row without the
 * column's value loses nothing, and a column can be promoted at any time.
 *
 * A column holds an attribute where the two say the same: written as text, the value is what
 * `attr_get` gives. So `coalesce(<column> as text, attr_get(…))` is `attr_get(…)` for every row,
 * filled or not. A `double` is the exception (`5` would read back as `5.0`): only statements that
 * name such a column use it.
 *
 * A column that was promoted unasked (`--attribute-columns`, `shared/tables/attribute_columns.ts`)
 * has a name that no statement has. A column called as its attribute would change statements that
 * work today: what `SELECT *` returns, and what an alias of that name means.
 *
 * `TableSchema.promoted` only grows, at its end. A data file's name says by position which of its
 * promoted columns are complete (`CompleteColumns`).
 */

import { OperatingError, UsageError } from "../base/errors.ts";
import { isNested } from "./attribute_path.ts";
import { coreColumn, FIELDS_MAX } from "./doc_mapping.ts";
import { fieldIdOf } from "./index_schema.ts";
import type { Column, ColumnType, TableSchema } from "./schema.ts";

export const ATTRIBUTES = "attributes";

const PROMOTED_TYPES = ["string", "int", "long", "double", "bool"] as const;
export type PromotedType = typeof PROMOTED_TYPES[number];

const NAME_LENGTH_MAX = 255;
/**
 * Before the attribute's name, in the name of a column that was promoted unasked, by what it holds:
 * - `text`: what `attr_get` gives, wherever that text is certain;
 * - `integer`: integers of 64 bits, whose text is what `attr_get` gives;
 * - `number`: numbers as doubles, for sums; not what `attr_get` gives.
 */
const UNASKED_PREFIXES = {
  text: "attributes:",
  integer: "attributes.integer:",
  number: "attributes.number:",
} as const;
export type UnaskedKind = keyof typeof UNASKED_PREFIXES;
const UNASKED_TYPES = { text: "string", integer: "long", number: "double" } as const;
const UNASKED = /^attributes(?:\.integer|\.number)?:/;
/**
 * Attributes that may be promoted unasked: other readers of the table take these as a column's
 * name, too.
 */
const UNASKED_NAME = /^[A-Za-z_][\w.:\/@-]{0,127}$/;
const PATH_LENGTH_MAX = 128;

/** Whether the column was promoted unasked: statements do not see it. */
export function isUnasked(column: string): boolean {
  return UNASKED.test(column);
}

/** The attribute that a promoted column of that name holds. */
export function attributeOf(column: string): string {
  return column.replace(UNASKED, "");
}

/** What statements and readers of rows know of a table's columns. */
export function seenColumns(columns: readonly Column[]): readonly Column[] {
  return columns.some(({ name }) => isUnasked(name))
    ? columns.filter(({ name }) => !isUnasked(name))
    : columns;
}

/**
 * The column for an attribute that nobody asked to promote; undefined where its name is no good as
 * one.
 */
export function unaskedColumn(attribute: string, kind: UnaskedKind = "text"): Column | undefined {
  if (!UNASKED_NAME.test(attribute) && !isCallable(attribute)) return undefined;
  const name = `${UNASKED_PREFIXES[kind]}${attribute}`;
  const type = UNASKED_TYPES[kind];
  return { id: fieldIdOf(name), name, type, required: false, doc: docOf(attribute) };
}

function isCallable(attribute: string): boolean {
  return attribute.length <= PATH_LENGTH_MAX && isNested(attribute);
}

/**
 * Promoted columns as bits: bit k is the k-th of `TableSchema.promoted`. A set bit says of rows
 * that the column holds all that their attributes say. So it is null only where the attribute is
 * absent or null. In a column of doubles each other attribute is a number.
 */
export type CompleteColumns = bigint;

/** The promoted columns that the table has, each with its place in `promoted` and in `columns`. */
export function promotedPlaces(
  { columns, promoted = [] }: TableSchema,
): { readonly column: Column; readonly place: number; readonly at: number }[] {
  return promoted.flatMap((name, place) => {
    const at = columns.findIndex((column) => column.name === name);
    const column = columns[at];
    return column === undefined ? [] : [{ column, place, at }];
  });
}

/** Promoted columns, but for those that another program made under the name of one. */
export function ownPromoted(schema: TableSchema): readonly Column[] {
  return promotedPlaces(schema).map(({ column }) => column)
    .filter(({ id, name }) => id === fieldIdOf(name));
}

/**
 * Field ids of the promoted columns that are set in `complete`, but for those that another program
 * made under the name of one that it dropped.
 */
export function completeIds(complete: CompleteColumns, schema: TableSchema): ReadonlySet<number> {
  const ids = new Set<number>();
  if (complete === 0n) return ids;
  for (const { column, place } of promotedPlaces(schema)) {
    const isOwn = column.id === fieldIdOf(column.name);
    if (isOwn && (complete >> BigInt(place) & 1n) === 1n) ids.add(column.id);
  }
  return ids;
}

/** The column of `name:type`. Errors: `invalid_argument`. */
export function parsePromotion(text: string): Column {
  const at = text.lastIndexOf(":");
  const [name, type] = [text.slice(0, at), text.slice(at + 1)];
  if (at <= 0 || name.length > NAME_LENGTH_MAX || !isPromotedType(type)) {
    throw new UsageError(
      `Cannot promote ${JSON.stringify(text)}: write <attribute>:<type>, for example ` +
        `http.status_code:int; types are ${PROMOTED_TYPES.join(", ")}`,
    );
  }
  if (coreColumn(name) !== undefined) {
    throw new UsageError(
      `Cannot promote ${JSON.stringify(name)}: every table has a column of that name already`,
    );
  }
  if (isUnasked(name)) {
    throw new UsageError(
      `Cannot promote ${JSON.stringify(name)}: columns of that name are made by ` +
        "svc compactor --attribute-columns alone",
    );
  }
  return { id: fieldIdOf(name), name, type, required: false, doc: docOf(name) };
}

function docOf(attribute: string): string {
  return `attribute ${attribute}`;
}

/**
 * `schema` with promoted columns for `wanted`. Errors: `invalid_argument` where that would change a
 * column.
 */
export function withPromoted(schema: TableSchema, wanted: readonly Column[]): TableSchema {
  const columns = [...schema.columns];
  const promoted = new Set(schema.promoted);
  for (const column of wanted) {
    const known = columns.find(({ name }) => name.toLowerCase() === column.name.toLowerCase());
    if (known !== undefined && (known.type !== column.type || known.name !== column.name)) {
      throw refused(column, `the table has a column ${known.name} of type ${known.type}`);
    }
    if (known !== undefined && !promoted.has(known.name)) {
      throw refused(column, "the table has that column for a field of its rows");
    }
    if (known === undefined) {
      const taken = columns.find(({ id }) => id === column.id);
      if (taken !== undefined) throw refused(column, `its id is that of column ${taken.name}`);
      columns.push(column);
    }
    promoted.add(column.name);
  }
  if (promoted.size > FIELDS_MAX) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot promote ${promoted.size} attributes of one table: at most ${FIELDS_MAX}`,
    );
  }
  if (promoted.size === 0) return schema;
  return { ...schema, columns, promoted: [...promoted] };
}

function refused({ name, type }: Column, why: string): OperatingError {
  return new OperatingError("invalid_argument", `Cannot promote ${name}:${type}: ${why}`);
}

/** Whether the text of a value of that type is what `attr_get` gives for it. */
export function readsBack(type: ColumnType): boolean {
  return type !== "double";
}

function isPromotedType(type: string): type is PromotedType {
  return PROMOTED_TYPES.some((one) => one === type);
}
