/**
 * How many rows have each frequent word of a text column, and each pair of them side by side. They
 * are counted minute by minute, and by the values of other columns besides. A word that is in few
 * granules is not counted: its index finds its rows.
 */

import { throwIfLate } from "../../os/task_deadline.ts";
import { textOf } from "../../base/bytes.ts";
import { totalRows } from "../../base/total_rows.ts";
import { isNull } from "../../columns/rows.ts";
import type { GroupIds } from "../summary/group_ids.ts";
import { type Minutes, rowsOfRun, runOfRow } from "../summary/minutes.ts";
import type { ColumnPart, Sequence, Words } from "./collect_words.ts";
import { type RowsToTell, type ToldRows, toldRows } from "./row_members.ts";
import { scratchInts, scratchShorts } from "./scratch.ts";
import type { CountedWords, WordCounts } from "./word_counts.ts";
import type { GroupCell, WordGroups } from "./word_groups.ts";
import { granulesOf } from "./words_format.ts";

/** A word in a smaller share of the granules is found by its index. */
const GRANULES_SHARE_MIN = 1 / 4;
/** Words of a file that are counted, those in the most granules first. */
const WORDS_MAX = 512;
/** Pairs of these words that are counted, the most frequent first, and those that may be so. */
const PAIRS_MAX = 512;
/** Things are numbers of 16 bits. One of them stands for all pairs beyond these. */
const PAIRS_SEEN_MAX = 2 ** 16 - WORDS_MAX - 1;
/** A pair in a smaller share of the rows is not counted. */
const PAIR_SHARE_MIN = 1 / 1_024;
/** A longer word is nobody's question. */
const WORD_BYTES_MAX = 64;
/** Counts by minute of a file, for each of its rows: the most frequent words have them. */
const CELLS_PER_ROW = 1 / 4;
/** Counts by minute and value of a file, for each of its rows and columns. */
const GROUP_CELLS_PER_ROW = 1 / 2;

/** The value of one column for each row: 0 is NULL. */
export type Groups = Pick<GroupIds, "ids" | "values">;

/** What is counted of a text column. */
export interface TextCounts {
  readonly counts: WordCounts;
  /** For each of the other columns; undefined: it has too many minutes and values. */
  readonly groups: readonly (WordGroups | undefined)[];
  /** The words of each row; undefined: not wanted, or rows have too many sets of them. */
  readonly rowWords: ToldRows | undefined;
}

/**
 * The counts of a column whose words are `words`, in granules of 2^`shift` rows. undefined: there
 * is nothing to count, or rows may match what their words do not.
 */
export function countWords(
  words: Words & { readonly sequence: Sequence },
  { parts, shift, runs, groups, tellsRows }: {
    readonly parts: readonly ColumnPart[];
    readonly shift: number;
    readonly runs: Minutes;
    /** Columns by whose values the words are counted, too. */
    readonly groups: readonly Groups[];
    /** Whether the words of each row are wanted. */
    readonly tellsRows: boolean;
  },
): TextCounts | undefined {
  const rows = totalRows(parts);
  const terms = frequentTerms(words, granulesOf(rows, shift));
  if (words.disputed.length > 0 || terms.length === 0) return undefined;
  const counter = new RowCounter(words.sequence, terms, words.table.count);
  const { rowsOf } = counter;
  const wanted = wantedThings(rowsOf, { words: terms.length, rows });
  const texts = terms.map((term) =>
    textOf(words.table.bytes.subarray(words.table.startOf(term), words.table.endOf(term)))
  );
  const placeOf = new Uint32Array(counter.things + 1).fill(NO_PLACE);
  wanted.forEach((thing, place) => placeOf[thing] = place);
  const named = wanted.map((thing): CountedWords =>
    counter.isPair(thing)
      ? { pair: counter.wordsOf(thing).map((word) => placeOf[word] as number) }
      : { word: texts[thing] as string }
  );
  const timed = Math.min(wanted.length, Math.floor(CELLS_PER_ROW * rows / runs.minutes.length));
  const byMinute = counter.countCells(placeOf, {
    ...{ length: timed, cellOf: runOfRow(runs, rows), width: runs.minutes.length },
  });
  return {
    counts: {
      minutes: runs.minutes,
      rows: runs.minutes.map((_, at) => rowsOfRun(runs, at)),
      nulls: nullsOf(parts, runs),
      timed,
      entries: named.map((words, place) => ({
        ...words,
        rows: rowsOf[wanted[place] as number] as number,
        byMinute: byMinute[place],
      })),
    },
    rowWords: !tellsRows ? undefined : toldRows({
      textBytes: parts.reduce((sum, { data }) => sum + data.values.length, 0),
      ...{ words, terms, pairs: countedPairs(named, wanted) },
      ...counter.rowThings,
      isNull: nullRows(parts),
    }),
    groups: countGroups(counter, { groups, runs, placeOf, wanted: wanted.length }),
  };
}

