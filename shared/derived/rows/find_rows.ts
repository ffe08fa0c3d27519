/**
 * Which rows of one data file may meet a query, by the file's indexes.
 *
 * Invariant: the answer has every row that does. What no index can tell is taken as if every row
 * met it, and so is what an index would tell that is missing or damaged.
 */

import { unreachable } from "../../base/assert.ts";
import { isOperatingError, OperatingError } from "../../base/errors.ts";
import { memoizeIn } from "../../base/memoize.ts";
import { stemOf } from "../text/stem.ts";
import { tokenize } from "../text/tokenize.ts";
import { utf8 } from "../../base/bytes.ts";
import { isNested } from "../../schema/attribute_path.ts";
import type { BlobPlace } from "../puffin.ts";
import {
  GRANULES_MIN_PROPERTY,
  isPairable,
  pairHash,
  PAIRS_TYPE,
  wordHash,
} from "../text/pairs_format.ts";
import { FILTER_TYPE, ValueFilter } from "../text/value_filter.ts";
import {
  memberHash,
  memberNameHash,
  unknownHash,
  unknownMemberHash,
  valueHash,
} from "../text/member_hashes.ts";
import { RISING_DIGITS_MAX, RISING_SHIFT } from "../text/rising_numbers.ts";
import {
  COLUMN_EMPTY,
  COLUMN_OBJECTS,
  COLUMN_PLAIN,
  columnHashes,
  NESTED_PROPERTY,
  RISING_VALUES_TYPE,
  VALUES_TYPE,
} from "../text/values_format.ts";
import { ValuesIndex } from "../text/values_index.ts";
import {
  HEADER_BYTES_PROPERTY,
  MIXED_WORDS_TYPE,
  UNCODED_WORDS_TYPE,
  WORDS_TYPE,
} from "../text/words_format.ts";
import { type ReadPart, WordsIndex } from "../text/words_index.ts";
import type { IndexedFile } from "./indexed_file.ts";
import { isTellable, literalWords } from "./literal_words.ts";
import { NO_ROWS, rangesOfGranules, type RowRanges, rowSetOf, union } from "./row_ranges.ts";
import type {
  AttributeQuery,
  EqualsQuery,
  RowQuery,
  RowSet,
  SubstringQuery,
  TermsQuery,
} from "./row_query.ts";
import { both, either, type Found, isEmpty, WordLookup } from "./word_lookup.ts";

/** A blob of no more bytes, header and blocks, is read whole at once, and kept. */
const WHOLE_BYTES_MAX = 16 * 1024;
const WORDS_TYPES = [WORDS_TYPE, MIXED_WORDS_TYPE, UNCODED_WORDS_TYPE];
const VALUES_TYPES = [VALUES_TYPE, RISING_VALUES_TYPE];
/** A number as `attr_get` gives it, of few enough digits to be told by where numbers rise. */
const NUMBER = new RegExp(`^(0|[1-9][0-9]{0,${RISING_DIGITS_MAX - 1}})$`);

