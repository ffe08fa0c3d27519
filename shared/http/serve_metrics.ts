/**
 * The listener of a role's metrics: the same bounds, meter and guard against web pages for every
 * role.
 */

import type { MetricHandles } from "../metrics/metrics.ts";
import { metricsHandler, type Renderer } from "../metrics/scrape.ts";
import { browserRulesOf, type BrowserSettings } from "./browser_rules.ts";
import { type CONNECTION_METRICS, listenerMeter } from "./connection_metrics.ts";
import { METRICS_BOUNDS } from "./connection_options.ts";
import type { ListenAddress } from "./listen_address.ts";
import { guardOrigin } from "./origin_guard.ts";
import { type RunningServer, serve } from "./serve.ts";

export interface ServeMetricsOptions {
  /** Where `--metrics-bind` says. */
  readonly bind: ListenAddress;
  readonly settings: BrowserSettings;
  readonly metrics: Renderer & MetricHandles<typeof CONNECTION_METRICS>;
  /** Why the role is not ready, for `/readyz`; default: there is no such route. */
  readonly problem?: () => string | undefined;
}

/**
 * Metrics are asked for without a token, so the listener is an open one. Errors: those of `serve`.
 */
export function serveMetrics(
  { bind, settings, metrics, problem }: ServeMetricsOptions,
): RunningServer {
  return serve({
    ...bind,
    option: "--metrics-bind",
    bounds: METRICS_BOUNDS,
    compresses: true,
    meter: listenerMeter(metrics, "metrics"),
    handler: guardOrigin(
      metricsHandler(metrics, problem),
      browserRulesOf(settings, { hostname: bind.hostname, isOpen: true }),
    ),
  });
}
