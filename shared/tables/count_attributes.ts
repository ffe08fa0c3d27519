/**
 * Which attributes rows have, and what their values are: what decides which of them become columns.
 * For samples, not for all rows.
 */

import { textOf } from "../base/bytes.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { isNull } from "../columns/rows.ts";
import { attributeAt, PATH_NAMES_MAX } from "../schema/attribute_path.ts";
import { ATTRIBUTES } from "../schema/promoted.ts";
import { MEMBER, MemberScanner } from "./member_scanner.ts";

/** Rows that have an attribute, by what the column of a kind can hold of it. */
export interface AttributeCount {
  readonly name: string;
  /** Strings and truth values. */
  readonly texts: number;
  /** Integers of 18 digits at most. */
  readonly integers: number;
  /** Other numbers. */
  readonly numbers: number;
  /** Bytes of the texts, and how many of these are distinct. */
  readonly textBytes: number;
  readonly distinctTexts: number;
}

export interface AttributeCounts {
  readonly rows: number;
  readonly attributes: readonly AttributeCount[];
}

/** Names that are told apart: what generates names by the thousand does not fill the memory. */
const NAMES_MAX = 1_024;
const DIGITS_MAX = 18;

/**
 * Counts the attributes of `batches`, those within nested objects as well. A row whose attributes
 * are no JSON object has none.
 */
export function countAttributes(batches: readonly ColumnBatch[]): AttributeCounts {
  const names = [...namesOf(batches)];
  const counts = names.map((name) => new Counting(name));
  const scanner = new MemberScanner(names);
  let rows = 0;
  for (const batch of batches) {
    rows += batch.rows;
    const column = attributesOf(batch);
    if (column === undefined) continue;
    const { kinds, starts, ends } = scanner.scan(column, batch.rows);
    for (const [at, count] of counts.entries()) {
      for (let row = 0; row < batch.rows; row += 1) {
        const kind = kinds[at]?.[row];
        if (kind === undefined || kind === MEMBER.absent) continue;
        count.add(kind, column.values.subarray(starts[at]?.[row], ends[at]?.[row]));
      }
    }
  }
  return { rows, attributes: counts };
}

class Counting implements AttributeCount {
  texts = 0;
  integers = 0;
  numbers = 0;
  textBytes = 0;
  readonly #distinct = new Set<string>();

  constructor(readonly name: string) {}

  get distinctTexts(): number {
    return this.#distinct.size;
  }

  add(kind: number, bytes: Uint8Array): void {
    if (kind === MEMBER.number) this.numbers += 1;
    else if (kind === MEMBER.integer && bytes.byteLength <= DIGITS_MAX) this.integers += 1;
    else if (kind === MEMBER.text || kind === MEMBER.escaped || kind === MEMBER.bool) {
      this.texts += 1;
      this.textBytes += bytes.byteLength;
      this.#distinct.add(textOf(bytes));
    }
  }
}

function namesOf(batches: readonly ColumnBatch[]): Set<string> {
  const names = new Set<string>();
  const root = placeAt([]);
  for (const batch of batches) {
    const column = attributesOf(batch);
    for (let row = 0; column !== undefined && row < batch.rows; row += 1) {
      if (isNull(column, row)) continue;
      const { offsets, values } = column;
      addNames(objectIn(values.subarray(offsets?.[row], offsets?.[row + 1])), root, names);
      if (names.size >= NAMES_MAX) return new Set([...names].slice(0, NAMES_MAX));
    }
  }
  return names;
}

function attributesOf(
  { schema, columns }: ColumnBatch,
): ColumnBatch["columns"][number] | undefined {
  return columns[schema.columns.findIndex(({ name }) => name === ATTRIBUTES)];
}

/** A name at its place in objects. What is known of it is kept, since all rows have it. */
interface Place {
  readonly names: readonly string[];
  /** What the value is called when it is no object. */
  readonly attribute: string | undefined;
  readonly within: Map<string, Place>;
}

function placeAt(names: readonly string[]): Place {
  return { names, attribute: attributeAt(names), within: new Map() };
}

/** Adds the attributes within `object`. */
function addNames(object: JsonObject, { names: before, within }: Place, names: Set<string>): void {
  for (const [name, value] of Object.entries(object)) {
    let place = within.get(name);
    if (place === undefined) {
      place = placeAt([...before, name]);
      if (within.size < NAMES_MAX) within.set(name, place);
    }
    if (!isObject(value)) {
      if (place.attribute !== undefined) names.add(place.attribute);
    } else if (place.names.length < PATH_NAMES_MAX) addNames(value, place, names);
  }
}

type JsonObject = Readonly<Record<string, unknown>>;

function objectIn(json: Uint8Array): JsonObject {
  try {
    const value: unknown = JSON.parse(textOf(json));
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
