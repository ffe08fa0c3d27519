import assert from "node:assert/strict";
import { OperatingError } from "../shared/base/errors.ts";
import { FakeClock } from "../shared/testing/fake_clock.ts";
import { encodeStatusProtobuf } from "../proto/otlp_logs.ts";
import { createIngestMetrics } from "./metrics.ts";
import { createHandler, ingestRoutes } from "./routes.ts";

const handlers = {
  logs: (_request: Request, query: string) => new Response(`logs ${query}`),
  traces: () => new Response("traces"),
  stream: () => new Response("stream"),
  readyz: () => new Response("ready"),
};

const clock = new FakeClock();
const CONNECTION = { remoteAddr: { hostname: "127.0.0.1" } };

const CASES: {
  request: string;
  status: number;
  body: RegExp;
  endpoint: string;
  allow?: string;
}[] = [
  { request: "POST /v1/logs", status: 200, body: /^logs $/, endpoint: "logs" },
  {
    request: "POST /v1/logs?commit=auto&x=/v1/logs",
    status: 200,
    body: /^logs commit=auto&x=\/v1\/logs$/,
    endpoint: "logs",
  },
  { request: "POST /v1/traces", status: 200, body: /^traces$/, endpoint: "traces" },
  { request: "GET /api/v1/stream?a=b", status: 200, body: /^stream$/, endpoint: "stream" },
  { request: "GET /healthz", status: 200, body: /^\{"status":"ok"\}$/, endpoint: "healthz" },
  { request: "HEAD /healthz", status: 200, body: /./, endpoint: "healthz" },
  { request: "GET /readyz?verbose", status: 200, body: /^ready$/, endpoint: "readyz" },
  {
    request: "GET /v1/logs",
    status: 405,
    body: /^\{"code":12,"message":"cannot GET/,
    endpoint: "other",
    allow: "POST",
  },
  { request: "POST /healthz", status: 405, body: /"code":405/, endpoint: "other", allow: "GET" },
  {
    request: "POST /v1/logs/",
    status: 404,
    body: /^\{"code":5,"message":"there is no/,
    endpoint: "other",
  },
  { request: "POST /v1", status: 404, body: /"code":404/, endpoint: "other" },
  { request: "GET /metrics", status: 404, body: /--metrics-bind \(port 9100/, endpoint: "other" },
  { request: "DELETE /", status: 404, body: /"code":404/, endpoint: "other" },
];

for (const { request, status, body, endpoint, allow } of CASES) {
  Deno.test({
    name: `createHandler answers ${request} with ${status} and counts it`,
    fn: async () => {
      const metrics = createIngestMetrics({ version: "1", role: "ingest" });
      const handle = createHandler(ingestRoutes(handlers), { metrics, clock });
      const [method = "", target] = request.split(" ");
      const response = await handle(
        new Request(`http://127.0.0.1:8088${target}`, { method }),
        CONNECTION,
      );
      assert.equal(response.status, status);
      assert.match(await response.text(), body);
      assert.equal(response.headers.get("allow"), allow ?? null);
      assert.equal(metrics.requests.at({ endpoint, status: String(status) }).value, 1);
    },
  });
}

Deno.test({
  name: "createHandler answers a native 500 without the bug's text when a route throws",
  fn: async () => {
    const metrics = createIngestMetrics({ version: "1", role: "ingest" });
    const routes = ingestRoutes({ ...handlers, readyz: () => Promise.reject(new Error("secret")) });
    const response = await createHandler(routes, { metrics, clock })(
      new Request("http://x/readyz"),
      CONNECTION,
    );
    assert.equal(response.status, 500);
    assert.doesNotMatch(await response.text(), /secret/);
    const refused = ingestRoutes({
      ...handlers,
      readyz: () => Promise.reject(new OperatingError("unavailable", "later")),
    });
    const other = await createHandler(refused, { metrics, clock })(
      new Request("http://x/readyz"),
      CONNECTION,
    );
    assert.deepEqual(await other.json(), { error: "later", code: 503 });
  },
});

Deno.test({
  name:
    "createHandler refuses what is posted for a signal without a route as a Status in its encoding",
  fn: async () => {
    const metrics = createIngestMetrics({ version: "1", role: "ingest" });
    const handle = createHandler(ingestRoutes(handlers), { metrics, clock });
    const post = (type: string) =>
      handle(
        new Request("http://x/v1/metrics", { method: "POST", headers: { "content-type": type } }),
        CONNECTION,
      );
    const json = await post("application/json; charset=utf-8");
    assert.equal(json.headers.get("content-type"), "application/json");
    const { code, message } = await json.json();
    assert.equal(code, 5);
    const protobuf = await post("application/x-protobuf");
    assert.equal(protobuf.status, 404);
    assert.equal(protobuf.headers.get("content-type"), "application/x-protobuf");
    assert.deepEqual(
      await protobuf.bytes(),
      new Uint8Array(encodeStatusProtobuf({ code, message })),
    );
  },
});
