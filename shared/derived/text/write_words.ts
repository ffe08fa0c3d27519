/** Writes the word index of one text column of one data file: README.md has the bytes. */

import { deflateRawSync } from "node:zlib";
import { concatBytes } from "../../base/bytes.ts";
import { ByteBuilder } from "../../columns/byte_builder.ts";
import { writeVarint } from "../../columns/varint.ts";
import { type Block, BlockWriter, withChecksum } from "./block_writer.ts";
import type { Words } from "./collect_words.ts";
import { type Entries, entriesOf } from "./entries.ts";
import { type GranuleList, listBytes, writeList } from "./granule_list.ts";
import type { Places } from "./occurrences.ts";
import { PlaceLists } from "./place_lists.ts";
import { sortTerms } from "./sort_terms.ts";
import { MAPS_MAX, TrigramCollector } from "./trigrams.ts";
import {
  DISPUTED_ALL,
  DISPUTED_LIST,
  DISPUTED_NONE,
  granuleBits,
  granulesOf,
  SHIFT_MAX,
  SHIFT_STEP,
} from "./words_format.ts";

/** The data file that is indexed. */
export interface IndexedRows {
  readonly rows: number;
  readonly rowGroupRows: number;
  /** What was collected has granules of 2^`shift` rows. */
  readonly shift: number;
  /**
   * The index should take no more bytes: its granules are made coarser for it, up to 2^`SHIFT_MAX`
   * rows.
   */
  readonly bytesWanted: number;
}

export interface IndexBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly headerBytes: number;
}

export interface WordIndexBytes extends IndexBytes {
  /** Its granules have 2^`shift` rows. */
  readonly shift: number;
}

/** What compressing leaves of the texts of entries, measured on real logs. */
const TEXTS_COMPRESSED = 0.55;
const COMPRESSION = { level: 6 } as const;

/** The bytes of a word index, with granules as coarse as its size asks for. */
export function writeWords(words: Words, file: IndexedRows): WordIndexBytes {
  const entries = entriesOf(words.table, sortTerms(words.table));
  const shift = shiftFor(entries, { words, file });
  const total = granulesOf(file.rows, shift);
  const lists = new PlaceLists(words.places, shift - file.shift);
  const writer = new BlockWriter(words.table, entries, total);
  for (let entry = 0; entry < entries.count; entry += 1) {
    writer.add(entry, listOf(lists, entries, entry));
  }
  writer.close();
  const trigrams = trigramsOf(words, file);
  const header = headerOf({ blocks: writer.blocks, trigrams, words, shift }, file);
  const blocks = writer.blocks.map(({ bytes }) => bytes);
  return {
    bytes: concatBytes([header, ...blocks, trigrams.bytes]),
    headerBytes: header.byteLength,
    shift,
  };
}

/** The finest granules with which the index is as small as wanted, by an estimate. */
function shiftFor(
  entries: Entries,
  { words, file }: { readonly words: Words; readonly file: IndexedRows },
): number {
  const texts = TEXTS_COMPRESSED * textBytes(entries);
  let { shift } = file;
  for (; shift < SHIFT_MAX; shift += SHIFT_STEP) {
    const lists = new PlaceLists(words.places, shift - file.shift);
    const total = granulesOf(file.rows, shift);
    let bytes = texts;
    const singleBytes = granuleBits(total) / 8;
    for (let entry = 0; entry < entries.count && bytes <= file.bytesWanted; entry += 1) {
      const [from, to] = [entries.starts[entry] as number, entries.starts[entry + 1] as number];
      bytes += lists.isSingle(entries.terms, from, to)
        ? singleBytes
        : bytesOf(lists.listOf(entries.terms, from, to), total);
    }
    if (bytes <= file.bytesWanted) break;
  }
  return shift;
}

function textBytes({ count, kept, common }: Entries): number {
  // A byte each for the lengths of its text and of its list.
  let bytes = 2 * count;
  for (let entry = 0; entry < count; entry += 1) {
    bytes += (kept[entry] as number) - (common[entry] as number);
  }
  return bytes;
}

