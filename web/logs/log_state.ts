/**
 * What the page Logs shows, and how it comes about. The text of the search and the range are the
 * one truth: the address has both, and everything else is asked from the server by them.
 */

import { batch, signal } from "@preact/signals";
import type { SearchSpan } from "../../shared/search/search_error.ts";
import { SearchError } from "../../shared/search/search_error.ts";
import { parseSearch } from "../../shared/search/parse_search.ts";
import { levelValue, searchCondition } from "../../shared/search/search_condition.ts";
import type { SearchNode } from "../../shared/search/search_syntax.ts";
import type { SearchTable } from "../../shared/search/search_fields.ts";
import { describedColumns, describingSql } from "../../shared/search/described_table.ts";
import { RequestError } from "../api/request.ts";
import { type Answer, askSql, type Value } from "../api/sql_client.ts";
import { noteQuery } from "../frame/router.ts";
import {
  histogramSql,
  type LogQuery,
  patternsSql,
  type RowPlace,
  rowsSql,
} from "./log_statements.ts";
import {
  binMsOf,
  type Instants,
  instantsOf,
  parseRange,
  RANGE_DEFAULT,
  rangeText,
  type TimeRange,
} from "./time_range.ts";

/** A row by the names of its columns, and its place. */
export interface LogRow {
  readonly place: RowPlace;
  readonly values: Readonly<Record<string, Value>>;
}

/** Rows of one bin, by the name of their level as the rows have it. */
export interface HistogramBin {
  readonly from: number;
  readonly counts: ReadonlyMap<string, number>;
}

export interface Histogram {
  readonly instants: Instants;
  readonly binMs: number;
  readonly bins: readonly HistogramBin[];
  readonly total: number;
}

export interface Pattern {
  readonly text: string;
  readonly count: number;
  readonly example: string;
}

/** Why something is not shown; `span` is a place in the text of the search. */
export interface Failure {
  readonly message: string;
  readonly span?: SearchSpan;
}

export type View = "rows" | "patterns";

const ROWS_MAX = 100;
const BINS_MAX = 90;
const PATTERNS_MAX = 100;

/** What is being typed. */
export const typed = signal("");
/** What was searched last. */
export const searched = signal("");
export const table = signal("events");
export const range = signal<TimeRange>(RANGE_DEFAULT);
export const view = signal<View>("rows");
export const rows = signal<readonly LogRow[] | undefined>(undefined);
export const hasMore = signal(false);
export const histogram = signal<Histogram | undefined>(undefined);
export const patterns = signal<readonly Pattern[] | undefined>(undefined);
export const searchFailure = signal<Failure | undefined>(undefined);
export const histogramFailure = signal<Failure | undefined>(undefined);
export const isRunning = signal(false);
/** What the rows cost. */
export const cost = signal<Answer | undefined>(undefined);
/** Columns that hold the text of a row. */
export const texts = signal<readonly string[]>(["raw"]);
export const openRow = signal<string | undefined>(undefined);

const tables = new Map<string, SearchTable>();
let running = new AbortController();

/** Searches for what is typed, and makes an entry of the browser's history of it. */
export async function search({ isNew = true } = {}): Promise<void> {
  searched.value = typed.value.trim();
  openRow.value = undefined;
  if (isNew) writeAddress();
  await run();
}

/** Adds a term to the search, or takes the same term away. */
export function toggleTerm(term: string): void {
  const terms = typed.value.trim();
  const isThere = ` ${terms} `.includes(` ${term} `);
  typed.value = isThere
    ? ` ${terms} `.replace(` ${term} `, " ").trim()
    : [terms, term].filter((one) => one !== "").join(" ");
  search();
}

/** Searches another range. */
export function searchRange(next: TimeRange): void {
  range.value = next;
  search();
}

/** Shows rows or patterns of the same search. */
export function show(next: View): void {
  view.value = next;
  search();
}

/** Stops what runs; the server stops, too. */
export function stop(): void {
  running.abort();
}

/** Shows what the address asks, when the page opens and when the user goes back. */
export function readAddress(asked: URLSearchParams): void {
  batch(() => {
    typed.value = asked.get("q") ?? "";
    table.value = asked.get("table") ?? "events";
    range.value = parseRange(asked.get("range") ?? "") ?? RANGE_DEFAULT;
    view.value = asked.get("view") === "patterns" ? "patterns" : "rows";
  });
  search({ isNew: false });
}

function writeAddress(): void {
  const asked = new URLSearchParams();
  if (searched.value !== "") asked.set("q", searched.value);
  if (table.value !== "events") asked.set("table", table.value);
  asked.set("range", rangeText(range.value));
  if (view.value !== "rows") asked.set("view", view.value);
  noteQuery(asked);
}

