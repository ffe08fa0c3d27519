/**
 * The indexes of a data file: one of the words of each text column, one of the values of all other
 * string columns.
 */

import { zstdCompressSync } from "node:zlib";
import { present } from "../../base/assert.ts";
import { ATTRIBUTES, seenColumns } from "../../schema/promoted.ts";
import type { Column } from "../../schema/schema.ts";
import { groupColumns } from "../summary/build_summary.ts";
import { groupIds } from "../summary/group_ids.ts";
import type { GroupType } from "../summary/summary_blobs.ts";
import { minutesOf } from "../summary/minutes.ts";
import type { Blob, Derived, FileRows } from "../types.ts";
import { collectValues } from "./collect_values.ts";
import { collectPairs } from "./collect_pairs.ts";
import { wordsColumns } from "../../schema/row_words.ts";
import { collectWords, type ColumnPart, type Words } from "./collect_words.ts";
import { countWords, type Groups } from "./count_words.ts";
import { TooMuchToIndex } from "./occurrences.ts";
import { GRANULES_MIN_PROPERTY, PAIRS_TYPE } from "./pairs_format.ts";
import { releaseScratch } from "./scratch.ts";
import { FILTER_TYPE, writeValueFilter } from "./value_filter.ts";
import { NESTED_PROPERTY, RISING_VALUES_TYPE, VALUES_TYPE } from "./values_format.ts";
import { encodeWordCounts, TOLD_WORDS_PROPERTY, WORD_COUNTS_TYPE } from "./word_counts.ts";
import { encodeWordGroups, WORD_GROUPS_TYPE } from "./word_groups.ts";
import {
  HEADER_BYTES_PROPERTY,
  MIXED_WORDS_TYPE,
  SHIFT_MAX,
  SHIFT_MIN,
  UNCODED_WORDS_TYPE,
  WORDS_TYPE,
} from "./words_format.ts";
import { TOLD_ROWS_MIN } from "./told_words.ts";
import { writeValues } from "./write_values.ts";
import { type IndexBytes, type IndexedRows, writeWords } from "./write_words.ts";

const INDEX_TYPES = new Set([
  WORDS_TYPE,
  MIXED_WORDS_TYPE,
  UNCODED_WORDS_TYPE,
  VALUES_TYPE,
  RISING_VALUES_TYPE,
]);

/** What an index should take of its columns' bytes in the data file, at most. */
const SHARE = 0.25;
/**
 * What an index of pairs should take of that; with twice as much, and some bytes, it is left out.
 */
const PAIRS_SHARE = 0.08;
const PAIRS_OVER = 2;
const PAIRS_BYTES_FREE = 16 * 1024;
/**
 * From so many rows on granules are the largest at once. A reader takes pages of thousands of rows,
 * so finer ones would save it little there, and the index takes a fifth less time and bytes.
 */
const COARSE_ROWS = 32_768;
/**
 * Columns that tell the level of a row, in the order in which a search asks for it
 * (`shared/search/search_fields.ts`).
 */
const LEVEL_COLUMNS = [
  "level",
  "severity_text",
  `${ATTRIBUTES}:severity_text`,
  `${ATTRIBUTES}:level`,
];
const NOTHING: Derived = { blobs: [], columns: [] };
/** Columns by whose values words are counted, and how many values each may have. */
const GROUPED_MAX = 4;
const GROUPED_VALUES_MAX = 64;
/** Characters of all of a column's values. */
const GROUPED_LENGTH_MAX = 4_096;
/** Pieces of a column that are compressed to estimate its bytes in the data file. */
const SAMPLES = 4;
const SAMPLE_BYTES = 128 * 1024;

/** Whether these blobs of a sidecar have an index: `false` where none was made at the time. */
export function isIndexed(blobs: readonly Pick<Blob, "type">[]): boolean {
  return blobs.some(({ type }) => INDEX_TYPES.has(type));
}

/**
 * The indexes of words, and of their pairs; and which frequent words each row has. Pure. A column
 * with too much to index (`occurrences.ts`) has none.
 */
