/**
 * How many rows have each frequent word of a text column, and each pair of them side by side,
 * minute by minute. A word that is in few granules is not counted: its index finds its rows.
 */

import { textOf } from "../../base/bytes.ts";
import { isNull } from "../../columns/rows.ts";
import { type Minutes, rowsOfRun } from "../summary/minutes.ts";
import type { ColumnPart, Sequence, Words } from "./collect_words.ts";
import { scratchInts } from "./scratch.ts";
import type { CountedEntry, WordCounts } from "./word_counts.ts";
import { granulesOf } from "./words_format.ts";

/** A word in a smaller share of the granules is found by its index. */
const GRANULES_SHARE_MIN = 1 / 4;
/** Words of a file that are counted, those in the most granules first. */
const WORDS_MAX = 512;
/** Pairs of these words that are counted, the most frequent first, and those that may be so. */
const PAIRS_MAX = 512;
const PAIRS_SEEN_MAX = 2 ** 16;
/** A pair in a smaller share of the rows is not counted. */
const PAIR_SHARE_MIN = 1 / 1_024;
/** A longer word is nobody's question. */
const WORD_BYTES_MAX = 64;
/** Counts by minute of a file, for each of its rows: the most frequent words have them. */
const CELLS_PER_ROW = 1 / 4;

/**
 * The counts of a column whose words are `words`, in granules of 2^`shift` rows. undefined: there
 * is nothing to count, or rows may match what their words do not.
 */
