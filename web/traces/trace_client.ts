/** What the page asks of the routes that Jaeger's API v3 has: query/tracing/README.md. */

import { request, RequestError } from "../api/request.ts";
import { type Instants } from "../logs/time_range.ts";
import type { Call } from "./service_graph.ts";
import { type ReadTrace, readTrace } from "./trace_span.ts";

/** A trace in a list. */
export interface TraceSummary {
  readonly id: string;
  readonly service: string;
  readonly operation: string;
  /** Unix milliseconds, with a fraction. */
  readonly startMs: number;
  readonly durationNs: number;
  readonly spans: number;
  readonly errors: number;
  readonly services: readonly { readonly name: string; readonly spans: number }[];
}

/** The traces that a search finds. Errors: `RequestError`; the signal's reason. */
export async function findTraces(
  parameters: URLSearchParams,
  signal: AbortSignal,
): Promise<readonly TraceSummary[]> {
  const { summaries } = await ask<{ readonly summaries: readonly WireSummary[] }>(
    `trace-summaries?${parameters}`,
    signal,
  );
  return summaries.map((one) => {
    const startNs = BigInt(one.minStartTimeUnixNano);
    return {
      id: one.traceId,
      service: one.rootServiceName,
      operation: one.rootOperationName,
      startMs: Number(startNs / 1_000n) / 1_000,
      durationNs: Number(BigInt(one.maxEndTimeUnixNano) - startNs),
      spans: one.spanCount,
      errors: one.errorSpanCount,
      services: one.services.map(({ name, spanCount }) => ({ name, spans: spanCount })),
    };
  });
}

interface WireSummary {
  readonly traceId: string;
  readonly rootServiceName: string;
  readonly rootOperationName: string;
  readonly minStartTimeUnixNano: string;
  readonly maxEndTimeUnixNano: string;
  readonly spanCount: number;
  readonly errorSpanCount: number;
  readonly services: readonly { readonly name: string; readonly spanCount: number }[];
}

/** One trace. Errors: as `findTraces`; status 404 where there is none. */
export async function fetchTrace(id: string, signal: AbortSignal): Promise<ReadTrace> {
  const { result } = await ask<{ readonly result: Parameters<typeof readTrace>[0] }>(
    `traces/${encodeURIComponent(id)}`,
    signal,
  );
  return readTrace(result);
}

export async function serviceNames(signal: AbortSignal): Promise<readonly string[]> {
  return (await ask<{ readonly services: readonly string[] }>("services", signal)).services;
}

export async function operationNames(
  service: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { operations } = await ask<{ readonly operations: readonly { readonly name: string }[] }>(
    `operations?${new URLSearchParams({ service })}`,
    signal,
  );
  return [...new Set(operations.map(({ name }) => name))];
}

/** Who called whom, the most calls first. */
export async function serviceCalls(
  { from, to }: Instants,
  signal: AbortSignal,
): Promise<readonly Call[]> {
  const [startTime, endTime] = [from, to].map((ms) => new Date(ms).toISOString());
  const asked = new URLSearchParams({ startTime: startTime ?? "", endTime: endTime ?? "" });
  const { dependencies } = await ask<{
    readonly dependencies: readonly {
      readonly parent: string;
      readonly child: string;
      readonly callCount: string;
    }[];
  }>(`dependencies?${asked}`, signal);
  return dependencies.map(({ parent, child, callCount }) => ({
    parent,
    child,
    count: Number(callCount),
  }));
}

async function ask<T>(path: string, signal: AbortSignal): Promise<T> {
  const response = await request(`tracing/traces/api/v3/${path}`, { signal });
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  throw new RequestError(messageOf(text) ?? `HTTP ${response.status}`, response.status);
}

function messageOf(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text);
    return typeof error === "string" ? error : error?.message;
  } catch {
    return undefined; // A proxy's page: its status says it.
  }
}
