/** The listeners of the query server: requests, and metrics. */

import { getLogger } from "@logtape/logtape";
import { browserRulesOf } from "../shared/http/browser_rules.ts";
import type { ConnectionBounds } from "../shared/http/connection_counts.ts";
import { listenerMeter } from "../shared/http/connection_metrics.ts";
import { formatListenAddress, type ListenAddress } from "../shared/http/listen_address.ts";
import type { TlsIdentity } from "../shared/http/listener.ts";
import { guardOrigin } from "../shared/http/origin_guard.ts";
import { type Handler, type RunningServer, serve } from "../shared/http/serve.ts";
import { serveMetrics } from "../shared/http/serve_metrics.ts";
import type { QuerySettings } from "./flags.ts";
import type { QueryMetrics } from "./metrics/metrics.ts";

/** Time between the end of a stalled answer and the end of its connection. */
const CUT_BEHIND_STALL_MS = 30_000;

export interface ListenerParts {
  /** Stops the listeners. */
  readonly starting: AsyncDisposableStack;
  readonly bind: ListenAddress;
  readonly metricsBind: ListenAddress;
  readonly bounds: ConnectionBounds;
  readonly tls: TlsIdentity | undefined;
  readonly metrics: QueryMetrics;
  readonly handler: Handler;
  /** Nobody has to say who they are. */
  readonly isOpen: boolean;
  /** Whether a link of another site may lead there. */
  readonly mayVisit: (request: Request) => boolean;
}

/** Starts both, and logs where they listen. Errors: those of `serve`. */
export function startListeners(
  settings: QuerySettings,
  { starting, bind, metricsBind, bounds, tls, metrics, handler, isOpen, mayVisit }: ListenerParts,
): { readonly server: RunningServer; readonly metricsServer: RunningServer } {
  const metricsServer = starting.use(serveMetrics({ bind: metricsBind, settings, metrics }));
  const server = starting.use(
    serve({
      ...bind,
      option: "--bind",
      ...(tls === undefined ? {} : { tls }),
      bounds,
      compresses: true,
      meter: listenerMeter(metrics, "http"),
      // The answer itself gives a stalled client up, with a last line that says so. The connection
      // is cut later.
      stallMsMax: 1000 * settings.streamStallSecs + CUT_BEHIND_STALL_MS,
      handler: guardOrigin(
        handler,
        browserRulesOf(settings, { hostname: bind.hostname, isOpen }),
        { mayVisit },
      ),
    }),
  );
  announce(server.address, metricsServer.address);
  return { server, metricsServer };
}

function announce(address: ListenAddress, metricsAddress: ListenAddress): void {
  const log = getLogger(["svc", "query"]);
  log.info("query server listens on {address}, metrics on {metrics}", {
    address: formatListenAddress(address),
    metrics: formatListenAddress(metricsAddress),
  });
}
