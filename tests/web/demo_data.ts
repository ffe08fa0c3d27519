/**
 * An hour of a made-up web shop for pictures and for looking at the page: logs as `svc dev
 * --seed-demo` sends them, and traces of the same services. The same seed gives the same rows, but
 * for their times, which end now.
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
    const resourceSpans = Array.from(
      { length: Math.min(TRACES_A_REQUEST, traces - at) },
      () => traceAt(timeAt(nowNs, random.float()), random),
    ).flat();
    await post(`${ingestUrl}/v1/traces`, { resourceSpans });
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

/** A span of the shop: its part of the parent's time, and what it calls. */
interface Call {
  readonly service: string;
  readonly name: string;
  readonly ms: number;
  readonly kind: 2 | 3;
  readonly calls: readonly Call[];
}

const CHECKOUT: Call = {
  service: "frontend",
  name: "POST /checkout",
  ms: 240,
  kind: 2,
  calls: [
    {
      service: "checkout",
      name: "place order",
      ms: 200,
      kind: 2,
      calls: [
        { service: "inventory", name: "reserve", ms: 40, kind: 2, calls: [] },
        {
          service: "payments",
          name: "charge",
          ms: 110,
          kind: 2,
          calls: [{ service: "payments", name: "POST bank.example", ms: 80, kind: 3, calls: [] }],
        },
      ],
    },
  ],
};

const SEARCH: Call = {
  service: "frontend",
  name: "GET /search",
  ms: 60,
  kind: 2,
  calls: [{ service: "search", name: "query", ms: 45, kind: 2, calls: [] }],
};

/** Resources with their spans, for one trace that begins then. */
function traceAt(startNs: bigint, random: SeededRandom): readonly unknown[] {
  const traceId = hex(random, 32);
  const isSlow = random.float() < 0.08;
  const spans: { readonly service: string; readonly span: unknown }[] = [];
  const add = (call: Call, parentSpanId: string, beginNs: bigint): void => {
    const spanId = hex(random, 16);
    const ms = call.ms * (0.6 + 0.8 * random.float()) * (isSlow ? 4 : 1);
    const endNs = beginNs + BigInt(Math.round(ms * 1e6));
    const failed = call.name === "charge" && random.float() < 0.1;
    const span = {
      traceId,
      spanId,
      ...(parentSpanId === "" ? {} : { parentSpanId }),
      name: call.name,
      kind: call.kind,
      startTimeUnixNano: String(beginNs),
      endTimeUnixNano: String(endNs),
      status: failed ? { code: 2, message: "card declined" } : {},
      attributes: [{ key: "shop.region", value: { stringValue: "eu-west-1" } }],
    };
    spans.push({ service: call.service, span });
    let childNs = beginNs + BigInt(Math.round(0.05 * ms * 1e6));
    for (const child of call.calls) {
      add(child, spanId, childNs);
      childNs += BigInt(Math.round(child.ms * 0.7 * 1e6));
    }
  };
  add(random.float() < 0.4 ? CHECKOUT : SEARCH, "", startNs);
  return [...Map.groupBy(spans, ({ service }) => service)].map(([service, own]) => ({
    resource: { attributes: [{ key: "service.name", value: { stringValue: service } }] },
    scopeSpans: [{ scope: { name: "svc.demo" }, spans: own.map(({ span }) => span) }],
  }));
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
