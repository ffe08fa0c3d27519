/**
 * Traces of an instrumented application, read back as Grafana's Jaeger data source and the Jaeger
 * UI read them. On real processes, from the WAL and from the table, they equal what the official
 * exporters sent.
 */

import assert from "node:assert/strict";
import { Stack } from "../apps/stack.ts";
import {
  V1_DEPENDENCIES,
  V1_NAMES,
  V1_TRACES,
  type V1Trace,
  V3_OPERATIONS,
  V3_SERVICES,
  V3_SUMMARIES,
  V3_TRACES,
} from "../tracing/jaeger_schemas.ts";
import {
  ERROR_EVERY,
  InstrumentedShop,
  type SentBody,
  type SentSpan,
} from "./instrumented_shop.ts";

const VISITS = 9;
/** GET /checkout, price, GET, GET / of orders. */
const SPANS_PER_VISIT = 4;
const DEADLINE_MS = 60_000;

Deno.test({
  name:
    "traces of an instrumented HTTP server come back equal in both APIs, for Grafana and Jaeger UI",
  fn: async () => {
    await using stack = await Stack.start();
    await using shop = new InstrumentedShop(stack.ingestUrl, { refuseAfterTaking: true });
    await shop.visit(VISITS);
    const sent = sentSpans(shop.sent);
    assert.equal(sent.size, VISITS * SPANS_PER_VISIT);
    await check(stack, sent);

    const forced = await fetch(`${stack.ingestUrl}/v1/traces?commit=force`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(ELSEWHERE),
    });
    assert.equal(forced.status, 200, await forced.text());
    const { rows } = await stack.sql("SELECT count(*) FROM traces", { snapshot: "latest" });
    // The first body came twice: it is stored twice and told once.
    assert.ok(Number(rows[0]?.[0]) > sent.size + 1, "from the table");
    await check(stack, sent);
  },
});

/** A span of another service, which makes `commit=force` wait for all. */
const ELSEWHERE = {
  resourceSpans: [{
    resource: { attributes: [{ key: "service.name", value: { stringValue: "elsewhere" } }] },
    scopeSpans: [{
      spans: [{
        traceId: "f".repeat(32),
        spanId: "f".repeat(16),
        name: "last",
        startTimeUnixNano: "1",
      }],
    }],
  }],
};

async function check(stack: Stack, sent: ReadonlyMap<string, Sent>): Promise<void> {
  const url = `${stack.queryUrl}/api/v1/tracing/traces`;
  const byTrace = Map.groupBy(sent.values(), ({ span }) => span.traceId);
  for (const [id, own] of byTrace) {
    const v3 = V3_TRACES.parse(await get(`${url}/api/v3/traces/${id}`));
    const told = sentSpans([v3.result as unknown as SentBody]);
    assert.deepEqual([...told.values()].sort(bySpanId), [...own].sort(bySpanId));
    const { data } = V1_TRACES.parse(await get(`${url}/api/traces/${id}`));
    assert.deepEqual(data.flatMap(sentOfV1).sort(bySpanId), own.map(asV1).sort(bySpanId));
  }
  await readAsGrafana(url, byTrace);
  await readAsJaegerUi(url, byTrace);
}

interface Sent {
  readonly resource: unknown;
  readonly scope: unknown;
  readonly span: SentSpan;
}

function bySpanId(a: { readonly span: SentSpan }, b: { readonly span: SentSpan }): number {
  return a.span.spanId < b.span.spanId ? -1 : 1;
}

/** Spans by id. OTLP/JSON may leave defaults out or not, and write 64-bit integers as numbers. */
function sentSpans(bodies: readonly SentBody[]): Map<string, Sent> {
  const spans = new Map<string, Sent>();
  for (const { resource, scopeSpans } of bodies.flatMap((body) => body.resourceSpans)) {
    for (const { scope, spans: own } of scopeSpans) {
      for (const span of own) {
        assert.ok(!spans.has(span.spanId), "each span once");
        spans.set(span.spanId, plain({ resource, scope, span }) as Sent);
      }
    }
  }
  return spans;
}

