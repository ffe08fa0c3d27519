/**
 * Columns that each part of a scan makes as it can, from promoted columns and from `attributes`
 * (docs/api/tables.md#promoted-columns). Parts whose promoted column is complete leave `attributes`
 * unread.
 *
 * What is made never fails: a cast that may fail stays in the statement, over the rows that come
 * to it. So a number has two columns. One has the value where it is known as a number. The other
 * has the text of all other rows, which the statement casts as it was asked.
 */

import { memoizeIn } from "../../base/memoize.ts";
import { completeColumns } from "../../iceberg/complete_columns.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { isNested } from "../../schema/attribute_path.ts";
import { attributeOf, ATTRIBUTES, isUnasked, readsBack } from "../../schema/promoted.ts";
import type { Column, ColumnType, TableSchema } from "../../schema/schema.ts";

/** What is made of an attribute. */
export type MadeForm =
  /** What `attr_get` gives. */
  | "text"
  /** The attributes of rows whose text no promoted column has. */
  | "json"
  /** The value as a DOUBLE, or as a BIGINT, where a promoted column has it. */
  | "double"
  | "integer"
  /** What `attr_get` gives of rows that the form before has no value for. */
  | "rest of double"
  | "rest of integer"
  /** The value as the column's own type, NULL where it does not fit: a column that is seen. */
  | "typed";

/** A column of a table's plan that parts make as they can. */
export type MadeColumn = MadeAttribute | MadeChoice;

/** What is made in a cheap way of some files, and in a dear one of all others. */
export interface MadeChoice {
  readonly form: "choice";
  /** It is complete in the files of which the cheap way tells: the only one. */
  readonly sources: readonly [Column];
  readonly cheap: ToldSql;
  readonly dear: ToldSql;
}

/** One way to make a column. */
export interface ToldSql extends MadeSql {
  /** What is said of it before a number of files, for people. */
  readonly told: string;
}

/** A column that is made of an attribute. */
export interface MadeAttribute {
  readonly attribute: string;
  readonly form: MadeForm;
  /** The promoted columns that hold it; the one that serves most files first. */
  readonly sources: readonly Column[];
}

/** Whether a promoted column says all that the attributes of a file's rows do. */
export type IsComplete = (file: DataFile, column: Column) => boolean;

/** Returns what tells that of the files of a table with that schema. */
export function completeness(schema: TableSchema): IsComplete {
  const known = new Map<DataFile, ReadonlySet<number>>();
  return (file, column) => {
    if (!isUnasked(column.name) && isFilled(file, column)) return true;
    const ids = known.get(file) ?? completeColumns(file, schema);
    known.set(file, ids);
    return ids.has(column.id);
  };
}

/** Whether each row of a data file has a value in the column. */
export function isFilled({ rows, valueCounts, nullCounts }: DataFile, { id }: Column): boolean {
  return valueCounts.get(id) === rows && nullCounts.get(id) === 0;
}

/** Returns the promoted columns that hold an attribute. */
export function sourcesOf(schema: TableSchema, attribute: string): readonly Column[] {
  return sourcesIn(schema).get(attribute) ?? [];
}

/** By attribute. A statement asks for those of an attribute with each file. */
const sourcesIn = memoizeIn(
  new WeakMap<TableSchema, ReadonlyMap<string, readonly Column[]>>(),
  ({ columns, promoted = [] }) => {
    const own = new Set(promoted);
    return Map.groupBy(
      columns.filter(({ name }) => own.has(name)),
      ({ name }) => attributeOf(name),
    );
  },
);

/** Returns the promoted columns that statements see, as they are made; by name. */
export function seenMadeColumns(
  seen: TableSchema,
  stored: TableSchema,
): ReadonlyMap<string, MadeColumn> {
  const { promoted = [], columns } = seen;
  const hasAttributes = columns.some(({ name, type }) => name === ATTRIBUTES && type === "string");
  if (!hasAttributes || promoted.length === 0) return new Map();
  return new Map(
    columns.filter(({ name }) => promoted.includes(name)).map((column) => [
      column.name,
      {
        attribute: column.name,
        form: "typed",
        sources: [column, ...sourcesOf(stored, column.name).filter(({ id }) => id !== column.id)],
      },
    ]),
  );
}

/** Returns the sources from which a part may read the form without a look into `attributes`. */
export function servingSources(
  { form, sources }: Pick<MadeColumn, "form" | "sources">,
): readonly Column[] {
  switch (form) {
    case "choice":
      return sources;
    case "text":
    case "json":
      return sources.filter(({ type }) => readsBack(type));
    case "double":
    case "rest of double":
      return sources.filter(({ type }) => type === "double" || isInteger(type));
    case "integer":
    case "rest of integer":
      return sources.filter(({ type }) => isInteger(type));
    case "typed":
      return sources.slice(0, 1);
  }
}

