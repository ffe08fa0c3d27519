/** Rows of COPY TO STDOUT in its formats `text` and `csv`, a CopyData message each. */

import { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import { utf8 } from "../../../shared/base/bytes.ts";
import { isNull } from "../types/arrow_columns.ts";
import { pgError } from "../sqlstate.ts";
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
  /** Columns whose values csv always quotes. */
  readonly quoted: "*" | readonly string[];
}

const COPY_DATA = 0x64;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
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
  readonly #isQuoted: readonly boolean[];
  /** By byte, 1: it is escaped as text, or its value is quoted as csv. */
  readonly #special = new Uint8Array(256);

  constructor(
    private readonly columns: readonly (WantedColumn & { readonly name: string })[],
    private readonly options: CopyTextOptions,
  ) {
    const { quoted } = options;
    const missing = quoted === "*"
      ? undefined
      : quoted.find((wanted) => columns.every(({ name }) => name !== wanted));
    if (missing !== undefined) {
      throw pgError(
        "42703",
        `Cannot quote the column ${JSON.stringify(missing)}: it is not copied`,
      );
    }
    this.#isQuoted = columns.map(({ name }) => quoted === "*" || quoted.includes(name));
    this.#out.bytesMax = this.#cell.bytesMax = 0x7fff_ffff;
    this.#null = utf8(options.nullText);
    this.#delimiter = options.delimiter.charCodeAt(0);
    this.#quote = options.quote.charCodeAt(0);
    this.#escape = options.escape.charCodeAt(0);
    const special = options.format === "text"
      ? Object.keys(ESCAPES).map(Number)
      : [this.#quote, LINE_FEED, CARRIAGE_RETURN];
    for (const byte of [...special, this.#delimiter]) this.#special[byte] = 1;
  }

  /** The line of names. */
  header(): Uint8Array<ArrayBuffer> {
    const start = this.#begin();
    this.columns.forEach(({ name }, at) => {
      if (at > 0) this.#out.byte(this.#delimiter);
      this.#cell.clear();
      this.#cell.text(name);
      this.#writeCell({ isAlone: this.columns.length === 1, isQuoted: false });
    });
    this.#end(start);
    return this.#out.take();
  }

  encode(message: Uint8Array, from: number, to: number): Uint8Array<ArrayBuffer> {
    const written = writtenColumns(message, this.columns);
    const isAlone = written.length === 1;
    for (let row = from; row < to; row += 1) {
      const start = this.#begin();
      written.forEach(({ column, write }, at) => {
        if (at > 0) this.#out.byte(this.#delimiter);
        if (isNull(column, row)) return this.#out.append(this.#null);
        this.#cell.clear();
        write(row, this.#cell);
        this.#writeCell({ isAlone, isQuoted: this.#isQuoted[at] === true });
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

  #writeCell(
    { isAlone, isQuoted }: { readonly isAlone: boolean; readonly isQuoted: boolean },
  ): void {
    if (this.options.format === "text") return this.#writeEscaped();
    const cell = this.#cell.bytes.subarray(0, this.#cell.length);
    if (!isQuoted && !this.#needsQuotes(cell, isAlone)) return this.#out.append(cell);
    const out = this.#out;
    out.byte(this.#quote);
    let from = 0;
    for (let at = 0; at < cell.length; at += 1) {
      const byte = cell[at];
      if (byte !== this.#quote && byte !== this.#escape) continue;
      out.append(cell.subarray(from, at));
      out.byte(this.#escape);
      from = at;
    }
    out.append(cell.subarray(from));
    out.byte(this.#quote);
  }

  /** A value that reads as NULL is quoted, and `\.` on a line of its own, which ends a file. */
  #needsQuotes(cell: Uint8Array, isAlone: boolean): boolean {
    if (cell.length === this.#null.length && cell.every((byte, at) => byte === this.#null[at])) {
      return true;
    }
    if (isAlone && cell.length === 2 && cell[0] === BACKSLASH && cell[1] === 0x2e) return true;
    for (let at = 0; at < cell.length; at += 1) if (this.#isSpecial(cell[at])) return true;
    return false;
  }

  /** What lies between two bytes that are escaped is copied as one. */
  #writeEscaped(): void {
    const out = this.#out;
    const { bytes, length } = this.#cell;
    let from = 0;
    for (let at = 0; at < length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (!this.#isSpecial(byte)) continue;
      out.append(bytes.subarray(from, at));
      out.byte(BACKSLASH);
      out.byte(ESCAPES[byte] ?? byte);
      from = at + 1;
    }
    out.append(bytes.subarray(from, length));
  }

  #isSpecial(byte: number | undefined): boolean {
    return this.#special[byte ?? 0] === 1;
  }
}