/** Errors: what `file.read` throws but `corrupt`, which `file.damaged` is told of. */
export async function findRows(query: RowQuery, file: IndexedFile): Promise<RowSet> {
  const finder = new RowFinder(file);
  // One condition asks the filter itself.
  const isOut = (query.kind === "and" || query.kind === "or") && await finder.isOut(query);
  const found = isOut ? NO_ROWS : await finder.find(query);
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
  async isOut(query: RowQuery): Promise<boolean> {
    switch (query.kind) {
      case "and":
        return await this.#isAnyOut(query.of);
      case "or":
        return await this.#areAllOut(query.of);
      case "equals":
      case "attribute":
        return await this.#isFiltered(query.column, wantedValues(query));
      default:
        return false;
    }
  }

  async find(query: RowQuery): Promise<Found> {
    switch (query.kind) {
      case "all":
        return undefined;
      case "and":
        return await this.#findAll(query.of);
      case "or":
        return await this.#findAny(query.of);
      case "terms":
        return await this.#findTerms(query);
      case "substring":
        return await this.#findSubstring(query);
      case "equals":
        return await this.#findEqual(query);
      case "attribute":
        return await this.#findAttribute(query);
      default:
        return unreachable(query);
    }
  }

  async #findAll(queries: readonly RowQuery[]): Promise<Found> {
    let found: Found;
    for (const query of queries) {
      found = both(found, await this.find(query));
      if (isEmpty(found)) break;
    }
    return found;
  }

  async #findAny(queries: readonly RowQuery[]): Promise<Found> {
    let found: Found = NO_ROWS;
    for (const query of queries) {
      found = either(found, await this.find(query));
      if (found === undefined) break;
    }
    return found;
  }

  async #findTerms({ column, mode, text, isStemmed }: TermsQuery): Promise<Found> {
    if (!isTellable(text)) return undefined;
    const words = tokenize(text);
    if (words.length === 0) return NO_ROWS;
    return await this.#inWords(column, async (lookup) => {
      const own = isStemmed === true ? words.map(stemOf) : words;
      if (mode === "any") return await lookup.any(own, isStemmed);
      const prefix = mode === "prefix" ? words.pop() : undefined;
      const whole = own.slice(0, words.length);
      const found = await lookup.all(
        { whole, ...(prefix === undefined ? {} : { prefix }) },
        isStemmed,
      );
      if (mode === "all" || isStemmed === true || isEmpty(found)) return found;
      return both(found, await this.#findBeside(column, { words, lookup }));
    });
  }

  /**
   * Rows that may have each word directly before the next, where words are frequent; all were
   * looked up.
   */
  async #findBeside(
    column: string,
    { words, lookup }: { readonly words: readonly string[]; readonly lookup: WordLookup },
  ): Promise<Found> {
    const opened = { types: [PAIRS_TYPE], column, Index: ValuesIndex };
    return await this.#inIndex(opened, async ({ index, read, id, place }) => {
      const min = granulesMinOf(place);
      const hashes = words.map((word) => {
        const bytes = utf8(word);
        return isPairable(bytes) && lookup.isFrequent(word, min) ? wordHash(bytes) : undefined;
      });
      let found: Found;
      for (let at = 1; at < words.length && !isEmpty(found); at += 1) {
        const [first, second] = [hashes[at - 1], hashes[at]];
        if (first === undefined || second === undefined) continue;
        const granules = await index.find(pairHash(first, second), read);
        if (granules !== "everywhere") found = both(found, rangesOfGranules(granules, index));
      }
      if (found === undefined || index.columns.get(id)?.hasUnknown !== true) return found;
      const unknown = await index.find(unknownHash(columnHashes(id)), read);
      return unknown === "everywhere" ? undefined : either(found, rangesOfGranules(unknown, index));
    });
  }

  async #findSubstring({ column, text }: SubstringQuery): Promise<Found> {
    const words = literalWords(text);
    if (words === undefined) return undefined;
    return await this.#inWords(column, (lookup) => lookup.all(words));
  }

  async #findEqual(query: EqualsQuery): Promise<Found> {
    const { column, values } = query;
    const inWords = await this.#inWords(column, async (lookup) => {
      let found: Found = NO_ROWS;
      // Equal texts have equal words, even where DuckDB would cut them differently.
      for (const value of values) {
        found = either(found, await lookup.all({ whole: tokenize(value.toWellFormed()) }));
      }
      return found;
    });
    return both(inWords, await this.#inValues(column, wantedValues(query)));
  }

  #findAttribute(query: AttributeQuery): Promise<Found> {
    return this.#inValues(
      query.column,
      wantedValues(query),
      (index, id) => risingRows(query, { index, id }),
    );
  }

  async #inWords(column: string, find: (lookup: WordLookup) => Promise<Found>): Promise<Found> {
    return await this.#inIndex(
      { types: WORDS_TYPES, column, Index: WordsIndex },
      ({ index, read }) => find(new WordLookup(index, read)),
    );
  }

  /** Rows that have one of the values, and those that `unhashed` tells. */
  async #inValues(
    column: string,
    wanted: WantedValues,
    unhashed: (index: ValuesIndex, id: number) => RowRanges = () => NO_ROWS,
  ): Promise<Found> {
    const letThrough = await this.#letThrough(column, wanted);
    if (letThrough?.length === 0) return NO_ROWS;
    const opened = { types: VALUES_TYPES, column, Index: ValuesIndex };
    return await this.#inIndex(opened, async ({ index, read, id, place }) => {
      const actual = index.columns.get(id);
      if (actual?.kind === COLUMN_EMPTY) return NO_ROWS;
      if (actual?.kind !== wanted.kind || !tellsOf(place, wanted)) return undefined;
      const [unknown, ...own] = wanted.hashesOf(id);
      let found: Found = unhashed(index, id);
      for (const hash of letThrough ?? (actual.hasUnknown ? [unknown, ...own] : own)) {
        const granules = await index.find(hash, read);
        if (granules === "everywhere") return undefined;
        found = either(found, rangesOfGranules(granules, index));
      }
      return found;
    });
  }

  async #isAnyOut(queries: readonly RowQuery[]): Promise<boolean> {
    for (const query of queries) if (await this.isOut(query)) return true;
    return false;
  }

  async #areAllOut(queries: readonly RowQuery[]): Promise<boolean> {
    for (const query of queries) if (!await this.isOut(query)) return false;
    return true;
  }

  async #isFiltered(column: string, wanted: WantedValues): Promise<boolean> {
    return (await this.#letThrough(column, wanted))?.length === 0;
  }

  /**
   * The hashes that the filter of the column's values lets through. Undefined where there is no
   * filter.
   */
  async #letThrough(column: string, wanted: WantedValues): Promise<readonly number[] | undefined> {
    let hashes: readonly number[] | undefined;
    const opened = { types: [FILTER_TYPE], column, Index: ValueFilter };
    await this.#inIndex(opened, ({ index, id, place }) => {
      if (index.columns.get(id) !== wanted.kind || !tellsOf(place, wanted)) return undefined;
      hashes = wanted.hashesOf(id).filter((one) => index.mayHold(one));
      return undefined;
    });
    return hashes;
  }

  /**
   * What `find` finds in the index of this type that `column` has; any row, without a sound one.
   */
  async #inIndex<T extends SomeIndex>(
    { types, column, Index }: {
      readonly types: readonly string[];
      readonly column: string;
      readonly Index: IndexClass<T>;
    },
    find: (
      opened: Opened<T> & { readonly id: number; readonly place: BlobPlace },
    ) => Found | Promise<Found>,
  ): Promise<Found> {
    const file = this.#file;
    const id = file.schema.columns.find(({ name }) => name === column)?.id;
    const place = file.blobs.find(({ type, fields }) =>
      types.includes(type) && fields.includes(id ?? -1)
    );
    if (id === undefined || place === undefined) return undefined;
    try {
      const opened = await this.#open(place, Index);
      this.rowGroupRows = opened.index.rowGroupRows;
      return await find({ ...opened, id, place });
    } catch (error) {
      if (!isOperatingError(error, "corrupt")) throw error;
      file.damaged(place, error);
      return undefined;
    }
  }

  async #open<T extends SomeIndex>(
    place: BlobPlace,
    Index: IndexClass<T>,
  ): Promise<Opened<T>> {
    const file = this.#file;
    const { index, whole } = await file.open(place, async () => {
      const headerBytes = headerBytesOf(place);
      const isSmall = headerBytes < place.length && place.length <= WHOLE_BYTES_MAX;
      const length = isSmall ? place.length : headerBytes;
      const bytes = await file.read(place, { offset: 0, length });
      const index = new Index(bytes.subarray(0, headerBytes), place.type);
      if (index.rows !== file.rows) throw corrupt(`is of ${index.rows} rows, not of ${file.rows}`);
      return {
        index,
        whole: isSmall ? bytes : undefined,
        byteLength: index.byteLength + (isSmall ? bytes.byteLength : 0),
      };
    });
    const read: ReadPart = async (offset, length) => {
      if (offset + length > place.length) throw corrupt("ends within a block");
      if (whole !== undefined) return whole.subarray(offset, offset + length);
      return await file.read(place, { offset, length });
    };
    return { index, read };
  }
}

