/** Spans and their logs, for tests of the page Traces. */

import type { RowObject } from "../../shared/columns/rows.ts";
import type { LabEvent } from "../../shared/testing/warehouse_lab.ts";
import { spanId, spanRow, traceId } from "../tracing/trace_lab.ts";

/** 2026-11-20T00:00:00Z, and two hours from then, as the page's address has them. */
export const RANGE = "1795132800000..1795140000000";
const START_NS = 1_795_132_800_000_000_000n;
const MS_NS = 1_000_000n;

export const HOSTILE = '<img src=x onerror="document.title=1">\u202e\x1b[31m "end"';

interface Call {
  readonly service: string;
  readonly name: string;
  readonly kind: "SERVER" | "CLIENT" | "INTERNAL" | "PRODUCER" | "CONSUMER";
  /** Milliseconds after the trace's start. */
  readonly from: number;
  readonly to: number;
  /** Place of the parent among the calls; null: none, "lost": one that is not stored. */
  readonly parent: number | "lost" | null;
  readonly error?: string;
  readonly columns?: RowObject;
}

/** The spans of trace `trace`, which begins `at` seconds after the start. */
export function traceRows(trace: number, at: number, calls: readonly Call[]): RowObject[] {
  const first = trace * 100_000;
  return calls.map((call, index) => ({
    ...spanRow({
      trace,
      span: first + index,
      parent: call.parent === "lost" ? 99 : call.parent === null ? null : first + call.parent,
      at: at + call.from / 1_000,
      service: call.service,
      name: call.name,
      kind: `SPAN_KIND_${call.kind}`,
      status: call.error === undefined ? "STATUS_CODE_UNSET" : "STATUS_CODE_ERROR",
      durationNs: BigInt(Math.round((call.to - call.from) * 1e6)),
    }),
    ...(call.error === undefined ? {} : { status_message: call.error }),
    ...call.columns,
  }));
}

/** A shop's order: a slow card, events, a link, another clock, an asynchronous mail. */
export const ORDER: readonly Call[] = [
  { service: "frontend", name: "POST /orders", kind: "SERVER", from: 0, to: 100, parent: null },
  { service: "frontend", name: "checkout", kind: "CLIENT", from: 5, to: 95, parent: 0 },
  { service: "checkout", name: "POST /pay", kind: "SERVER", from: 200, to: 280, parent: 1 },
  {
    ...{ service: "checkout", name: "charge card", kind: "INTERNAL", from: 210, to: 270 },
    parent: 2,
    error: "card declined",
    columns: {
      attributes: JSON.stringify({
        "http.status_code": 502,
        "user name": 'ann "a" lee',
        [HOSTILE]: HOSTILE,
      }),
      resource_attributes: JSON.stringify({ "host.name": "web-1" }),
      events: JSON.stringify([{
        time_unix_nano: String(START_NS + 230n * MS_NS),
        name: "retry",
        attributes: { attempt: 2 },
      }]),
      links: JSON.stringify([{ trace_id: traceId(2), span_id: spanId(200_000) }]),
    },
  },
  { service: "checkout", name: "SELECT cart", kind: "CLIENT", from: 202, to: 208, parent: 2 },
  { service: "mail", name: "send mail", kind: "CONSUMER", from: 90, to: 400, parent: 0 },
];

/** A trace whose root is not stored, and whose names are hostile. */
export const LOST: readonly Call[] = [
  { service: HOSTILE, name: HOSTILE, kind: "SERVER", from: 0, to: 12, parent: "lost" },
  { service: "cache", name: "get", kind: "INTERNAL", from: 2, to: 4, parent: 0 },
];

/** Many plain traces; every tenth has an error. `count` at most 600. */
export function plainTraces(from: number, count: number): RowObject[] {
  return Array.from({ length: count }, (_, index) => {
    const took = 3 + (index * 37 % 100) ** 2 / 20;
    return traceRows(from + index, 10 + index * 10, [
      { service: "frontend", name: "GET /cart", kind: "SERVER", from: 0, to: took, parent: null },
      {
        ...{ service: "cart", name: "load", kind: "SERVER", from: 1, to: took - 1, parent: 0 },
        ...(index % 10 === 0 ? { error: "no cart" } : {}),
      },
    ]);
  }).flat();
}

/** One trace of many spans: workers side by side, each with tasks of its own. */
export function largeTrace(trace: number, spans: number): RowObject[] {
  const perWorker = 100;
  const calls: Call[] = [
    { service: "batch", name: "nightly run", kind: "INTERNAL", from: 0, to: 60_000, parent: null },
  ];
  while (calls.length < spans) {
    const worker = calls.length;
    const from = (worker / perWorker) * 550 % 50_000;
    calls.push({
      ...{ service: `worker-${worker % 7}`, name: "run part", kind: "INTERNAL" as const, from },
      to: from + 5_000,
      parent: 0,
    });
    for (let at = 0; at < perWorker - 1 && calls.length < spans; at += 1) {
      const start = from + at * 45;
      calls.push({
        ...{ service: "store", name: `put object ${at}`, kind: "CLIENT" as const, from: start },
        to: start + 20 + at % 25,
        parent: worker,
      });
    }
  }
  return traceRows(trace, 1, calls);
}

/** Logs of the order, two of which a span wrote. */
export const ORDER_LOGS: readonly LabEvent[] = [
  [1, undefined, "INFO", "order received"],
  [220, 3, "WARN", `card is slow ${HOSTILE}`],
  [265, 3, "ERROR", "card declined: insufficient funds"],
].map(([ms, span, level, raw]) => ({
  ns: START_NS + BigInt(Number(ms)) * MS_NS,
  raw: String(raw),
  attributes: JSON.stringify({
    severity_text: level,
    trace_id: traceId(1),
    ...(span === undefined ? {} : { span_id: spanId(100_000 + Number(span)) }),
  }),
}));
