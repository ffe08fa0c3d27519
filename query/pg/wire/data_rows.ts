/** Rows of an Arrow batch as messages: DataRow, or the three formats of COPY TO STDOUT. */

import { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import { type ArrowColumn, arrowColumns, isNull } from "../types/arrow_columns.ts";
import { cellWriter } from "../types/cell_writers.ts";
import type { CellWriter, Format } from "../types/formats.ts";
import type { ColumnType } from "../types/column_type.ts";

/** A column as its client wants it. */
export interface WantedColumn {
  readonly type: ColumnType;
  readonly format: Format;
}

/** Codes of messages that carry rows. */
export const ROW_CODES = { data: 0x44, copy: 0x64 } as const;

/** A batch's columns with what writes their values. */
interface WrittenColumn {
  readonly column: ArrowColumn;
  readonly write: CellWriter;
}

/** Makes messages of batches, one a row. Keeps its buffer from one to the next. */
export class RowEncoder {
  readonly #out = new ByteBuilder(OUT_BYTES);

  /** `isCopy`: rows of COPY in its binary format instead of DataRows. */
  constructor(
    private readonly columns: readonly WantedColumn[],
    private readonly options: { readonly isCopy: boolean } = { isCopy: false },
  ) {
    this.#out.bytesMax = OUT_BYTES_MAX;
  }

  /** The rows of `message` from `from` to before `to`. */
  encode(message: Uint8Array, from: number, to: number): Uint8Array<ArrayBuffer> {
    const written = writtenColumns(message, this.columns);
    const code = this.options.isCopy ? ROW_CODES.copy : ROW_CODES.data;
    const out = this.#out;
    for (let row = from; row < to; row += 1) {
      out.reserve(ROW_HEADER_BYTES);
      const start = out.length;
      out.bytes[start] = code;
      out.view.setInt16(start + 5, written.length);
      out.length = start + ROW_HEADER_BYTES;
      for (const { column, write } of written) {
        out.reserve(LENGTH_BYTES);
        const at = out.length;
        out.length = at + LENGTH_BYTES;
        if (isNull(column, row)) {
          out.view.setInt32(at, -1);
        } else {
          write(row, out);
          out.view.setInt32(at, out.length - at - LENGTH_BYTES);
        }
      }
      out.view.setInt32(start + 1, out.length - start - 1);
    }
    return out.take();
  }
}

export function writtenColumns(
  message: Uint8Array,
  columns: readonly WantedColumn[],
): WrittenColumn[] {
  const read = arrowColumns(message, columns.map(({ type }) => type.layout));
  return columns.flatMap(({ type, format }, at) => {
    const column = read[at];
    return column === undefined ? [] : [{ column, write: cellWriter(column, type, format) }];
  });
}

export const LENGTH_BYTES = 4;
/** Code, length and number of columns. */
export const ROW_HEADER_BYTES = 7;
/** Most answers are small. */
const OUT_BYTES = 1_024;
/** A batch is bounded by what DuckDB's process sends; its texts may double as hexadecimal. */
const OUT_BYTES_MAX = 0x7fff_ffff;
