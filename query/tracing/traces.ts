/** Rows of spans as traces: each span once, in the order of their starts. */

import type { SpanOutline } from "./span.ts";

/** A trace and its spans. */
export interface Trace<S extends SpanOutline> {
  /** The id as it is stored: 32 digits. */
  readonly id: string;
  /** Spans with the earliest first; at least one. */
  readonly spans: readonly S[];
}

/**
 * Traces in the order of `ids`, without ids that have no row. A sender that saw no answer repeats
 * its request. A row that is there twice for that counts once. Two different spans of one id are
 * both told.
 */
export function tracesOf<S extends SpanOutline>(
  rows: readonly (readonly unknown[])[],
  ids: readonly string[],
  read: (row: readonly unknown[]) => S,
): Trace<S>[] {
  const byTrace = Map.groupBy(distinctRows(rows), ([traceId]) => String(traceId));
  return ids.flatMap((id) => {
    const own = byTrace.get(id);
    return own === undefined ? [] : [{ id, spans: own.map(read).sort(byStart) }];
  });
}

/** Spans in all traces. */
export function countSpans(traces: readonly Trace<SpanOutline>[]): number {
  return traces.reduce((sum, { spans }) => sum + spans.length, 0);
}

/**
 * The work stays linear however many different spans have one id: whoever sends spans chooses their
 * ids.
 */
function distinctRows(rows: readonly (readonly unknown[])[]): (readonly unknown[])[] {
  const repeated = new Set<readonly unknown[]>();
  for (const alike of Map.groupBy(rows, ([traceId, spanId]) => `${traceId}${spanId}`).values()) {
    if (alike.length === 1) continue;
    const told = new Set<string>();
    for (const row of alike) {
      const text = JSON.stringify(row);
      if (told.has(text)) repeated.add(row);
      told.add(text);
    }
  }
  return rows.filter((row) => !repeated.has(row));
}

function byStart(a: SpanOutline, b: SpanOutline): number {
  if (a.startNs !== b.startNs) return a.startNs < b.startNs ? -1 : 1;
  return a.spanId < b.spanId ? -1 : a.spanId > b.spanId ? 1 : 0;
}
