/**
 * What the page Traces shows: the results of a search, the service graph of its time, or one trace
 * (open_trace_state.ts). The address has the search, also while a trace is open, so that the way
 * back leads to the same results.
 */

import { batch, signal } from "@preact/signals";
import { RequestError } from "../api/request.ts";
import { goTo, noteQuery } from "../frame/router.ts";
import { type Instants, instantsOf } from "../logs/time_range.ts";
import { closeTrace, openId, readOpenTrace } from "./open_trace_state.ts";
import { type ServiceFigures, serviceFigures } from "./service_figures.ts";
import type { Call } from "./service_graph.ts";
import {
  findTraces,
  operationNames,
  serviceCalls,
  serviceNames,
  type TraceSummary,
} from "./trace_client.ts";
import {
  faultOf,
  NO_SEARCH,
  readSearch,
  type SearchFault,
  summaryParameters,
  type TraceSearch,
  writeSearch,
} from "./trace_search.ts";
import { parseTags, tagsText } from "./search_texts.ts";

export type TracesView = "list" | "graph";
export const ORDERS = ["newest", "longest", "spans", "errors"] as const;
export type Order = typeof ORDERS[number];

/** The answer to a search. */
export interface FoundTraces {
  readonly search: TraceSearch;
  readonly instants: Instants;
  readonly traces: readonly TraceSummary[];
}

/** The services of a time. */
export interface ServiceGraph {
  readonly instants: Instants;
  readonly calls: readonly Call[];
  readonly figures: readonly ServiceFigures[];
}

/** What the form holds. */
export const typed = signal<TraceSearch>(NO_SEARCH);
export const view = signal<TracesView>("list");
export const order = signal<Order>("newest");
export const found = signal<FoundTraces | undefined>(undefined);
export const graph = signal<ServiceGraph | undefined>(undefined);
export const fault = signal<SearchFault | undefined>(undefined);
export const failure = signal<string | undefined>(undefined);
export const isRunning = signal(false);
export const services = signal<readonly string[]>([]);
export const operations = signal<readonly string[]>([]);

let running = new AbortController();
/** What is shown already: the way back from a trace asks nothing again. */
let shownFor: string | undefined;

/** Shows what the address asks. */
export function readAddress(asked: URLSearchParams): void {
  const wanted = readSearch(asked);
  batch(() => {
    typed.value = wanted;
    view.value = asked.get("view") === "graph" ? "graph" : "list";
    order.value = ORDERS.find((one) => one === asked.get("order")) ?? "newest";
  });
  readOpenTrace(asked);
  if (openId.value !== undefined || shownFor === addressText()) return;
  run();
}

/** Searches for what is typed, and makes an entry of the browser's history of it. */
export function search(): void {
  closeTrace();
  shownFor = undefined;
  noteQuery(address());
  run();
}

/** Searches with other conditions. */
export function searchWith(change: Partial<TraceSearch>, next: TracesView = view.value): void {
  batch(() => {
    typed.value = { ...typed.value, ...change };
    view.value = next;
  });
  search();
}

/** Adds a tag to the search, or takes the same tag out. What cannot be read stays as typed. */
export function toggleTag(key: string, value: string): void {
  if (faultOf(typed.value) !== undefined) return search();
  const tags = new Map(parseTags(typed.value.tags));
  if (tags.get(key) === value) tags.delete(key);
  else tags.set(key, value);
  searchWith({ tags: tagsText(tags) }, "list");
}

/** Shows results or the service graph of the same time. */
export function show(next: TracesView): void {
  view.value = next;
  search();
}

export function sortBy(next: Order): void {
  order.value = next;
  noteQuery(address(), { isNew: false });
  shownFor = addressText();
}

/** Opens a trace; the address keeps the search. */
export function openTrace(id: string): void {
  goTo("traces", traceQuery(id));
}

/** The query of a link to a trace of the results. */
export function traceQuery(id: string): URLSearchParams {
  const query = address();
  query.set("trace", id);
  return query;
}

/** Back to the results. */
export function leaveTrace(): void {
  goTo("traces", address());
}

/** Searches the same again: something may have arrived. Nothing that is shown goes meanwhile. */
export function searchAgain(): void {
  if (!isRunning.value && typed.value.range.kind === "last") run();
}

/** Stops what runs; the server stops, too. */
export function stop(): void {
  running.abort();
}

/** Names that the form proposes. A failure proposes none: the search tells why. */
export async function proposeServices(): Promise<void> {
  services.value = await serviceNames(AbortSignal.timeout(30_000)).catch(() => []);
}

export async function proposeOperations(service: string): Promise<void> {
  operations.value = service === ""
    ? []
    : await operationNames(service, AbortSignal.timeout(30_000)).catch(() => []);
}

function address(): URLSearchParams {
  const query = writeSearch(typed.value);
  if (view.value !== "list") query.set("view", view.value);
  if (order.value !== "newest") query.set("order", order.value);
  return query;
}

function addressText(): string {
  return String(address());
}

async function run(): Promise<void> {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const wanted = typed.value;
  const what = view.value;
  batch(() => {
    fault.value = faultOf(wanted);
    failure.value = undefined;
    isRunning.value = fault.value === undefined;
  });
  if (fault.value !== undefined) return;
  const asked = addressText();
  const instants = instantsOf(wanted.range, Date.now());
  try {
    if (what === "graph") graph.value = await readGraph(instants, signal);
    else {
      const traces = await findTraces(summaryParameters(wanted, instants), signal);
      found.value = { search: wanted, instants, traces };
    }
    shownFor = asked;
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof RequestError)) throw error;
    failure.value = error.message;
  } finally {
    if (running.signal === signal) isRunning.value = false;
  }
}

async function readGraph(instants: Instants, signal: AbortSignal): Promise<ServiceGraph> {
  const [calls, figures] = await Promise.all([
    serviceCalls(instants, signal),
    serviceFigures(instants, signal),
  ]);
  return { instants, calls, figures };
}

/** The traces in the chosen order. */
export function ordered(traces: readonly TraceSummary[], by: Order): readonly TraceSummary[] {
  const rank: Readonly<Record<Order, (trace: TraceSummary) => number>> = {
    newest: ({ startMs }) => startMs,
    longest: ({ durationNs }) => durationNs,
    spans: ({ spans }) => spans,
    errors: ({ errors }) => errors,
  };
  return traces.toSorted((a, b) => rank[by](b) - rank[by](a) || b.startMs - a.startMs);
}
