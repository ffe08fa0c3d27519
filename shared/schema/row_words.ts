/**
 * Columns that only data files have: which frequent words each row's text has
 * (`shared/derived/text/README.md`). No table has them in its schema, so other engines pass them
 * over, as they do columns that were dropped. Programs that write a file anew leave them out.
 */

import type { Column } from "./schema.ts";

/** Ids of such columns: beyond all that tables have, below those that Iceberg reserves. */
const ID_MIN = 1_500_000_000;
const ID_SPAN = 2 ** 29;
const PREFIX = "words:";

/**
 * The last one. Each table's metadata says that it has assigned this id, because ClickHouse refuses
 * a file with an id that its table cannot have assigned. So columns that engines add have later
 * ones.
 */
export const FILES_ALONE_ID_LAST = ID_MIN + ID_SPAN - 1;

/** Which frequent words the rows of a data file have in one column of text. */
export interface WordsColumn {
  readonly column: Column;
  /** By row: which of `sets` its words are, from 1; 0: it has no text. */
  readonly ids: Uint16Array<ArrayBuffer>;
  /** What rows have, each once. */
  readonly sets: readonly string[];
}

/**
 * The column for the words of `text`. Texts of a table may have the same id of it, or a column of
 * the table its name: `wordsColumns` tells which have none for that.
 */
export function wordsColumn(text: Pick<Column, "id" | "name">): Column {
  const id = ID_MIN + text.id % ID_SPAN;
  return { id, name: `${PREFIX}${text.name}`, type: "string", required: false };
}

/** Whether a column of that id is no column of a table. */
export function isOfFilesAlone({ id }: Pick<Column, "id">): boolean {
  return id >= ID_MIN && id < ID_MIN + ID_SPAN;
}

/** The columns for the words of some texts of a table, those that can have one. */
export function wordsColumns(
  texts: readonly Column[],
  columns: readonly Column[],
): ReadonlyMap<Column, Column> {
  const names = new Set(columns.map(({ name }) => name.toLowerCase()));
  const ids = new Set<number>();
  const own = new Map<Column, Column>();
  for (const text of texts) {
    const column = wordsColumn(text);
    if (names.has(column.name.toLowerCase()) || ids.has(column.id)) continue;
    ids.add(column.id);
    own.set(text, column);
  }
  return own;
}