async function run(): Promise<void> {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const text = searched.value;
  batch(() => {
    isRunning.value = true;
    searchFailure.value = undefined;
    histogramFailure.value = undefined;
  });
  try {
    const search = parseSearch(text);
    const known = await tableCalled(table.value, signal);
    const query = queryOf(search, known);
    texts.value = known.texts;
    // What is ready first is shown first.
    await Promise.all([
      runHistogram(query, { level: levelValue(known), signal }),
      view.value === "rows" ? runRows(query, signal) : runPatterns(query, signal),
    ]);
  } catch (error) {
    if (!signal.aborted) searchFailure.value = failureOf(error);
  } finally {
    if (running.signal === signal) isRunning.value = false;
  }
}

function queryOf(search: SearchNode, known: SearchTable): LogQuery {
  return {
    table: table.value,
    condition: searchCondition(search, known),
    instants: instantsOf(range.value, Date.now()),
  };
}

/** The columns of a table stay while the page is open. */
async function tableCalled(name: string, signal: AbortSignal): Promise<SearchTable> {
  const known = tables.get(name);
  if (known !== undefined) return known;
  const columns = describedColumns(await askSql(describingSql(name), { signal, rowsMax: 1 }));
  const texts = ["raw", "name"].filter((text) => columns.some((column) => column.name === text));
  const described = { columns, texts: texts.slice(0, 1) };
  tables.set(name, described);
  return described;
}

async function runRows(query: LogQuery, signal: AbortSignal): Promise<void> {
  const answer = await askSql(rowsSql(query, { rowsMax: ROWS_MAX }), { signal, rowsMax: ROWS_MAX });
  batch(() => {
    rows.value = rowsOf(answer);
    hasMore.value = answer.rows.length === ROWS_MAX;
    cost.value = answer;
  });
}

/** Adds the rows before the oldest that is shown. */
export async function loadOlder(): Promise<void> {
  const shown = rows.value ?? [];
  const before = shown.at(-1)?.place;
  const known = tables.get(table.value);
  if (!hasMore.value || before === undefined || known === undefined || isRunning.value) return;
  const { signal } = running;
  isRunning.value = true;
  try {
    const query = queryOf(parseSearch(searched.value), known);
    const sql = rowsSql(query, { before, rowsMax: ROWS_MAX });
    const answer = await askSql(sql, { signal, rowsMax: ROWS_MAX });
    batch(() => {
      rows.value = [...shown, ...rowsOf(answer)];
      hasMore.value = answer.rows.length === ROWS_MAX;
      cost.value = answer;
    });
  } catch (error) {
    if (!signal.aborted) searchFailure.value = failureOf(error);
  } finally {
    if (running.signal === signal) isRunning.value = false;
  }
}

function rowsOf({ columns, rows }: Answer): readonly LogRow[] {
  return rows.map(([timestampNs, ...values]) => {
    const named = Object.fromEntries(
      columns.slice(1).map((name, at) => [name, values[at] ?? null]),
    );
    const place = { timestamp: String(named["timestamp"]), timestampNs: String(timestampNs) };
    return { place, values: named };
  });
}

async function runHistogram(
  query: LogQuery,
  { level, signal }: { readonly level: string; readonly signal: AbortSignal },
): Promise<void> {
  const binMs = binMsOf(query.instants, BINS_MAX);
  try {
    const sql = histogramSql(query, { binMs, level });
    const answer = await askSql(sql, { signal, rowsMax: 10_000 });
    const bins = new Map<number, Map<string, number>>();
    let total = 0;
    for (const [bin, name, count] of answer.rows) {
      const counts = bins.get(Number(bin)) ?? new Map<string, number>();
      counts.set(String(name ?? ""), Number(count));
      bins.set(Number(bin), counts);
      total += Number(count);
    }
    histogram.value = {
      instants: query.instants,
      binMs,
      bins: [...bins].map(([from, counts]) => ({ from, counts })),
      total,
    };
  } catch (error) {
    if (!signal.aborted) histogramFailure.value = failureOf(error);
  }
}

async function runPatterns(query: LogQuery, signal: AbortSignal): Promise<void> {
  const [text = "raw"] = texts.value;
  const sql = patternsSql(query, { text, patternsMax: PATTERNS_MAX });
  const answer = await askSql(sql, { signal, rowsMax: PATTERNS_MAX });
  batch(() => {
    patterns.value = answer.rows.map(([pattern, count, example]) => ({
      text: String(pattern),
      count: Number(count),
      example: String(example),
    }));
    cost.value = answer;
  });
}

function failureOf(error: unknown): Failure {
  if (error instanceof SearchError) return { message: error.message, span: error.span };
  if (error instanceof RequestError) return { message: error.message };
  throw error;
}
