/**
 * `svc-word-levels-v1`: how many rows of a data file have a frequent word of a text column, or two
 * of them side by side. They are counted by minute and by the value of another column. README.md
 * has the bytes.
 *
 * The words are those of the counts of words (`word_counts.ts`) of the text column.
 */

import { textOf, utf8 } from "../../base/bytes.ts";
import { ByteBuilder } from "../../columns/byte_builder.ts";
import { unzigzag, writeVarint, writeZigzag } from "../../columns/varint.ts";
import type { ByteReader } from "./bits.ts";
import { impossibleCounts, openCounts, packCounts } from "./packed_counts.ts";
import { findCountedWords } from "./word_counts.ts";

export const WORD_LEVELS_TYPE = "svc-word-levels-v1";

/** What is counted of a text column and a column of levels. */
export interface WordLevels {
  /** Values of the column of levels, NULL first. */
  readonly values: readonly (string | null)[];
  /** Ascending by minute, then by value. */
  readonly cells: readonly LevelCell[];
  /** For the first entries of the counts of words: how many rows of each cell have the words. */
  readonly entries: readonly Float64Array[];
}

/** Rows of one minute and level. */
export interface LevelCell {
  /** Since 1970. */
  readonly minute: number;
  /** A place among the values. */
  readonly value: number;
  readonly rows: number;
}

/** Rows of one minute and level that have certain words. */
export interface LevelRows {
  readonly minute: number;
  readonly value: string | null;
  readonly rows: number;
}

export function encodeWordLevels({ values, cells, entries }: WordLevels): Uint8Array {
  const plain = new ByteBuilder();
  writeVarint(plain, values.length);
  for (const value of values.slice(1)) {
    const bytes = utf8(value ?? "");
    writeVarint(plain, bytes.length);
    plain.append(bytes);
  }
  const [{ minute: first } = { minute: 0 }] = cells;
  writeVarint(plain, cells.length);
  writeZigzag(plain, first);
  let before = first;
  for (const { minute } of cells) {
    writeVarint(plain, minute - before);
    before = minute;
  }
  for (const { value } of cells) writeVarint(plain, value);
  for (const { rows } of cells) writeVarint(plain, rows);
  writeVarint(plain, entries.length);
  for (const byCell of entries) {
    const expected = new ExpectedRows(values.length);
    for (const [at, cell] of cells.entries()) {
      const own = byCell[at] as number;
      writeZigzag(plain, own - expected.of(cell));
      expected.add(cell, own);
    }
  }
  return packCounts(plain.take());
}

/**
 * The rows of a file of `rows` rows that have a word, or two of them side by side, by minute and
 * level. `counts` is the blob of the counts of words. undefined: these words are not counted.
 * Errors: `corrupt`.
 */
export function findWordLevels(
  { levels, counts }: { readonly levels: Uint8Array; readonly counts: Uint8Array },
  words: readonly string[],
  rows: number,
): readonly LevelRows[] | undefined {
  const { reader, bytes } = openCounts(levels);
  const values = readValues(reader);
  const cells = readCells(reader, { values: values.length, bytes, rows });
  const entries = reader.varint();
  if (entries * cells.length > bytes) throw impossibleCounts();
  const counted = findCountedWords(counts, words, rows);
  if (counted === undefined || counted.place >= entries) return undefined;
  for (let skipped = counted.place * cells.length; skipped > 0; skipped -= 1) reader.varint();
  const expected = new ExpectedRows(values.length);
  const found = cells.map((cell) => {
    const own = expected.of(cell) + unzigzag(reader.varint());
    if (own < 0 || own > cell.rows) throw impossibleCounts();
    expected.add(cell, own);
    return { minute: cell.minute, value: values[cell.value] ?? null, rows: own };
  });
  if (sumOfRows(found) !== counted.rows) throw impossibleCounts();
  return found.filter((cell) => cell.rows > 0);
}

/**
 * How many rows of a cell should have the words, by those of the cells before. It is as large a
 * share as of the cells with this level, or of all where there was none. What is stored is how many
 * more there are.
 */
class ExpectedRows {
  /** By level; those of all are the last. */
  readonly #with: Float64Array;
  readonly #rows: Float64Array;

  constructor(levels: number) {
    this.#with = new Float64Array(levels + 1);
    this.#rows = new Float64Array(levels + 1);
  }

  of({ value, rows }: LevelCell): number {
    const own = this.#rows[value] === 0 ? this.#rows.length - 1 : value;
    const known = this.#rows[own] as number;
    return known === 0 ? 0 : Math.round((this.#with[own] as number) * rows / known);
  }

  add({ value, rows }: LevelCell, own: number): void {
    this.#add(value, rows, own);
    this.#add(this.#rows.length - 1, rows, own);
  }

  #add(level: number, rows: number, own: number): void {
    this.#rows[level] = (this.#rows[level] as number) + rows;
    this.#with[level] = (this.#with[level] as number) + own;
  }
}

function readValues(reader: ByteReader): readonly (string | null)[] {
  const values: (string | null)[] = [null];
  for (let left = reader.varint(); left > 1; left -= 1) {
    values.push(textOf(reader.take(reader.varint())));
  }
  return values;
}

/** Errors: `corrupt`; also where they are not all `rows` of the file. */
function readCells(
  reader: ByteReader,
  { values, bytes, rows }: {
    readonly values: number;
    readonly bytes: number;
    readonly rows: number;
  },
): readonly LevelCell[] {
  const count = reader.varint();
  if (count > bytes) throw impossibleCounts();
  let minute = unzigzag(reader.varint());
  const minutes = Array.from({ length: count }, () => minute += reader.varint());
  const places = minutes.map(() => reader.varint());
  const cells = minutes.map((own, at) => ({
    minute: own,
    value: places[at] as number,
    rows: reader.varint(),
  }));
  if (sumOfRows(cells) !== rows || cells.some(({ value }) => value >= values)) {
    throw impossibleCounts();
  }
  return cells;
}

function sumOfRows(cells: readonly { readonly rows: number }[]): number {
  return cells.reduce((sum, { rows }) => sum + rows, 0);
}
