/**
 * Fills promoted columns from the attributes of the rows that become new files. So drains fill them
 * for what comes. Whatever rewrites files (merges, delete tasks) fills them for what was there
 * before, and leaves alone what is complete.
 *
 * The attributes are gone through once for all columns (`member_scanner.ts`), and each column is
 * made as a whole (`member_columns.ts`).
 */

import {
  attributeOf,
  ATTRIBUTES,
  type CompleteColumns,
  promotedPlaces,
  type PromotedType,
} from "../schema/promoted.ts";
import { Buffer } from "node:buffer";
import type { ColumnBatch, ColumnData } from "../columns/batch.ts";
import { columnBuilderOf } from "../columns/column_builders.ts";
import { putValue, rowsOf } from "../columns/rows.ts";
import type { Column, TableSchema } from "../schema/schema.ts";
import { type LiftedColumn, memberColumn } from "./member_columns.ts";
import { MemberScanner } from "./member_scanner.ts";

/**
 * A batch whose promoted columns have what its attributes say wherever they were null, and which
 * says as which of them are complete (`ColumnBatch.complete`).
 */
export type LiftPromoted = (batch: ColumnBatch) => ColumnBatch;

/** A promoted column of a table. */
interface Target {
  readonly column: Column;
  /** Its place among the table's columns. */
  readonly at: number;
  /** The column's in `CompleteColumns`. */
  readonly bit: bigint;
  /** Place of its attribute among the names that are looked for. */
  readonly name: number;
}

/** What fills the promoted columns of a table's batches from their attributes. */
export function liftPromoted(schema: TableSchema): LiftPromoted {
  const source = schema.columns.findIndex((column) =>
    column.name === ATTRIBUTES && column.type === "string"
  );
  const promoted = promotedPlaces(schema);
  if (source < 0 || promoted.length === 0) return (batch) => batch;
  const names = [...new Set(promoted.map(({ column }) => attributeOf(column.name)))];
  const targets = promoted.map(({ column, place, at }): Target => ({
    column,
    at,
    bit: 1n << BigInt(place),
    name: names.indexOf(attributeOf(column.name)),
  }));
  const all = targets.reduce((bits, { bit }) => bits | bit, 0n);
  const scanner = new MemberScanner(names);
  return (batch) => {
    const attributes = batch.columns[source];
    const known = batch.complete ?? 0n;
    if (attributes === undefined || (known & all) === all) return batch;
    const open = targets.filter(({ bit }) => (known & bit) === 0n);
    return { ...batch, ...lifted(batch, { open, attributes, scanner, known }) };
  };
}

function lifted(
  batch: ColumnBatch,
  { open, attributes, scanner, known }: {
    readonly open: readonly Target[];
    readonly attributes: ColumnData;
    readonly scanner: MemberScanner;
    readonly known: CompleteColumns;
  },
): Required<Pick<ColumnBatch, "columns" | "complete">> {
  const { rows } = batch;
  const { isCertain, ...found } = scanner.scan(attributes, rows);
  const columns = [...batch.columns];
  let complete = known;
  for (const { column, at, bit, name } of open) {
    const members = {
      rows,
      bytes: attributes.values,
      kinds: found.kinds[name] as Uint8Array,
      starts: found.starts[name] as Int32Array,
      ends: found.ends[name] as Int32Array,
    };
    const made = memberColumn(column.type as PromotedType, members);
    const { data, isComplete } = withKept(column, { made, before: batch.columns[at], rows });
    columns[at] = data;
    if (isCertain && isComplete) complete |= bit;
  }
  return { columns, complete };
}

/**
 * `made` with the values that the column had `before`: those stay. Where one is another than that
 * of the attributes, the column is not complete.
 */
function withKept(
  column: Column,
  { made, before, rows }: {
    readonly made: LiftedColumn;
    readonly before: ColumnData | undefined;
    readonly rows: number;
  },
): LiftedColumn {
  if (before === undefined || before.nullCount === rows) return made;
  if (areSame(made.data, before)) return made;
  const [own, given] = [made.data, before].map((data) =>
    rowsOf({ rows, schema: { columns: [column], tags: [] }, columns: [data] })
  );
  const builder = columnBuilderOf(column.type);
  let { isComplete } = made;
  for (let row = 0; row < rows; row += 1) {
    const kept = given?.[row]?.[column.name] ?? null;
    const value = own?.[row]?.[column.name] ?? null;
    isComplete &&= kept === null || kept === value;
    putValue(builder, kept ?? value);
  }
  return { data: builder.finish(), isComplete };
}

function areSame(a: ColumnData, b: ColumnData): boolean {
  return a.nullCount === b.nullCount && sameBytes(a.validity, b.validity) &&
    sameBytes(bytesOf(a.offsets), bytesOf(b.offsets)) && sameBytes(a.values, b.values);
}

function sameBytes(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === null || b === null) return a === b;
  return Buffer.from(a.buffer, a.byteOffset, a.byteLength).equals(b);
}

function bytesOf(offsets: Int32Array | null): Uint8Array | null {
  return offsets === null
    ? null
    : new Uint8Array(offsets.buffer, offsets.byteOffset, offsets.byteLength);
}
