/** Shapes of the rows that were searched, and which of them are new since yesterday. */

import { batch, signal } from "@preact/signals";
import { askSql, type Value } from "../api/sql_client.ts";
import { view } from "./log_address.ts";
import { type Asked, type Failure, failureOf, joinSearch, rowsCost } from "./log_state.ts";
import { knownPatternsSql, patternsSql } from "./log_statements.ts";

export interface Pattern {
  readonly text: string;
  readonly count: number;
  readonly example: string;
  /** Rows of each of `SPARK_BINS` parts of the range. */
  readonly spark: readonly number[];
}

export const SPARK_BINS = 30;
const PATTERNS_MAX = 100;
const DAY_MS = 86_400_000;
/** Rows of the week that ended a day ago are those of yesterday and before. */
const WEEK_MS = 7 * DAY_MS;

export const patterns = signal<readonly Pattern[] | undefined>(undefined);
export const patternsFailure = signal<Failure | undefined>(undefined);
/** Shapes that no row had before; undefined: not known, such as without rows of yesterday. */
export const newPatterns = signal<ReadonlySet<string> | undefined>(undefined);

joinSearch(async (now) => {
  if (view.peek() !== "patterns") return;
  patternsFailure.value = undefined;
  try {
    await runPatterns(now);
  } catch (error) {
    if (!now.signal.aborted) patternsFailure.value = failureOf(error);
  }
});

async function runPatterns(now: Asked): Promise<void> {
  const { query, known, signal } = now;
  const [text] = known.texts;
  if (text === undefined) {
    patterns.value = [];
    return;
  }
  const { from, to } = query.instants;
  const binMs = Math.max(1, (to - from) / SPARK_BINS);
  const sql = patternsSql(query, { text, patternsMax: PATTERNS_MAX, binMs });
  const answer = await askSql(sql, { signal, rowsMax: PATTERNS_MAX });
  const found = answer.rows.map(([pattern, count, example, bins, counts]) => ({
    text: String(pattern),
    count: Number(count),
    example: String(example),
    spark: sparkOf(listOf(bins), listOf(counts)),
  }));
  batch(() => {
    patterns.value = found;
    newPatterns.value = undefined;
    rowsCost.value = { answer, sql };
  });
  // Without an answer it stays unknown which shapes are new: the others need not go for it.
  await markNew(now, { text, shown: found.map((pattern) => pattern.text) }).catch(() => {});
}

function listOf(value: Value | undefined): readonly number[] {
  return Array.isArray(value) ? value.map(Number) : [];
}

function sparkOf(bins: readonly number[], counts: readonly number[]): readonly number[] {
  const spark = new Array<number>(SPARK_BINS).fill(0);
  bins.forEach((bin, at) => {
    const place = Math.max(0, Math.min(SPARK_BINS - 1, bin));
    spark[place] = (spark[place] ?? 0) + (counts[at] ?? 0);
  });
  return spark;
}

/** A shape is new where none of the newest rows of the week before the last 24 hours has it. */
async function markNew(
  { query, signal }: Asked,
  { text, shown }: { readonly text: string; readonly shown: readonly string[] },
): Promise<void> {
  if (shown.length === 0) return;
  const to = Math.min(Date.now(), query.instants.to) - DAY_MS;
  const before = { ...query, instants: { from: to - WEEK_MS, to } };
  const sql = knownPatternsSql(before, { text, patterns: shown });
  const { rows } = await askSql(sql, { signal, rowsMax: PATTERNS_MAX + 2 });
  // The row without a shape tells whether there were rows at all.
  if (!rows.some(([pattern, count]) => pattern === null && Number(count) > 0)) return;
  const known = new Set(rows.map(([pattern]) => pattern));
  newPatterns.value = new Set(shown.filter((pattern) => !known.has(pattern)));
}
