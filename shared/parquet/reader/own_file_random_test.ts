/**
 * What merges read is what was written: columns of every type whose values come in every fashion,
 * in row groups and pages that end anywhere, packed in every way. Values are one, few, many or all
 * distinct, in order or not, with nulls here or there. `SVC_PARQUET_SEEDS=2000` for a long run.
 */

import assert from "node:assert/strict";
import { present } from "../../base/assert.ts";
import { parquetMetadata } from "hyparquet";
import { batchOfRows, type ColumnValue, type RowObject, rowsOf } from "../../columns/rows.ts";
import type { Column, ColumnType } from "../../schema/schema.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { type ColumnChunk, type FilePlace, parseFooter } from "../footer.ts";
import { writeParquet } from "../write_parquet.ts";
import {
  dictionaryPlace,
  onlyPage,
  type PagePlace,
  pagesOfIndex,
  pagesWith,
  readChunkRows,
  storedPage,
} from "./chunk_rows.ts";
import { arePagesReadable, ColumnPages, type PageRows } from "./column_pages.ts";
import { batchesOf, readOwnFile } from "./own_file.ts";
import { hasPlaces, rowsByValue } from "./rows_by_value.ts";

const SEEDS = Number(Deno.env.get("SVC_PARQUET_SEEDS") ?? 40);
const ROWS_MAX = 12_000;
const EFFORTS = ["thorough", "usual", "quick", "none"] as const;
const TYPES: readonly ColumnType[] = ["timestamptz", "long", "int", "double", "bool", "string"];

/** The value that the number `n` stands for, in order of `n` where the type has one. */
function valueOf(type: ColumnType, n: number, isWide: boolean): ColumnValue {
  switch (type) {
    case "bool":
      return n % 2 === 0;
    case "int":
      return isWide ? Math.imul(n, 0x9e3779b1) : n - 1_000;
    case "double":
      return isWide ? n * 1.1e-300 : n / 8;
    case "string":
      // Some are ASCII alone, and some are not.
      return isWide ? `${n % 5 === 0 ? "é" : "e"} line ${n} ${"y".repeat(n % 200)}` : `v${n}`;
    default:
      return isWide ? BigInt.asIntN(64, BigInt(n) * 0x9e37_79b9_7f4a_7c15n) : BigInt(n) * 1_000n;
  }
}

function columnOf(random: SeededRandom, rows: number): (type: ColumnType) => ColumnValue[] {
  const distinct = [1, 2, 300, rows, 4 * rows][random.below(5)] ?? 1;
  const isWide = random.chance(0.4);
  const isOrdered = random.chance(0.4);
  const nulls = random.chance(0.5) ? 0 : random.float();
  const firstValue = random.chance(0.2) ? random.below(rows) : 0;
  return (type) =>
    Array.from({ length: rows }, (_, at) => {
      if (at < firstValue || random.chance(nulls)) return null;
      const n = isOrdered ? Math.floor(at * distinct / rows) : random.below(distinct);
      return valueOf(type, n, isWide);
    });
}

for (let seed = 0; seed < SEEDS; seed += 1) {
  Deno.test(`readOwnFile gives what was written: seed ${seed}`, () => {
    const random = new SeededRandom(seed);
    const count = 1 + random.below(random.chance(0.3) ? 50 : ROWS_MAX);
    const columns: Column[] = [];
    const values: ColumnValue[][] = [];
    for (let id = 1; id <= 8; id += 1) {
      const type = TYPES[random.below(TYPES.length)] ?? "long";
      const own = columnOf(random, count)(type);
      columns.push({ id, name: `c${id}`, type, required: !own.includes(null) });
      values.push(own);
    }
    const schema = { columns, tags: [] };
    const rows = Array.from(
      { length: count },
      (_, at): RowObject =>
        Object.fromEntries(columns.map(({ name }, i) => [name, values[i]?.[at] ?? null])),
    );
    const cut = random.below(count);
    const batches = [rows.slice(0, cut), rows.slice(cut)].filter(({ length }) => length > 0)
      .map((part) => batchOfRows(schema, part));
    const { bytes } = writeParquet(batches, {
      schema,
      effort: present(EFFORTS[random.below(EFFORTS.length)]),
      ...(random.chance(0.5) ? { rowGroupRowsMax: 1 + random.below(count) + count / 16 | 0 } : {}),
    });
    const groups = parquetMetadata(bytes).row_groups.map((_, at) => at);
    const spare = new Uint8Array(random.below(2_000_000)).fill(0xa5).buffer;
    const placed = readOwnFile(bytes, groups, spare) ?? assert.fail("it is our own file");
    const read = batchesOf(placed).batches.flatMap((batch) => rowsOf(batch));
    assert.equal(read.length, count);
    read.forEach((row, at) => assert.deepEqual(row, rows[at], `row ${at}`));
    someRowsAreThose(bytes, rows, random);
    pagesAreThose(bytes, rows);
  });
}

