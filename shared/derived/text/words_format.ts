/** What the writer and the reader of word indexes share; README.md has the bytes. */

export const WORDS_TYPE = "svc-words-v3";
/**
 * Types of word indexes that are read, and no longer written. In both, texts have their sizes and
 * hashes among them. The first one has no coding of single granules (`single_granules.ts`) either.
 */
export const MIXED_WORDS_TYPE = "svc-words-v2";
export const UNCODED_WORDS_TYPE = "svc-words-v1";
/** Property of a blob: how many bytes of it its header takes. */
export const HEADER_BYTES_PROPERTY = "header-bytes";

/**
 * Behind the text of a term: more follows, only of hexadecimal digits, and a byte of the whole
 * term's hash is kept.
 */
export const CUT_DIGITS = 1;
/** Behind the text of a term: anything may follow, or nothing. */
export const CUT_ANY = 2;

/** Length of a list that stands for all granules, and of one that is a single granule. */
export const EVERYWHERE = 0;
export const SINGLE = 1;

/** A text's common and own bytes have four bits each; from this on, more follow. */
export const NIBBLE_MAX = 15;

/** The disputed granules: none, all, or a list. */
export const DISPUTED_NONE = 0;
export const DISPUTED_ALL = 1;
export const DISPUTED_LIST = 2;

/** A granule has at least 2^`SHIFT_MIN` rows. */
export const SHIFT_MIN = 4;
/** Granules are made coarser in such steps, up to 2^`SHIFT_MAX` rows. */
export const SHIFT_STEP = 2;
export const SHIFT_MAX = 8;

/** Bits that tell `total` granules apart. */
export function granuleBits(total: number): number {
  return total <= 1 ? 0 : 32 - Math.clz32(total - 1);
}

/** How many granules a file of so many rows has. */
export function granulesOf(rows: number, shift: number): number {
  return Math.ceil(rows / 2 ** shift);
}

/** `0-9a-f` */
export function isHexDigit(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x66);
}
