/** The trace that is open: its tree, what of it is shown, and its logs. */

import { batch, computed, signal } from "@preact/signals";
import { RequestError } from "../api/request.ts";
import { noteQuery, place } from "../frame/router.ts";
import { criticalPath, pathNanos, type PathPart } from "./critical_path.ts";
import { fetchTrace } from "./trace_client.ts";
import { type TraceLog, traceLogs } from "./trace_logs.ts";
import type { ReadTrace } from "./trace_span.ts";
import { type SpanNode, type SpanTree, spanTree } from "./trace_tree.ts";

/** A part of the trace's time: nanoseconds on the tree's axis. */
export interface TimeWindow {
  readonly fromNs: number;
  readonly toNs: number;
}

/** Id of the open trace; undefined: the results are shown. */
export const openId = signal<string | undefined>(undefined);
export const trace = signal<ReadTrace | undefined>(undefined);
export const traceFailure = signal<string | undefined>(undefined);
export const isLoading = signal(false);
export const logs = signal<readonly TraceLog[] | undefined>(undefined);
export const logsFailure = signal<string | undefined>(undefined);
export const adjustsClocks = signal(true);
/** Place of the selected span in the tree. */
export const selected = signal<number | undefined>(undefined);
/** Which part of the panel is shown beside the spans. */
export const panel = signal<"span" | "logs">("span");
export const collapsed = signal<ReadonlySet<number>>(new Set());
/** What is looked for within the trace. */
export const find = signal("");
const zoom = signal<TimeWindow | undefined>(undefined);

export const tree = computed<SpanTree | undefined>(() =>
  trace.value === undefined
    ? undefined
    : spanTree(trace.value.spans, { adjustsClocks: adjustsClocks.value })
);
export const path = computed<readonly PathPart[]>(() =>
  tree.value === undefined ? [] : criticalPath(tree.value)
);
/** Parts of the path by the span's place. */
export const pathOf = computed(() => Map.groupBy(path.value, ({ at }) => at));
export const pathNs = computed(() => pathNanos(path.value));
/** Nanoseconds that the path's spans cover; 1 at least, to divide by. */
export const pathTotal = computed(() =>
  Math.max(1, [...pathNs.value.values()].reduce((sum, ns) => sum + ns, 0))
);

/** The spans that stand below no collapsed one. */
export const visible = computed<readonly SpanNode[]>(() => {
  const nodes = tree.value?.nodes ?? [];
  const shown: SpanNode[] = [];
  for (let at = 0; at < nodes.length; at += 1) {
    const node = nodes[at];
    if (node === undefined) break;
    shown.push(node);
    if (collapsed.value.has(at)) at += node.below;
  }
  return shown;
});

/** The time that the bars show: the whole trace, or what was zoomed to. */
export const shownTime = computed<TimeWindow>(() => {
  const { fromNs = 0, toNs = 1 } = tree.value ?? {};
  return zoom.value ?? { fromNs, toNs: Math.max(toNs, fromNs + 1) };
});

/** Places of the spans whose service, name or attributes hold the text. */
export const hits = computed<readonly number[]>(() => {
  const text = find.value.trim().toLowerCase();
  if (text === "") return [];
  const holds = (one: string) => one.toLowerCase().includes(text);
  return (tree.value?.nodes ?? []).filter(({ span }) =>
    holds(span.name) || holds(span.service) || holds(span.spanId) || holds(span.statusText) ||
    [...span.attributes, ...span.resource].some(({ key, text }) => holds(key) || holds(text)) ||
    span.events.some(({ name }) => holds(name))
  ).map(({ at }) => at);
});
export const hitSet = computed<ReadonlySet<number>>(() => new Set(hits.value));

export const logsOf = computed(() => Map.groupBy(logs.value ?? [], ({ spanId }) => spanId));

let running = new AbortController();
/** A span of the address that is selected once the trace is there. */
let wantedSpan: string | undefined;

/** Shows the trace that the address names, or none. */
export function readOpenTrace(asked: URLSearchParams): void {
  const id = asked.get("trace")?.trim().toLowerCase() || undefined;
  if (id === undefined) return closeTrace();
  const [from, to] = (asked.get("zoom") ?? "").split("..").map(Number);
  batch(() => {
    find.value = asked.get("find") ?? "";
    adjustsClocks.value = asked.get("clocks") !== "sent";
    panel.value = asked.get("panel") === "logs" ? "logs" : "span";
    zoom.value = from !== undefined && to !== undefined && from < to
      ? { fromNs: from, toNs: to }
      : undefined;
  });
  wantedSpan = asked.get("span") ?? undefined;
  if (id === openId.value && trace.value !== undefined) return selectWanted();
  load(id);
}

export function closeTrace(): void {
  running.abort();
  batch(() => {
    openId.value = undefined;
    trace.value = undefined;
    traceFailure.value = undefined;
    logs.value = undefined;
    isLoading.value = false;
  });
}

/** Asks for the trace again: spans may have come since. */
export function reload(): void {
  if (openId.value !== undefined) load(openId.value);
}

