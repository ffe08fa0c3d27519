/**
 * Which rows of one data file may meet a query, by the file's indexes.
 *
 * Invariant: the answer has every row that does. What no index can tell is taken as if every row
 * met it, and so is what an index would tell that is missing or damaged.
 */

import { unreachable } from "../../base/assert.ts";
import { utf8 } from "../../base/bytes.ts";
import { isOperatingError } from "../../base/errors.ts";
import { othersTurn } from "../../base/others_turn.ts";
import { runSteps, type Soon, soon, type SoonSteps } from "../../base/steps.ts";
import type { BlobPlace } from "../puffin.ts";
import { unknownHash } from "../text/member_hashes.ts";
import {
  GRANULES_MIN_PROPERTY,
  isPairable,
  pairHash,
  PAIRS_TYPE,
  wordHash,
} from "../text/pairs_format.ts";
import { stemOf } from "../text/stem.ts";
import { tokenize } from "../text/tokenize.ts";
import { FILTER_TYPE, ValueFilter } from "../text/value_filter.ts";
import { columnHashes, RISING_VALUES_TYPE, VALUES_TYPE } from "../text/values_format.ts";
import { ValuesIndex } from "../text/values_index.ts";
import { MIXED_WORDS_TYPE, UNCODED_WORDS_TYPE, WORDS_TYPE } from "../text/words_format.ts";
import { WordsIndex } from "../text/words_index.ts";
import type { IndexedFile } from "./indexed_file.ts";
import { isTellable, literalWords } from "./literal_words.ts";
import {
  type Opened,
  openIndex,
  placeOfIndex,
  type SomeIndex,
  unusableIndex,
  type WantedIndex,
} from "./open_index.ts";
import type { EqualsQuery, RowQuery, RowSet, SubstringQuery, TermsQuery } from "./row_query.ts";
import { NO_ROWS, rangesOfGranules, rowSetOf } from "./row_ranges.ts";
import { type Hash, tellsOf, valueRows, type WantedValues, wantedValues } from "./value_lookup.ts";
import { both, either, type Found, isEmpty, isOthersTurn, WordLookup } from "./word_lookup.ts";

const WORDS_TYPES = [WORDS_TYPE, MIXED_WORDS_TYPE, UNCODED_WORDS_TYPE];
const VALUES_TYPES = [VALUES_TYPE, RISING_VALUES_TYPE];
const FILTER_TYPES = [FILTER_TYPE];
const PAIRS_TYPES = [PAIRS_TYPE];
/** Types of the blobs that rows are found by. */
export const LOOKUP_TYPES: ReadonlySet<string> = new Set([
  ...WORDS_TYPES,
  ...VALUES_TYPES,
  ...FILTER_TYPES,
  ...PAIRS_TYPES,
]);
/**
 * The answer at once where `file` has all at hand. Errors: what `file.read` throws but `corrupt`,
 * which `file.damaged` is told of.
 */
export function findRows(query: RowQuery, file: IndexedFile): Soon<RowSet> {
  return runSteps(foundRows(query, file));
}

function* foundRows(query: RowQuery, file: IndexedFile): SoonSteps<RowSet> {
  const finder = new RowFinder(file);
  // One condition asks the filter itself.
  const isOut = (query.kind === "and" || query.kind === "or") && (yield* finder.isOut(query));
  const found = isOut ? NO_ROWS : yield* finder.find(query);
  if (found === undefined) return { kind: "all" };
  return rowSetOf(found, { rows: file.rows, rowGroupRows: finder.rowGroupRows });
}

class RowFinder {
  /** Rows of a row group of the file, known once an index was opened. */
  rowGroupRows = 1;
  readonly #file: IndexedFile;

  constructor(file: IndexedFile) {
    this.#file = file;
  }

