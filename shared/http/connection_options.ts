/** Options of the roles that take connections from elsewhere, and what they come to. */

import { getLogger } from "@logtape/logtape";
import type { OptionTable, Settings } from "../config/options.ts";
import { freeDescriptors } from "../os/free_descriptors.ts";
import type { ConnectionBounds } from "./connection_counts.ts";

export const CONNECTION_OPTIONS = {
  maxConnections: {
    kind: "integer",
    flag: "max-connections",
    env: "SVC_MAX_CONNECTIONS",
    placeholder: "n",
    default: 16_384,
    min: 8,
    max: 1_000_000,
    help: "Most connections of each listener at a time. To take one more, the server closes one " +
      "that waits for a request.",
  },
  maxConnectionsPerAddress: {
    kind: "integer",
    flag: "max-connections-per-address",
    env: "SVC_MAX_CONNECTIONS_PER_ADDRESS",
    placeholder: "n",
    min: 0,
    max: 1_000_000,
    help: "Most connections of one client address at a time, for IPv6 of one /64 network; a " +
      "quarter of --max-connections when not given. 0: no limit, for a server behind a proxy, " +
      "whose connections all have one address.",
  },
} as const satisfies OptionTable;

export type ConnectionSettings = Settings<typeof CONNECTION_OPTIONS>;

/**
 * The bounds of the listener of `/metrics`. Scrapers are few, and other callers must not take the
 * descriptors of others.
 */
export const METRICS_BOUNDS: ConnectionBounds = {
  connectionsMax: 64,
  connectionsPerAddressMax: Infinity,
};

export interface BoundsPlan {
  /** The bounds of each listener but that of metrics. */
  readonly bounds: ConnectionBounds;
  /** What an operator must know. */
  readonly warning: string | undefined;
}

export interface PlanOptions {
  /** Listeners besides that of metrics. */
  readonly listeners: number;
  /** That may be opened; undefined: enough. */
  readonly descriptors: number | undefined;
}

/** Descriptors that files and our own connections to others are left: a quarter, at least these. */
const RESERVE_MIN = 128;
const RESERVE_SHARE = 1 / 4;
const ADDRESS_SHARE = 1 / 4;

/** Bounds that leave descriptors for files. */
export function planBounds(settings: ConnectionSettings, options: PlanOptions): BoundsPlan {
  const { maxConnections: wanted } = settings;
  const { listeners, descriptors } = options;
  const possible = descriptors === undefined ? wanted : perListener(descriptors, listeners);
  const connectionsMax = Math.min(wanted, possible);
  const perAddress = settings.maxConnectionsPerAddress ??
    Math.max(1, Math.floor(connectionsMax * ADDRESS_SHARE));
  return {
    bounds: {
      connectionsMax,
      connectionsPerAddressMax: perAddress === 0 ? Infinity : perAddress,
    },
    warning: connectionsMax === wanted
      ? undefined
      : warningOf(settings, { ...options, connectionsMax }),
  };
}

function perListener(descriptors: number, listeners: number): number {
  const reserve = Math.max(RESERVE_MIN, descriptors * RESERVE_SHARE) +
    METRICS_BOUNDS.connectionsMax;
  return Math.max(8, Math.floor((descriptors - reserve) / listeners));
}

function warningOf(
  { maxConnections: wanted }: ConnectionSettings,
  { listeners, descriptors, connectionsMax }: PlanOptions & { readonly connectionsMax: number },
): string {
  const needed = Math.ceil(
    (listeners * wanted + METRICS_BOUNDS.connectionsMax) / (1 - RESERVE_SHARE),
  );
  return `this process may open ${descriptors} more files and sockets, too few for the ${wanted} connections of ` +
    `--max-connections: each listener takes ${connectionsMax} at a time. Raise the limit to ${needed} ` +
    "(ulimit -n, LimitNOFILE= of systemd), or lower --max-connections";
}

/**
 * The bounds of a role's listeners, as far as this process has descriptors for them; warns where it
 * has few.
 */
export function connectionBounds(
  settings: ConnectionSettings,
  { listeners, role }: { readonly listeners: number; readonly role: string },
): ConnectionBounds {
  const { bounds, warning } = planBounds(settings, { listeners, descriptors: freeDescriptors() });
  if (warning !== undefined) getLogger(["svc", role]).warning("{warning}", { warning });
  return bounds;
}
