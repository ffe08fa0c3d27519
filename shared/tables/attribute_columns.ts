/**
 * Columns for the attributes that a table's rows have: which to add, decided by counts of a sample,
 * and the commit that adds them (docs/api/tables.md#attribute-columns).
 *
 * Additive like every change of a schema here, and made before the rows that fill it are committed.
 * A drain that ends in between leaves a column that is null, and the next drain fills it. Two that
 * add the same column at once both end with the same table.
 */

import { isOperatingError } from "../base/errors.ts";
import { withSchema } from "../iceberg/add_columns.ts";
import { type CommitDeps, commitTable, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import { stageMetadata } from "../iceberg/stage_snapshot.ts";
import {
  attributeOf,
  ATTRIBUTES,
  isUnasked,
  promotedPlaces,
  unaskedColumn,
  type UnaskedKind,
  withPromoted,
} from "../schema/promoted.ts";
import type { Column, ColumnType, TableSchema } from "../schema/schema.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import type { AttributeCount, AttributeCounts } from "./count_attributes.ts";

/** Attributes of OTLP log records that get a column as soon as one row has them. */
const AT_ONCE: readonly string[] = ["severity_text", "severity_number"];
/**
 * Ids that get none. They are looked for by equality, which the index of values serves. Columns of
 * both took 13.4 of the 22.3 bytes a row that all columns took, of 73.2 without any.
 */
const IDS: readonly string[] = ["trace_id", "span_id"];
/** Share of the rows that must have any other attribute. */
const SHARE_MIN = 0.05;
/** Longer texts are read and not grouped by; they would be stored twice. */
const TEXT_BYTES_MAX = 256;
/** Nor do texts of so many bytes get one of which this share are distinct: ids of single rows. */
const ID_BYTES_MIN = 16;
const ID_SHARE_MIN = 15 / 16;

/** How many columns of this kind the table may have besides. Pure. */
export function roomForAttributes({ columns }: TableSchema, columnsMax: number): number {
  if (!columns.some(({ name }) => name === ATTRIBUTES)) return 0;
  return Math.max(0, columnsMax - columns.filter(({ name }) => isUnasked(name)).length);
}

/** The columns that the counted rows want and the table lacks: the most frequent first. Pure. */
export function planAttributeColumns(
  schema: TableSchema,
  { rows, attributes }: AttributeCounts,
  columnsMax: number,
): Column[] {
  const room = roomForAttributes(schema, columnsMax);
  const held = Map.groupBy(promotedPlaces(schema), ({ column }) => attributeOf(column.name));
  const wanted = attributes.flatMap((count) => {
    const types = held.get(count.name)?.map(({ column }) => column.type) ?? [];
    const open = unheld(count, new Set(types));
    const isAtOnce = AT_ONCE.includes(count.name);
    if (open.rows < (isAtOnce ? 1 : Math.max(1, SHARE_MIN * rows))) return [];
    if (!isWorthColumn(count)) return [];
    const column = unaskedColumn(count.name, open.kind);
    return column === undefined ? [] : [{ column, isAtOnce, rows: open.rows }];
  });
  wanted.sort((a, b) =>
    Number(b.isAtOnce) - Number(a.isAtOnce) || b.rows - a.rows ||
    (a.column.name < b.column.name ? -1 : 1)
  );
  const columns: Column[] = [];
  for (const { column } of wanted) {
    if (columns.length === room) break;
    if (canHave(schema, [...columns, column])) columns.push(column);
  }
  return columns;
}

function isWorthColumn({ name, texts, textBytes, distinctTexts }: AttributeCount): boolean {
  if (IDS.includes(name) || textBytes > TEXT_BYTES_MAX * texts) return false;
  return texts === 0 || textBytes < ID_BYTES_MIN * texts || distinctTexts < ID_SHARE_MIN * texts;
}

/** Rows whose value none of the columns of these types holds, and the kind that holds them all. */
function unheld(
  { texts, integers, numbers }: AttributeCount,
  types: ReadonlySet<ColumnType>,
): { readonly rows: number; readonly kind: UnaskedKind } {
  const isText = types.has("string");
  const isNumber = isText || types.has("double");
  const isInteger = isNumber || types.has("long") || types.has("int");
  const open = {
    texts: isText || types.has("bool") ? 0 : texts,
    numbers: isNumber ? 0 : numbers,
    integers: isInteger ? 0 : integers,
  };
  const rows = open.texts + open.numbers + open.integers;
  if (open.texts > 0) return { rows, kind: "text" };
  return { rows, kind: open.numbers > 0 ? "number" : "integer" };
}

/** False: another column has the name in other letters, or the id. */
function canHave(schema: TableSchema, columns: readonly Column[]): boolean {
  try {
    withPromoted(schema, columns);
    return true;
  } catch (error) {
    if (isOperatingError(error, "invalid_argument")) return false;
    throw error;
  }
}

/**
 * Adds what `planAttributeColumns` says of the table as it is by then, in one commit. Returns the
 * table afterwards; undefined: there is none. Errors: those of a commit.
 */
export async function addAttributeColumns(
  given: CommitDeps,
  ident: TableIdent,
  { counts, columnsMax }: { readonly counts: AttributeCounts; readonly columnsMax: number },
): Promise<{ readonly table: LoadedTable; readonly added: readonly Column[] } | undefined> {
  const deps = { ...given, reader: readerOf(given) };
  let added: readonly Column[] = [];
  const { metadataLocation } = await commitTable(deps, ident, (table, staging) => {
    if (table === undefined) return undefined;
    const { metadata, schema } = table;
    added = planAttributeColumns(schema, counts, columnsMax);
    if (added.length === 0) return undefined;
    const nowMs = Math.max(deps.clock.nowMs(), metadata["last-updated-ms"]);
    const next = withSchema(metadata, withPromoted(schema, added), nowMs);
    const staged = stageMetadata(deps, { table, exists: true }, { next, staging });
    return { ...staged, snapshotId: 0n, consumed: [] };
  });
  if (metadataLocation === "") return undefined;
  return { table: await deps.reader.loadTable(ident, metadataLocation), added };
}
