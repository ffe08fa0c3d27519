/** Options of what the status tells of other roles. */

import type { OptionTable } from "../../shared/config/options.ts";

export const STATUS_OPTIONS = {
  ingestMetricsUrl: {
    kind: "text",
    flag: "ingest-metrics-url",
    env: "SVC_INGEST_METRICS_URL",
    placeholder: "URL",
    help: "Metrics of the ingest server, such as http://127.0.0.1:9100/metrics, for GET " +
      "/api/v1/status and the page Status. Without it they show nothing about that server.",
  },
  compactorMetricsUrl: {
    kind: "text",
    flag: "compactor-metrics-url",
    env: "SVC_COMPACTOR_METRICS_URL",
    placeholder: "URL",
    help: "Metrics of the compactor, such as http://127.0.0.1:9101/metrics, for the same " +
      "purpose.",
  },
} as const satisfies OptionTable;
