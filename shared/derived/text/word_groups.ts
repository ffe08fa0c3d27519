/**
 * `svc-word-levels-v1`: how many rows of a data file have a frequent word of a text column, or two
 * of them side by side. They are counted by minute and by the value of another column: at first
 * that was the level alone, hence the name. README.md has the bytes.
 *
 * The words are those of the counts of words (`word_counts.ts`) of the text column.
 */

import { textOf, utf8 } from "../../base/bytes.ts";
import { totalRows } from "../../base/total_rows.ts";
import { ByteBuilder } from "../../columns/byte_builder.ts";
import { unzigzag, writeVarint, writeZigzag } from "../../columns/varint.ts";
import type { ByteReader } from "./bits.ts";
import { impossibleCounts, openCounts, packCounts } from "./packed_counts.ts";
import { findCountedWords } from "./word_counts.ts";

export const WORD_GROUPS_TYPE = "svc-word-levels-v1";

/** What is counted of a text column and another one. */
export interface WordGroups {
  /** Values of the other column, NULL first. */
  readonly values: readonly (string | null)[];
  /** Ascending by minute, then by value. */
  readonly cells: readonly GroupCell[];
  /** For the first entries of the counts of words: how many rows of each cell have the words. */
  readonly entries: readonly Uint32Array[];
}

/** Rows of one minute and value. */
export interface GroupCell {
  /** Since 1970. */
  readonly minute: number;
  /** A place among the values. */
  readonly value: number;
  readonly rows: number;
}

/** Rows of one minute and value that have certain words. */
export interface GroupRows {
  readonly minute: number;
  readonly value: string | null;
  readonly rows: number;
}

export function encodeWordGroups({ values, cells, entries }: WordGroups): Uint8Array {
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
 * value. `counts` is the blob of the counts of words. undefined: these words are not counted.
 * Errors: `corrupt`.
 */
export function findWordGroups(
  { groups, counts }: { readonly groups: Uint8Array; readonly counts: Uint8Array },
  words: readonly string[],
  rows: number,
): readonly GroupRows[] | undefined {
  const { reader, bytes } = openCounts(groups);
  const values = readValues(reader);
  const cells = readCells(reader, { values: values.length, bytes, rows });
  const entries = reader.varint();
  if (entries * cells.length > bytes) throw impossibleCounts();
  const counted = findCountedWords(counts, words, rows);
  if (counted === undefined || counted.place >= entries) return undefined;
  reader.skipVarints(counted.place * cells.length);
  const expected = new ExpectedRows(values.length);
  const found = cells.map((cell) => {
    const own = expected.of(cell) + unzigzag(reader.varint());
    if (own < 0 || own > cell.rows) throw impossibleCounts();
    expected.add(cell, own);
    return { minute: cell.minute, value: values[cell.value] ?? null, rows: own };
  });
  if (totalRows(found) !== counted.rows) throw impossibleCounts();
  return found.filter((cell) => cell.rows > 0);
}

/**
 * How many rows of a cell should have the words, by those of the cells before. It is as large a
 * share as of the cells with this value, or of all where there was none. What is stored is how many
 * more there are.
 */
class ExpectedRows {
  /** By value; those of all are the last. */
  readonly #with: Float64Array;
  readonly #rows: Float64Array;

  constructor(values: number) {
    this.#with = new Float64Array(values + 1);
    this.#rows = new Float64Array(values + 1);
  }

  of({ value, rows }: GroupCell): number {
    const own = this.#rows[value] === 0 ? this.#rows.length - 1 : value;
    const known = this.#rows[own] as number;
    return known === 0 ? 0 : Math.round((this.#with[own] as number) * rows / known);
  }

  add({ value, rows }: GroupCell, own: number): void {
    this.#add(value, rows, own);
    this.#add(this.#rows.length - 1, rows, own);
  }

  #add(value: number, rows: number, own: number): void {
    this.#rows[value] = (this.#rows[value] as number) + rows;
    this.#with[value] = (this.#with[value] as number) + own;
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
): readonly GroupCell[] {
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
  if (totalRows(cells) !== rows || cells.some(({ value }) => value >= values)) {
    throw impossibleCounts();
  }
  return cells;
}