async function load(id: string): Promise<void> {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  batch(() => {
    if (openId.value !== id) trace.value = undefined;
    openId.value = id;
    selected.value = undefined;
    collapsed.value = new Set();
    logs.value = undefined;
    logsFailure.value = undefined;
    traceFailure.value = undefined;
    isLoading.value = true;
  });
  try {
    trace.value = await fetchTrace(id, signal);
    selectWanted();
    isLoading.value = false;
    await loadLogs(id, signal);
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof RequestError)) throw error;
    traceFailure.value = error.status === 404 ? NOT_FOUND : error.message;
  } finally {
    if (running.signal === signal) isLoading.value = false;
  }
}

const NOT_FOUND =
  "No span of this trace is stored. It may have been sampled out, it may be older " +
  "than what is kept, or its spans have not arrived yet.";

/** A failure of the logs leaves the spans as they are. */
async function loadLogs(id: string, signal: AbortSignal): Promise<void> {
  const { startNs = 0n } = trace.value ?? {};
  const endNs = startNs + BigInt(Math.ceil(tree.value?.toNs ?? 0));
  try {
    logs.value = await traceLogs(id.padStart(32, "0"), { startNs, endNs, signal });
  } catch (error) {
    if (!signal.aborted && error instanceof RequestError) logsFailure.value = error.message;
    else if (!signal.aborted) throw error;
  }
}

function selectWanted(): void {
  const node = tree.value?.nodes.find(({ span }) => span.spanId === wantedSpan);
  selected.value = node?.at;
  if (node !== undefined) reveal(node.at);
}

/** Selects a span, and opens whatever it lies below. */
export function select(at: number | undefined): void {
  batch(() => {
    selected.value = at;
    if (at !== undefined) {
      panel.value = "span";
      reveal(at);
    }
  });
  note();
}

export function showPanel(next: "span" | "logs"): void {
  panel.value = next;
  note();
}

/** Opens or closes what lies below a span. */
export function toggle(at: number): void {
  const next = new Set(collapsed.value);
  if (!next.delete(at)) next.add(at);
  collapsed.value = next;
}

/** Closes every span below the top, or opens all. */
export function toggleAll(): void {
  const nodes = tree.value?.nodes ?? [];
  collapsed.value = collapsed.value.size > 0
    ? new Set()
    : new Set(nodes.filter(({ below, depth }) => below > 0 && depth > 0).map(({ at }) => at));
}

/** Shows a part of the time; undefined: all of it. */
export function zoomTo(next: TimeWindow | undefined): void {
  const { fromNs = 0, toNs = 1 } = tree.value ?? {};
  const whole = Math.max(1, toNs - fromNs);
  if (next === undefined) zoom.value = undefined;
  else {
    const width = Math.min(whole, Math.max(next.toNs - next.fromNs, whole / 1e6));
    const from = Math.min(toNs - width, Math.max(fromNs, next.fromNs));
    zoom.value = width >= whole ? undefined : { fromNs: from, toNs: from + width };
  }
  note();
}

/** Zooms around a place of what is shown, from 0 to 1. `by` 0.5 shows half of the time. */
export function zoomBy(by: number, around = 0.5): void {
  const { fromNs, toNs } = shownTime.value;
  const center = fromNs + around * (toNs - fromNs);
  const width = by * (toNs - fromNs);
  zoomTo({ fromNs: center - around * width, toNs: center + (1 - around) * width });
}

/** Moves what is shown by a share of its width. */
export function panBy(share: number): void {
  const { fromNs, toNs } = shownTime.value;
  const by = share * (toNs - fromNs);
  zoomTo({ fromNs: fromNs + by, toNs: toNs + by });
}

export function isZoomed(): boolean {
  return zoom.value !== undefined;
}

/** Looks for a text within the trace. */
export function findText(text: string): void {
  find.value = text;
  note();
}

/** Selects the next hit, or the one before. */
export function nextHit(by: 1 | -1): void {
  const all = hits.value;
  const from = selected.value ?? -1;
  const next = by > 0
    ? all.find((at) => at > from) ?? all[0]
    : all.findLast((at) => at < from) ?? all.at(-1);
  if (next !== undefined) select(next);
}

export function setClocks(adjusts: boolean): void {
  const spanId = tree.value?.nodes[selected.value ?? -1]?.span.spanId;
  adjustsClocks.value = adjusts;
  wantedSpan = spanId;
  selectWanted();
  note();
}

function reveal(at: number): void {
  const nodes = tree.value?.nodes ?? [];
  const next = new Set(collapsed.value);
  for (let above = nodes[at]?.parent; above !== undefined; above = nodes[above]?.parent) {
    next.delete(above);
  }
  if (next.size !== collapsed.value.size) collapsed.value = next;
}

/** Writes what is shown of the trace into the address. */
function note(): void {
  const query = new URLSearchParams(place.peek().query);
  const span = tree.value?.nodes[selected.value ?? -1]?.span.spanId;
  const shown: Readonly<Record<string, string | undefined>> = {
    span,
    find: find.value || undefined,
    panel: panel.value === "logs" ? "logs" : undefined,
    clocks: adjustsClocks.value ? undefined : "sent",
    zoom: zoom.value === undefined
      ? undefined
      : `${Math.round(zoom.value.fromNs)}..${Math.round(zoom.value.toNs)}`,
  };
  for (const [name, value] of Object.entries(shown)) {
    if (value === undefined) query.delete(name);
    else query.set(name, value);
  }
  noteQuery(query, { isNew: false });
}
