/** Rows of a column by its values, or by those of members of its objects, in ranges. */

import { memoizeIn } from "../../base/memoize.ts";
import type { SoonSteps } from "../../base/steps.ts";
import { isNested } from "../../schema/attribute_path.ts";
import type { BlobPlace } from "../puffin.ts";
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
} from "../text/values_format.ts";
import type { ValuesIndex } from "../text/values_index.ts";
import type { Opened } from "./open_index.ts";
import type { AttributeQuery, EqualsQuery } from "./row_query.ts";
import { NO_ROWS, rangesOfGranules, type RowRanges, union } from "./row_ranges.ts";
import { either, type Found } from "./word_lookup.ts";

/** A number as `attr_get` gives it, of few enough digits to be told by where numbers rise. */
const NUMBER = new RegExp(`^(0|[1-9][0-9]{0,${RISING_DIGITS_MAX - 1}})$`);

/** What is looked for in an index of values. */
export interface WantedValues {
  /** What the column must hold, one of `COLUMN_…`. */
  readonly kind: number;
  /** Whether they are of a member within nested objects. */
  readonly isNested: boolean;
  /** In the column with this id. */
  readonly hashesOf: (id: number) => readonly Hash[];
  /** Undefined: none of the values may be a number that has no hash. */
  readonly rising: RisingNumbers | undefined;
}

export interface Hash {
  readonly hash: number;
  /**
   * What rows are found by it: those that have a value, or those of which nothing is known, by the
   * column or by the name of a member. The latter are asked for with each value.
   */
  readonly of: "value" | "name" | "column";
}

interface RisingNumbers {
  readonly name: string;
  readonly numbers: readonly number[];
}

/**
 * What a condition looks for. It is the same in all files: hashing the texts for each of them took
 * a tenth of a lookup.
 */
export const wantedValues = memoizeIn(
  new WeakMap<EqualsQuery | AttributeQuery, WantedValues>(),
  (query) => {
    const hashesOf = memoizeIn(new Map<number, readonly Hash[]>(), (id) => hashesIn(query, id));
    if (query.kind === "equals") {
      return { kind: COLUMN_PLAIN, isNested: false, hashesOf, rising: undefined };
    }
    const { name, values } = query;
    const numbers = values.filter((value) => NUMBER.test(value)).map(Number);
    const rising = numbers.length === 0 ? undefined : { name, numbers };
    return { kind: COLUMN_OBJECTS, isNested: isNested(name), hashesOf, rising };
  },
);

function hashesIn(query: EqualsQuery | AttributeQuery, id: number): readonly Hash[] {
  const hashes = columnHashes(id);
  const all: Hash[] = [{ hash: unknownHash(hashes), of: "column" }];
  if (query.kind === "attribute") {
    all.push({ hash: unknownMemberHash(hashes, query.name), of: "name" });
  }
  for (const value of query.values) {
    const hash = query.kind === "equals"
      ? valueHash(hashes, value)
      : memberHash(hashes, query.name, value);
    all.push({ hash, of: "value" });
  }
  return all;
}

/** Whether the blob knows such values: an earlier version left nested members out. */
export function tellsOf({ properties }: BlobPlace, { isNested }: WantedValues): boolean {
  return !isNested || properties[NESTED_PROPERTY] !== undefined;
}

/** Rows that may have one of the values as a number that has no hash. */
function risingRows(
  { rising }: WantedValues,
  { index, id }: { readonly index: ValuesIndex; readonly id: number },
): RowRanges {
  let found = NO_ROWS;
  if (rising === undefined) return found;
  const member = { column: id, name: memberNameHash(columnHashes(id), rising.name) };
  for (const number of rising.numbers) {
    const granules = index.findRising(number, member);
    const rows = rangesOfGranules(granules, { shift: RISING_SHIFT, rows: index.rows });
    found = union(found, rows);
  }
  return found;
}

/**
 * The rows that the index tells. `letThrough` are the hashes that a filter of the column's values
 * lets through; undefined where there is no filter.
 */
export function* valueRows(
  { index, read, id, place }: Opened<ValuesIndex>,
  wanted: WantedValues,
  letThrough: readonly Hash[] | undefined,
): SoonSteps<Found> {
  const actual = index.columns.get(id);
  if (actual?.kind === COLUMN_EMPTY) return NO_ROWS;
  if (actual?.kind !== wanted.kind || !tellsOf(place, wanted)) return undefined;
  let found: Found = risingRows(wanted, { index, id });
  for (const { hash, of } of letThrough ?? wanted.hashesOf(id)) {
    if (of === "column" && letThrough === undefined && !actual.hasUnknown) continue;
    const granules = yield* of === "value" ? index.find(hash, read) : index.findOften(hash, read);
    if (granules === "everywhere") return undefined;
    found = either(found, rangesOfGranules(granules, index));
  }
  return found;
}
