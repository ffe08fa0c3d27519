/**
 * How shippers start, request by request, as their sources do it: what each demands of an answer
 * before it sends, and that what it sends then is stored once. Every sequence twice, since a
 * shipper that starts again finds what it has put.
 *
 * Sources: logstash-output-elasticsearch 12.1 (`http_client.rb`, `ilm.rb`, `template_manager.rb`,
 * `license_checker.rb`), libbeat 8 (`esclientleg/connection.go`, `template/load.go`,
 * `idxmgmt/lifecycle`), rsyslog's omelasticsearch, Vector's and Fluent Bit's sinks.
 */

import assert from "node:assert/strict";
import { RunningIngest } from "./running_ingest.ts";

interface Step {
  readonly method: string;
  /** Below the shipper's base URL. */
  readonly path: string;
  readonly body?: string;
  readonly type?: string;
  /** What the shipper takes for good: of the first start, and of the second. */
  readonly wants: readonly [number, number];
  /** What it reads of the answer. */
  readonly reads?: (body: unknown) => void;
}

interface Shipper {
  readonly name: string;
  readonly base: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

const OK = [200, 200] as const;
const MISSING_FIRST = [404, 200] as const;
const TEMPLATE = JSON.stringify({ index_patterns: ["x-*"], template: { mappings: {} } });
const POLICY = JSON.stringify({ policy: { phases: { hot: { actions: {} } } } });
const ACTIONS =
  '{"create":{"_index":"ecs-logstash"}}\n{"@timestamp":"2026-01-02T03:04:05.678Z","message":"m"}\n';

function member(body: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], body);
}

const json = "application/json";

const LOGSTASH: readonly Step[] = [
  { method: "HEAD", path: "/", wants: OK },
  {
    method: "GET",
    path: "/",
    wants: OK,
    reads: (body) => {
      assert.match(String(member(body, "version", "number")), /^\d+\.\d+\.\d+$/);
      assert.equal(member(body, "version", "build_flavor"), "default");
    },
  },
  {
    method: "GET",
    path: "/_license",
    wants: OK,
    reads: (body) => assert.equal(member(body, "license", "status"), "active"),
  },
  { method: "HEAD", path: "/_index_template/ecs-logstash", wants: MISSING_FIRST },
  { method: "PUT", path: "/_index_template/ecs-logstash", body: TEMPLATE, wants: OK },
  { method: "HEAD", path: "/ecs-logstash", wants: MISSING_FIRST },
  {
    method: "PUT",
    // What `CGI.escape` makes of <ecs-logstash-{now/d}-000001>.
    path: "/%3Cecs-logstash-%7Bnow%2Fd%7D-000001%3E",
    body: JSON.stringify({ aliases: { "ecs-logstash": { is_write_index: true } } }),
    // It takes a 400 for an alias that is there already.
    wants: [200, 400],
    reads: (body) => {
      const index = member(body, "index");
      if (index !== undefined) {
        assert.match(String(index), /^ecs-logstash-\d{4}\.\d\d\.\d\d-000001$/);
      }
    },
  },
  { method: "GET", path: "/_ilm/policy/logstash-policy", wants: MISSING_FIRST },
  { method: "PUT", path: "/_ilm/policy/logstash-policy", body: POLICY, wants: OK },
  {
    method: "POST",
    path: "/_bulk?filter_path=errors,items.*.error,items.*.status",
    body: ACTIONS,
    wants: OK,
    reads: (body) => assert.equal(member(body, "errors"), false),
  },
];

const BEATS: readonly Step[] = [
  { method: "GET", path: "", wants: OK },
  { method: "GET", path: "/_license", wants: OK },
  { method: "GET", path: "/_ilm/policy/filebeat", wants: MISSING_FIRST },
  { method: "PUT", path: "/_ilm/policy/filebeat", body: POLICY, wants: OK },
  { method: "HEAD", path: "/_index_template/filebeat-8.17.0", wants: MISSING_FIRST },
  { method: "PUT", path: "/_index_template/filebeat-8.17.0", body: TEMPLATE, wants: OK },
  { method: "PUT", path: "/_component_template/filebeat@custom", body: TEMPLATE, wants: OK },
  { method: "GET", path: "/_data_stream/filebeat-8.17.0", wants: MISSING_FIRST },
  { method: "PUT", path: "/_data_stream/filebeat-8.17.0", wants: [200, 400] },
  { method: "GET", path: "/_ingest/pipeline/filebeat-8.17.0-nginx-access", wants: MISSING_FIRST },
  {
    method: "PUT",
    path: "/_ingest/pipeline/filebeat-8.17.0-nginx-access",
    body: JSON.stringify({ processors: [] }),
    wants: OK,
  },
  {
    method: "POST",
    path: "/_bulk?filter_path=errors%2Citems.%2A.error%2Citems.%2A.status",
    body: ACTIONS,
    type: "application/vnd.elasticsearch+x-ndjson; compatible-with=8",
    wants: OK,
    reads: (body) => assert.deepEqual(member(body, "items"), [{ create: { status: 201 } }]),
  },
];

