/**
 * What the page Logs shows, and how it comes about: everything is asked from the server by what
 * `log_address.ts` holds.
 */

import { batch, computed, signal } from "@preact/signals";
import { SearchError, type SearchSpan } from "../../shared/search/search_error.ts";
import { parseSearch } from "../../shared/search/parse_search.ts";
import { levelValue, searchCondition } from "../../shared/search/search_condition.ts";
import type { SearchNode } from "../../shared/search/search_syntax.ts";
import type { SearchTable } from "../../shared/search/search_fields.ts";
import { describedColumns, describingSql } from "../../shared/search/described_table.ts";
import { RequestError } from "../api/request.ts";
import { type Answer, askSql } from "../api/sql_client.ts";
import {
  isLive,
  openRow,
  range,
  readSignals,
  searched,
  table,
  typed,
  type View,
  view,
  writeAddress,
} from "./log_address.ts";
import { withTerm } from "./term_list.ts";
import { isOneInstant, joinPages, type LogRow, type RowPlace, rowsOf } from "./log_rows.ts";
import { histogramSql, type LogQuery, rowsSql } from "./log_statements.ts";
import { binMsOf, type Instants, instantsOf, type TimeRange } from "./time_range.ts";

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

/** Why something is not shown; `span` is a place in the text of the search. */
export interface Failure {
  readonly message: string;
  readonly span?: SearchSpan;
}

/** A search that runs or ran: what all parts of the page ask about. */
export interface Asked {
  readonly query: LogQuery;
  readonly search: SearchNode;
  readonly known: SearchTable;
  /** Aborted by the next search, and by Stop. */
  readonly signal: AbortSignal;
}

/** What the newest answer cost, and the statement that it answers. */
export interface Cost {
  readonly answer: Answer;
  readonly sql: string;
}

const FIRST_PAGE_ROWS = 100;
const PAGE_ROWS = 300;
/** Rows of one instant beyond this are left out: they would be one page. */
const PAGE_ROWS_MAX = 10_000;
/** Rows that the page holds; a person reads fewer, and a browser's memory has an end. */
export const SHOWN_ROWS_MAX = 100_000;
const BINS_MAX = 90;

export const asked = signal<Asked | undefined>(undefined);
export const rows = signal<readonly LogRow[] | undefined>(undefined);
/** The search that `rows` answer. */
export const rowsFor = signal<Asked | undefined>(undefined);
export const hasMore = signal(false);
/** Where the rows begin, where that is not at the newest: a link to a row led there. */
export const beginsAt = signal<RowPlace | undefined>(undefined);
export const histogram = signal<Histogram | undefined>(undefined);
export const searchFailure = signal<Failure | undefined>(undefined);
export const histogramFailure = signal<Failure | undefined>(undefined);
export const isRunning = signal(false);
export const isLoadingOlder = signal(false);
/** Why older rows did not come: they are asked for again only by hand. */
export const olderFailure = signal<Failure | undefined>(undefined);
export const rowsCost = signal<Cost | undefined>(undefined);
export const histogramMs = signal<number | undefined>(undefined);
/** Columns that hold the text of a row. */
export const texts = computed<readonly string[]>(() => asked.value?.known.texts ?? ["raw"]);

/** What else runs with each search, such as patterns; those of other files join by `joinSearch`. */
type Part = (asked: Asked) => Promise<void>;
const parts: Part[] = [];

const tables = new Map<string, SearchTable>();
let running = new AbortController();

/** Runs `part` with each search, beside the histogram and the rows. */
export function joinSearch(part: Part): void {
  parts.push(part);
}

/** Searches for what is typed, and makes an entry of the browser's history of it. */
export async function search({ isNew = true } = {}): Promise<void> {
  if (isNew) openRow.value = undefined;
  searched.value = typed.value.trim();
  if (isNew) writeAddress({ isNew });
  await run();
}

/** Adds a term to the search, or takes the same term away. */
export function toggleTerm(term: string): void {
  typed.value = withTerm(typed.value, term);
  search();
}