/** What is looked for in an index of values. */
interface WantedValues {
  /** What the column must hold, one of `COLUMN_…`. */
  readonly kind: number;
  /** Whether they are of a member within nested objects. */
  readonly isNested: boolean;
  /** In the column with this id. */
  readonly hashesOf: (id: number) => Hashes;
}

/** That of rows of which nothing is known, then all others. */
type Hashes = readonly [unknown: number, ...others: number[]];

/**
 * What a condition looks for. It is the same in all files: hashing the texts for each of them took
 * a tenth of a lookup.
 */
const wantedValues = memoizeIn(
  new WeakMap<EqualsQuery | AttributeQuery, WantedValues>(),
  (query) => {
    const own = query.kind === "equals"
      ? { kind: COLUMN_PLAIN, isNested: false }
      : { kind: COLUMN_OBJECTS, isNested: isNested(query.name) };
    return { ...own, hashesOf: memoizeIn(new Map<number, Hashes>(), (id) => hashesOf(query, id)) };
  },
);

function hashesOf(query: EqualsQuery | AttributeQuery, id: number): Hashes {
  return query.kind === "equals" ? equalHashes(query, id) : attributeHashes(query, id);
}

function equalHashes({ values }: EqualsQuery, id: number): Hashes {
  const hashes = columnHashes(id);
  return [unknownHash(hashes), ...values.map((value) => valueHash(hashes, value))];
}

