/** `_count`, over a query server that a test stands in for. */

import assert from "node:assert/strict";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { OPTIONS, startIngest } from "../mod.ts";
import { RunningIngest } from "../../tests/clients/running_ingest.ts";

const DOCUMENT = '{"message":"a"}';
const JSON_BODY = { "content-type": "application/json" };

interface Asked {
  readonly path: string;
  readonly authorization: string | null;
  readonly query: string;
}

/** Answers each statement as told, and keeps what it was asked. */
function startQuery(answer: () => Response) {
  const asked: Asked[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { query } = await request.json();
      const authorization = request.headers.get("authorization");
      asked.push({ path: new URL(request.url).pathname, authorization, query });
      return answer();
    },
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  return { asked, url, [Symbol.asyncDispose]: () => server.shutdown() };
}

const counted = (count: number) => () => Response.json({ columns: ["n"], rows: [[count]] });

async function withIndexes(ingest: RunningIngest, ...names: string[]): Promise<void> {
  for (const name of names) {
    const path = `/api/v1/_compat/${name}/_doc`;
    const response = await ingest.post(DOCUMENT, { headers: JSON_BODY, path });
    await response.body?.cancel();
    assert.equal(response.status, 201);
  }
}

async function count(ingest: RunningIngest, path: string, init: RequestInit = {}) {
  const response = await fetch(`${ingest.url}${path}`, init);
  const text = await response.text();
  assert.equal(response.headers.get("x-elastic-product"), "Elasticsearch");
  return { response, status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}

const FORMS: readonly { path: string; init?: RequestInit }[] = [
  { path: "/app/_count" },
  { path: "/api/v1/_compat/app/_count" },
  { path: "/app/_count?q=*" },
  { path: "/app/_count", init: { method: "POST" } },
  { path: "/app/_count", init: { method: "POST", headers: JSON_BODY, body: "{}" } },
  {
    path: "/app/_count",
    init: { method: "POST", headers: JSON_BODY, body: '{"query":{"match_all":{}}}' },
  },
];

Deno.test({
  name: "_count asks the query server of --query-url with the caller's credentials",
  fn: async () => {
    await using query = startQuery(counted(7));
    await using ingest = await RunningIngest.start(["--query-url", query.url]);
    await withIndexes(ingest, "app");
    for (const { path, init = {} } of FORMS) {
      const headers = new Headers(init.headers);
      headers.set("authorization", "Bearer abc");
      const { status, body } = await count(ingest, path, { ...init, headers });
      assert.equal(status, 200, path);
      const shards = { total: 1, successful: 1, skipped: 0, failed: 0 };
      assert.deepEqual(body, { count: 7, _shards: shards });
    }
    assert.deepEqual(
      query.asked,
      FORMS.map(() => ({
        path: "/api/v1/sql",
        authorization: "Bearer abc",
        query: 'SELECT (SELECT count(*) FROM "svc"."app") AS n',
      })),
    );
  },
});

Deno.test({
  name: "_count of several indexes is their sum, each once",
  fn: async () => {
    await using query = startQuery(counted(3));
    await using ingest = await RunningIngest.start(["--query-url", query.url]);
    await withIndexes(ingest, "app", "web-2");
    assert.equal((await count(ingest, "/app,web-2,app/_count")).body.count, 3);
    assert.deepEqual(query.asked.map((one) => one.query), [
      'SELECT (SELECT count(*) FROM "svc"."app") + (SELECT count(*) FROM "svc"."web-2") AS n',
    ]);
  },
});

Deno.test({
  name: "_count of an index that was put is 0 before its first row",
  fn: async () => {
    await using query = startQuery(counted(7));
    await using ingest = await RunningIngest.start(["--query-url", query.url]);
    await withIndexes(ingest, "app");
    assert.equal((await count(ingest, "/api/v1/_compat/empty", { method: "PUT" })).status, 200);
    assert.equal((await count(ingest, "/empty/_count")).body.count, 0);
    assert.equal(query.asked.length, 0);
    assert.equal((await count(ingest, "/empty,app/_count")).body.count, 7);
    assert.deepEqual(query.asked.map((one) => one.query), [
      'SELECT (SELECT count(*) FROM "svc"."app") AS n',
    ]);
  },
});

Deno.test({
  name: "_count is 503 when the query server sees none of the index's rows yet",
  fn: async () => {
    const unknown = { error: "there is no such table", reason: "unknown_table" };
    await using query = startQuery(() => Response.json(unknown, { status: 400 }));
    await using ingest = await RunningIngest.start(["--query-url", query.url]);
    await withIndexes(ingest, "app");
    const told = await count(ingest, "/app/_count");
    assert.equal(told.status, 503);
    assert.equal(told.response.headers.get("retry-after"), "2");
    assert.match(JSON.stringify(told.body), /no such table/);
  },
});

for (const answer of [null, 7, { rows: 7 }, { rows: [7] }, { rows: [["7"]] }]) {
  Deno.test({
    name: `_count is 503 when what answers ${JSON.stringify(answer)} is no query server`,
    fn: async () => {
      await using query = startQuery(() => Response.json(answer));
      await using ingest = await RunningIngest.start(["--query-url", query.url]);
      await withIndexes(ingest, "app");
      assert.equal((await count(ingest, "/app/_count")).status, 503);
    },
  });
}

Deno.test({
  name: "_count is 503 when the answer does not end, of which it reads no more than it needs",
  fn: async () => {
    const sent = { bytes: 0 };
    const endless = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          sent.bytes += 64 * 1024;
          controller.enqueue(new Uint8Array(64 * 1024).fill(0x20));
        },
      });
    await using query = startQuery(() => new Response(endless()));
    await using ingest = await RunningIngest.start(["--query-url", query.url]);
    await withIndexes(ingest, "app");
    const told = await count(ingest, "/app/_count");
    assert.equal(told.status, 503);
    assert.match(JSON.stringify(told.body), /longer than 65536 bytes/);
    // What lies in the buffers of both ends of the connection was sent besides.
    assert.ok(sent.bytes < 64 * 1024 * 1024, `${sent.bytes} bytes were sent`);
  },
});

