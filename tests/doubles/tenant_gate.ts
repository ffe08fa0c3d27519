/** A tenant gate with no bounds, for tests of what lies behind it. */

import { parseOptions } from "../../shared/config/parse_options.ts";
import { ACCESS_OPTIONS } from "../../ingest/access_flags.ts";
import type { IngestMetrics } from "../../ingest/metrics.ts";
import { TenantGate, tenantSettingsOf } from "../../ingest/tenant_gate.ts";

export function openGate(metrics: IngestMetrics, args: readonly string[] = []): TenantGate {
  return new TenantGate(tenantSettingsOf(parseOptions(ACCESS_OPTIONS, args)), metrics);
}