function attributeHashes({ name, values }: AttributeQuery, id: number): Hashes {
  const hashes = columnHashes(id);
  const members = values.map((value) => memberHash(hashes, name, value));
  return [unknownHash(hashes), unknownMemberHash(hashes, name), ...members];
}

/** Whether the blob knows such values: an earlier version left nested members out. */
function tellsOf({ properties }: BlobPlace, { isNested }: WantedValues): boolean {
  return !isNested || properties[NESTED_PROPERTY] !== undefined;
}

/** Rows that may have one of the values as a number that has no hash. */
function risingRows(
  { name, values }: AttributeQuery,
  { index, id }: { readonly index: ValuesIndex; readonly id: number },
): RowRanges {
  const member = { column: id, name: memberNameHash(columnHashes(id), name) };
  let found = NO_ROWS;
  for (const value of values) {
    if (!NUMBER.test(value)) continue;
    const granules = index.findRising(Number(value), member);
    const rows = rangesOfGranules(granules, { shift: RISING_SHIFT, rows: index.rows });
    found = union(found, rows);
  }
  return found;
}

interface SomeIndex {
  readonly rows: number;
  readonly rowGroupRows: number;
  readonly byteLength: number;
}

/** Made from its header, and the type of its blob. */
type IndexClass<T> = new (header: Uint8Array, type: string) => T;

interface Opened<T> {
  readonly index: T;
  readonly read: ReadPart;
}

function headerBytesOf({ properties, length }: BlobPlace): number {
  const bytes = Number(properties[HEADER_BYTES_PROPERTY]);
  if (Number.isInteger(bytes) && bytes > 0 && bytes <= length) return bytes;
  throw corrupt(`has a header of ${properties[HEADER_BYTES_PROPERTY]} bytes`);
}

function granulesMinOf({ properties }: BlobPlace): number {
  const min = Number(properties[GRANULES_MIN_PROPERTY]);
  if (Number.isInteger(min) && min > 0) return min;
  throw corrupt(`lists pairs of words in ${properties[GRANULES_MIN_PROPERTY]} granules`);
}

function corrupt(why: string): OperatingError {
  return new OperatingError("corrupt", `Cannot use an index that ${why}`);
}