/** The words of each pair, by its thing. */
function countedPairs(
  named: readonly CountedWords[],
  wanted: readonly number[],
): RowsToTell["pairs"] {
  const wordAt = (at: number) => {
    const counted = named[at];
    return counted !== undefined && "word" in counted ? [counted.word] : [];
  };
  return new Map(
    named.flatMap((counted, at): [number, readonly string[]][] =>
      "pair" in counted ? [[wanted[at] as number, counted.pair.flatMap(wordAt)]] : []
    ),
  );
}

/** Tells which rows have no text. */
function nullRows(parts: readonly ColumnPart[]): (row: number) => boolean {
  if (parts.every(({ data }) => data.nullCount === 0)) return () => false;
  const nulls = parts.flatMap(({ rows, data }) =>
    Array.from({ length: rows }, (_, at) => isNull(data, at))
  );
  return (row) => nulls[row] === true;
}

/** Terms that are in many granules, the most first. */
function frequentTerms({ table, places }: Words, granules: number): readonly number[] {
  const min = Math.max(2, granules * GRANULES_SHARE_MIN);
  const terms: number[] = [];
  const granulesWith = (term: number) =>
    (places.starts[term + 1] as number) - (places.starts[term] as number);
  for (let term = 0; term < table.count; term += 1) {
    const length = table.endOf(term) - table.startOf(term);
    if (granulesWith(term) >= min && length <= WORD_BYTES_MAX) terms.push(term);
  }
  return terms.sort((a, b) => granulesWith(b) - granulesWith(a)).slice(0, WORDS_MAX);
}

/** In place of the place of a thing: it is not wanted. */
const NO_PLACE = 2 ** 32 - 1;

function countGroups(
  counter: RowCounter,
  { groups, runs, placeOf, wanted }: {
    readonly groups: readonly Groups[];
    readonly runs: Minutes;
    readonly placeOf: Uint32Array;
    /** Things that have a place. */
    readonly wanted: number;
  },
): readonly (WordGroups | undefined)[] {
  return groups.map(({ ids, values }) => {
    const cellsMax = GROUP_CELLS_PER_ROW * ids.length;
    if (runs.minutes.length > cellsMax) return undefined;
    const { cells, cellOf } = groupCells({ ids, width: values.length }, runs);
    const length = Math.min(wanted, Math.floor(cellsMax / cells.length));
    if (length === 0) return undefined;
    const entries = counter.countCells(placeOf, { length, cellOf, width: cells.length });
    return { values, cells, entries };
  });
}

/** Minutes and values that rows have together; the place of each row's among them. */
function groupCells(
  { ids, width }: { readonly ids: Uint16Array; readonly width: number },
  { minutes, starts }: Minutes,
): { readonly cells: readonly GroupCell[]; readonly cellOf: Uint32Array } {
  const rowsOf = new Uint32Array(minutes.length * width);
  const cellOf = new Uint32Array(ids.length);
  for (let at = 0; at < minutes.length; at += 1) {
    const end = starts[at + 1] as number;
    for (let row = starts[at] as number; row < end; row += 1) {
      const slot = at * width + (ids[row] as number);
      rowsOf[slot] = rowsOf[slot] as number + 1;
      cellOf[row] = slot;
    }
  }
  const cells: GroupCell[] = [];
  const placeOf = new Uint32Array(rowsOf.length);
  for (const [slot, rows] of rowsOf.entries()) {
    if (rows === 0) continue;
    placeOf[slot] = cells.length;
    cells.push({ minute: minutes[Math.floor(slot / width)] as number, value: slot % width, rows });
  }
  for (let row = 0; row < cellOf.length; row += 1) {
    cellOf[row] = placeOf[cellOf[row] as number] as number;
  }
  return { cells, cellOf };
}

/** The most frequent first; a pair comes behind its words. */
function wantedThings(
  rowsOf: Uint32Array,
  { words, rows }: { readonly words: number; readonly rows: number },
): readonly number[] {
  const pairs: number[] = [];
  for (let thing = words; thing < rowsOf.length; thing += 1) {
    if ((rowsOf[thing] as number) >= rows * PAIR_SHARE_MIN) pairs.push(thing);
  }
  const moreRows = (a: number, b: number) => (rowsOf[b] as number) - (rowsOf[a] as number);
  return [...rowsOf.keys().take(words), ...pairs.sort(moreRows).slice(0, PAIRS_MAX)]
    .sort((a, b) => moreRows(a, b) || a - b);
}

/** NULLs of each minute. */
function nullsOf(parts: readonly ColumnPart[], { minutes, starts }: Minutes): readonly number[] {
  const nulls = minutes.map(() => 0);
  let row = 0;
  let minute = 0;
  for (const { rows, data } of parts) {
    if (data.nullCount === 0) {
      row += rows;
      continue;
    }
    for (let at = 0; at < rows; at += 1, row += 1) {
      while (row >= (starts[minute + 1] as number)) minute += 1;
      if (isNull(data, at)) nulls[minute] = (nulls[minute] as number) + 1;
    }
  }
  return nulls;
}

/**
 * Counts rows by *thing*: words are the first of them, in the order of `terms`; pairs follow.
 */
