/** Every system that is measured, in the order of the tables. */

import { CLICKHOUSE } from "./clickhouse.ts";
import { LOKI } from "./loki.ts";
import { OPENSEARCH } from "./opensearch.ts";
import { SVC } from "./svc.ts";
import type { MeasuredSystem } from "./system.ts";
import { VICTORIA_LOGS } from "./victoria_logs.ts";

export const SYSTEMS: readonly MeasuredSystem[] = [
  SVC,
  VICTORIA_LOGS,
  CLICKHOUSE,
  OPENSEARCH,
  LOKI,
];
