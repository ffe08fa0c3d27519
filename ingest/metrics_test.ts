/**
 * The metrics of the ingest server, as a scraper sees them: all of the table, nothing else, by the
 * conventions of Prometheus; and that they move.
 *
 * `deno test -A ingest/metrics_test.ts -- --write` writes METRICS.md anew.
 */

import assert from "node:assert/strict";
import type { MetricSpec } from "../shared/metrics/table.ts";
import { checkMetricsPage } from "../shared/testing/check_metrics_page.ts";
import { RunningIngest } from "../tests/clients/running_ingest.ts";
import { createIngestMetrics, METRICS } from "./metrics.ts";
import { LANE_SERIES_MAX } from "../shared/metrics/bounded_cells.ts";
import { countWalEvents } from "./wal_metrics.ts";

/** Metrics that the API promises. */
const PROMISED: readonly (readonly [name: string, kind: MetricSpec["kind"], labels?: string])[] = [
  [
    "svc_ingest_tenant_denied_total",
    "counter",
    "reason: at_capacity,claim_invalid,claim_missing,header_mismatch,header_not_trusted,not_allowed",
  ],
  ["svc_ingest_lane_refused_total", "counter"],
  ["svc_ingest_rate_limit_rejected_total", "counter"],
  ["svc_ingest_backpressure_rejected_total", "counter"],
  ["svc_ingest_mem_breaker_open", "gauge"],
];

for (const [name, kind, labels] of PROMISED) {
  Deno.test({
    name: `METRICS has ${name} as the API names it`,
    fn() {
      const spec: MetricSpec | undefined = Object.values(METRICS).find((spec) =>
        spec.name === name
      );
      assert.equal(spec?.kind, kind);
      const found = Object.entries(spec?.labels ?? {})
        .map(([label, values]) => `${label}: ${values.toSorted().join(",")}`);
      assert.deepEqual(found, labels === undefined ? [] : [labels]);
    },
  });
}

/** One family of an exposition. */
interface Family {
  help: string;
  type: string;
  samples: string[];
}

function familiesOf(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  let current: Family | undefined;
  for (const line of text.split("\n").filter((line) => line !== "")) {
    const comment = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line);
    if (comment?.[1] === "HELP") {
      const name = comment[2] ?? "";
      assert.ok(!families.has(name), `${name} twice`);
      current = { help: comment[3] ?? "", type: "", samples: [] };
      families.set(name, current);
    } else if (comment?.[1] === "TYPE" && current !== undefined) current.type = comment[3] ?? "";
    else current?.samples.push(line);
  }
  return families;
}

/**
 * `prom-client` has no linter: the rules of `promtool check metrics` that names and labels can
 * break.
 */