export function countWords(
  words: Words & { readonly sequence: Sequence },
  { parts, shift, runs }: {
    readonly parts: readonly ColumnPart[];
    readonly shift: number;
    readonly runs: Minutes;
  },
): WordCounts | undefined {
  const rows = parts.reduce((sum, part) => sum + part.rows, 0);
  const terms = frequentTerms(words, granulesOf(rows, shift));
  if (words.disputed.length > 0 || terms.length === 0) return undefined;
  const counter = new RowCounter(words.sequence, { terms, termCount: words.table.count });
  const byMinute = runs.minutes.map((_, at) =>
    counter.countTo(runs.starts[at] as number, runs.starts[at + 1] as number)
  );
  const texts = terms.map((term) =>
    textOf(words.table.bytes.subarray(words.table.startOf(term), words.table.endOf(term)))
  );
  const rowsOf = new Float64Array(counter.things);
  for (const { things, counts } of byMinute) {
    for (const [at, thing] of things.entries()) {
      if (thing < rowsOf.length) rowsOf[thing] = rowsOf[thing] as number + (counts[at] as number);
    }
  }
  const wanted = wantedThings(rowsOf, { words: terms.length, rows });
  const timed = Math.min(wanted.length, Math.floor(CELLS_PER_ROW * rows / runs.minutes.length));
  const places = new Map(wanted.map((thing, place) => [thing, place]));
  const entries = wanted.map((thing, place): CountedEntry => ({
    ...counter.isPair(thing)
      ? { pair: counter.wordsOf(thing).map((word) => places.get(word) as number) }
      : { word: texts[thing] as string },
    rows: rowsOf[thing] as number,
    byMinute: place < timed ? new Float64Array(runs.minutes.length) : undefined,
  }));
  for (const [minute, { things, counts }] of byMinute.entries()) {
    things.forEach((thing, at) => {
      const own = entries[places.get(thing) ?? -1]?.byMinute;
      if (own !== undefined) own[minute] = counts[at] as number;
    });
  }
  return {
    minutes: runs.minutes,
    rows: runs.minutes.map((_, at) => rowsOfRun(runs, at)),
    nulls: nullsOf(parts, runs),
    timed,
    entries,
  };
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

/** The most frequent first; a pair comes behind its words. */
function wantedThings(
  rowsOf: Float64Array,
  { words, rows }: { readonly words: number; readonly rows: number },
): readonly number[] {
  const pairs = [...rowsOf.keys()].slice(words)
    .filter((thing) => (rowsOf[thing] as number) >= rows * PAIR_SHARE_MIN)
    .sort((a, b) => (rowsOf[b] as number) - (rowsOf[a] as number)).slice(0, PAIRS_MAX);
  return [...rowsOf.keys().take(words), ...pairs]
    .sort((a, b) => (rowsOf[b] as number) - (rowsOf[a] as number) || a - b);
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

/** Rows of a run by thing: how many of them have it. */
interface RunCounts {
  readonly things: Uint32Array;
  readonly counts: Uint32Array;
}

/** Counts rows by *thing*: words are the first of them, in the order of `terms`; pairs follow. */
class RowCounter {
  readonly #sequence: Sequence;
  readonly #words: number;
  /** By term: one more than its word; 0: it is not counted. */
  readonly #wordOf: Uint16Array;
  /** By both words: the pair's thing; 0: it is none. */
  readonly #pairOf: Uint32Array;
  /** By thing, of pairs alone: the slot in `#pairOf`. */
  readonly #slots: number[] = [];
  /** By thing: one more than the row that had it last, and how many rows of the run had it. */
  readonly #seen: Uint32Array;
  readonly #counts: Uint32Array;
  /** Things of the run. */
  readonly #met: Uint32Array;

  constructor(
    sequence: Sequence,
    { terms, termCount }: { readonly terms: readonly number[]; readonly termCount: number },
  ) {
    this.#sequence = sequence;
    this.#words = terms.length;
    this.#wordOf = new Uint16Array(termCount);
    terms.forEach((term, word) => this.#wordOf[term] = word + 1);
    this.#pairOf = scratchInts(terms.length ** 2).fill(0);
    const most = terms.length + PAIRS_SEEN_MAX + 1;
    this.#seen = scratchInts(most).fill(0);
    this.#counts = scratchInts(most).fill(0);
    this.#met = scratchInts(most);
  }

  /** Words and pairs so far. */
  get things(): number {
    return this.#words + this.#slots.length;
  }

  isPair(thing: number): boolean {
    return thing >= this.#words;
  }

  /** The two words of a pair. */
  wordsOf(pair: number): readonly [number, number] {
    const slot = this.#slots[pair - this.#words] as number;
    return [Math.floor(slot / this.#words), slot % this.#words];
  }

  /** Counts rows `from` to before `end`. */
  countTo(from: number, end: number): RunCounts {
    const { terms, rowEnds } = this.#sequence;
    const [wordOf, pairOf, words] = [this.#wordOf, this.#pairOf, this.#words];
    const [seen, counts, met] = [this.#seen, this.#counts, this.#met];
    let metCount = 0;
    let at = from === 0 ? 0 : rowEnds[from - 1] as number;
    for (let row = from; row < end; row += 1) {
      const rowEnd = rowEnds[row] as number;
      for (let before = 0; at < rowEnd; at += 1) {
        const word = wordOf[terms[at] as number] as number;
        if (word !== 0) {
          if (seen[word - 1] !== row + 1) {
            seen[word - 1] = row + 1;
            const count = counts[word - 1] as number;
            if (count === 0) met[metCount++] = word - 1;
            counts[word - 1] = count + 1;
          }
          if (before !== 0) {
            const slot = (before - 1) * words + word - 1;
            const pair = pairOf[slot] || this.#addPair(slot);
            if (seen[pair] !== row + 1) {
              seen[pair] = row + 1;
              const count = counts[pair] as number;
              if (count === 0) met[metCount++] = pair;
              counts[pair] = count + 1;
            }
          }
        }
        before = word;
      }
    }
    const things = met.slice(0, metCount);
    const taken = things.map((thing) => counts[thing] as number);
    for (const thing of things) counts[thing] = 0;
    return { things, counts: taken };
  }

  /** The thing of a new pair. Past `PAIRS_SEEN_MAX` all are one thing, which is no pair. */
  #addPair(slot: number): number {
    const thing = this.things;
    this.#pairOf[slot] = thing;
    if (this.#slots.length < PAIRS_SEEN_MAX) this.#slots.push(slot);
    return thing;
  }
}
