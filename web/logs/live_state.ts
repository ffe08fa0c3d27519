/**
 * New rows as they come. They never move what somebody reads: away from the top, with a row open or
 * a text selected, they wait.
 */

import { batch, effect, signal } from "@preact/signals";
import { askSql, type Value } from "../api/sql_client.ts";
import { readEvents } from "../api/event_stream.ts";
import { parseExact } from "../api/exact_json.ts";
import { pause } from "../api/pause.ts";
import { isLive, openRow, range, searched, table, view, writeAddress } from "./log_address.ts";
import { type LogRow, mergeRows, rowsOf, unknownRows } from "./log_rows.ts";
import {
  type Asked,
  type Failure,
  failureOf,
  hasMore,
  histogramMs,
  isLoadingOlder,
  joinSearch,
  refreshHistogram,
  rows,
  rowsFor,
  search,
} from "./log_state.ts";
import { rowsSql } from "./log_statements.ts";
import { instantsOf, RANGE_DEFAULT } from "./time_range.ts";

/** More could not be read, and drawing them would take the page's time. */
const ROWS_PER_SECOND_MAX = 500;
const FLUSH_MS = 100;
/** Rows that stay while new ones come; older ones are loaded again by scrolling. */
const LIVE_ROWS_MAX = 5_000;
const PENDING_ROWS_MAX = 5_000;
const CATCH_UP_ROWS = 100;
const HISTOGRAM_MS = 5_000;
/** A histogram that takes longer is not asked again by itself. */
const HISTOGRAM_COST_MS_MAX = 500;

/** Rows that wait, the newest first. */
export const pending = signal<readonly LogRow[]>([]);
/** Whether more wait than the page keeps. */
export const isPendingCut = signal(false);
/** Rows that came but are not shown: too many a second. */
export const skipped = signal(0);
/** Rows that the server could not keep for this page, and why. */
export const lost = signal<{ readonly rows: number; readonly reason: string } | undefined>(
  undefined,
);
export const isPaused = signal(false);
export const isConnected = signal(false);
export const liveFailure = signal<Failure | undefined>(undefined);

let isScrolledAway = false;
let arrived: LogRow[] = [];
let live = new AbortController();

/** Turns live rows on or off. */
export function toggleLive(): void {
  isLive.value = !isLive.value;
  isPaused.value = false;
  if (isLive.value && range.value.kind === "between") range.value = RANGE_DEFAULT;
  writeAddress({ isNew: false });
  if (isLive.value) search({ isNew: false });
}

/** Lets new rows wait, or shows them again. */
export function togglePause(): void {
  if (!isLive.value) return;
  isPaused.value = !isPaused.value;
  if (!isPaused.value) showPending();
}

/** The list is at its top, or it is not. */
export function noteTop(isAtTop: boolean): void {
  isScrolledAway = !isAtTop;
  if (isAtTop && !isHeld()) showPending();
}

/** Shows the rows that wait. */
export function showPending(): void {
  if (isPendingCut.value) {
    // Between those that wait and those that are shown some are missing.
    search({ isNew: false });
    return;
  }
  const waiting = pending.value;
  pending.value = [];
  addRows(waiting);
}

joinSearch((now) => {
  live.abort();
  reset();
  if (isLive.peek() && view.peek() === "rows") follow(now);
  return Promise.resolve();
});

effect(() => {
  if (isLive.value) return;
  live.abort();
  isConnected.value = false;
  // What waits is no news any more.
  if (pending.peek().length > 0) showPending();
});

function reset(): void {
  arrived = [];
  batch(() => {
    pending.value = [];
    isPendingCut.value = false;
    skipped.value = 0;
    lost.value = undefined;
    liveFailure.value = undefined;
  });
}