function faultsOf(name: string, { help, type, samples }: Family): string[] {
  const faults: string[] = [];
  const check = (isRight: boolean, fault: string) => {
    if (!isRight) faults.push(`${name}: ${fault}`);
  };
  check(/^svc_[a-z0-9]+(_[a-z0-9]+)*$/.test(name), "not in snake_case with our prefix");
  check(help.length > 0 && !help.endsWith("."), "help is empty or ends in a full stop");
  check(["counter", "gauge", "histogram"].includes(type), `type ${type}`);
  check((type === "counter") === name.endsWith("_total"), "counters, and only they, end in _total");
  check(!/_(count|sum|bucket|info)$/.test(name) || name === "svc_build_info", "reserved suffix");
  check(
    !/(milli|micro|nano|_ms|_us|_ns|_kb|_mb|kilo|mega|minutes|hours)/.test(name),
    "not a base unit",
  );
  check(
    type !== "histogram" || /_(seconds|bytes|rows|requests)$/.test(name),
    "a histogram names its unit",
  );
  for (const label of samples.flatMap((line) => [...line.matchAll(/[{,]([^={,]+)="/g)])) {
    check(/^[a-z]+(_[a-z]+)*$/.test(label[1] ?? ""), `label ${label[1]}`);
    check(label[1] !== "quantile" && (label[1] !== "le" || type === "histogram"), "reserved label");
  }
  return faults;
}

const SERIES_PER_FAMILY_MAX = 250;

Deno.test({
  name: "a scrape of a new server holds exactly the table, zeroes included, by the conventions",
  async fn() {
    await using ingest = await RunningIngest.start();
    const families = familiesOf(await (await fetch(ingest.metricsUrl)).text());
    const expected = Object.values(METRICS).map((spec) => spec.name);
    assert.equal(new Set(expected).size, expected.length, "a name twice in the table");
    assert.deepEqual([...families.keys()].sort(), [...expected, "svc_build_info"].sort());
    assert.deepEqual([...families].flatMap(([name, family]) => faultsOf(name, family)), []);
    for (const spec of Object.values<MetricSpec>(METRICS)) {
      const family = families.get(spec.name);
      assert.equal(family?.type, spec.kind);
      assert.equal(family?.help, spec.help);
      const labels = Object.values(spec.labels ?? {});
      assert.ok(
        (family?.samples.length ?? 0) <= SERIES_PER_FAMILY_MAX,
        `${spec.name}: too many series`,
      );
      if (spec.kind === "gauge") continue;
      const combinations = labels.reduce((count, values) => count * values.length, 1);
      const zeroes = family?.samples.filter((line) => line.endsWith(" 0")) ?? [];
      const perSeries = spec.kind === "histogram" ? spec.buckets.length + 3 : 1;
      assert.equal(zeroes.length, combinations * perSeries, spec.name);
    }
  },
});

Deno.test({
  name: "METRICS.md is the table",
  fn: () => checkMetricsPage("ingest", "the ingest server", METRICS),
});

Deno.test({
  name: "countWalEvents bounds the series of lanes, whatever senders call them",
  async fn() {
    const metrics = createIngestMetrics({ version: "1", role: "ingest" });
    const count = countWalEvents(metrics);
    for (let i = 0; i < 10 * LANE_SERIES_MAX; i += 1) {
      const lane = { tenant: "t", index: `i${i}` };
      count({ kind: "appended", lane, rows: 2, bytes: 1, mode: "auto" });
    }
    const { text } = await metrics.render(null);
    const series = text.split("\n").filter((line) => /^svc_ingest_lane_rows_total\{/.test(line));
    assert.equal(series.length, LANE_SERIES_MAX + 1);
    assert.equal(
      series.at(-1),
      `svc_ingest_lane_rows_total{tenant="(other)",index="(other)"} ${18 * LANE_SERIES_MAX}`,
    );
  },
});

for (const isShown of [false, true]) {
  Deno.test({
    name: `a scrape ${
      isShown ? "names tenants with" : "names no tenant without"
    } --metrics-tenant-labels`,
    async fn() {
      const flags = ["--trust-scope-header", ...(isShown ? ["--metrics-tenant-labels"] : [])];
      await using ingest = await RunningIngest.start(flags);
      for (const tenant of ["acme", "zebra", "default"]) {
        const headers = { ...JSON_TYPE, "x-scope-orgid": tenant, "x-svc-index": "merger" };
        assert.equal((await ingest.post(LOGS, { headers })).status, 200);
      }
      const text = await (await fetch(ingest.metricsUrl)).text();
      const rows = text.split("\n").filter((line) =>
        line.startsWith("svc_ingest_lane_rows_total{")
      );
      const own = 'svc_ingest_lane_rows_total{tenant="default",index="merger"} 2';
      const shared = 'svc_ingest_lane_rows_total{tenant="(tenants)",index="(tenants)"} 4';
      if (isShown) assert.equal(rows.length, 3);
      else assert.deepEqual(rows.toSorted(), [shared, own]);
      assert.equal(/acme|zebra/.test(text), isShown);
    },
  });
}

const LOGS = JSON.stringify({
  resourceLogs: [{
    scopeLogs: [{ logRecords: [{ body: { stringValue: "a" } }, { body: { stringValue: "b" } }] }],
  }],
});
const BULK = '{"index":{"_index":"web"}}\n{"message":"c"}\n{"update":{"_index":"web"}}\n{}\n';
const JSON_TYPE = { "content-type": "application/json" };

/** What the requests of the test below must have moved, from zero. */
const MOVED: readonly (readonly [series: string, value: number])[] = [
  ['svc_ingest_requests_total{endpoint="logs",status="200"}', 2],
  ['svc_ingest_requests_total{endpoint="logs",status="400"}', 1],
  ['svc_ingest_requests_total{endpoint="logs",status="403"}', 1],
  ['svc_ingest_requests_total{endpoint="logs",status="503"}', 1],
  ['svc_ingest_requests_total{endpoint="bulk",status="200"}', 1],
  ['svc_ingest_requests_total{endpoint="other",status="404"}', 1],
  ['svc_ingest_request_seconds_count{endpoint="logs"}', 5],
  ['svc_ingest_request_seconds_count{endpoint="bulk"}', 1],
  ['svc_ingest_events_total{endpoint="logs"}', 4],
  ['svc_ingest_events_total{endpoint="bulk"}', 1],
  ['svc_ingest_body_bytes_total{endpoint="logs"}', 3 * LOGS.length],
  ['svc_ingest_body_bytes_total{endpoint="bulk"}', BULK.length],
  ['svc_ingest_bulk_items_total{outcome="stored"}', 1],
  ['svc_ingest_bulk_items_total{outcome="refused"}', 1],
  ["svc_ingest_batch_rows_count", 3],
  ["svc_ingest_batch_rows_sum", 5],
  ["svc_ingest_append_seconds_count", 3],
  ['svc_ingest_wal_rows_total{mode="wait_for"}', 3],
  ['svc_ingest_wal_rows_total{mode="auto"}', 2],
  ['svc_ingest_lane_rows_total{tenant="default",index="events"}', 4],
  ['svc_ingest_lane_rows_total{tenant="default",index="web"}', 1],
  ['svc_ingest_tenant_denied_total{reason="header_not_trusted"}', 1],
  ["svc_ingest_lane_refused_total", 1],
];

Deno.test({
  name: "each request moves the metrics that it is about, by what it brought",
  async fn() {
    await using ingest = await RunningIngest.start(["--ingest-max-lanes=2"]);
    const post = async (
      body: string,
      options: { headers?: Record<string, string>; path?: string; query?: string } = {},
    ) => {
      const { headers = {}, ...rest } = options;
      const answer = await ingest.post(body, { headers: { ...JSON_TYPE, ...headers }, ...rest });
      await answer.body?.cancel();
    };
    await post(LOGS);
    await post(LOGS, { query: "?commit=auto" });
    await post(BULK, { path: "/api/v1/_compat/_bulk" });
    await post("{", {});
    await post(LOGS, { headers: { "x-scope-orgid": "acme" } });
    await post(LOGS, { headers: { "x-svc-index": "third" } });
    await post("", { path: "/nowhere" });
    const text = await (await fetch(ingest.metricsUrl)).text();
    const values = new Map(
      text.split("\n").map((line) => {
        const space = line.lastIndexOf(" ");
        return [line.slice(0, space), Number(line.slice(space + 1))];
      }),
    );
    assert.deepEqual(MOVED.map(([series]) => [series, values.get(series)]), MOVED);
    const synced = values.get("svc_ingest_wal_sync_seconds_count") ?? 0;
    assert.ok(synced >= 2 && synced <= 3, `${synced} syncs`);
    assert.equal(values.get("svc_ingest_wal_group_requests_sum"), 3);
    const groups = values.get("svc_ingest_wal_group_requests_count");
    assert.equal(values.get("svc_ingest_wal_wait_seconds_count"), groups);
  },
});
