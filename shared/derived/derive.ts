/**
 * Everything that is derived of a data file, in two parts that take about as long and can be made
 * beside each other.
 */

import { summaryBlobs, type SummaryLimits } from "./summary/build_summary.ts";
import { valuesBlobs, wordsBlobs } from "./text/text_blobs.ts";
import type { Done } from "../os/serve_tasks.ts";
import type { Blob, FileRows } from "./types.ts";

export interface DeriveRequest {
  readonly part: DerivedPart;
  readonly file: FileRows;
  readonly limits: SummaryLimits;
}

/** The parts in the order of their blobs. */
export const DERIVED_PARTS = ["words", "values"] as const;

export type DerivedPart = typeof DERIVED_PARTS[number];

/**
 * `words`: indexes of the words of text columns; `values`: the index of all others' values, and the
 * summary. Pure.
 */
export function derivePart(part: DerivedPart, file: FileRows, limits: SummaryLimits = {}): Blob[] {
  if (part === "words") return wordsBlobs(file);
  return [...valuesBlobs(file), ...summaryBlobs(file, limits)];
}

/** A part, as a thread's answer. */
export function deriveTask({ part, file, limits }: DeriveRequest): Done<Blob[]> {
  // What a blob is a part of stays here; `slice` of a Buffer would be no copy.
  const value = derivePart(part, file, limits).map((blob) => ({
    ...blob,
    data: new Uint8Array(blob.data),
  }));
  return { value, transfer: value.map(({ data }) => data.buffer) };
}

/** All of it. Pure; a file of 100,000 rows takes a good part of a second. */
export function derive(file: FileRows, limits: SummaryLimits = {}): Blob[] {
  return DERIVED_PARTS.flatMap((part) => derivePart(part, file, limits));
}
