/** Rows of COPY TO STDOUT in its formats `text` and `csv`, a CopyData message each. */

import { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import { utf8 } from "../../../shared/base/bytes.ts";
import { isNull } from "../types/arrow_columns.ts";
import { type WantedColumn, writtenColumns } from "./data_rows.ts";

/** How values become texts. Defaults are PostgreSQL's, which differ between the two. */
export interface CopyTextOptions {
  readonly format: "text" | "csv";
  /** One byte. */
  readonly delimiter: string;
  /** What stands for NULL. */
  readonly nullText: string;
  readonly hasHeader: boolean;
  /** One byte each, for csv. */
  readonly quote: string;
  readonly escape: string;
  /** Whether csv quotes every value. */
  readonly quotesAll: boolean;
}

const COPY_DATA = 0x64;
const LINE_FEED = 0x0a;
const BACKSLASH = 0x5c;
/** What stands behind a backslash for bytes that would be read as something else. */
const ESCAPES: Readonly<Record<number, number>> = {
  0x08: 0x62,
  0x09: 0x74,
  0x0a: 0x6e,
  0x0b: 0x76,
  0x0c: 0x66,
  0x0d: 0x72,
  0x5c: 0x5c,
};
const HEADER_BYTES = 5;

/** Makes CopyData messages of batches. */
export class CopyTextEncoder {
  readonly #out = new ByteBuilder(65_536);
  readonly #cell = new ByteBuilder(1_024);
  readonly #null: Uint8Array;
  readonly #delimiter: number;
  readonly #quote: number;
  readonly #escape: number;

  constructor(
    private readonly columns: readonly WantedColumn[],
    private readonly options: CopyTextOptions,
  ) {
    this.#out.bytesMax = this.#cell.bytesMax = 0x7fff_ffff;
    this.#null = utf8(options.nullText);
    this.#delimiter = options.delimiter.charCodeAt(0);
    this.#quote = options.quote.charCodeAt(0);
    this.#escape = options.escape.charCodeAt(0);
  }

  /** The line of names. */
  header(names: readonly string[]): Uint8Array<ArrayBuffer> {
    const start = this.#begin();
    names.forEach((name, at) => {
      if (at > 0) this.#out.byte(this.#delimiter);
      this.#cell.clear();
      this.#cell.text(name);
      this.#writeCell(names.length === 1);
    });
    this.#end(start);
    return this.#out.take();
  }

  encode(message: Uint8Array, from: number, to: number): Uint8Array<ArrayBuffer> {
    const written = writtenColumns(message, this.columns);
    for (let row = from; row < to; row += 1) {
      const start = this.#begin();
      written.forEach(({ column, write }, at) => {
        if (at > 0) this.#out.byte(this.#delimiter);
        if (isNull(column, row)) return this.#out.append(this.#null);
        this.#cell.clear();
        write(row, this.#cell);
        this.#writeCell(written.length === 1);
      });
      this.#end(start);
    }
    return this.#out.take();
  }

  #begin(): number {
    const out = this.#out;
    out.reserve(HEADER_BYTES);
    const start = out.length;
    out.bytes[start] = COPY_DATA;
    out.length += HEADER_BYTES;
    return start;
  }

  #end(start: number): void {
    this.#out.byte(LINE_FEED);
    this.#out.view.setInt32(start + 1, this.#out.length - start - 1);
  }

  #writeCell(isAlone: boolean): void {
    if (this.options.format === "text") return this.#writeEscaped();
    const cell = this.#cell.bytes.subarray(0, this.#cell.length);
    if (!this.options.quotesAll && !this.#needsQuotes(cell, isAlone)) return this.#out.append(cell);
    const out = this.#out;
    out.byte(this.#quote);
    for (const byte of cell) {
      if (byte === this.#quote || byte === this.#escape) out.byte(this.#escape);
      out.byte(byte);
    }
    out.byte(this.#quote);
  }

  /** A value that reads as NULL is quoted, and `\.` on a line of its own, which ends a file. */
  #needsQuotes(cell: Uint8Array, isAlone: boolean): boolean {
    if (cell.length === this.#null.length && cell.every((byte, at) => byte === this.#null[at])) {
      return true;
    }
    if (isAlone && cell.length === 2 && cell[0] === BACKSLASH && cell[1] === 0x2e) return true;
    return cell.some((byte) =>
      byte === this.#delimiter || byte === this.#quote || byte === LINE_FEED || byte === 0x0d
    );
  }

  #writeEscaped(): void {
    const out = this.#out;
    const { bytes, length } = this.#cell;
    for (let at = 0; at < length; at += 1) {
      const byte = bytes[at] ?? 0;
      const escaped = ESCAPES[byte] ?? (byte === this.#delimiter ? byte : undefined);
      if (escaped !== undefined) out.byte(BACKSLASH);
      out.byte(escaped ?? byte);
    }
  }
}
