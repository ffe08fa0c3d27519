/**
 * Everything that is derived of a data file, in two parts that take about as long and can be made
 * beside each other.
 */

import { summaryBlobs, type SummaryLimits } from "./summary/build_summary.ts";
import { deriveWords, valuesBlobs } from "./text/text_blobs.ts";
import { TOLD_WORDS_PROPERTY } from "./text/word_counts.ts";
import type { Done } from "../os/serve_tasks.ts";
import type { Blob, Derived, FileRows } from "./types.ts";

export interface DeriveRequest {
  readonly part: DerivedPart;
  readonly file: FileRows;
  readonly limits: SummaryLimits;
}

/** The parts in the order of their blobs. */
const DERIVED_PARTS = ["words", "values"] as const;

export type DerivedPart = typeof DERIVED_PARTS[number];

/**
 * `words`: indexes of the words of text columns, and columns of the words of each row; `values`:
 * the index of all others' values, and the summary. Pure.
 */
export function derivePart(
  part: DerivedPart,
  file: FileRows,
  limits: SummaryLimits = {},
): Derived {
  if (part === "words") return deriveWords(file);
  return { blobs: [...valuesBlobs(file), ...summaryBlobs(file, limits)], columns: [] };
}

/** A part, as a thread's answer. */
export function deriveTask({ part, file, limits }: DeriveRequest): Done<Derived> {
  const { blobs, columns } = derivePart(part, file, limits);
  // What a blob is a part of stays here; `slice` of a Buffer would be no copy.
  const own = blobs.map((blob) => ({ ...blob, data: new Uint8Array(blob.data) }));
  return {
    value: { blobs: own, columns },
    transfer: [...own.map(({ data }) => data.buffer), ...columns.map(({ ids }) => ids.buffer)],
  };
}

/**
 * The blobs of a file that is there already, in which nothing is told of the rows' words. Pure; a
 * file of 100,000 rows takes a good part of a second.
 */
export function deriveBlobs(file: FileRows, limits: SummaryLimits = {}): readonly Blob[] {
  return DERIVED_PARTS.flatMap((part) => withoutColumns(derivePart(part, file, limits)));
}

/** The blobs, for a data file that does not get the columns. */
export function withoutColumns({ blobs }: Derived): readonly Blob[] {
  return blobs.map((blob) => {
    if (blob.properties?.[TOLD_WORDS_PROPERTY] === undefined) return blob;
    const { [TOLD_WORDS_PROPERTY]: _, ...properties } = blob.properties;
    return { ...blob, properties };
  });
}
