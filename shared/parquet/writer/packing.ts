/** Whether, and how hard, the pages of a column chunk are compressed. */

import { constants, zstdCompressSync } from "node:zlib";
import { present } from "../../base/assert.ts";

const { ZSTD_c_compressionLevel: LEVEL, ZSTD_c_minMatch: MATCH_MIN } = constants;

/** The parameters of zstd. */
const WAYS = {
  quick: { [LEVEL]: 1 },
  usual: { [LEVEL]: 3 },
  short: { [LEVEL]: 3, [MATCH_MIN]: 4 },
  thorough: { [LEVEL]: 8, [MATCH_MIN]: 6 },
  fewNumbers: { [LEVEL]: 13 },
} as const;

type Way = keyof typeof WAYS;

/**
 * How hard a file is compressed. `thorough` is for files that are kept long: texts as small as
 * pays. `quick` and `none` are for files that are soon thrown away.
 */
export type Effort = "thorough" | "usual" | "quick" | "none";

/** A chunk has one codec for all its pages. */
export type Packing = Way | "none";

/**
 * Each chunk has the one that takes the fewest bytes of its first page. On the lines of real logs
 * level 1 took 5 % fewer bytes than 3, on generated ones 8 % more, in about the same time. Numbers
 * are repeated in fewer bytes than zstd looks for.
 */
const TEXT_WAYS: readonly Way[] = ["quick", "usual"];
/** Ways for texts of so few rows that they are one page: 1 MiB takes 8 ms. */
const FEW_ROWS = 4_096;
const FEW_TEXTS_WAYS: readonly Way[] = [...TEXT_WAYS, "thorough"];
export const NUMBER_WAYS: readonly Way[] = ["usual", "short"];
/**
 * Ways for numbers that are one page of few bytes. Times of real logs took 5 % fewer bytes so, in
 * 0.7 ms for 8 KiB.
 */
const FEW_NUMBERS_WAYS: readonly Way[] = [...NUMBER_WAYS, "fewNumbers"];
const FEW_NUMBERS_BYTES = 16 * 1024;
/**
 * What packing texts thoroughly must leave at most of what the quicker way leaves: it takes four to
 * five times as long. Lines of real logs took 13 % fewer bytes, 131 MB a second.
 */
const THOROUGH_SHARE_MAX = 9 / 10;
/** Bytes with which that is found out. */
const THOROUGH_SAMPLE_BYTES = 256 * 1024;
/**
 * So few bytes are not compressed: for a reader starting to decompress costs more than reading
 * them.
 */
const PLAIN_BYTES = 512;
/** Nor is what would keep so much of its bytes. */
const PACKED_SHARE_MAX = 7 / 8;
/** What the first way keeps so much of, no other keeps less than 7/8 of. */
const HOPELESS_SHARE = 63 / 64;
/** A first page with fewer bytes, of nulls for example, does not tell what others will be. */
const TELLING_BYTES = 4 * 1024;
/** Room for a compressed page, as a share of its bytes: one piece for almost every page. */
const ROOM_SHARE = 0.5;
const ROOM_BYTES_MIN = 4 * 1024;

/** The ways to try with a chunk whose first pages these are; `isAll`: it has no others. */
export function waysOf(
  pages: readonly Uint8Array[],
  { isText, rows, isAll, effort }: {
    readonly isText: boolean;
    /** Rows of the chunk. */
    readonly rows: number;
    readonly isAll: boolean;
    readonly effort: Effort;
  },
): readonly Way[] {
  if (effort === "none") return [];
  if (effort === "quick") return ["quick"];
  if (isText) return isAll && rows <= FEW_ROWS ? FEW_TEXTS_WAYS : TEXT_WAYS;
  return isAll && bytesOf(pages) <= FEW_NUMBERS_BYTES ? FEW_NUMBERS_WAYS : NUMBER_WAYS;
}

export interface PackedPages {
  readonly packing: Packing;
  readonly bodies: readonly Uint8Array[];
}

export interface PackingOptions {
  /** Tried with all of the pages. */
  readonly ways: readonly Way[];
  /** The chunk has no other pages. */
  readonly isAll: boolean;
  /** Whether it is packed thoroughly where that pays: default false. */
  readonly isThorough?: boolean;
  /**
   * What the column's chunk of the row group before was packed with: nothing else is tried while
   * that pays.
   */
  readonly before?: Packing | undefined;
}

/** How to pack a chunk, and its first `pages`, up to the first with data, packed so. */
export function packFirst(
  pages: readonly Uint8Array[],
  { ways, isAll, isThorough = false, before = "none" }: PackingOptions,
): PackedPages {
  const plainBytes = bytesOf(pages);
  if (isAll && plainBytes <= PLAIN_BYTES) return packedWith("none", pages);
  if (before !== "none" && (!isAll || ways.includes(before))) {
    const packed = packedWith(before, pages);
    if (bytesOf(packed.bodies) <= PACKED_SHARE_MAX * plainBytes) return packed;
  }
  const isTelling = isAll || plainBytes >= TELLING_BYTES;
  const [way = "none", ...others] = ways;
  const first = packedWith(way, pages);
  // Places in a dictionary, for example: no other way finds anything in them either.
  if (isTelling && bytesOf(first.bodies) > HOPELESS_SHARE * plainBytes) {
    return packedWith("none", pages);
  }
  const [best] = [first, ...others.map((packing) => packedWith(packing, pages))]
    .sort((a, b) => bytesOf(a.bodies) - bytesOf(b.bodies));
  if (best === undefined || isTelling && bytesOf(best.bodies) > PACKED_SHARE_MAX * plainBytes) {
    return packedWith("none", pages);
  }
  if (best.packing === "thorough") return best;
  return isThorough && paysThorough(pages, best.packing) ? packedWith("thorough", pages) : best;
}

function paysThorough(pages: readonly Uint8Array[], otherwise: Packing): boolean {
  const [largest] = pages.toSorted((a, b) => b.byteLength - a.byteLength);
  const sample = present(largest).subarray(0, THOROUGH_SAMPLE_BYTES);
  const [thorough, other] = [packPage(sample, "thorough"), packPage(sample, otherwise)];
  return thorough.byteLength <= THOROUGH_SHARE_MAX * other.byteLength;
}

/** A copy of its own. */
export function packPage(page: Uint8Array, packing: Packing): Uint8Array {
  if (packing === "none") return page.slice();
  const options = {
    chunkSize: Math.max(ROOM_BYTES_MIN, Math.ceil(page.byteLength * ROOM_SHARE)),
    params: WAYS[packing],
    // Known in advance, a small page takes half of the time.
    pledgedSrcSize: page.byteLength,
  };
  // What the runtime gives is a part of a larger buffer.
  return new Uint8Array(zstdCompressSync(page, options));
}

function packedWith(packing: Packing, pages: readonly Uint8Array[]): PackedPages {
  return { packing, bodies: pages.map((page) => packPage(page, packing)) };
}

function bytesOf(pages: readonly Uint8Array[]): number {
  return pages.reduce((sum, { byteLength }) => sum + byteLength, 0);
}
