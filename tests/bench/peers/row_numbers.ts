/**
 * What the number of a row decides beside its template: its time, its identifiers and its duration.
 * These are all that differs between two rows of one template, so they make each row unique.
 */

import { hex32, mix } from "./mix.ts";

/** Rows lie in the two hours from here, in the order of their numbers. */
export const DATA_BEGIN_NS = 1_736_899_200_000_000_000n; // 2025-01-15T00:00:00Z
export const DATA_SPAN_NS = 7_200_000_000_000n;

/** Stands in place of the identifier of `RARE_ROWS` rows, at even distances: one word. */
export const RARE_WORD = "heliotropewombat";
export const RARE_ROWS = 10;

export const ROWS_PER_TRACE = 4;
const SALT = { trace: 11, span: 12, id: 13, duration: 14, magnitude: 15 };
/** Most durations are some tens of milliseconds; one of eight takes seconds. */
const MAGNITUDES = [0, 1, 1, 1, 1, 2, 2, 3];

/** Nanoseconds from one row to the next in a set of `total` rows. */
export function stepNs(total: number): bigint {
  return DATA_SPAN_NS / BigInt(total);
}

export function timeNsOf(row: number, total: number): bigint {
  return DATA_BEGIN_NS + BigInt(row) * stepNs(total);
}

/** 16 characters that stand in the text of the row and nowhere else, but for the rare word. */
export function idOf(row: number, total: number): string {
  if (isRare(row, total)) return RARE_WORD;
  return hex32(idWord(row, 0)) + hex32(idWord(row, 1));
}

export function isRare(row: number, total: number): boolean {
  const every = Math.max(1, Math.floor(total / RARE_ROWS));
  return row % every === every >> 1 && row < every * RARE_ROWS;
}

/** 32 of the 64 bits of the identifier of a row that is not rare; `word` is 0 or 1. */
export function idWord(row: number, word: number): number {
  return mix(row, SALT.id + 100 * word);
}

/** 32 of the 128 bits of a row's trace id; `word` from 0 to 3. Four rows share a trace. */
export function traceWord(row: number, word: number): number {
  return mix(Math.floor(row / ROWS_PER_TRACE), SALT.trace + 100 * word);
}

export function traceIdOf(row: number): string {
  return [0, 1, 2, 3].map((word) => hex32(traceWord(row, word))).join("");
}

/** 32 of the 64 bits of a row's span id; `word` is 0 or 1. */
export function spanWord(row: number, word: number): number {
  return mix(row, SALT.span + 100 * word);
}

export function spanIdOf(row: number): string {
  return hex32(spanWord(row, 0)) + hex32(spanWord(row, 1));
}

/** `mantissa / 10000 × 10^magnitude` milliseconds: all have the same width as text. */
export function durationParts(row: number): { mantissa: number; magnitude: number } {
  return {
    mantissa: 10_000 + mix(row, SALT.duration) % 90_000,
    magnitude: MAGNITUDES[mix(row, SALT.magnitude) & 7] ?? 0,
  };
}

/** Milliseconds: the number nearest to the text. */
export function durationOf(row: number): number {
  const { mantissa, magnitude } = durationParts(row);
  return mantissa / 10 ** (4 - magnitude);
}
