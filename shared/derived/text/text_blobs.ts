/** The indexes of a data file: one of the words of each text column, one of the values of all other string columns. */

import { zstdCompressSync } from "node:zlib";
import { present } from "../../base/assert.ts";
import type { Column } from "../../event/schema.ts";
import type { Blob, FileRows } from "../types.ts";
import { collectValues } from "./collect_values.ts";
import { collectWords, type ColumnPart } from "./collect_words.ts";
import { TooMuchToIndex } from "./occurrences.ts";
import { FILTER_TYPE, writeValueFilter } from "./value_filter.ts";
import { VALUES_TYPE } from "./values_format.ts";
import { HEADER_BYTES_PROPERTY, SHIFT_MIN, WORDS_TYPE } from "./words_format.ts";
import { writeValues } from "./write_values.ts";
import { type IndexBytes, type IndexedRows, writeWords } from "./write_words.ts";

/** What an index should take of its columns' bytes in the data file, at most. */
const SHARE = 0.25;
/** Pieces of a column that are compressed to estimate its bytes in the data file. */
const SAMPLES = 4;
const SAMPLE_BYTES = 128 * 1024;

/** Whether these blobs of a sidecar have an index: `false` where none was made at the time. */
export function isIndexed(blobs: readonly Pick<Blob, "type">[]): boolean {
  return blobs.some(({ type }) => type === WORDS_TYPE || type === VALUES_TYPE);
}

/** Pure. A column with too much to index (`occurrences.ts`) has none. */
export function textBlobs(file: FileRows): Blob[] {
  const { text } = file;
  if (file.rows === 0 || text === undefined) return [];
  const texts = new Set(text.map(({ name }) => name));
  const strings = file.schema.columns.filter(({ type }) => type === "string");
  return [
    ...strings.filter(({ name }) => texts.has(name)).flatMap((column) => wordsBlob(file, column)),
    ...valuesBlobs(file, strings.filter(({ name }) => !texts.has(name))),
  ];
}

function wordsBlob(file: FileRows, column: Column): Blob[] {
  const parts = partsOf(file, column);
  return unlessTooMuch(() => {
    const words = writeWords(collectWords(parts, SHIFT_MIN), rowsOf(file, parts));
    return [blobOf(WORDS_TYPE, [column.id], words)];
  });
}

function valuesBlobs(file: FileRows, columns: readonly Column[]): Blob[] {
  const parts = columns.map((column) => partsOf(file, column));
  return unlessTooMuch(() => {
    const values = columns.map(({ id }, at) =>
      collectValues(id, { parts: present(parts[at]), shift: SHIFT_MIN })
    );
    const index = writeValues(values, rowsOf(file, parts.flat()));
    const filter = writeValueFilter(values, file);
    return [
      blobOf(VALUES_TYPE, columns.map(({ id }) => id), index),
      ...filter === undefined ? [] : [blobOf(FILTER_TYPE, filter.ids, filter)],
    ];
  });
}

function blobOf(type: string, fields: readonly number[], { bytes, headerBytes }: IndexBytes): Blob {
  return {
    type,
    fields,
    data: bytes,
    properties: { [HEADER_BYTES_PROPERTY]: String(headerBytes) },
  };
}

function unlessTooMuch(build: () => Blob[]): Blob[] {
  try {
    return build();
  } catch (error) {
    if (error instanceof TooMuchToIndex) return [];
    throw error;
  }
}

function partsOf({ schema, batches }: FileRows, column: Column): ColumnPart[] {
  const at = schema.columns.indexOf(column);
  return batches.map(({ rows, columns }) => ({ rows, data: present(columns[at]) }));
}

function rowsOf(
  { rows, rowGroupRows }: FileRows,
  parts: readonly ColumnPart[],
): IndexedRows {
  return { rows, rowGroupRows, shift: SHIFT_MIN, bytesWanted: SHARE * compressedBytes(parts) };
}

/** About as many bytes as the columns take in the data file. */
function compressedBytes(parts: readonly ColumnPart[]): number {
  const filled = parts.filter(({ data }) => data.values.length > 0);
  const step = Math.max(1, Math.floor(filled.length / SAMPLES));
  let [plain, packed] = [0, 0];
  for (let at = 0; at < filled.length; at += step) {
    const { values } = present(filled[at]).data;
    const start = Math.max(0, (values.length - SAMPLE_BYTES) >> 1);
    const sample = values.subarray(start, start + SAMPLE_BYTES);
    plain += sample.length;
    packed += zstdCompressSync(sample).length;
  }
  const total = filled.reduce((sum, { data }) => sum + data.values.length, 0);
  return plain === 0 ? 0 : total * packed / plain;
}
