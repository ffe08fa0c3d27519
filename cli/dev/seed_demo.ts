/**
 * `dev --seed-demo`: a trickle of synthetic events to an ingest server, by OTLP/HTTP, until
 * aborted.
 */

import { messageOf } from "../../shared/base/errors.ts";
import { NS_PER_MS } from "../../shared/base/time.ts";
import type { Clock } from "../../shared/os/clock.ts";
import {
  SEVERITY_NUMBERS,
  SYNTHETIC_SOURCETYPE,
  type SyntheticEvent,
  syntheticEvents,
} from "../synthetic_events.ts";

export interface SeedOptions {
  /** Base address of the ingest server. */
  readonly ingestUrl: string;
  readonly clock: Clock;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Told when sending begins to fail, and when it works again. */
  readonly note: (text: string) => void;
}

const PERIOD_MS = 1_000;
const EVENTS_PER_PERIOD = 10;
/** The events of a period lie evenly in the one before now. */
const STEP_NS = BigInt(PERIOD_MS / EVENTS_PER_PERIOD) * NS_PER_MS;
const REQUEST_MS_MAX = 5_000;

/** Resolves once `signal` aborts. */
export async function seedDemo(options: SeedOptions): Promise<void> {
  const { clock, signal, note } = options;
  const events = syntheticEvents({ seed: options.seed, firstNs: 0n });
  let failing = false;
  while (!signal.aborted) {
    const nowNs = clock.nowNs();
    const batch = Array.from({ length: EVENTS_PER_PERIOD }, (_, at) => ({
      ...events.next().value,
      timestampNs: nowNs - BigInt(EVENTS_PER_PERIOD - 1 - at) * STEP_NS,
    }));
    const failure = await send(batch, options);
    if (signal.aborted) return;
    if (failure !== undefined && !failing) note(`demo events are not accepted: ${failure}`);
    if (failure === undefined && failing) note("demo events are accepted again");
    failing = failure !== undefined;
    await clock.sleep(PERIOD_MS, { signal }).catch(() => {});
  }
}

/** Why it failed, or undefined. A batch that was refused is not sent again: it is only a demo. */
async function send(
  events: readonly SyntheticEvent[],
  { ingestUrl, signal }: SeedOptions,
): Promise<string | undefined> {
  try {
    const response = await fetch(`${ingestUrl}/v1/logs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(toOtlp(events)),
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS_MAX)]),
    });
    const text = await response.text();
    return response.ok ? undefined : `${response.status} ${text}`;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * An OTLP/JSON `ExportLogsServiceRequest`: one resource per event, since each has its own host and
 * service.
 */
export function toOtlp(events: readonly SyntheticEvent[]): unknown {
  return {
    resourceLogs: events.map((event) => ({
      resource: {
        attributes: attributesOf({ "service.name": event.service, "host.name": event.host }),
      },
      scopeLogs: [{
        scope: { name: "svc.demo" },
        logRecords: [{
          timeUnixNano: String(event.timestampNs),
          severityText: event.severity,
          severityNumber: SEVERITY_NUMBERS[event.severity],
          body: { stringValue: event.message },
          attributes: attributesOf({ ...event.attributes, sourcetype: SYNTHETIC_SOURCETYPE }),
        }],
      }],
    })),
  };
}

function attributesOf(values: Readonly<Record<string, string | number | boolean>>): unknown[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }));
}

/** Synthetic numbers are whole. */
function anyValue(value: string | number | boolean): unknown {
  switch (typeof value) {
    case "string":
      return { stringValue: value };
    case "boolean":
      return { boolValue: value };
    case "number":
      return { intValue: String(value) };
  }
}