/** `readChunkRows` gives any rows of the file, and `rowsByValue` those of some values. */
function someRowsAreThose(
  bytes: Uint8Array,
  rows: readonly RowObject[],
  random: SeededRandom,
): void {
  for (const group of parseFooter(bytes, "a file").rowGroups) {
    const share = [0.001, 0.1, 1][random.below(3)] ?? 1;
    // One by one, or neighbours as indexes tell them.
    const blocks = Array.from({ length: 1 + (group.rows >> 4) }, () => random.chance(share));
    const isIn = random.chance(0.5)
      ? () => random.chance(share)
      : (row: number) => blocks[row >> 4] === true;
    const wanted = Uint32Array.from(
      Array.from({ length: group.rows }, (_, row) => row)
        .filter((row) => isIn(row) || row === group.rows - 1),
    );
    for (const chunk of group.columns) {
      const pages = pagesIn(bytes, chunk);
      const pageAt = ({ offset, byteLength }: FilePlace) => {
        const page = storedPage(chunk, bytes.subarray(offset, offset + byteLength));
        return random.chance(0.5) ? page : page.unpacked();
      };
      const values = readChunkRows(chunk, pagesWith(pages, wanted), { pageAt });
      const expected = Array.from(
        wanted,
        (row) => rows[group.firstRow + row]?.[chunk.name] ?? null,
      );
      assert.deepEqual(values, expected, `column ${chunk.name}`);
      const mayMeet = (text: string) => text.includes("7");
      const met = readChunkRows(chunk, pagesWith(pages, wanted), { pageAt, mayMeet });
      expected.forEach((value, at) => {
        const isLeftOut = met[at] === null && typeof value === "string" && !mayMeet(value);
        if (!isLeftOut) assert.equal(met[at], value, `column ${chunk.name}, row ${wanted[at]}`);
      });
      const [page] = pages;
      if (page === undefined || !hasPlaces(chunk, pages)) continue;
      const first = random.below(group.rows);
      const end = first + random.below(group.rows - first + 1);
      const valueAt = (row: number) => rows[group.firstRow + row]?.[chunk.name] ?? null;
      const texts = new Set(
        Array.from({ length: group.rows }, (_, row) => valueAt(row))
          .filter((value) => typeof value === "string").filter((value) => value.includes("7")),
      );
      texts.add("e line 7").add("");
      assert.deepEqual(
        [...rowsByValue(chunk, page, { first, end, texts, pageAt })],
        Array.from({ length: end - first }, (_, at) => first + at)
          .filter((row) => texts.has(String(valueAt(row)))),
        `column ${chunk.name}, rows from ${first} to ${end}`,
      );
    }
  }
}

function pagesIn(bytes: Uint8Array, chunk: ColumnChunk): readonly PagePlace[] {
  const index = chunk.offsetIndex;
  if (index === undefined) return [onlyPage(chunk)];
  return pagesOfIndex(bytes.subarray(index.offset, index.offset + index.byteLength));
}

/** `ColumnPages` gives all rows of the file, page by page, with one memory for all chunks. */
function pagesAreThose(bytes: Uint8Array, rows: readonly RowObject[]): void {
  const reader = new ColumnPages();
  for (const group of parseFooter(bytes, "a file").rowGroups) {
    for (const chunk of group.columns.filter(arePagesReadable)) {
      const bytesOf = ({ offset, byteLength }: FilePlace) =>
        bytes.subarray(offset, offset + byteLength);
      const dictionary = dictionaryPlace(chunk);
      reader.begin(chunk, dictionary && bytesOf(dictionary));
      const pages = pagesIn(bytes, chunk);
      for (const [at, page] of [...pages.entries()].reverse()) {
        const end = pages[at + 1]?.firstRow ?? group.rows;
        const read = reader.read(page, end, bytesOf(page));
        for (let row = page.firstRow; row < end; row += 1) {
          const expected = rows[group.firstRow + row]?.[chunk.name] ?? null;
          assert.equal(valueAt(read, row - page.firstRow), expected, `${chunk.name}, row ${row}`);
        }
      }
    }
  }
}

function valueAt({ values, places }: PageRows, row: number): ColumnValue {
  const place = places === undefined ? row : places[row] as number;
  if (place < 0) return null;
  if (values.kind === "texts") {
    return new TextDecoder().decode(
      values.bytes.subarray(values.starts[place], values.ends[place]),
    );
  }
  const [low, high] = values.halves.subarray(2 * place, 2 * place + 2);
  return BigInt(high ?? 0) << 32n | BigInt((low ?? 0) >>> 0);
}
