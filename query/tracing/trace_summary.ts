/**
 * A trace in a list, as Jaeger's v3 API writes it: who began it, how long it took, how many spans
 * of which service.
 */

import type { SpanOutline } from "./span.ts";
import type { Trace } from "./traces.ts";

/** A trace summary with the names of v3's JSON. */
export interface TraceSummary {
  readonly traceId: string;
  readonly rootServiceName: string;
  readonly rootOperationName: string;
  /** Decimal texts, because the numbers have more digits than JSON parsers keep. */
  readonly minStartTimeUnixNano: string;
  readonly maxEndTimeUnixNano: string;
  readonly spanCount: number;
  readonly errorSpanCount: number;
  /** Spans whose parent is not in the trace. */
  readonly orphanSpanCount: number;
  /** Sorted by name. */
  readonly services: readonly ServiceSummary[];
}

interface ServiceSummary {
  readonly name: string;
  readonly spanCount: number;
  readonly errorSpanCount: number;
}

/**
 * The root is the first span without a parent. Without one it is the first span whose parent is
 * missing, else the first span.
 */
export function summaryOf({ id, spans }: Trace<SpanOutline>): TraceSummary {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const isOrphan = ({ parentSpanId }: SpanOutline) =>
    parentSpanId !== null && !known.has(parentSpanId);
  const root = spans.find(({ parentSpanId }) => parentSpanId === null) ?? spans.find(isOrphan) ??
    spans[0];
  const byService = Map.groupBy(spans, ({ service }) => service);
  return {
    traceId: id,
    rootServiceName: root?.service ?? "",
    rootOperationName: root?.name ?? "",
    minStartTimeUnixNano: String(extreme(spans.map(({ startNs }) => startNs), "least")),
    maxEndTimeUnixNano: String(
      extreme(spans.map(({ startNs, durationNs }) => startNs + durationNs), "greatest"),
    ),
    spanCount: spans.length,
    errorSpanCount: countErrors(spans),
    orphanSpanCount: spans.filter(isOrphan).length,
    services: [...byService].sort(([a], [b]) => a < b ? -1 : 1).map(([name, own]) => ({
      name,
      spanCount: own.length,
      errorSpanCount: countErrors(own),
    })),
  };
}

function countErrors(spans: readonly SpanOutline[]): number {
  return spans.filter(({ statusCode }) => statusCode === "STATUS_CODE_ERROR").length;
}

function extreme(values: readonly bigint[], which: "least" | "greatest"): bigint {
  return values.reduce((a, b) => (which === "least" ? a < b : a > b) ? a : b);
}
