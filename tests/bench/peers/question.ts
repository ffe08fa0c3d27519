/** What is asked, how an answer is compared, and what a system has to say of how it is asked. */

import { DATA_BEGIN_NS, idOf, RARE_WORD, traceIdOf } from "./row_numbers.ts";
import type { Shape, Subject } from "./shape.ts";

export const QUESTIONS = {
  range: "count in a time range",
  service: "group by service",
  minute: "minute × severity",
  rare: "rare word, 10 rows",
  part: "substring, counted",
  phrase: "common phrase, counted",
  newest: "newest 100 of a service and a severity",
  lookup: "one trace, or one id",
  another: "the same, another each time",
  top: "top 10 of an attribute",
  average: "avg and p95 of a number by service",
  regex: "regular expression, counted",
  rows: "100,000 rows out",
} as const;

export type QuestionName = keyof typeof QUESTIONS;
export const QUESTION_NAMES = Object.keys(QUESTIONS) as readonly QuestionName[];

/** A question of one scope. `another` is `lookup` of a scope for each time. */
export type SystemQuestion = Exclude<QuestionName, "another">;
export const SYSTEM_QUESTIONS = QUESTION_NAMES.filter((name) => name !== "another");

/** What an answer comes to: a number by its key, which is empty where there is but one. */
export type Answer = ReadonlyMap<string, number>;

/** What is right: a number, or the least and the greatest that are. */
export type RightAnswer = ReadonlyMap<string, number | readonly [number, number]>;

/** One request to a running system; the text of a 200. Its time counts. */
export type Call = (path: string, body?: string, contentType?: string) => Promise<string>;

/** Asks; what it returns reads the answer, whose time does not count. */
export type Ask = (call: Call) => Promise<() => Answer>;

/** A text says why a system cannot be asked. */
export type Questions = Readonly<Record<SystemQuestion, Ask | string>>;

/** What the questions name. Times are milliseconds since 1970, the end excluded. */
export interface Scope {
  readonly subject: Subject;
  readonly dataBeginMs: number;
  readonly dataEndMs: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly rareWord: string;
  readonly part: string;
  readonly phrase: readonly [string, string];
  readonly regex: string;
  /** The row that is looked up: number, trace and identifier. */
  readonly lookupRow: number;
  readonly traceId: string;
  readonly id: string;
  readonly newestRows: number;
  readonly rowsOut: number;
}

const RANGE_BEGIN_MS = 1_817_123;
const RANGE_END_MS = 5_383_456;
const DATA_MS = 7_200_000;

/** `lookupRow`: the default is the row in the middle. */
export function scopeOf({ subject }: Shape, total: number, lookupRow = total >> 1): Scope {
  const dataBeginMs = Number(DATA_BEGIN_NS / 1_000_000n);
  return {
    subject,
    dataBeginMs,
    dataEndMs: dataBeginMs + DATA_MS,
    fromMs: dataBeginMs + RANGE_BEGIN_MS,
    toMs: dataBeginMs + RANGE_END_MS,
    rareWord: RARE_WORD,
    part: "henticat",
    phrase: ["authentication", "failure"],
    regex: String.raw`port \d{5} ssh2`,
    lookupRow,
    traceId: traceIdOf(lookupRow),
    id: idOf(lookupRow, total),
    newestRows: 100,
    rowsOut: Math.min(100_000, total),
  };
}

const ROWS_APART = 104_729;

/** The row that is looked up for the `time`th time: far from the one before, seldom one again. */
export function rowOfTime(time: number, total: number): number {
  return (1 + time) * ROWS_APART % total;
}

/** The identifiers of rows in any answer that has their texts, and how often each is there. */
export function idsIn(text: string): Answer {
  return counted([...text.matchAll(/req=([0-9a-z]{16})/g)].map(([, id = ""]) => id));
}

export function counted(keys: readonly string[]): Answer {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** An answer of one number. */
export function single(value: unknown): Answer {
  return new Map([["", Number(value)]]);
}

/** The counts of the most frequent values by their places: values of the same count may differ. */
export function ranked(counts: readonly number[]): Answer {
  return new Map(counts.toSorted((a, b) => b - a).map((count, i) => [`place ${i + 1}`, count]));
}

export function minuteKey(ms: number, severity: string): string {
  return `${new Date(ms).toISOString().slice(11, 16)} ${severity}`;
}

/** Sums of floating point depend on their order; all else is exact. */
const TOLERANCE = 1e-6;

/** Says how `answer` differs from what is right; undefined when it does not. */
export function disagreement(answer: Answer, right: RightAnswer): string | undefined {
  for (const [key, value] of right) {
    const got = answer.get(key);
    if (got === undefined) {
      return `${nameOf(key)} is missing, ${answer.size} of ${right.size} there`;
    }
    const [least, greatest] = typeof value === "number" ? bounds(key, value) : value;
    if (!(got >= least && got <= greatest)) {
      const wanted = least === greatest ? least : `${least} to ${greatest}`;
      return `${nameOf(key)} is ${got} instead of ${wanted}`;
    }
  }
  if (answer.size === right.size) return undefined;
  return `${answer.size} entries instead of ${right.size}`;
}

function bounds(key: string, value: number): readonly [number, number] {
  const slack = key.endsWith(" avg") ? TOLERANCE * Math.abs(value) : 0;
  return [value - slack, value + slack];
}

function nameOf(key: string): string {
  return key === "" ? "the number" : JSON.stringify(key);
}
