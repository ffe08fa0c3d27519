/**
 * The stream, asked of a whole server over HTTP: what a reader gets, of whose rows, and the
 * refusals.
 */

import assert from "node:assert/strict";
import { configureLogging, resetLogging } from "../../shared/logging/logging.ts";
import { until } from "../../shared/testing/until.ts";
import { metricReaches } from "../../tests/clients/metric_wait.ts";
import { RunningIngest } from "../../tests/clients/running_ingest.ts";
import { STREAM_LIMITS } from "./stream_limits.ts";

interface StreamEvent {
  readonly name: string;
  readonly data: unknown;
}

/** A reader of the stream, by the rules of Server-Sent Events as far as the stream uses them. */
class Listener implements AsyncDisposable {
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = "";

  private constructor(readonly response: Response, body: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#reader = body.pipeThrough(new TextDecoderStream()).getReader();
  }

  static async connect(ingest: RunningIngest, headers: HeadersInit = {}): Promise<Listener> {
    const response = await fetch(`${ingest.url}/api/v1/stream`, { headers });
    assert.equal(response.status, 200);
    assert.ok(response.body !== null);
    return new Listener(response, response.body);
  }

  /** The next event; undefined when the stream has ended. Comments are passed over. */
  async next(): Promise<StreamEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        if (block.startsWith(":")) continue;
        const match = /^event: ([^\r\n]+)\ndata: ([^\r\n]*)$/.exec(block);
        assert.ok(match !== null, `no event: ${JSON.stringify(block)}`);
        return { name: match[1] ?? "", data: JSON.parse(match[2] ?? "") };
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += value;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel();
  }
}

const TIME = "2025-11-13T02:13:20.123456Z";
const TIME_NS = "1763000000123456789";

function logs(raw: string, attributes: unknown[] = []): string {
  const record = { timeUnixNano: TIME_NS, body: { stringValue: raw }, attributes };
  return JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
}

const SPAN = {
  resourceSpans: [{
    resource: { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] },
    scopeSpans: [{
      spans: [{
        traceId: "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf",
        spanId: "0102030405060708",
        name: "GET /",
        kind: 2,
        startTimeUnixNano: TIME_NS,
        endTimeUnixNano: "1763000001123456790",
        events: [{ timeUnixNano: TIME_NS, name: "hit" }],
      }],
    }],
  }],
};

const JSON_TYPE = { "content-type": "application/json" };

async function send(
  ingest: RunningIngest,
  body: string,
  options: { path?: string; headers?: Record<string, string> } = {},
): Promise<void> {
  const { path = "/v1/logs", headers = {} } = options;
  const response = await ingest.post(body, { path, headers: { ...JSON_TYPE, ...headers } });
  const text = await response.text();
  assert.equal(response.status, 200, text);
}

const ROWS: {
  what: string;
  body: string;
  path?: string;
  headers?: Record<string, string>;
  row: Record<string, unknown>;
}[] = [
  {
    what: "a log record whose text has line ends, quotes and letters of four bytes",
    body: logs('a\nb\r\n"c" \u2028 𝄞', [
      { key: "n", value: { intValue: "9007199254740993" } },
      { key: "lines", value: { stringValue: "x\ny" } },
    ]),
    row: {
      timestamp: TIME,
      timestamp_ns: TIME_NS,
      host: "unknown",
      source: "otel",
      sourcetype: "otel:logs",
      index: "main",
      raw: 'a\nb\r\n"c" \u2028 𝄞',
      attributes: { n: Number("9007199254740993"), lines: "x\ny" },
    },
  },
  {
    what: "a log record without attributes, in an index of its own",
    body: logs("plain"),
    headers: { "x-svc-index": "web" },
    row: {
      timestamp: TIME,
      timestamp_ns: TIME_NS,
      host: "unknown",
      source: "otel",
      sourcetype: "otel:logs",
      index: "main",
      raw: "plain",
      attributes: null,
    },
  },
  {
    what: "a bulk document",
    path: "/api/v1/_compat/web/_bulk",
    headers: { "content-type": "application/x-ndjson" },
    body: `{"index":{}}\n{"@timestamp":"${TIME}","message":"hello","host":"h","user":{"id":7}}\n`,
    row: {
      timestamp: TIME,
      timestamp_ns: "1763000000123456000",
      host: "h",
      source: "bulk",
      sourcetype: "bulk:doc",
      index: "main",
      raw: "hello",
      attributes: { user: { id: 7 } },
    },
  },
  {
    what: "a span",
    path: "/v1/traces",
    body: JSON.stringify(SPAN),
    row: {
      timestamp: TIME,
      timestamp_ns: TIME_NS,
      trace_id: "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf",
      span_id: "0102030405060708",
      parent_span_id: null,
      service: "shop",
      name: "GET /",
      kind: "SPAN_KIND_SERVER",
      status_code: "STATUS_CODE_UNSET",
      status_message: null,
      duration_nanos: "1000000001",
      trace_state: null,
      scope_name: null,
      scope_version: null,
      attributes: null,
      resource_attributes: null,
      events: [{ time_unix_nano: TIME_NS, name: "hit", attributes: {} }],
      links: null,
    },
  },
];