  /**
   * Whether the filter of values tells that no row meets the query. It is asked first, because it
   * is in memory.
   */
  *isOut(query: RowQuery): SoonSteps<boolean> {
    switch (query.kind) {
      case "and":
        for (const one of query.of) if (yield* this.isOut(one)) return true;
        return false;
      case "or":
        for (const one of query.of) if (!(yield* this.isOut(one))) return false;
        return true;
      case "equals":
      case "attribute":
        return (yield* this.#letThrough(query.column, wantedValues(query)))?.length === 0;
      default:
        return false;
    }
  }

  find(query: RowQuery): SoonSteps<Found> {
    switch (query.kind) {
      case "all":
        return soon<Found>(undefined);
      case "and":
        return this.#findAll(query.of);
      case "or":
        return this.#findAny(query.of);
      case "terms":
        return this.#findTerms(query);
      case "substring":
        return this.#findSubstring(query);
      case "equals":
        return this.#findEqual(query);
      case "attribute":
        return this.#inValues(query.column, wantedValues(query));
      default:
        return unreachable(query);
    }
  }

  *#findAll(queries: readonly RowQuery[]): SoonSteps<Found> {
    let found: Found;
    for (const query of queries) {
      found = both(found, yield* this.find(query));
      if (isEmpty(found)) break;
    }
    return found;
  }

  *#findAny(queries: readonly RowQuery[]): SoonSteps<Found> {
    let found: Found = NO_ROWS;
    for (const [at, query] of queries.entries()) {
      if (isOthersTurn(at)) yield othersTurn();
      found = either(found, yield* this.find(query));
      if (found === undefined) break;
    }
    return found;
  }

  *#findTerms(query: TermsQuery): SoonSteps<Found> {
    if (!isTellable(query.text)) return undefined;
    const words = tokenize(query.text);
    if (words.length === 0) return NO_ROWS;
    return yield* this.#inWords(query.column, (lookup) => this.#termsIn(lookup, words, query));
  }

  *#termsIn(
    lookup: WordLookup,
    words: readonly string[],
    { column, mode, isStemmed }: TermsQuery,
  ): SoonSteps<Found> {
    const own = isStemmed === true ? words.map(stemOf) : words;
    if (mode === "any") return yield* lookup.any(own, isStemmed);
    const [prefix] = mode === "prefix" ? words.slice(-1) : [];
    const count = prefix === undefined ? words.length : words.length - 1;
    const whole = own.slice(0, count);
    const found = yield* lookup.all(
      { whole, ...(prefix === undefined ? {} : { prefix }) },
      isStemmed,
    );
    if (mode === "all" || count < 2 || isStemmed === true || isEmpty(found)) return found;
    const beside = yield* this.#findBeside(column, { words: words.slice(0, count), lookup });
    return both(found, beside);
  }

  /**
   * Rows that may have each word directly before the next, where words are frequent; all were
   * looked up.
   */
  #findBeside(
    column: string,
    { words, lookup }: { readonly words: readonly string[]; readonly lookup: WordLookup },
  ): SoonSteps<Found> {
    return this.#inIndex(
      { types: PAIRS_TYPES, column, Index: ValuesIndex },
      (opened) => besideRows(opened, { words, lookup }),
    );
  }

  *#findSubstring({ column, text }: SubstringQuery): SoonSteps<Found> {
    const words = literalWords(text);
    if (words === undefined) return undefined;
    return yield* this.#inWords(column, (lookup) => lookup.all(words));
  }

  *#findEqual(query: EqualsQuery): SoonSteps<Found> {
    const { column, values } = query;
    const inWords = yield* this.#inWords(column, (lookup) => equalRows(lookup, values));
    return both(inWords, yield* this.#inValues(column, wantedValues(query)));
  }

  #inWords(column: string, find: (lookup: WordLookup) => SoonSteps<Found>): SoonSteps<Found> {
    return this.#inIndex(
      { types: WORDS_TYPES, column, Index: WordsIndex },
      ({ index, read }) => find(new WordLookup(index, read)),
    );
  }

  /** Rows that have one of the values. */
  *#inValues(column: string, wanted: WantedValues): SoonSteps<Found> {
    const letThrough = yield* this.#letThrough(column, wanted);
    if (letThrough?.length === 0) return NO_ROWS;
    return yield* this.#inIndex(
      { types: VALUES_TYPES, column, Index: ValuesIndex },
      (opened) => valueRows(opened, wanted, letThrough),
    );
  }

  /**
   * The hashes that the filter of the column's values lets through. Undefined where there is no
   * filter.
   */
  *#letThrough(column: string, wanted: WantedValues): SoonSteps<readonly Hash[] | undefined> {
    const opened = yield* this.#open({ types: FILTER_TYPES, column, Index: ValueFilter });
    if (opened === undefined) return undefined;
    const { index, id, place } = opened;
    if (index.columns.get(id) !== wanted.kind || !tellsOf(place, wanted)) return undefined;
    return wanted.hashesOf(id).filter(({ hash }) => index.mayHold(hash));
  }

  /**
   * What `find` finds in the index of this type that `column` has; any row, without a sound one.
   */
  *#inIndex<T extends SomeIndex>(
    wanted: WantedIndex<T>,
    find: (opened: Opened<T>) => SoonSteps<Found>,
  ): SoonSteps<Found> {
    const opened = yield* this.#open(wanted);
    if (opened === undefined) return undefined;
    try {
      return yield* find(opened);
    } catch (error) {
      return this.#withoutDamaged(opened.place, error);
    }
  }

  /** Undefined: there is no sound one. */
  *#open<T extends SomeIndex>(wanted: WantedIndex<T>): SoonSteps<Opened<T> | undefined> {
    const found = placeOfIndex(this.#file, wanted);
    if (found === undefined) return undefined;
    try {
      const opened = yield* openIndex(this.#file, found, wanted.Index);
      this.rowGroupRows = opened.index.rowGroupRows;
      return opened;
    } catch (error) {
      return this.#withoutDamaged(found.place, error);
    }
  }

  #withoutDamaged(place: BlobPlace, error: unknown): undefined {
    if (!isOperatingError(error, "corrupt")) throw error;
    this.#file.damaged(place, error);
  }
}

