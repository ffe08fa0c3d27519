/**
 * Rows that come packed (`PackedShape`): DuckDB has put the texts of a row where its message wants
 * them. What is left are lengths, and values that are no texts, which are written into the gaps.
 * Then a row goes out from where it came, and nobody copies its texts.
 */

import { present } from "../../../shared/base/assert.ts";
import { OperatingError } from "../../../shared/base/errors.ts";
import { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import type { PackedShape, ResultColumn } from "../../../shared/engine/types.ts";
import { type ArrowColumn, arrowColumns, isNull } from "../types/arrow_columns.ts";
import { cellWriter } from "../types/cell_writers.ts";
import type { ColumnType, Layout } from "../types/column_type.ts";
import { BINARY_FORMAT, type CellWriter } from "../types/formats.ts";
import { OID, sizeOfType } from "../types/oids.ts";
import { LENGTH_BYTES, ROW_CODES, ROW_HEADER_BYTES, type WantedColumn } from "./data_rows.ts";

const TEXTS: Layout = { kind: "texts" };
const LENGTHS: Layout = { kind: "int", bytes: LENGTH_BYTES, isSigned: true };
/** Types whose values come as texts and go out as something else. */
const NO_TEXTS: ReadonlySet<number> = new Set([OID.bytea, OID.interval, OID.numeric, OID.uuid]);

/**
 * Completes packed rows of `columns`; undefined where DuckDB cannot pack them, since values have a
 * text format, or neither a fixed length nor a text of their own. `answered`: the same columns as
 * DuckDB knows them.
 */
export function packedRowEncoder(
  columns: readonly WantedColumn[],
  answered: readonly ResultColumn[],
  { isCopy }: { readonly isCopy: boolean },
): PackedRowEncoder | undefined {
  const isBinary = columns.every(({ format }) => format === BINARY_FORMAT);
  if (!isBinary || answered.some(({ type }) => type === "BLOB")) return undefined;
  const widths = columns.map(({ type }) => widthOf(type));
  const isPacked = columns.every(({ type: { layout, oid } }, at) =>
    layout.kind === "texts" ? !NO_TEXTS.has(oid) : widths[at] !== undefined
  );
  if (!isPacked) return undefined;
  const shape = { headBytes: ROW_HEADER_BYTES, lengthBytes: LENGTH_BYTES, widths };
  return new PackedRowEncoder(columns, { shape, isCopy });
}

/** Bytes of a type's values in the binary format; undefined: they differ. */
function widthOf({ layout, oid }: ColumnType): number | undefined {
  const size = sizeOfType(oid);
  switch (layout.kind) {
    case "bool":
      return size === 1 ? size : undefined;
    case "float4":
      return size === 4 ? size : undefined;
    case "float8":
    case "instant":
      return size === 8 ? size : undefined;
    case "int":
      return size > 1 ? size : undefined;
    default:
      return undefined;
  }
}

/** A column of a packed batch. */
interface PackedColumn {
  /** Its values, or the lengths of its texts. */
  readonly column: ArrowColumn;
  /** Values of `column`, and whether it has nulls: each row looks at both. */
  readonly values: DataView;
  readonly hasNulls: boolean;
  readonly width: number | undefined;
  readonly write: CellWriter | undefined;
}

/** Completes packed rows in place, so that they are messages. */
export class PackedRowEncoder {
  readonly #out = new ByteBuilder(0);

  constructor(
    private readonly columns: readonly WantedColumn[],
    private readonly options: { readonly shape: PackedShape; readonly isCopy: boolean },
  ) {}

  /** How rows are to come. */
  get shape(): PackedShape {
    return this.options.shape;
  }

  /** The rows of `message` from `from` to before `to`, once. Errors: `corrupt`. */
  encode(message: Uint8Array<ArrayBuffer>, from: number, to: number): Uint8Array<ArrayBuffer> {
    const { shape: { widths }, isCopy } = this.options;
    const layouts = this.columns.map(({ type }, at) =>
      widths[at] === undefined ? LENGTHS : type.layout
    );
    const [rows, ...read] = arrowColumns(message, [TEXTS, ...layouts]);
    const packed = read.map((column, at): PackedColumn => {
      const width = widths[at];
      const { type } = present(this.columns[at], "column of a packed batch");
      const write = width === undefined ? undefined : cellWriter(column, type, BINARY_FORMAT);
      return { column, values: column.values, hasNulls: column.validity.length > 0, width, write };
    });
    const { values, offsets } = present(rows, "rows of a packed batch");
    const endOf = present(offsets, "ends of packed rows");
    const first = endOf.getInt32(4 * from, true);
    const bytes = new Uint8Array(
      message.buffer,
      values.byteOffset,
      values.byteLength,
    );
    const out = this.#out;
    out.bytes = bytes;
    out.view = values;
    out.length = first;
    for (let row = from; row < to; row += 1) {
      this.#complete(packed, row, isCopy ? ROW_CODES.copy : ROW_CODES.data);
      if (out.length !== endOf.getInt32(4 * row + 4, true)) throw misplaced();
    }
    return bytes.subarray(first, out.length);
  }

  #complete(packed: readonly PackedColumn[], row: number, code: number): void {
    const out = this.#out;
    const { view } = out;
    const start = out.length;
    let at = start + ROW_HEADER_BYTES;
    for (const { column, values, hasNulls, width, write } of packed) {
      if (hasNulls && isNull(column, row)) {
        view.setInt32(at, -1);
        at += LENGTH_BYTES;
      } else if (width === undefined || write === undefined) {
        const length = values.getInt32(4 * row, true);
        view.setInt32(at, length);
        at += LENGTH_BYTES + length;
      } else {
        view.setInt32(at, width);
        out.length = at + LENGTH_BYTES;
        write(row, out);
        at += LENGTH_BYTES + width;
      }
    }
    view.setUint8(start, code);
    view.setInt32(start + 1, at - start - 1);
    view.setInt16(start + 1 + LENGTH_BYTES, packed.length);
    out.length = at;
  }
}

function misplaced(): OperatingError {
  return new OperatingError(
    "corrupt",
    "Cannot send a row: its values are not where they should be",
  );
}