Deno.test({
  name: "GET /api/v1/stream gives every row that arrives after it, of every route, as JSON",
  async fn() {
    await using ingest = await RunningIngest.start();
    await send(ingest, logs("before"));
    // A compressed stream would be held back until the compressor has a block.
    await using listener = await Listener.connect(ingest, { "accept-encoding": "gzip" });
    assert.equal(listener.response.headers.get("content-type"), "text/event-stream");
    assert.equal(listener.response.headers.get("content-encoding"), null);
    for (const { what, body, row, ...options } of ROWS) {
      await send(ingest, body, options);
      const event = await listener.next();
      assert.deepEqual([event?.name, event?.data], ["event", row], what);
      assert.deepEqual(Object.keys(event?.data ?? {}), Object.keys(row), what);
    }
    assert.equal(await ingest.metric("svc_ingest_stream_events_total"), ROWS.length);
  },
});

Deno.test({
  name: "GET /api/v1/stream gives a reader its own tenant's rows only",
  async fn() {
    await using ingest = await RunningIngest.start(["--trust-scope-header"]);
    const [first, second] = [{ "x-scope-orgid": "first" }, { "x-scope-orgid": "second" }];
    await using listener = await Listener.connect(ingest, second);
    await send(ingest, logs("not yours"), { headers: first });
    await send(ingest, logs("yours"), { headers: second });
    const event = await listener.next();
    assert.equal((event?.data as { raw: string }).raw, "yours");
  },
});

Deno.test({
  name: "GET /api/v1/stream refuses filters, strangers and foreign tenants, and takes HEAD",
  async fn() {
    await using ingest = await RunningIngest.start(["--auth-tokens=secret"]);
    const ask = async (init: RequestInit, query = "") => {
      const response = await fetch(`${ingest.url}/api/v1/stream${query}`, init);
      const text = await response.text();
      return [response.status, text === "" ? null : JSON.parse(text).reason];
    };
    const authorization = "Bearer secret";
    assert.deepEqual((await ask({}))[0], 401);
    assert.deepEqual(await ask({ headers: { authorization } }, "?filter=raw%3D1"), [
      400,
      "filter_unsupported",
    ]);
    assert.deepEqual(await ask({ headers: { authorization, "x-scope-orgid": "acme" } }), [
      403,
      "header_not_trusted",
    ]);
    assert.deepEqual(await ask({ method: "HEAD", headers: { authorization } }), [200, null]);
    assert.equal(await ingest.metric("svc_ingest_stream_readers"), 0);
  },
});

Deno.test({
  name: "GET /api/v1/stream: a reader too many gets 503 with Retry-After until another leaves",
  async fn() {
    await using ingest = await RunningIngest.start();
    const listeners = await Promise.all(
      Array.from({ length: STREAM_LIMITS.tenantReadersMax }, () => Listener.connect(ingest)),
    );
    const refused = await fetch(`${ingest.url}/api/v1/stream`);
    assert.equal(refused.status, 503);
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-5]$/);
    assert.equal((await refused.json()).reason, "stream_readers");
    assert.equal(await ingest.metric("svc_ingest_stream_refused_total"), 1);
    const readers = () => ingest.metric("svc_ingest_stream_readers");
    assert.equal(await readers(), listeners.length);
    await listeners[0]?.[Symbol.asyncDispose]();
    await until(async () => await readers() < listeners.length);
    await using _again = await Listener.connect(ingest);
    for (const listener of listeners.slice(1)) await listener[Symbol.asyncDispose]();
  },
});

Deno.test({
  name:
    "GET /api/v1/stream tells a reader who does not read what it missed, and ends; rows are stored",
  async fn() {
    await using ingest = await RunningIngest.start(["--wal-max-events=1000000"]);
    const idle = await Listener.connect(ingest);
    await using quick = await Listener.connect(ingest);
    const raw = "x".repeat(1024 * 1024);
    let sent = 0;
    let read = 0;
    while (await ingest.metric("svc_ingest_stream_lagged_total") === 0) {
      await send(ingest, logs(raw));
      sent += 1;
      if ((await quick.next())?.name === "event") read += 1;
      assert.ok(sent < 100, "nobody lags");
    }
    await send(ingest, logs("after"));
    sent += 1;
    assert.equal((await quick.next())?.name, "event");
    assert.equal(read + 1, sent);
    let got = 0;
    let event = await idle.next();
    for (; event?.name === "event"; event = await idle.next()) got += 1;
    assert.deepEqual(event, { name: "lagged", data: { missed: sent - got } });
    assert.ok(got < sent);
    assert.equal(await idle.next(), undefined);
    await metricReaches(ingest, 'svc_ingest_events_total{endpoint="logs"}', sent);
  },
});

Deno.test({
  name: "GET /api/v1/stream: a reader that leaves is no error of the server",
  async fn() {
    const lines: string[] = [];
    await using ingest = await RunningIngest.start();
    await configureLogging({ level: "info", writeLine: (line) => lines.push(line) });
    try {
      const listener = await Listener.connect(ingest);
      await send(ingest, logs("seen"));
      assert.equal((await listener.next())?.name, "event");
      await listener[Symbol.asyncDispose]();
      await until(async () => await ingest.metric("svc_ingest_stream_readers") === 0);
    } finally {
      await resetLogging();
    }
    assert.deepEqual(lines, []);
  },
});

Deno.test({
  name: "stop ends streams in order, behind what was sent before",
  async fn() {
    await using ingest = await RunningIngest.start();
    const listener = await Listener.connect(ingest);
    await send(ingest, logs("last"));
    const startMs = performance.now();
    const stopped = ingest.server.stop();
    assert.equal((await listener.next())?.name, "event");
    assert.equal(await listener.next(), undefined);
    await stopped;
    assert.ok(performance.now() - startMs < 5_000, "the stop waited for the stream");
  },
});
