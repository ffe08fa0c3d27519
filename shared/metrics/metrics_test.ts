import assert from "node:assert/strict";
import { createMetrics } from "./metrics.ts";
import { scrapeResponse } from "./scrape.ts";
import type { MetricTable } from "./table.ts";

const TABLE = {
  requests: {
    kind: "counter",
    name: "svc_requests_total",
    help: "requests by endpoint and status",
    labels: { endpoint: ["logs", "traces"], status: ["200", "400"] },
  },
  rows: { kind: "counter", name: "svc_rows_total", help: "rows" },
  lanes: { kind: "gauge", name: "svc_lanes", help: "lanes", labels: { state: [] } },
  sync: { kind: "histogram", name: "svc_sync_seconds", help: "sync time", buckets: [0.1, 1] },
  answer: {
    kind: "histogram",
    name: "svc_answer_seconds",
    help: "time to an answer, by endpoint",
    labels: { endpoint: ["logs", "traces"] },
    buckets: [0.1, 1],
  },
} as const satisfies MetricTable;

const BUILD = { version: "1.2.3", role: "ingest" };

Deno.test({
  name: "createMetrics exports known label values at zero and build info from the start",
  fn: async () => {
    const { text } = await createMetrics(TABLE, BUILD).render(null);
    for (
      const line of [
        "# TYPE svc_requests_total counter",
        'svc_requests_total{endpoint="logs",status="200"} 0',
        'svc_requests_total{endpoint="logs",status="400"} 0',
        'svc_requests_total{endpoint="traces",status="200"} 0',
        'svc_requests_total{endpoint="traces",status="400"} 0',
        "svc_rows_total 0",
        'svc_sync_seconds_bucket{le="+Inf"} 0',
        'svc_answer_seconds_bucket{le="1",endpoint="logs"} 0',
        'svc_answer_seconds_count{endpoint="traces"} 0',
        'svc_build_info{version="1.2.3",role="ingest"} 1',
      ]
    ) assert.ok(text.split("\n").includes(line), `${line} in\n${text}`);
    assert.doesNotMatch(text, /^svc_lanes\b/m);
  },
});

Deno.test({
  name: "handles count, whatever the order of labels, and scrapes do not disturb each other",
  fn: async () => {
    const metrics = createMetrics(TABLE, BUILD);
    metrics.requests.at({ endpoint: "logs", status: "200" }).add();
    metrics.requests.add(2, { status: "200", endpoint: "logs" });
    metrics.rows.add(500, {});
    let lanes = 3;
    metrics.lanes.readAtScrape(() => lanes, { state: "active" });
    metrics.sync.observe(0.5);
    metrics.answer.observe(0.05, { endpoint: "traces" });
    for (let scrape = 0; scrape < 3; scrape++) {
      await metrics.render("application/openmetrics-text");
      const { text } = await metrics.render(null);
      assert.match(text, /^svc_requests_total\{endpoint="logs",status="200"\} 3$/m);
      assert.match(text, /^svc_rows_total 500$/m);
      assert.match(text, new RegExp(`^svc_lanes\\{state="active"\\} ${lanes}$`, "m"));
      assert.match(text, /^svc_sync_seconds_bucket\{le="1"\} 1$/m);
      assert.match(text, /^svc_answer_seconds_bucket\{le="0.1",endpoint="traces"\} 1$/m);
      assert.match(text, /^svc_answer_seconds_sum\{endpoint="logs"\} 0$/m);
      lanes += 1;
    }
  },
});

const TEXT = "text/plain; version=0.0.4; charset=utf-8";
const OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const NEGOTIATED: [accept: string | null, contentType: string][] = [
  [null, TEXT],
  ["*/*", TEXT],
  ["text/plain", TEXT],
  ["application/openmetrics-text", OPEN],
  [
    "application/openmetrics-text;version=1.0.0;q=0.5," +
    "application/openmetrics-text;version=0.0.1;q=0.4," +
    "text/plain;version=1.0.0;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
    OPEN,
  ],
  ["text/plain;q=0.9, application/openmetrics-text;q=0.1", TEXT],
  ["application/openmetrics-text;q=0", TEXT],
];

for (const [accept, contentType] of NEGOTIATED) {
  Deno.test({
    name: `scrapeResponse answers Accept ${accept} with ${contentType.split(";")[0]}`,
    fn: async () => {
      const request = new Request(
        "http://x/metrics",
        accept === null ? {} : { headers: { accept } },
      );
      const response = await scrapeResponse(request, createMetrics(TABLE, BUILD));
      assert.equal(response.headers.get("content-type"), contentType);
      const text = await response.text();
      assert.equal(text.endsWith("\n# EOF\n"), contentType === OPEN);
      assert.equal(text.includes("# TYPE svc_rows counter\n"), contentType === OPEN);
      assert.match(text, /^svc_rows_total 0$/m);
    },
  });
}
