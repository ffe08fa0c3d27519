/**
 * An hour of a made-up web shop, for pictures and for looking at the page. It has logs as `svc dev
 * --seed-demo` sends them, and traces of the same services with logs of their own. A seed gives the
 * same rows each time, but for their times, which end now.
 */

import { toOtlp } from "../../cli/dev/seed_demo.ts";
import { syntheticEvents } from "../../cli/synthetic_events.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";

export interface DemoOptions {
  readonly ingestUrl: string;
  readonly seed: number;
  /** Logs, spread over the hour before now. */
  readonly events: number;
  readonly traces: number;
}

const HOUR_NS = 3_600_000_000_000n;
const EVENTS_A_REQUEST = 500;
const TRACES_A_REQUEST = 50;
const REQUEST_MS_MAX = 30_000;

/** Sends all of it; returns once it is durable. */
export async function sendDemo({ ingestUrl, seed, events, traces }: DemoOptions): Promise<void> {
  const nowNs = BigInt(Date.now()) * 1_000_000n;
  const random = new SeededRandom(seed);
  const made = syntheticEvents({ seed, firstNs: 0n });
  const times = Array.from({ length: events }, () => busyTime(random)).toSorted((a, b) => a - b);
  for (let at = 0; at < events; at += EVENTS_A_REQUEST) {
    const batch = times.slice(at, at + EVENTS_A_REQUEST).map((share) => ({
      ...made.next().value,
      timestampNs: timeAt(nowNs, share),
    }));
    await post(`${ingestUrl}/v1/logs`, toOtlp(batch));
  }
  for (let at = 0; at < traces; at += TRACES_A_REQUEST) {
    const made = Array.from(
      { length: Math.min(TRACES_A_REQUEST, traces - at) },
      () => traceAt(timeAt(nowNs, random.float()), random),
    );
    await post(`${ingestUrl}/v1/traces`, { resourceSpans: made.flatMap(({ spans }) => spans) });
    await post(`${ingestUrl}/v1/logs`, { resourceLogs: made.flatMap(({ logs }) => logs) });
  }
}

/** Where in the hour an event lies, 0 to 1: traffic rises, and bursts twice. */
function busyTime(random: SeededRandom): number {
  const share = random.float();
  if (random.float() < 0.15) return 0.35 + 0.03 * share;
  if (random.float() < 0.15) return 0.78 + 0.05 * share;
  return Math.sqrt(share);
}

function timeAt(nowNs: bigint, share: number): bigint {
  return nowNs - HOUR_NS + BigInt(Math.floor(share * 3_600_000)) * 1_000_000n;
}

/** A span of the shop: its part of the parent's time, what it calls, and what it logs. */
interface Call {
  readonly service: string;
  readonly name: string;
  readonly ms: number;
  readonly kind: 1 | 2 | 3 | 4;
  readonly calls?: readonly Call[];
  readonly log?: string;
}

/** The call that fails in some traces. */
const FAILING = "charge";

const CHECKOUT: Call = {
  ...{ service: "frontend", name: "POST /checkout", ms: 260, kind: 2 },
  log: "POST /checkout",
  calls: [
    { service: "frontend", name: "check session", ms: 14, kind: 1 },
    {
      ...{ service: "checkout", name: "place order", ms: 226, kind: 2 },
      log: "placing the order of cart 7f21, 3 items",
      calls: [
        { service: "checkout", name: "SELECT cart", ms: 11, kind: 3 },
        {
          ...{ service: "inventory", name: "reserve", ms: 48, kind: 2 },
          log: "reserved 3 items until 21:15",
          calls: [
            { service: "inventory", name: "SELECT stock", ms: 16, kind: 3 },
            { service: "inventory", name: "UPDATE stock", ms: 22, kind: 3 },
          ],
        },
        {
          ...{ service: "payments", name: FAILING, ms: 118, kind: 2 },
          log: "card charged",
          calls: [
            { service: "payments", name: "score risk", ms: 19, kind: 1 },
            { service: "payments", name: "POST bank.example", ms: 82, kind: 3 },
          ],
        },
        { service: "checkout", name: "publish order", ms: 9, kind: 4 },
      ],
    },
  ],
};

const SEARCH: Call = {
  ...{ service: "frontend", name: "GET /search", ms: 60, kind: 2 },
  calls: [{
    ...{ service: "search", name: "query", ms: 45, kind: 2 },
    calls: [
      { service: "search", name: "read index", ms: 21, kind: 1 },
      { service: "search", name: "SELECT prices", ms: 12, kind: 3 },
    ],
  }],
};

/** Resources with their spans, and with their logs. */
interface Sent {
  readonly spans: readonly unknown[];
  readonly logs: readonly unknown[];
}

/** One trace that begins then. */
function traceAt(startNs: bigint, random: SeededRandom): Sent {
  const traceId = hex(random, 32);
  const factor = (0.6 + 0.8 * random.float()) * (random.float() < 0.08 ? 4 : 1);
  const fails = random.float() < 0.1;
  const sent: { readonly service: string; readonly span: unknown; readonly log: unknown }[] = [];
  /** Adds the call and those below it; returns when it ended. */
  const add = (call: Call, parentSpanId: string, beginNs: bigint): bigint => {
    const spanId = hex(random, 16);
    const ns = Math.round(call.ms * factor * (0.97 + 0.06 * random.float()) * 1e6);
    const endNs = beginNs + BigInt(ns);
    const failed = fails && call.name === FAILING;
    const message = failed ? "card declined: insufficient funds" : call.log;
    const at = { timeUnixNano: String(endNs - BigInt(Math.round(0.02 * ns))) };
    const span = {
      ...{ traceId, spanId, name: call.name, kind: call.kind },
      ...(parentSpanId === "" ? {} : { parentSpanId }),
      startTimeUnixNano: String(beginNs),
      endTimeUnixNano: String(endNs),
      status: failed ? { code: 2, message: "card declined" } : {},
      events: failed ? [{ ...at, name: "exception" }] : [],
      attributes: [{ key: "shop.region", value: { stringValue: "eu-west-1" } }],
    };
    const [severityText, severityNumber] = failed ? ["ERROR", 17] : ["INFO", 9];
    const body = { stringValue: message };
    sent.push({
      service: call.service,
      span,
      log: message && { ...at, traceId, spanId, severityText, severityNumber, body },
    });
    let childNs = beginNs + BigInt(Math.round(0.03 * ns));
    for (const child of call.calls ?? []) {
      childNs = add(child, spanId, childNs) + BigInt(Math.round(0.01 * ns));
    }
    return endNs;
  };
  add(random.float() < 0.4 ? CHECKOUT : SEARCH, "", startNs);
  const byService = [...Map.groupBy(sent, ({ service }) => service)];
  const scope = { name: "svc.demo" };
  return {
    spans: byService.map(([service, own]) => ({
      resource: resourceOf(service),
      scopeSpans: [{ scope, spans: own.map(({ span }) => span) }],
    })),
    logs: byService.map(([service, own]) => ({
      resource: resourceOf(service),
      scopeLogs: [{ scope, logRecords: own.flatMap(({ log }) => log ? [log] : []) }],
    })),
  };
}

function resourceOf(service: string): unknown {
  return { attributes: [{ key: "service.name", value: { stringValue: service } }] };
}

function hex(random: SeededRandom, digits: number): string {
  return Array.from({ length: digits }, () => Math.floor(16 * random.float()).toString(16)).join(
    "",
  );
}

async function post(url: string, body: unknown): Promise<void> {
  const response = await fetch(`${url}?commit=wait_for`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS_MAX),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
}
