/** Metrics of a role's listeners: one table for every role, and the handles of one listener. */

import { REFUSAL_REASONS, type RefusalReason } from "../http1/refusal.ts";
import type { MetricHandles } from "../metrics/metrics.ts";
import type { MetricTable } from "../metrics/table.ts";
import { CONNECTION_REFUSALS, type ConnectionRefusal } from "./connection_counts.ts";

const LISTENERS = ["http", "grpc", "metrics", "pg"] as const;
export type ListenerName = typeof LISTENERS[number];

export const CONNECTION_METRICS = {
  connections: {
    kind: "gauge",
    name: "svc_http_connections",
    help: "Open connections, by listener",
    labels: { listener: LISTENERS },
  },
  connectionsRefused: {
    kind: "counter",
    name: "svc_http_connections_refused_total",
    help:
      "Connections closed at once, by listener and bound: --max-connections (listener_full), or " +
      "--max-connections-per-address (address_full)",
    labels: { listener: LISTENERS, reason: CONNECTION_REFUSALS },
  },
  connectionsEvicted: {
    kind: "counter",
    name: "svc_http_connections_evicted_total",
    help:
      "Connections that waited for a request, or for the rest of its head, closed for a new one while their listener was full",
    labels: { listener: LISTENERS },
  },
  acceptFailures: {
    kind: "counter",
    name: "svc_http_accept_failures_total",
    help: "Attempts to accept a connection that failed, most likely for want of file descriptors",
    labels: { listener: LISTENERS },
  },
  requestsRefused: {
    kind: "counter",
    name: "svc_http_requests_refused_total",
    help: "Requests refused before any route saw them, by listener and what was wrong",
    labels: { listener: LISTENERS, reason: REFUSAL_REASONS },
  },
} as const satisfies MetricTable;

/** What one listener counts. */
export interface ListenerMeter {
  /** Asked at every scrape. */
  gaugeConnections(read: () => number): void;
  refused(reason: ConnectionRefusal): void;
  evicted(): void;
  acceptFailed(): void;
  requestRefused(reason: RefusalReason): void;
}

/** The connections of one listener as metrics. */
export function listenerMeter(
  metrics: MetricHandles<typeof CONNECTION_METRICS>,
  listener: ListenerName,
): ListenerMeter {
  return {
    gaugeConnections: (read) => metrics.connections.readAtScrape(read, { listener }),
    refused: (reason) => metrics.connectionsRefused.add(1, { listener, reason }),
    evicted: () => metrics.connectionsEvicted.add(1, { listener }),
    acceptFailed: () => metrics.acceptFailures.add(1, { listener }),
    requestRefused: (reason) => metrics.requestsRefused.add(1, { listener, reason }),
  };
}