Deno.test({
  name: "_count and GET know an index whose rows only the WAL has, after a restart",
  fn: async () => {
    await using query = startQuery(counted(1));
    await using before = await RunningIngest.start();
    await withIndexes(before, "app");
    await before.server.stop();
    const listeners = ["--bind", "--metrics-bind", "--otlp-grpc-listen"]
      .flatMap((flag) => [flag, "127.0.0.1:0"]);
    const places = ["--data-dir", before.dataDir, "--query-url", query.url];
    await using server = await startIngest(parseOptions(OPTIONS, [...listeners, ...places]));
    const url = `http://127.0.0.1:${server.address.port}/api/v1/_compat`;
    const counting = await fetch(`${url}/app/_count`);
    assert.equal(counting.status, 200);
    assert.equal((await counting.json()).count, 1);
    for (const [index, status] of [["app", 200], ["none", 404]] as const) {
      const response = await fetch(`${url}/${index}`, { method: "HEAD" });
      assert.equal(response.status, status, index);
    }
  },
});

const REFUSED: readonly { path: string; body?: string; status: number; text: RegExp }[] = [
  { path: "/none/_count", status: 404, text: /no such index \[none\]/ },
  { path: "/_count", status: 400, text: /name the index/ },
  { path: "/app*/_count", status: 400, text: /\[app\*\]/ },
  { path: "/app/_count?q=a", status: 400, text: /q=a.*POST \/api\/v1\/sql/ },
  { path: "/app/_count", body: '{"query":{"term":{"a":1}}}', status: 400, text: /match_all/ },
  { path: "/app/_count", body: '{"min_score":1}', status: 400, text: /min_score/ },
];

Deno.test({
  name: "_count refuses what it would count wrongly, and asks nobody",
  fn: async () => {
    await using query = startQuery(counted(7));
    await using ingest = await RunningIngest.start(["--query-url", query.url]);
    await withIndexes(ingest, "app");
    for (const { path, body, status, text } of REFUSED) {
      const init = body === undefined ? {} : { method: "POST", headers: JSON_BODY, body };
      const answer = await count(ingest, path, init);
      assert.equal(answer.status, status, path);
      assert.match(JSON.stringify(answer.body), text, path);
    }
    assert.deepEqual(query.asked, []);
  },
});

const FAILURES = [
  { answer: 401, status: 401 },
  { answer: 403, status: 403 },
  { answer: 400, status: 400 },
  { answer: 429, status: 429, retryAfter: "2" },
  { answer: 503, status: 503, retryAfter: "2" },
  { answer: 500, status: 503, retryAfter: "2" },
];

for (const { answer, status, retryAfter = null } of FAILURES) {
  Deno.test({
    name: `_count is ${status} when the query server answers ${answer}`,
    fn: async () => {
      await using query = startQuery(() => Response.json({ error: "why" }, { status: answer }));
      await using ingest = await RunningIngest.start(["--query-url", query.url]);
      await withIndexes(ingest, "app");
      const told = await count(ingest, "/app/_count");
      assert.equal(told.status, status);
      assert.equal(told.response.headers.get("retry-after"), retryAfter);
      assert.match(JSON.stringify(told.body), /why/);
    },
  });
}

Deno.test({
  name: "_count is 503 when no query server is there, or what is there is none",
  fn: async () => {
    const query = startQuery(() => new Response("<html>"));
    await using ingest = await RunningIngest.start(["--query-url", query.url]);
    await withIndexes(ingest, "app");
    assert.equal((await count(ingest, "/app/_count")).status, 503);
    await query[Symbol.asyncDispose]();
    const told = await count(ingest, "/app/_count");
    assert.equal(told.status, 503);
    assert.equal(told.response.headers.get("retry-after"), "2");
    assert.match(JSON.stringify(told.body), /--query-url/);
  },
});