/** Follows a search until another one, or until it is turned off. */
function follow(now: Asked): void {
  live = new AbortController();
  const signal = AbortSignal.any([live.signal, now.signal]);
  const params = new URLSearchParams({
    table: table.peek(),
    max_rows_per_second: String(ROWS_PER_SECOND_MAX),
    ...(searched.peek() === "" ? {} : { search: searched.peek() }),
  });
  readEvents(`tail?${params}`, {
    signal,
    onEvent: ({ name, data }) => {
      if (name === "rows") takeRows(parseExact(data) as TailRows);
      if (name === "lost") takeLost(JSON.parse(data));
    },
    onConnected: (isNow) => {
      isConnected.value = isNow;
      if (isNow) catchUp(now, signal).catch((error) => tell(error, signal));
    },
  }).catch((error) => tell(error, signal));
  keepFlushing(now, signal).catch((error) => tell(error, signal));
  keepHistogram(now, signal).catch((error) => tell(error, signal));
}

function tell(error: unknown, signal: AbortSignal): void {
  if (!signal.aborted) liveFailure.value = failureOf(error);
}

interface TailRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
  readonly skipped?: number;
}

function takeRows(told: TailRows): void {
  arrived.push(...rowsOf(told));
  skipped.value += told.skipped ?? 0;
}

function takeLost(told: { readonly rows: number | null; readonly reason: string }): void {
  lost.value = { rows: (lost.value?.rows ?? 0) + (told.rows ?? 0), reason: told.reason };
}

/** Rows that came between the search and the beginning of the tail. */
async function catchUp({ query }: Asked, signal: AbortSignal): Promise<void> {
  const instants = instantsOf(range.peek(), Date.now());
  const sql = rowsSql({ ...query, instants }, { rowsMax: CATCH_UP_ROWS });
  arrived.push(...rowsOf(await askSql(sql, { signal, rowsMax: CATCH_UP_ROWS })));
}

async function keepFlushing(now: Asked, signal: AbortSignal): Promise<void> {
  for (;;) {
    await pause(FLUSH_MS, signal);
    if (rowsFor.peek() === now) flush();
  }
}

async function keepHistogram(now: Asked, signal: AbortSignal): Promise<void> {
  for (;;) {
    await pause(HISTOGRAM_MS, signal);
    const isCheap = (histogramMs.peek() ?? 0) <= HISTOGRAM_COST_MS_MAX;
    if (document.hidden || !isCheap || isPaused.peek()) continue;
    const instants = instantsOf(range.peek(), Date.now());
    await refreshHistogram({ ...now, query: { ...now.query, instants }, signal });
  }
}

function flush(): void {
  if (arrived.length === 0) return;
  const fresh = unknownRows(arrived, [...rows.peek() ?? [], ...pending.peek()]);
  arrived = [];
  if (fresh.length === 0) return;
  if (!isHeld()) return addRows(fresh);
  const waiting = mergeRows(pending.peek(), fresh);
  batch(() => {
    isPendingCut.value ||= waiting.length > PENDING_ROWS_MAX;
    pending.value = waiting.slice(0, PENDING_ROWS_MAX);
  });
}

/** Whether somebody reads, so that nothing may move. */
function isHeld(): boolean {
  const focused = document.activeElement?.closest(".row");
  return isPaused.peek() || isScrolledAway || openRow.peek() !== undefined ||
    getSelection()?.type === "Range" || (focused !== null && focused !== undefined);
}

function addRows(added: readonly LogRow[]): void {
  if (added.length === 0) return;
  const shown = rows.peek() ?? [];
  // A row older than the last comes with its page.
  const last = hasMore.peek() ? shown.at(-1) : undefined;
  const merged = mergeRows(shown, added);
  const end = last === undefined ? merged.length : merged.lastIndexOf(last) + 1;
  const most = isLoadingOlder.peek() ? end : Math.max(LIVE_ROWS_MAX, isLive.peek() ? 0 : end);
  batch(() => {
    if (end > most) hasMore.value = true;
    rows.value = merged.slice(0, Math.min(end, most));
  });
}