function* equalRows(lookup: WordLookup, values: readonly string[]): SoonSteps<Found> {
  let found: Found = NO_ROWS;
  // Equal texts have equal words, even where DuckDB would cut them differently.
  for (const [at, value] of values.entries()) {
    if (isOthersTurn(at)) yield othersTurn();
    found = either(found, yield* lookup.all({ whole: tokenize(value.toWellFormed()) }));
  }
  return found;
}

function* besideRows(
  { index, read, id, place }: Opened<ValuesIndex>,
  { words, lookup }: { readonly words: readonly string[]; readonly lookup: WordLookup },
): SoonSteps<Found> {
  const min = granulesMinOf(place);
  const hashes = words.map((word) => {
    const bytes = utf8(word);
    return isPairable(bytes) && lookup.isFrequent(word, min) ? wordHash(bytes) : undefined;
  });
  let found: Found;
  for (let at = 1; at < words.length && !isEmpty(found); at += 1) {
    const [first, second] = [hashes[at - 1], hashes[at]];
    if (first === undefined || second === undefined) continue;
    const granules = yield* index.find(pairHash(first, second), read);
    if (granules !== "everywhere") found = both(found, rangesOfGranules(granules, index));
  }
  if (found === undefined || index.columns.get(id)?.hasUnknown !== true) return found;
  const unknown = yield* index.find(unknownHash(columnHashes(id)), read);
  return unknown === "everywhere" ? undefined : either(found, rangesOfGranules(unknown, index));
}

function granulesMinOf({ properties }: BlobPlace): number {
  const min = Number(properties[GRANULES_MIN_PROPERTY]);
  if (Number.isInteger(min) && min > 0) return min;
  throw unusableIndex(`lists pairs of words in ${properties[GRANULES_MIN_PROPERTY]} granules`);
}
