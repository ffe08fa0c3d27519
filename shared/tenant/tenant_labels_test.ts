import assert from "node:assert/strict";
import { createMetrics } from "../metrics/metrics.ts";
import type { MetricTable } from "../metrics/table.ts";
import { withoutTenants } from "./tenant_labels.ts";

const TABLE = {
  rows: { kind: "counter", name: "svc_rows_total", help: "r", labels: { tenant: [], index: [] } },
  files: { kind: "gauge", name: "svc_files", help: "f", labels: { table: [] } },
  age: { kind: "gauge", name: "svc_age", help: "a", labels: { lane: [] }, together: "max" },
  failed: { kind: "counter", name: "svc_failed_total", help: "x", labels: { reason: ["acme"] } },
} as const satisfies MetricTable;

Deno.test({
  name: "withoutTenants: tenants share a series of each metric, the default one keeps its own",
  async fn() {
    const metrics = createMetrics(TABLE, { version: "1", role: "r" }, { shown: withoutTenants });
    for (const [tenant, count] of [["default", 1], ["acme", 20], ["zebra", 300]] as const) {
      const namespace = tenant === "default" ? "svc" : tenant;
      metrics.rows.add(count, { tenant, index: "merger" });
      metrics.files.set(count, { table: `${namespace}.app-2026.11.20` });
      metrics.age.set(count, { lane: `${tenant}/merger` });
    }
    metrics.rows.add(4_000, { tenant: "(other)", index: "(other)" });
    metrics.files.set(9, { table: "svc2.events" });
    metrics.failed.add(1, { reason: "acme" });
    const { text } = await metrics.render(null);
    const samples = text.split("\n").filter((line) => /^svc_(rows|files|age|failed)/.test(line));
    assert.deepEqual(samples, [
      'svc_rows_total{tenant="default",index="merger"} 1',
      'svc_rows_total{tenant="(tenants)",index="(tenants)"} 320',
      'svc_rows_total{tenant="(other)",index="(other)"} 4000',
      'svc_files{table="svc.app-2026.11.20"} 1',
      'svc_files{table="(tenants)"} 329',
      'svc_age{lane="default/merger"} 1',
      'svc_age{lane="(tenants)"} 300',
      'svc_failed_total{reason="acme"} 1',
    ]);
    const again = await metrics.render(null);
    assert.equal(again.text, text, "a scrape adds nothing");
  },
});
