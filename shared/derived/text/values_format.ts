/** What the writer and the reader of value indexes share; README.md has the bytes. */

import { utf8 } from "../../base/bytes.ts";
import { hashByte, hashBytes } from "./hash.ts";

export const VALUES_TYPE = "svc-values-v1";
/**
 * The type of value indexes in which some numbers have no hash: they are found by where they rise.
 */
export const RISING_VALUES_TYPE = "svc-values-v2";

/**
 * Property of a blob that has members of objects within objects. One without it, of an earlier
 * version, says nothing of them.
 */
export const NESTED_PROPERTY = "nested-members";

/** A column without a value, of values compared as they are, of JSON objects. */
export const COLUMN_EMPTY = 0;
export const COLUMN_PLAIN = 1;
export const COLUMN_OBJECTS = 2;

/** Flag beside them: there are rows of which nothing is known. */
export const HAS_UNKNOWN = 4;

/** Values of more bytes are not told apart. */
export const VALUE_BYTES_MAX = 256;

/**
 * A key is as many of the highest bits of a hash as number the distinct ones, and these more: one
 * in 1,024 is mistaken.
 */
export const KEY_EXTRA_BITS = 10;
/** So that a key and a thing's number fit a double. */
export const KEY_BITS_MAX = 31;

/** Bits of a key that tell so many hashes apart, and ten more, 31 at most. */
export function keyBitsOf(hashes: number): number {
  return Math.min(KEY_BITS_MAX, 32 - Math.clz32(hashes) + KEY_EXTRA_BITS);
}

/** The highest `keyBits` bits of a hash. */
export function hashKeyOf(hash: number, keyBits: number): number {
  return hash >>> (32 - keyBits);
}

/** Whether a value in `count` of `total` granules is in too many to be looked for by an index. */
export function isCommon(count: number, total: number): boolean {
  return count > 1 && 8 * count > total;
}

/**
 * The hashes of a column's entries: each but `unknown` is what the bytes behind it are added to.
 */
export interface ColumnHashes {
  /** Rows of which nothing is known. */
  readonly unknown: number;
  /** Then: a value. */
  readonly value: number;
  /** Then: a name or a path, a zero byte, a value as text. */
  readonly member: number;
  /** Then: a name or a path. Rows whose member called so has a value that is not told apart. */
  readonly unknownMember: number;
}

/** What the hashes of a column's values begin with, by what is hashed. */
export function columnHashes(id: number): ColumnHashes {
  const column = hashBytes(utf8(String(id)));
  const kind = (sign: string) => hashByte(column, sign.charCodeAt(0));
  return {
    unknown: kind("?"),
    value: kind("="),
    member: kind("."),
    unknownMember: kind("!"),
  };
}
