/**
 * Made-up events of a small web shop: the same seed and first instant give the same events. For
 * `gen`, `iceberg-demo` and `dev --seed-demo`; nothing here is measured from a real system.
 */

import { formatNanos, NS_PER_MS } from "../shared/base/time.ts";

export interface SyntheticEvent {
  readonly timestampNs: bigint;
  readonly host: string;
  readonly service: string;
  readonly severity: Severity;
  readonly message: string;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

type Severity = "DEBUG" | "INFO" | "WARN" | "ERROR";

/** OpenTelemetry's severity numbers. */
export const SEVERITY_NUMBERS: Readonly<Record<Severity, number>> = {
  DEBUG: 5,
  INFO: 9,
  WARN: 13,
  ERROR: 17,
};

export const SYNTHETIC_SOURCETYPE = "shop:app";

/** Mean distance of neighbours in time, in milliseconds. */
export const MEAN_STEP_MS = 100;

interface Draw {
  /** A whole number from `min` to `max`. */
  whole(min: number, max: number): number;
  /** Skewed towards the first. */
  pick<T>(choices: readonly [T, ...T[]]): T;
  /** `digits` hexadecimal digits. */
  hex(digits: number): string;
}

/** One kind of event; `weight` is its share among all. */
interface Shape {
  readonly weight: number;
  readonly service: string;
  readonly severity: Severity;
  make(draw: Draw): Pick<SyntheticEvent, "message" | "attributes">;
}

const PATHS = ["/", "/cart", "/search", "/product/42", "/checkout", "/account/orders"] as const;
const REGIONS = ["eu-west-1", "us-east-1", "ap-south-1"] as const;

const SHAPES: readonly Shape[] = [
  {
    weight: 50,
    service: "frontend",
    severity: "INFO",
    make(draw) {
      const [path, status] = [draw.pick(PATHS), draw.pick([200, 200, 304, 404])];
      const duration = draw.whole(2, 180);
      return {
        message: `GET ${path} ${status} ${duration}ms`,
        attributes: {
          "http.method": "GET",
          "http.route": path,
          "http.status_code": status,
          "duration_ms": duration,
        },
      };
    },
  },
  {
    weight: 18,
    service: "checkout",
    severity: "INFO",
    make(draw) {
      const [order, items] = [draw.whole(10_000, 99_999), draw.whole(1, 9)];
      return {
        message: `order placed order_id=${order} items=${items}`,
        attributes: {
          "order.id": order,
          "order.items": items,
          "cache.hit": draw.whole(0, 1) === 1,
        },
      };
    },
  },
  {
    weight: 10,
    service: "search",
    severity: "DEBUG",
    make(draw) {
      const term = draw.pick(["lamp", "desk", "blue chair", "größe 42"]);
      return {
        message: `query "${term}" matched ${draw.whole(0, 900)} products`,
        attributes: { "search.term": term, "duration_ms": draw.whole(1, 40) },
      };
    },
  },
  {
    weight: 10,
    service: "auth",
    severity: "WARN",
    make(draw) {
      const address = `203.0.113.${draw.whole(1, 254)}`;
      return {
        message: `login failed for user-${draw.whole(1, 500)} from ${address}`,
        attributes: { "client.address": address, "auth.attempt": draw.whole(1, 5) },
      };
    },
  },
  {
    weight: 7,
    service: "inventory",
    severity: "WARN",
    make(draw) {
      const sku = `SKU-${draw.whole(100, 999)}`;
      return {
        message: `stock low sku=${sku} left=${draw.whole(0, 5)}`,
        attributes: { sku, warehouse: draw.pick(["north", "south"]) },
      };
    },
  },
  {
    weight: 5,
    service: "payments",
    severity: "ERROR",
    make(draw) {
      const provider = draw.pick(["cardnet", "bankpay"]);
      const duration = draw.whole(2_000, 9_000);
      return {
        message: `payment declined: timeout after ${duration}ms calling ${provider}`,
        attributes: { "payment.provider": provider, "duration_ms": duration, retryable: true },
      };
    },
  },
];

export interface SyntheticOptions {
  /** Equal seeds give equal events. */
  readonly seed: number;
  /** Instant of the first event, Unix nanoseconds. */
  readonly firstNs: bigint;
}

/** An endless supply of events, ascending in time. */
export function* syntheticEvents(options: SyntheticOptions): Generator<SyntheticEvent, never> {
  const draw = drawFrom(options.seed);
  let timestampNs = options.firstNs;
  for (;;) {
    yield eventAt(timestampNs, draw);
    const stepMs = draw.whole(0, 2 * MEAN_STEP_MS);
    timestampNs += BigInt(stepMs) * NS_PER_MS + BigInt(draw.whole(1, 999_999));
  }
}

/** The event as a line of `svc ingest`, without the line's end. */
export function toNdjson(event: SyntheticEvent): string {
  return JSON.stringify({
    timestamp: formatNanos(event.timestampNs),
    host: event.host,
    source: event.service,
    sourcetype: SYNTHETIC_SOURCETYPE,
    message: event.message,
    severity_text: event.severity,
    ...event.attributes,
  });
}

function eventAt(timestampNs: bigint, draw: Draw): SyntheticEvent {
  const shape = weighted(draw);
  const { message, attributes } = shape.make(draw);
  return {
    timestampNs,
    host: `${shape.service}-${draw.whole(1, 3)}`,
    service: shape.service,
    severity: shape.severity,
    message,
    attributes: { ...attributes, "cloud.region": draw.pick(REGIONS), trace_id: draw.hex(32) },
  };
}

function weighted(draw: Draw): Shape {
  const total = SHAPES.reduce((sum, shape) => sum + shape.weight, 0);
  let left = draw.whole(1, total);
  return SHAPES.find((shape) => (left -= shape.weight) <= 0) ?? SHAPES[0] as Shape;
}

/** mulberry32: small, and good enough for made-up text. */
function drawFrom(seed: number): Draw {
  let state = seed >>> 0;
  const float = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (min: number, max: number) => min + Math.floor(float() * (max - min + 1));
  return {
    whole,
    pick: (choices) => choices[Math.floor(float() ** 2 * choices.length)] ?? choices[0],
    hex: (digits) => Array.from({ length: digits }, () => whole(0, 15).toString(16)).join(""),
  };
}