function isInteger(type: ColumnType): boolean {
  return type === "long" || type === "int";
}

/** A made column as SQL over the columns of files, and the columns that it reads. */
export interface MadeSql {
  readonly sql: string;
  /** Names of columns. */
  readonly reads: readonly string[];
}

/** How SQL is written; `bind/` knows. */
export interface SqlWriter {
  readonly name: (name: string) => string;
  readonly text: (text: string) => string;
  readonly type: (type: ColumnType) => string;
}

/** Writes a made column for a part. */
export function madeSql(made: MadeColumn, options: MadeOptions): MadeSql {
  if (made.form !== "choice") return madeAttributeSql(made, options);
  return options.isComplete(made.sources[0]) ? made.cheap : made.dear;
}

interface MadeOptions {
  /** Type of the made column. */
  readonly type: ColumnType;
  /** Whether a source is complete in the part. */
  readonly isComplete: (source: Column) => boolean;
  readonly write: SqlWriter;
}

function madeAttributeSql(
  made: MadeAttribute,
  { type, isComplete, write }: MadeOptions,
): MadeSql {
  // A program that rewrites `attributes` leaves hidden columns as they were, and names its files by
  // other names: nothing in such a file is complete.
  const own = servingSources(made)
    .filter((source) => !isUnasked(source.name) || isComplete(source));
  const complete = own.find(isComplete);
  const { form, attribute, sources } = made;
  const nothing = { sql: `NULL::${write.type("string")}`, reads: [] };
  const attributes = { sql: write.name(ATTRIBUTES), reads: [ATTRIBUTES] };
  const textOf = (): MadeSql =>
    madeAttributeSql({ ...made, form: "text" }, { type, isComplete, write });
  switch (form) {
    case "text": {
      return complete === undefined
        ? coalesced([...own.map((source) => castSql(source, "string", write)), {
          ...attributes,
          sql: lookUpSql(attribute, write),
        }])
        : castSql(complete, "string", write);
    }
    case "json":
      return complete === undefined
        ? whenNull(own.map((source) => castSql(source, "string", write)), attributes)
        : nothing;
    case "double":
    case "integer": {
      const to = form === "double" ? "double" : "long";
      if (complete !== undefined) return castSql(complete, to, write);
      return own.length === 0
        ? { sql: `NULL::${write.type(to)}`, reads: [] }
        : coalesced(own.map((source) => castSql(source, to, write)));
    }
    case "rest of double":
    case "rest of integer":
      return complete === undefined
        ? whenNull(own.map((source) => castSql(source, source.type, write)), textOf())
        : nothing;
    case "typed": {
      const [column] = sources;
      if (column === undefined || complete !== undefined) {
        return castSql(column ?? { type, name: attribute }, type, write);
      }
      const text = textOf();
      return coalesced([castSql(column, type, write), {
        ...text,
        sql: type === "string" ? text.sql : `TRY_CAST(${text.sql} AS ${write.type(type)})`,
      }]);
    }
  }
}

/** The text of an attribute, looked up in the JSON of its row; NULL where that is no JSON. */
function lookUpSql(attribute: string, write: SqlWriter): string {
  const attributes = write.name(ATTRIBUTES);
  return isNested(attribute)
    ? `json_extract_string(TRY_CAST(${attributes} AS JSON), ${write.text(attribute)})`
    : `attr_get(${attributes}, ${write.text(attribute)})`;
}

function castSql(
  { name, type }: Pick<Column, "name" | "type">,
  to: ColumnType,
  write: SqlWriter,
): MadeSql {
  const column = write.name(name);
  return { sql: type === to ? column : `CAST(${column} AS ${write.type(to)})`, reads: [name] };
}

function coalesced(all: readonly MadeSql[]): MadeSql {
  const [only] = all;
  return only !== undefined && all.length === 1 ? only : {
    sql: `coalesce(${all.map(({ sql }) => sql).join(", ")})`,
    reads: all.flatMap(({ reads }) => reads),
  };
}

/** `then` where all of `known` are NULL, else NULL. */
function whenNull(known: readonly MadeSql[], then: MadeSql): MadeSql {
  if (known.length === 0) return then;
  const conditions = known.map(({ sql }) => `${sql} IS NULL`).join(" AND ");
  return {
    sql: `CASE WHEN ${conditions} THEN ${then.sql} END`,
    reads: [...known, then].flatMap(({ reads }) => reads),
  };
}