export function deriveWords(file: FileRows): Derived {
  const columns = stringsOf(file, { areTexts: true }) ?? [];
  if (columns.length === 0) return NOTHING;
  const grouped = groupedColumns(file);
  const telling = wordsColumns(columns, file.schema.columns);
  const derived = columns.map((column) =>
    wordsOfColumn(file, column, {
      grouped,
      telling: file.rows < TOLD_ROWS_MIN ? undefined : telling.get(column),
    })
  );
  return {
    blobs: derived.flatMap(({ blobs }) => blobs),
    columns: derived.flatMap(({ columns }) => columns),
  };
}

/**
 * The index of values and their filter, for all other columns of strings. Pure, with the same
 * limits.
 */
export function valuesBlobs(file: FileRows): Blob[] {
  const columns = stringsOf(file, { areTexts: false });
  return columns === undefined ? [] : valueBlobs(file, columns);
}

/** The columns whose words are indexed, or those whose values are; undefined where nothing is. */
function stringsOf(
  { rows, schema, text }: FileRows,
  { areTexts }: { readonly areTexts: boolean },
): Column[] | undefined {
  if (rows === 0 || text === undefined) return undefined;
  const texts = new Set(text.map(({ name }) => name));
  // What an unasked column holds is in the values of the attributes.
  return seenColumns(schema.columns)
    .filter(({ name, type }) => type === "string" && texts.has(name) === areTexts);
}

/** What is made of a text's words besides its index. */
interface WordsWanted {
  /** Columns by whose values words are counted. */
  readonly grouped: readonly GroupedColumn[];
  /** The column that tells of each row's words; undefined: none may. */
  readonly telling: Column | undefined;
}

function wordsOfColumn(
  file: FileRows,
  column: Column,
  { grouped, telling }: WordsWanted,
): Derived {
  const parts = partsOf(file, column);
  const own = rowsOf(file, parts);
  return indexed(() => {
    const words = collectWords(parts, { shift: own.shift, keepsSequence: true });
    const index = writeWords(words, own);
    const counted = countedWords(file, column, {
      ...{ words, parts, shift: own.shift, grouped, telling },
    });
    return {
      blobs: [
        blobOf(WORDS_TYPE, [column.id], index),
        ...pairsBlob(column, { words, own, wordShift: index.shift }),
        ...counted.blobs,
      ],
      columns: counted.columns,
    };
  }, NOTHING);
}

function pairsBlob(
  { id }: Column,
  { words, own, wordShift }: {
    readonly words: Words;
    readonly own: IndexedRows;
    readonly wordShift: number;
  },
): Blob[] {
  const { sequence } = words;
  // One row group is read whole, or not at all: pairs would tell nothing.
  if (sequence === undefined || own.rows <= own.rowGroupRows) return [];
  return unlessTooMuch((): Blob[] => {
    const { values, granulesMin } = collectPairs(id, { ...words, sequence }, { ...own, wordShift });
    const bytesWanted = PAIRS_SHARE * own.bytesWanted;
    if (values.hashes.length === 0) return [];
    const index = writeValues([values], { ...own, bytesWanted });
    if (index.bytes.length > PAIRS_BYTES_FREE + PAIRS_OVER * bytesWanted) return [];
    const { properties, ...blob } = blobOf(PAIRS_TYPE, [id], index);
    const min = { [GRANULES_MIN_PROPERTY]: String(granulesMin) };
    return [{ ...blob, properties: { ...properties, ...min } }];
  }, []);
}