const BEATS_7: readonly Step[] = [
  { method: "GET", path: "", wants: OK },
  {
    method: "GET",
    path: "/_xpack",
    wants: OK,
    reads: (body) => {
      const ilm = member(body, "features", "ilm");
      assert.deepEqual(ilm, { available: true, enabled: true });
    },
  },
  { method: "GET", path: "/_ilm/policy/filebeat", wants: MISSING_FIRST },
  { method: "PUT", path: "/_ilm/policy/filebeat", body: POLICY, wants: OK },
  { method: "HEAD", path: "/_index_template/ecs-logstash", wants: MISSING_FIRST },
  { method: "PUT", path: "/_index_template/ecs-logstash", body: TEMPLATE, wants: OK },
  { method: "GET", path: "/_alias/ecs-logstash", wants: MISSING_FIRST },
  { method: "HEAD", path: "/ecs-logstash", wants: MISSING_FIRST },
  {
    method: "PUT",
    path: "/%3Cecs-logstash-%7Bnow%2Fd%7D-000001%3E",
    body: JSON.stringify({ aliases: { "ecs-logstash": { is_write_index: true } } }),
    wants: [200, 400],
  },
  { method: "POST", path: "/_bulk", body: ACTIONS, type: json, wants: OK },
];

const SHIPPERS: readonly Shipper[] = [
  { name: "Logstash with its own template and policy", base: "/api/v1/_compat", steps: LOGSTASH },
  { name: "Logstash at the root", base: "", steps: LOGSTASH },
  {
    name: "Filebeat with setup.template, setup.ilm and a module",
    base: "/api/v1/_compat",
    steps: BEATS,
  },
  { name: "Filebeat at the root", base: "", steps: BEATS },
  { name: "Filebeat 7", base: "/api/v1/_compat", steps: BEATS_7 },
  {
    name: "rsyslog that resumes",
    base: "",
    steps: [
      { method: "GET", path: "/", wants: OK },
      { method: "GET", path: "/_cat/health", wants: OK },
      { method: "POST", path: "/_bulk", body: ACTIONS, type: `${json}; charset=utf-8`, wants: OK },
    ],
  },
  {
    name: "Vector",
    base: "",
    steps: [
      { method: "GET", path: "/_cluster/health", wants: OK },
      { method: "GET", path: "/", wants: OK },
      {
        method: "POST",
        path: "/_bulk?timeout=60s",
        body: ACTIONS,
        type: "application/x-ndjson",
        wants: OK,
      },
    ],
  },
  {
    name: "Fluentd with a legacy template and an alias to roll over",
    base: "",
    steps: [
      { method: "GET", path: "/", wants: OK },
      { method: "HEAD", path: "/_template/fluentd", wants: MISSING_FIRST },
      { method: "PUT", path: "/_template/fluentd", body: TEMPLATE, wants: OK },
      { method: "HEAD", path: "/_alias/fluentd", wants: MISSING_FIRST },
      { method: "PUT", path: "/fluentd-default-000001", body: "{}", wants: [200, 400] },
      {
        method: "POST",
        path: "/_aliases",
        body: JSON.stringify({
          actions: [{ add: { index: "fluentd-default-000001", alias: "fluentd" } }],
        }),
        wants: OK,
      },
      { method: "POST", path: "/_bulk", body: ACTIONS, type: "application/x-ndjson", wants: OK },
    ],
  },
  {
    name: "a script that writes one document and refreshes",
    base: "",
    steps: [
      { method: "GET", path: "/_security/_authenticate", wants: OK },
      { method: "GET", path: "/_nodes/http", wants: OK },
      {
        method: "POST",
        path: "/ecs-logstash/_doc",
        body: '{"message":"m"}',
        wants: [201, 201],
        reads: (body) => assert.equal(member(body, "result"), "created"),
      },
      { method: "POST", path: "/ecs-logstash/_refresh", wants: OK },
    ],
  },
];

for (const { name, base, steps } of SHIPPERS) {
  Deno.test({
    name:
      `${name}: each request of its start is answered as it needs, twice, and its rows are stored`,
    fn: async () => {
      await using ingest = await RunningIngest.start(["--compat-at-root"]);
      for (const start of [0, 1] as const) {
        for (const { method, path, body, type = json, wants, reads } of steps) {
          const response = await fetch(`${ingest.url}${base}${path}`, {
            method,
            headers: body === undefined ? {} : { "content-type": type },
            ...(body === undefined ? {} : { body }),
          });
          const what = `${method} ${path}, start ${start + 1}`;
          const text = await response.text();
          assert.equal(response.status, wants[start], `${what}: ${text}`);
          assert.equal(response.headers.get("x-elastic-product"), "Elasticsearch", what);
          if (text.startsWith("{")) reads?.(JSON.parse(text));
        }
      }
      const rows = await ingest.rows();
      assert.deepEqual(rows.map(({ lane }) => lane), Array(2).fill("default/ecs-logstash"));
    },
  });
}
