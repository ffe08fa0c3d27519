/**
 * The metrics of the query server, as a scraper sees them: all of the table, nothing else, zeroes
 * included.
 *
 * `deno test -A query/metrics/metrics_test.ts -- --write` writes METRICS.md anew.
 */

import assert from "node:assert/strict";
import type { MetricSpec } from "../../shared/metrics/table.ts";
import { checkMetricsPage } from "../../shared/testing/check_metrics_page.ts";
import { METRICS } from "./metrics.ts";
import { startTestServer } from "../../tests/doubles/query_server.ts";

/** Metrics that the API promises: name, kind, and values that a label must have. */
const PROMISED: [name: string, kind: MetricSpec["kind"], label?: string, values?: string[]][] = [
  ["svc_query_default_order_applied_total", "counter"],
  ["svc_query_audit_dropped_total", "counter", "reason", [
    ...["oversized", "row_limit", "byte_limit", "channel_full"],
    ...["worker_shutdown", "append", "append_deadline"],
  ]],
  ["svc_query_audit_failures_total", "counter", "reason", ["build", "append", "append_deadline"]],
  ["svc_query_breaker_trips_total", "counter", "breaker", [
    ...["pool_exhausted", "midflight_rows_scanned"],
    // The API promises four of this beginning.
    ...["jaeger_traces", "jaeger_spans", "jaeger_bytes", "jaeger_names"],
  ]],
  [
    "svc_query_tenant_denied_total",
    "counter",
    "reason",
    ["claim_missing", "claim_invalid", "not_allowed"],
  ],
];

for (const [name, kind, label = "", values = []] of PROMISED) {
  Deno.test({
    name: `METRICS of query has ${name} as the API names it`,
    fn() {
      const spec: MetricSpec | undefined = Object.values<MetricSpec>(METRICS)
        .find((candidate) => candidate.name === name);
      assert.equal(spec?.kind, kind);
      const known = spec?.labels?.[label] ?? [];
      assert.deepEqual(values.filter((value) => !known.includes(value)), []);
    },
  });
}

Deno.test({
  name:
    "a scrape of a new query server holds exactly the table, zeroes included, by the conventions",
  async fn() {
    await using server = await startTestServer();
    const text = await (await fetch(server.metricsUrl)).text();
    const kinds = new Map<string, string>();
    for (const [, name = "", kind = ""] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      assert.ok(!kinds.has(name), `${name} twice`);
      kinds.set(name, kind);
    }
    const specs = Object.values<MetricSpec>(METRICS);
    const expected = [...specs.map(({ name, kind }) => [name, kind]), ["svc_build_info", "gauge"]];
    assert.deepEqual([...kinds].sort(), expected.sort());
    for (const spec of specs) {
      assert.match(spec.name, /^svc_[a-z0-9]+(_[a-z0-9]+)*$/);
      assert.ok(spec.help.length > 0 && !spec.help.endsWith("."), `help of ${spec.name}`);
      assert.equal(spec.kind === "counter", spec.name.endsWith("_total"), spec.name);
      if (spec.kind !== "counter") continue;
      const series = text.split("\n").filter((line) => new RegExp(`^${spec.name}[ {]`).test(line));
      const labels = Object.values(spec.labels ?? {});
      const combinations = labels.reduce((count, values) => count * values.length, 1);
      assert.equal(series.length, combinations, spec.name);
      assert.deepEqual(series.filter((line) => !line.endsWith(" 0")), []);
    }
  },
});

Deno.test({
  name: "METRICS.md of query is the table",
  fn: () => checkMetricsPage("query", "the query server", METRICS),
});