/** Searches for `term` alone. */
export function searchOnly(term: string): void {
  typed.value = term;
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

/** Shows the newest rows again, where a link led to older ones. */
export function showNewest(): void {
  openRow.value = undefined;
  writeAddress({ isNew: false });
  run();
}

/** Stops what runs, live rows among it; the server stops, too. */
export function stop(): void {
  running.abort();
  if (isLive.value) {
    isLive.value = false;
    writeAddress({ isNew: false });
  }
}

/** Shows what the address asks, when the page opens and when the user goes back. */
export function readAddress(query: URLSearchParams): void {
  readSignals(query);
  search({ isNew: false });
}

async function run(): Promise<void> {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  batch(() => {
    isRunning.value = true;
    isLoadingOlder.value = false;
    olderFailure.value = undefined;
    searchFailure.value = undefined;
    histogramFailure.value = undefined;
  });
  try {
    const search = parseSearch(searched.value);
    const known = await tableCalled(table.value, signal);
    const condition = searchCondition(search, known);
    const instants = instantsOf(range.value, Date.now());
    const now = { query: { table: table.value, condition, instants }, search, known, signal };
    asked.value = now;
    // What is ready first is shown first.
    const main = view.value === "rows" ? [runRows] : [];
    await Promise.all([runHistogram, ...main, ...parts].map((part) => part(now)));
  } catch (error) {
    if (!signal.aborted) searchFailure.value = failureOf(error);
  } finally {
    if (running.signal === signal) isRunning.value = false;
  }
}

/** The columns of a table stay while the page is open. */
async function tableCalled(name: string, signal: AbortSignal): Promise<SearchTable> {
  const known = tables.get(name);
  if (known !== undefined) return known;
  const columns = describedColumns(await askSql(describingSql(name), { signal, rowsMax: 1 }));
  const texts = ["raw", "name"].filter((text) => columns.some((column) => column.name === text));
  const described = { columns, texts: texts.slice(0, 1) };
  if (columns.length > 0) tables.set(name, described);
  return described;
}

async function runRows(now: Asked): Promise<void> {
  const { query, signal } = now;
  const rowsMax = FIRST_PAGE_ROWS;
  let from: RowPlace | undefined;
  let sql = rowsSql(query, { rowsMax });
  let answer = await askSql(sql, { signal, rowsMax });
  let found = rowsOf(answer);
  const linked = placeOfKey(openRow.value);
  if (linked !== undefined && !found.some((row) => row.key === openRow.value)) {
    // A link leads to a row further down: the rows from there on are shown.
    sql = rowsSql(query, { from: linked, rowsMax });
    const linkedAnswer = await askSql(sql, { signal, rowsMax });
    const linkedRows = rowsOf(linkedAnswer);
    if (linkedRows.some((row) => row.key === openRow.value)) {
      [answer, found, from] = [linkedAnswer, linkedRows, linked];
    }
  }
  batch(() => {
    rows.value = found;
    rowsFor.value = now;
    beginsAt.value = from;
    hasMore.value = found.length === rowsMax;
    rowsCost.value = { answer, sql };
  });
}

/** The place that a row's key begins with; its microsecond bounds it from above. */
function placeOfKey(key: string | undefined): RowPlace | undefined {
  const timestampNs = /^(\d{1,19})-/.exec(key ?? "")?.[1];
  if (timestampNs === undefined) return undefined;
  const micros = BigInt(timestampNs) / 1_000n;
  const date = new Date(Number(micros / 1_000n));
  if (Number.isNaN(date.getTime())) return undefined;
  const timestamp = date.toISOString().replace("Z", `${String(micros % 1_000n).padStart(3, "0")}Z`);
  return { timestamp, timestampNs };
}

/** Adds the rows before the oldest that is shown. */
export async function loadOlder(): Promise<void> {
  const shown = rows.value ?? [];
  const now = asked.value;
  const last = shown.at(-1)?.place;
  if (!hasMore.value || isLoadingOlder.value || isRunning.value) return;
  if (olderFailure.value !== undefined) return;
  if (last === undefined || now === undefined || shown.length >= SHOWN_ROWS_MAX) return;
  const { query } = now;
  const { signal } = running;
  isLoadingOlder.value = true;
  try {
    // A page begins with the rows of the last instant; should it have no other, it was too small.
    for (let rowsMax = PAGE_ROWS;; rowsMax *= 4) {
      const sql = rowsSql(query, { from: last, rowsMax });
      const answer = await askSql(sql, { signal, rowsMax });
      const page = rowsOf(answer);
      const isFull = page.length === rowsMax;
      if (isFull && isOneInstant(page) && rowsMax < PAGE_ROWS_MAX) continue;
      batch(() => {
        // Live rows may have come meanwhile.
        rows.value = joinPages(rows.value ?? [], page);
        hasMore.value = isFull;
        rowsCost.value = { answer, sql };
      });
      return;
    }
  } catch (error) {
    const isStopped = signal.aborted && running.signal === signal;
    if (isStopped) olderFailure.value = { message: "Stopped." };
    if (!signal.aborted) olderFailure.value = failureOf(error);
  } finally {
    if (running.signal === signal) isLoadingOlder.value = false;
  }
}

/** Asks for older rows again after a failure, or after Stop. */
export function retryOlder(): void {
  if (running.signal.aborted) running = new AbortController();
  olderFailure.value = undefined;
  loadOlder();
}

async function runHistogram({ query, known, signal }: Asked): Promise<void> {
  try {
    await refreshHistogram({ query, known, signal });
  } catch (error) {
    if (!signal.aborted) histogramFailure.value = failureOf(error);
  }
}

/** Asks the histogram of a search. Errors: those of `askSql`. */
export async function refreshHistogram(
  { query, known, signal }: Pick<Asked, "query" | "known" | "signal">,
): Promise<void> {
  const binMs = binMsOf(query.instants, BINS_MAX);
  const sql = histogramSql(query, { binMs, level: levelValue(known) });
  const answer = await askSql(sql, { signal, rowsMax: 10_000 });
  const bins = new Map<number, Map<string, number>>();
  let total = 0;
  for (const [bin, name, count] of answer.rows) {
    const counts = bins.get(Number(bin)) ?? new Map<string, number>();
    counts.set(String(name ?? ""), Number(count));
    bins.set(Number(bin), counts);
    total += Number(count);
  }
  batch(() => {
    histogram.value = {
      instants: query.instants,
      binMs,
      bins: [...bins].map(([from, counts]) => ({ from, counts })),
      total,
    };
    histogramMs.value = answer.serverMs;
  });
}

/** What is told to people. Errors: `error` itself where it is a bug. */
export function failureOf(error: unknown): Failure {
  if (error instanceof SearchError) return { message: error.message, span: error.span };
  if (error instanceof RequestError) return { message: error.message };
  throw error;
}