class RowCounter {
  readonly #sequence: Sequence;
  readonly #words: number;
  /** By term: one more than its word; 0: it is not counted. */
  readonly #wordOf: Uint16Array;
  /** By both words: the pair's thing; 0: it is none. */
  readonly #pairOf: Uint32Array;
  /** By thing, of pairs alone: the place in `#pairOf`. */
  readonly #pairs: number[] = [];
  /** By thing: one more than the row that had it last. */
  readonly #seen: Uint32Array;
  /** By thing: how many rows have it. */
  readonly #counts: Uint32Array;
  /** The things of each row, row by row. */
  readonly #things: Uint16Array;
  #thingCount = 0;
  /** Where in `#things` each row ends. */
  readonly #thingEnds: Uint32Array;

  constructor(sequence: Sequence, terms: readonly number[], termCount: number) {
    this.#sequence = sequence;
    this.#words = terms.length;
    this.#wordOf = new Uint16Array(termCount);
    terms.forEach((term, word) => this.#wordOf[term] = word + 1);
    this.#pairOf = scratchInts(terms.length ** 2).fill(0);
    const most = terms.length + PAIRS_SEEN_MAX + 1;
    this.#seen = scratchInts(most).fill(0);
    this.#counts = scratchInts(most).fill(0);
    const { rowEnds } = sequence;
    // Each word makes itself and a pair.
    this.#things = scratchShorts(2 * (rowEnds.at(-1) ?? 0));
    this.#thingEnds = scratchInts(rowEnds.length);
    for (let row = 0, from = 0; row < rowEnds.length; row += 1) {
      throwIfLate();
      const end = rowEnds[row] as number;
      this.#countRow(row, from, end);
      from = end;
    }
  }

  /** Words and pairs. */
  get things(): number {
    return this.#words + this.#pairs.length;
  }

  /** How many rows have each thing. */
  get rowsOf(): Uint32Array {
    return this.#counts.subarray(0, this.things);
  }

  /** The words and pairs of each row. */
  get rowThings(): Pick<RowsToTell, "things" | "ends"> {
    return { things: this.#things, ends: this.#thingEnds };
  }

  isPair(thing: number): boolean {
    return thing >= this.#words;
  }

  /** The two words of a pair. */
  wordsOf(pair: number): readonly [number, number] {
    const place = this.#pairs[pair - this.#words] as number;
    return [Math.floor(place / this.#words), place % this.#words];
  }

  /**
   * How many rows of each cell have each of the first `length` things that have a place: by place,
   * then by cell.
   */
  countCells(placeOf: Uint32Array, { length, cellOf, width }: {
    readonly length: number;
    /** By row, below `width`. */
    readonly cellOf: Uint32Array;
    readonly width: number;
  }): readonly Uint32Array[] {
    const [things, thingEnds] = [this.#things, this.#thingEnds];
    // All other things are counted as one: a loop that asks for each takes longer. A cell's counts
    // lie together, since neighbours are in few cells.
    const step = length + 1;
    const slotOf = placeOf.map((place) => Math.min(place, length));
    const counts = scratchInts(step * width).fill(0);
    for (let row = 0, at = 0; row < thingEnds.length; row += 1) {
      const [end, start] = [thingEnds[row] as number, step * (cellOf[row] as number)];
      for (; at < end; at += 1) {
        const slot = start + (slotOf[things[at] as number] as number);
        counts[slot] = (counts[slot] as number) + 1;
      }
    }
    return Array.from({ length }, (_, place) => {
      const own = new Uint32Array(width);
      for (let cell = 0; cell < width; cell += 1) own[cell] = counts[cell * step + place] as number;
      return own;
    });
  }

  /** Lists and counts the things of the words from `from` to `end`, which are those of `row`. */
  #countRow(row: number, from: number, end: number): void {
    const { terms } = this.#sequence;
    const [wordOf, pairOf, words] = [this.#wordOf, this.#pairOf, this.#words];
    let before = 0;
    for (let at = from; at < end; at += 1) {
      const word = wordOf[terms[at] as number] as number;
      if (word !== 0) {
        this.#add(word - 1, row);
        if (before !== 0) {
          const place = (before - 1) * words + word - 1;
          this.#add(pairOf[place] || this.#addPair(place), row);
        }
      }
      before = word;
    }
    this.#thingEnds[row] = this.#thingCount;
  }

  #add(thing: number, row: number): void {
    if (this.#seen[thing] === row + 1) return;
    this.#seen[thing] = row + 1;
    this.#things[this.#thingCount] = thing;
    this.#thingCount += 1;
    this.#counts[thing] = (this.#counts[thing] as number) + 1;
  }

  /** The thing of a new pair. Past `PAIRS_SEEN_MAX` all are one thing, which is no pair. */
  #addPair(place: number): number {
    const thing = this.things;
    this.#pairOf[place] = thing;
    if (this.#pairs.length < PAIRS_SEEN_MAX) this.#pairs.push(place);
    return thing;
  }
}