/** Without members that say nothing, attributes in the order of their names, integers as text. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(plain) as { readonly key?: string }[];
    return items.every((item) => typeof item?.key === "string")
      ? items.sort((a, b) => (a.key ?? "") < (b.key ?? "") ? -1 : 1)
      : items;
  }
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) =>
    [name, name === "intValue" ? String(member) : plain(member)] as const
  );
  return Object.fromEntries(members.filter(([name, member]) => !saysNothing(name, member)));
}

function saysNothing(name: string, member: unknown): boolean {
  if (name.endsWith("Value")) return false;
  return member === 0 || member === "" ||
    (typeof member === "object" && member !== null && Object.keys(member).length === 0);
}

/** A sent span as far as v1 can tell it, each in the plainest form. */
function asV1({ resource, scope, span }: Sent) {
  const { attributes = [], events = [], links = [], status = {}, kind } = span as {
    attributes?: KeyValue[];
    events?: { timeUnixNano: string; name: string; attributes?: KeyValue[] }[];
    links?: { traceId: string; spanId: string }[];
    status?: { code?: number; message?: string };
    kind?: number;
  };
  const { name: scopeName = "", version = "" } = scope as { name?: string; version?: string };
  const own = (resource as { attributes: KeyValue[] }).attributes;
  const code = ["", "OK", "ERROR"][status.code ?? 0] ?? "";
  const tags = {
    "otel.scope.name": scopeName,
    "otel.scope.version": version,
    "otel.library.name": scopeName,
    "otel.library.version": version,
    ...valuesOf(attributes),
    "span.kind": ["", "internal", "server", "client"][kind ?? 0],
    ...(code === "" ? {} : { "otel.status_code": code }),
    ...(code === "ERROR" ? { error: true } : {}),
    ...(status.message === undefined ? {} : { "otel.status_description": status.message }),
  };
  const { "service.name": service, ...process } = valuesOf(own);
  const start = BigInt(String(span["startTimeUnixNano"]));
  const parent = span.parentSpanId === undefined
    ? []
    : [["CHILD_OF", span.traceId, span.parentSpanId]];
  return {
    span: { spanId: span.spanId } as SentSpan,
    name: span.name,
    service,
    process,
    tags,
    start: Number(start / 1000n),
    duration: Number((BigInt(String(span["endTimeUnixNano"])) - start) / 1000n),
    references: [...parent, ...links.map((link) => ["FOLLOWS_FROM", link.traceId, link.spanId])],
    logs: events.map((event) => ({
      time: Number(BigInt(event.timeUnixNano) / 1000n),
      fields: { event: event.name, ...valuesOf(event.attributes ?? []) },
    })),
  };
}

interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

function valuesOf(attributes: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]));
}

function plainValue(value: Readonly<Record<string, unknown>>): unknown {
  const [[type, content] = []] = Object.entries(value);
  if (type === "intValue") return Number(content);
  if (type !== "arrayValue") return content;
  const { values } = content as { values: Readonly<Record<string, unknown>>[] };
  return JSON.stringify(values.map(plainValue));
}

/** The spans of a v1 trace in the same form. */
function sentOfV1({ spans, processes }: V1Trace): ReturnType<typeof asV1>[] {
  return spans.map((span) => ({
    span: { spanId: span.spanID } as SentSpan,
    name: span.operationName,
    service: processes[span.processID]?.serviceName,
    process: tagValues(processes[span.processID]?.tags ?? []),
    tags: tagValues(span.tags) as ReturnType<typeof asV1>["tags"],
    start: span.startTime,
    duration: span.duration,
    references: span.references.map((one) => [one.refType, one.traceID, one.spanID]),
    logs: span.logs.map(({ timestamp, fields }) => ({
      time: timestamp,
      fields: tagValues(fields) as { event: string },
    })),
  }));
}

function tagValues(tags: readonly { readonly key: string; readonly value: unknown }[]) {
  return Object.fromEntries(tags.map(({ key, value }) => [key, value]));
}

type ByTrace = ReadonlyMap<string, readonly Sent[]>;