function bytesOf(list: GranuleList, total: number): number {
  if (2 * list.count > total) return 0;
  return list.count === 1 ? granuleBits(total) / 8 : listBytes(list);
}

function listOf(lists: PlaceLists, { terms, starts }: Entries, entry: number): GranuleList {
  return lists.listOf(terms, starts[entry] as number, starts[entry + 1] as number);
}

interface Trigrams {
  readonly bytes: Uint8Array;
  readonly slotBits: number;
  readonly rowGroupsPerMap: number;
}

function trigramsOf(words: Words, { rows, rowGroupRows, shift }: IndexedRows): Trigrams {
  const rowGroups = Math.ceil(rows / rowGroupRows);
  const rowGroupsPerMap = Math.ceil(rowGroups / MAPS_MAX);
  const rowsPerMap = rowGroupsPerMap * rowGroupRows;
  const { table, places } = words;
  const granuleRows = 2 ** shift;
  const collector = new TrigramCollector();
  for (let term = 0; term < table.count; term += 1) {
    const maps = rowsPerMap >= rows ? 1 : mapsOf(places, term, { granuleRows, rows, rowsPerMap });
    collector.add(table.bytes, { start: table.startOf(term), end: table.endOf(term), maps });
  }
  const { bytes, slotBits } = collector.finish(Math.ceil(rowGroups / rowGroupsPerMap));
  return {
    bytes: withChecksum(deflateRawSync(bytes, COMPRESSION)),
    slotBits,
    rowGroupsPerMap,
  };
}

/** A bit for each map that has the term. */
function mapsOf(
  { starts, granules }: Places,
  term: number,
  { granuleRows, rows, rowsPerMap }: {
    readonly granuleRows: number;
    readonly rows: number;
    readonly rowsPerMap: number;
  },
): number {
  let maps = 0;
  let mapEnd = 0;
  const end = starts[term + 1] as number;
  for (let at = starts[term] as number; at < end; at += 1) {
    // A granule may lie in two row groups.
    const first = (granules[at] as number) * granuleRows;
    const last = Math.min(first + granuleRows, rows) - 1;
    if (last < mapEnd) continue;
    const lastMap = Math.floor(last / rowsPerMap);
    maps |= 1 << Math.floor(first / rowsPerMap) | 1 << lastMap;
    mapEnd = (lastMap + 1) * rowsPerMap;
  }
  return maps;
}

interface HeaderParts {
  readonly blocks: readonly Block[];
  readonly trigrams: Trigrams;
  readonly words: Words;
  readonly shift: number;
}

function headerOf(
  { blocks, trigrams, words, shift }: HeaderParts,
  file: IndexedRows,
): Uint8Array<ArrayBuffer> {
  const header = new ByteBuilder();
  header.byte(shift);
  header.byte(trigrams.slotBits);
  writeVarint(header, file.rows);
  writeVarint(header, file.rowGroupRows);
  writeVarint(header, trigrams.rowGroupsPerMap);
  writeVarint(header, trigrams.bytes.byteLength);
  writeDisputed(header, coarser(words.disputed, shift - file.shift), granulesOf(file.rows, shift));
  writeVarint(header, blocks.length);
  for (const { first, bytes } of blocks) {
    writeVarint(header, first.byteLength);
    header.append(first);
    writeVarint(header, bytes.byteLength);
  }
  return withChecksum(header.take());
}

function writeDisputed(header: ByteBuilder, granules: Uint32Array, total: number): void {
  if (granules.length === 0) return header.byte(DISPUTED_NONE);
  if (2 * granules.length > total) return header.byte(DISPUTED_ALL);
  const list = { granules, count: granules.length };
  header.byte(DISPUTED_LIST);
  writeVarint(header, listBytes(list));
  writeList(header, list);
}

function coarser(granules: Uint32Array, by: number): Uint32Array {
  return Uint32Array.from(new Set(granules.map((granule) => granule >>> by)));
}
