/**
 * The search-engine surface over HTTP: paths, statuses, media types, and the product's header on
 * every answer.
 */

import assert from "node:assert/strict";
import { until } from "../../shared/testing/until.ts";
import { RunningIngest } from "../../tests/clients/running_ingest.ts";

const PREFIX = "/api/v1/_compat";
const DOCUMENT = '{"index":{"_index":"a"}}\n{"message":"m"}\n';

const FINGERPRINT =
  /^\{"name":"svc",.*"version":\{"number":"8\.17\.0","build_flavor":"default",.*"tagline":"You Know, for Search"\}$/;
const HEALTH = /^\{"cluster_name":"svc","status":"green","timed_out":false,"number_of_nodes":1,/;
const LICENSE = /^\{"license":\{"status":"active","uid":"[^"]+","type":"basic","mode":"basic"\}\}$/;
const NOT_SERVED = /"reason":"[^"]*POST \/api\/v1\/sql/;

/** Each also with HEAD, which has the status and headers of GET. */
const READS: readonly { path: string; body: RegExp }[] = [
  { path: "/", body: FINGERPRINT },
  { path: PREFIX, body: FINGERPRINT },
  { path: `${PREFIX}/`, body: FINGERPRINT },
  { path: "/_cluster/health", body: HEALTH },
  { path: `${PREFIX}/_cluster/health?wait_for_status=green`, body: HEALTH },
  { path: "/_license", body: LICENSE },
  { path: `${PREFIX}/_license`, body: LICENSE },
  { path: "/_cat/health", body: /^\d{10} \d\d:\d\d:\d\d svc green 1 1 0 0 0 0 0 0 - 100\.0%\n$/ },
  { path: `${PREFIX}/_cat/health?v&h=cl,st`, body: /^cl {2}st\nsvc green\n$/ },
];

Deno.test({
  name: "compat surface answers fingerprint, health and licence on both prefixes, GET and HEAD",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    for (const { path, body } of READS) {
      const got = await fetch(`${ingest.url}${path}`);
      assert.equal(got.status, 200, path);
      assert.match(await got.text(), body);
      const headed = await fetch(`${ingest.url}${path}`, { method: "HEAD" });
      assert.equal(headed.status, 200, path);
      assert.equal(await headed.text(), "");
      for (const { headers } of [got, headed]) {
        assert.equal(headers.get("x-elastic-product"), "Elasticsearch", path);
      }
    }
  },
});

Deno.test({
  name:
    "compat surface takes nothing from the caller's rate for what is asked beside rows, yet asks who it is",
  fn: async () => {
    await using ingest = await RunningIngest.start([
      ...["--ingest-rate-per-sec", "1"],
      ...["--auth-tokens", "mine"],
    ]);
    const headers = { authorization: "Bearer mine", "content-type": "application/x-ndjson" };
    const bulk = async () => {
      const path = `${PREFIX}/_bulk`;
      const { status, body } = await ingest.post(DOCUMENT, { headers, path });
      await body?.cancel();
      return status;
    };
    for (const { path } of [...READS, ...READS]) {
      const response = await fetch(`${ingest.url}${path}`, { headers });
      await response.body?.cancel();
      assert.equal(response.status, 200, path);
    }
    assert.equal(await bulk(), 200, "the whole rate is left");
    // It is spent, unless the second that brings it back has passed.
    await until(async () => await bulk() === 429, { pollMs: 1 });
    for (const { path } of READS) {
      const welcome = await fetch(`${ingest.url}${path}`, { headers });
      await welcome.body?.cancel();
      assert.equal(welcome.status, 200, path);
      const stranger = await fetch(`${ingest.url}${path}`);
      await stranger.body?.cancel();
      assert.equal(stranger.status, 401, path);
    }
  },
});

const READ_PATHS = [
  "/_search",
  "/a/_search",
  "/_msearch",
  "/a,b/_msearch",
  "/_search/scroll",
  "/_field_caps",
  "/a-*/_field_caps",
  "/_count",
  "/a/_count",
  "/_mget",
  "/_cat",
  "/_cat/indices",
  "/_cat/indices/a",
];

Deno.test({
  name: "compat surface answers 501 with a pointer to SQL where the original reads",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    for (const path of READ_PATHS.flatMap((path) => [path, `${PREFIX}${path}`])) {
      for (const method of ["GET", "POST", "DELETE"]) {
        const body = method === "GET" ? {} : { body: "{}" };
        const response = await fetch(`${ingest.url}${path}`, { method, ...body });
        assert.equal(response.status, 501, `${method} ${path}`);
        assert.equal(response.headers.get("x-elastic-product"), "Elasticsearch");
        assert.match(await response.text(), NOT_SERVED);
      }
    }
    const counted = await ingest.metric(
      'svc_ingest_requests_total{endpoint="compat",status="501"}',
    );
    assert.equal(counted, READ_PATHS.length * 6);
  },
});

interface Refusal {
  readonly name: string;
  readonly args?: readonly string[];
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly status: number;
  readonly type: string;
  readonly reason?: RegExp;
}

