/** Traces by their ids. */

import { present } from "../../shared/base/assert.ts";
import { outlineOfRow, type Span, spanOfRow, type SpanOutline } from "./span.ts";
import type { TimeSpan } from "./search_request.ts";
import type { StatementOptions, TraceCall } from "./trace_call.ts";
import { extentSql, spansSql } from "./trace_statements.ts";
import { countSpans, type Trace, tracesOf } from "./traces.ts";

/**
 * How far from a span of a trace, or from a time that a client names, its other spans are looked
 * for. That bounds reads where the whole table would be too much. A trace that is asked by its id
 * alone is always whole.
 */
const TRACE_SPREAD_NS = 3_600_000_000_000n;
/** Rows whose ids a search compares, all of them: some 30 ms. */
const COMPARED_ROWS = 2_000_000;
/** To look for the times of some traces first takes longer than to read so many rows. */
const FEW_ROWS = 200_000;

/**
 * Whole traces, in the order of `ids`; an id without spans has none. The hint is where to look
 * first: with nothing there, the whole table is read.
 */
export async function readTraces(
  call: TraceCall,
  ids: readonly string[],
  hint: Partial<TimeSpan>,
): Promise<Trace<Span>[]> {
  const { traces: idsMax } = call.ceilings;
  if (ids.length > idsMax) throw call.beyond("jaeger_traces", `more than ${idsMax} traces`);
  const found = await readSpans(call, { ids, range: around(hint), outline: false }, spanOfRow);
  const isHinted = hint.minNs !== undefined || hint.maxNs !== undefined;
  if (!isHinted || found.length === ids.length) return found;
  const known = new Map(found.map((trace) => [trace.id, trace]));
  const missing = ids.filter((id) => !known.has(id));
  const wanted = { ids: missing, range: {}, outline: false, spansRead: countSpans(found) };
  for (const trace of await readSpans(call, wanted, spanOfRow)) known.set(trace.id, trace);
  return ids.flatMap((id) => known.get(id) ?? []);
}

/** Traces that a search found; `range`: where their newest matches lie. */
export function readFoundTraces(
  call: TraceCall,
  found: { readonly ids: readonly string[]; readonly range: TimeSpan },
): Promise<Trace<Span>[]> {
  return readFound(call, found, { outline: false, read: spanOfRow });
}

/** Traces that a search found, with only the columns that a summary shows. */
export function readFoundOutlines(
  call: TraceCall,
  found: { readonly ids: readonly string[]; readonly range: TimeSpan },
): Promise<Trace<SpanOutline>[]> {
  return readFound(call, found, { outline: true, read: outlineOfRow });
}

async function readFound<S extends SpanOutline>(
  call: TraceCall,
  { ids, range }: { readonly ids: readonly string[]; readonly range: TimeSpan },
  { outline, read }: {
    readonly outline: boolean;
    readonly read: (row: readonly unknown[]) => S;
  },
): Promise<Trace<S>[]> {
  if (ids.length === 0) return [];
  // Indexes know the rows of ids, so most often there is nothing to narrow.
  const few = await spansWithin(call, { ids, range: {}, outline }, { rowsMax: FEW_ROWS, read });
  if (few !== undefined) return few;
  const extent = await extentOf(call, ids, range);
  return extent === undefined ? [] : await readSpans(call, { ids, range: extent, outline }, read);
}

/** The time from the first to the last span of some traces, read by ids and times alone. */
async function extentOf(
  call: TraceCall,
  ids: readonly string[],
  range: TimeSpan,
): Promise<TimeSpan | undefined> {
  const { index } = call.made;
  const options: StatementOptions = { rowsMax: 1, breaker: "jaeger_spans" };
  const everywhere = extentSql(index, { ids, range: {} });
  const nearby = extentSql(index, { ids, range: around(range) });
  const { rows } = await call.rowsWithin(everywhere, COMPARED_ROWS, options) ??
    await call.rows(nearby, options);
  const [minNs, maxNs] = rows[0] ?? [];
  if (typeof minNs !== "string" || typeof maxNs !== "string") return undefined;
  return { minNs: BigInt(minNs), maxNs: BigInt(maxNs) };
}

/** Which spans are read. */
type WantedSpans = Parameters<typeof spansSql>[1] & {
  /** Spans of the same answer that were read before. */
  readonly spansRead?: number;
};

async function readSpans<S extends SpanOutline>(
  call: TraceCall,
  wanted: WantedSpans,
  read: (row: readonly unknown[]) => S,
): Promise<Trace<S>[]> {
  return present(await spansWithin(call, wanted, { rowsMax: Infinity, read }));
}

/** Undefined, and nothing is read, where more than `rowsMax` rows would be read. */
async function spansWithin<S extends SpanOutline>(
  call: TraceCall,
  wanted: WantedSpans,
  { rowsMax, read }: {
    readonly rowsMax: number;
    readonly read: (row: readonly unknown[]) => S;
  },
): Promise<Trace<S>[] | undefined> {
  const found = await call.rowsWithin(spansSql(call.made.index, wanted), rowsMax, {
    rowsMax: call.ceilings.spans - (wanted.spansRead ?? 0),
    breaker: "jaeger_spans",
  });
  return found === undefined ? undefined : tracesOf(found.rows, wanted.ids, read);
}

function around({ minNs, maxNs }: Partial<TimeSpan>): Partial<TimeSpan> {
  return {
    ...(minNs === undefined || minNs <= TRACE_SPREAD_NS ? {} : { minNs: minNs - TRACE_SPREAD_NS }),
    ...(maxNs === undefined ? {} : { maxNs: maxNs + TRACE_SPREAD_NS }),
  };
}