/** Its routes, parameters and reading of the reply (`pkg/tsdb/jaeger` of Grafana), in its order. */
async function readAsGrafana(url: string, byTrace: ByTrace): Promise<void> {
  const { data: services } = V1_NAMES.parse(await get(`${url}/api/services`));
  assert.deepEqual(services.filter((name) => name !== "elsewhere"), ["frontend", "orders"]);
  const { data: operations } = V1_NAMES.parse(await get(`${url}/api/services/orders/operations`));
  assert.deepEqual(operations, ["GET /"]);
  const nowMs = Date.now();
  // Tags are typed as logfmt and sent as JSON.
  const search = new URLSearchParams({
    service: "orders",
    operation: "GET /",
    tags: JSON.stringify({ error: "true", "http.response.status_code": "503" }),
    minDuration: "1ns",
    maxDuration: "10m",
    limit: "20",
    start: String((nowMs - 3_600_000) * 1000),
    end: String(nowMs * 1000),
  });
  const { data: found } = V1_TRACES.parse(await get(`${url}/api/traces?${search}`));
  assert.equal(found.length, Math.ceil(VISITS / ERROR_EVERY));
  for (const trace of found) {
    const times = `start=${nowMs - 3_600_000}000&end=${nowMs}000`;
    const { data } = V1_TRACES.parse(await get(`${url}/api/traces/${trace.traceID}?${times}`));
    const [first] = data;
    assert.ok(first !== undefined, "it reads the first without looking");
    assert.deepEqual(first, trace);
    const parents = first.spans.map(({ references }) =>
      references.find(({ refType }) => refType === "CHILD_OF")?.spanID
    );
    assert.equal(parents.filter((parent) => parent === undefined).length, 1, "one root");
    const ids = new Set(first.spans.map(({ spanID }) => spanID));
    assert.ok(parents.every((parent) => parent === undefined || ids.has(parent)));
    assert.equal(first.spans.length, byTrace.get(first.traceID)?.length);
  }
  const graph = `${url}/api/dependencies?endTs=${nowMs}&lookback=3600000`;
  const { data: calls } = V1_DEPENDENCIES.parse(await get(graph));
  assert.deepEqual(calls, [{ parent: "frontend", child: "orders", callCount: VISITS }]);
  const missing = await fetch(`${url}/api/traces/${"0".repeat(31)}1`);
  assert.equal(missing.status, 404);
  await missing.body?.cancel();
}

/** What its v3 client asks and checks, and the trace page. */
async function readAsJaegerUi(url: string, byTrace: ByTrace): Promise<void> {
  const { services } = V3_SERVICES.parse(await get(`${url}/api/v3/services`));
  assert.deepEqual(services.filter((name) => name !== "elsewhere"), ["frontend", "orders"]);
  const spans = V3_OPERATIONS.parse(await get(`${url}/api/v3/operations?service=frontend`));
  assert.deepEqual(spans.operations, [
    { name: "GET", spanKind: "client" },
    { name: "GET /checkout", spanKind: "server" },
    { name: "price", spanKind: "internal" },
  ]);
  const nowMs = Date.now();
  const search = new URLSearchParams({
    "query.service_name": "frontend",
    "query.start_time_min": new Date(nowMs - 3_600_000).toISOString(),
    "query.start_time_max": new Date(nowMs).toISOString(),
    "query.num_traces": "20",
    "query.attributes": JSON.stringify({ "price.cached": "false" }),
  });
  const { summaries } = V3_SUMMARIES.parse(await get(`${url}/api/v3/trace-summaries?${search}`));
  assert.equal(summaries.length, VISITS);
  for (const summary of summaries) {
    const own = byTrace.get(summary.traceId) ?? [];
    const timesOf = (name: string) => own.map(({ span }) => BigInt(String(span[name])));
    const failed = own.filter(({ span }) => (span["status"] as { code?: number })?.code === 2);
    assert.deepEqual(summary, {
      traceId: summary.traceId,
      rootServiceName: "frontend",
      rootOperationName: "GET /checkout",
      minStartTimeUnixNano: String(timesOf("startTimeUnixNano").reduce((a, b) => a < b ? a : b)),
      maxEndTimeUnixNano: String(timesOf("endTimeUnixNano").reduce((a, b) => a > b ? a : b)),
      spanCount: SPANS_PER_VISIT,
      errorSpanCount: failed.length,
      orphanSpanCount: 0,
      services: [
        { name: "frontend", spanCount: SPANS_PER_VISIT - 1, errorSpanCount: 0 },
        { name: "orders", spanCount: 1, errorSpanCount: failed.length },
      ],
    });
  }
}

async function get(url: string): Promise<unknown> {
  const response = await fetch(url, { signal: AbortSignal.timeout(DEADLINE_MS) });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.ok(Number(response.headers.get("x-svc-server-micros")) > 0);
  return JSON.parse(text);
}