const REFUSALS: readonly Refusal[] = [
  { name: "a tenant of another", headers: { "x-scope-orgid": "b" }, status: 403, type: "security" },
  { name: "no token", args: ["--auth-tokens=t"], status: 401, type: "security" },
  {
    name: "no token at the fingerprint",
    args: ["--auth-tokens=t"],
    method: "GET",
    path: "/",
    status: 401,
    type: "security",
  },
  { name: "no action", body: "", status: 400, type: "illegal_argument" },
  { name: "a malformed action", body: "{}\n{}\n", status: 400, type: "illegal_argument" },
  {
    name: "a type that is no JSON",
    headers: { "content-type": "text/csv" },
    status: 415,
    type: "media_type_header",
  },
  {
    name: "a version of long ago",
    headers: { "content-type": "application/vnd.elasticsearch+x-ndjson; compatible-with=7" },
    status: 415,
    type: "media_type_header",
  },
  {
    name: "an unknown encoding",
    headers: { "content-encoding": "br" },
    status: 415,
    type: "media_type_header",
  },
  {
    name: "a body over the common cap",
    args: ["--ingest-max-body-bytes=1024"],
    body: DOCUMENT.repeat(30),
    status: 413,
    type: "content_too_long",
    reason: /limit of 1024 bytes.*--ingest-max-bulk-body-bytes$/,
  },
  {
    name: "a body over the cap of its own",
    args: ["--ingest-max-bulk-body-bytes=1024"],
    body: DOCUMENT.repeat(30),
    status: 413,
    type: "content_too_long",
    reason: /limit of 1024 bytes.*--ingest-max-bulk-body-bytes$/,
  },
  { name: "a method", method: "DELETE", status: 405, type: "method_not_allowed" },
  {
    name: "a path below the prefix",
    path: `${PREFIX}/a/b/_bulk`,
    status: 404,
    type: "resource_not_found",
  },
  {
    name: "a word that nobody knows",
    method: "PUT",
    path: `${PREFIX}/_enrich/policy/x`,
    status: 404,
    type: "resource_not_found",
  },
];

for (const refusal of REFUSALS) {
  Deno.test({
    name:
      `compat surface refuses ${refusal.name} with ${refusal.status} in the original's shape, storing nothing`,
    fn: async () => {
      await using ingest = await RunningIngest.start(refusal.args ?? []);
      const { method = "POST", path = `${PREFIX}/_bulk`, body = DOCUMENT } = refusal;
      const response = await fetch(`${ingest.url}${path}`, {
        method,
        headers: { "content-type": "application/x-ndjson", ...refusal.headers },
        ...(method === "GET" ? {} : { body }),
      });
      const reply = await response.json();
      assert.equal(response.status, refusal.status);
      assert.equal(response.headers.get("x-elastic-product"), "Elasticsearch");
      assert.equal(response.headers.get("content-type")?.split(";")[0]?.endsWith("json"), true);
      assert.equal(reply.error.type, `${refusal.type}_exception`);
      assert.match(reply.error.reason, refusal.reason ?? /./);
      assert.deepEqual(Object.keys(reply), ["error", "status"]);
      assert.deepEqual(Object.keys(reply.error), ["type", "reason", "root_cause"]);
      assert.equal(reply.status, refusal.status);
      assert.deepEqual(await ingest.rows(), []);
    },
  });
}

const TYPES: readonly { accept?: string; sent: string; answered: string }[] = [
  { sent: "application/x-ndjson", answered: "application/json" },
  { sent: "application/json; charset=utf-8", answered: "application/json" },
  {
    sent: "application/vnd.elasticsearch+x-ndjson; compatible-with=8",
    answered: "application/vnd.elasticsearch+json;compatible-with=8",
  },
  {
    accept: "application/vnd.elasticsearch+json; compatible-with=9",
    sent: "application/vnd.elasticsearch+x-ndjson; compatible-with=9",
    answered: "application/vnd.elasticsearch+json;compatible-with=9",
  },
  {
    accept: "application/json",
    sent: "application/vnd.elasticsearch+x-ndjson;compatible-with=8",
    answered: "application/json",
  },
  { sent: "application/vnd.opensearch+x-ndjson", answered: "application/vnd.opensearch+json" },
];

for (const { accept, sent, answered } of TYPES) {
  Deno.test({
    name: `bulk sent as ${sent}, accepting ${accept ?? "anything"}, is answered as ${answered}`,
    fn: async () => {
      await using ingest = await RunningIngest.start(["--auth-tokens=t"]);
      const response = await fetch(`${ingest.url}${PREFIX}/_bulk`, {
        method: "POST",
        headers: {
          "content-type": sent,
          authorization: "Bearer t",
          ...(accept === undefined ? {} : { accept }),
        },
        body: DOCUMENT,
      });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("content-type"), answered);
      assert.match(
        await response.text(),
        /^\{"took":\d+,"errors":false,"items":\[\{"index":\{"_index":"a","_id":"[\w-]+","status":201\}\}\]\}$/,
      );
    },
  });
}

Deno.test({
  name: "bulk reads the index of its path percent-decoded, and the action's own first",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    for (const [path, index] of [["web", "web"], ["web%2Dapp", "web-app"]] as const) {
      const response = await fetch(`${ingest.url}${PREFIX}/${path}/_bulk`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: `{"index":{}}\n{}\n{"index":{"_index":"other"}}\n{}\n`,
      });
      const { items } = await response.json();
      const indexes = items.map((item: { index: { _index: string } }) => item.index._index);
      assert.deepEqual(indexes, [index, "other"]);
    }
    for (const path of ["%2e%2ea", "a%2f..%2fb", "%00", "%zz"]) {
      const response = await fetch(`${ingest.url}${PREFIX}/${path}/_bulk`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: `{"index":{}}\n{}\n`,
      });
      const { errors, items } = await response.json();
      assert.equal(errors, true, path);
      assert.equal(items[0].index.status, 400, path);
    }
    const lanes = (await ingest.rows()).map((row) => row.lane).sort();
    assert.deepEqual(lanes, ["default/other", "default/other", "default/web", "default/web-app"]);
  },
});

Deno.test({
  name: "the fingerprint tells the version that SVC_ES_COMPAT_VERSION names",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--es-compat-version=9.1.2"]);
    const reply = await (await fetch(ingest.url)).json();
    assert.equal(reply.version.number, "9.1.2");
  },
});