/** How many rows have the frequent words, and which rows do. */
function countedWords(
  file: FileRows,
  { id }: Column,
  { words, parts, shift, grouped, telling }: WordsWanted & {
    readonly words: Words;
    readonly parts: readonly ColumnPart[];
    readonly shift: number;
  },
): Derived {
  const { sequence } = words;
  const time = file.schema.columns.find(({ name }) => name === "timestamp");
  const runs = time && minutesOf(partsOf(file, time));
  if (sequence === undefined || runs === undefined) return NOTHING;
  const counted = countWords({ ...words, sequence }, {
    ...{ parts, shift, runs, tellsRows: telling !== undefined },
    groups: grouped.map(({ groups }) => groups),
  });
  if (counted === undefined) return NOTHING;
  const { counts, rowWords } = counted;
  const byValue = counted.groups.flatMap((groups, at): Blob[] => {
    const column = present(grouped[at]).id;
    return groups === undefined
      ? []
      : [{ type: WORD_GROUPS_TYPE, fields: [id, column], data: encodeWordGroups(groups) }];
  });
  const blob = { type: WORD_COUNTS_TYPE, fields: [id], data: encodeWordCounts(counts) };
  if (rowWords === undefined || telling === undefined) {
    return { blobs: [blob, ...byValue], columns: [] };
  }
  const { words: told, ids, sets } = rowWords;
  return {
    blobs: [{ ...blob, properties: { [TOLD_WORDS_PROPERTY]: told } }, ...byValue],
    columns: [{ column: telling, ids, sets }],
  };
}

/** A column by whose values words are counted. */
interface GroupedColumn {
  readonly id: number;
  readonly groups: Groups;
}

/** Such columns of a file, for all of its texts: the level first, in one column. */
function groupedColumns(file: FileRows): readonly GroupedColumn[] {
  const grouped: GroupedColumn[] = [];
  const levels = LEVEL_COLUMNS.flatMap((name) =>
    file.schema.columns.filter((column) => column.name === name && column.type === "string")
  );
  const others = groupColumns(file).filter(({ type }) => type !== "double");
  for (const column of new Set([...levels, ...others])) {
    if (grouped.length === GROUPED_MAX) break;
    const isSecondLevel = levels.includes(column) && grouped.length > 0;
    const groups = isSecondLevel
      ? undefined
      : groupIds(column.type as GroupType, partsOf(file, column), GROUPED_VALUES_MAX);
    if (groups !== undefined && isTelling(groups)) grouped.push({ id: column.id, groups });
  }
  return grouped;
}

/** Whether rows have several values. Where they have one, counts by minute tell the same. */
function isTelling({ ids, values }: Groups): boolean {
  const length = values.reduce((sum, value) => sum + (value?.length ?? 0), 0);
  return length <= GROUPED_LENGTH_MAX && values.length > (ids.includes(0) ? 1 : 2);
}

function valueBlobs(file: FileRows, columns: readonly Column[]): Blob[] {
  const parts = columns.map((column) => partsOf(file, column));
  return indexed((): Blob[] => {
    const own = rowsOf(file, parts.flat());
    const values = columns.map(({ id }, at) =>
      collectValues(id, { parts: present(parts[at]), shift: own.shift })
    );
    const index = writeValues(values, own);
    const filter = writeValueFilter(values, file);
    const isRising = values.some(({ rising = [] }) => rising.length > 0);
    return [
      blobOf(isRising ? RISING_VALUES_TYPE : VALUES_TYPE, columns.map(({ id }) => id), index),
      ...filter === undefined ? [] : [blobOf(FILTER_TYPE, filter.ids, filter)],
    ].map(withNested);
  }, []);
}

function blobOf(type: string, fields: readonly number[], { bytes, headerBytes }: IndexBytes): Blob {
  return {
    type,
    fields,
    data: bytes,
    properties: { [HEADER_BYTES_PROPERTY]: String(headerBytes) },
  };
}

function withNested(blob: Blob): Blob {
  return { ...blob, properties: { ...blob.properties, [NESTED_PROPERTY]: "1" } };
}

/** Whatever memory of the thread `build` takes is free again. */
function indexed<T>(build: () => T, nothing: T): T {
  try {
    return unlessTooMuch(build, nothing);
  } finally {
    releaseScratch();
  }
}

function unlessTooMuch<T>(build: () => T, nothing: T): T {
  try {
    return build();
  } catch (error) {
    if (error instanceof TooMuchToIndex) return nothing;
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
  const shift = rows < COARSE_ROWS ? SHIFT_MIN : SHIFT_MAX;
  return { rows, rowGroupRows, shift, bytesWanted: SHARE * compressedBytes(parts) };
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
