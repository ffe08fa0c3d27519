import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import protobuf from "protobufjs";
import { utf8 } from "../../shared/base/bytes.ts";
import { RunningIngest } from "../../tests/clients/running_ingest.ts";

type Body = Uint8Array<ArrayBuffer>;

/**
 * The messages as opentelemetry-proto and googleapis define them, apart from the code under test.
 */
const messages = protobuf.parse(`
  syntax = "proto3";
  message Span {
    bytes trace_id = 1; bytes span_id = 2; string name = 5; int32 kind = 6;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  }
  message ScopeSpans { repeated Span spans = 2; }
  message ResourceSpans { repeated ScopeSpans scope_spans = 2; }
  message Request { repeated ResourceSpans resource_spans = 1; }
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
`).root;
const Request = messages.lookupType("Request");
const Status = messages.lookupType("Status");

const PATH = "/v1/traces";
const PROTOBUF = "application/x-protobuf";
const JSON_TYPE = "application/json";
const START_NS = 1_763_000_000_123_456_789n;
const NAMES = ["GET /", "query", "三番目"];
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";

function spans(names: readonly string[]) {
  return names.map((name, i) => ({
    traceId: TRACE_ID,
    spanId: `b7ad6b716920333${i + 1}`,
    name,
    kind: 2,
    startTimeUnixNano: String(START_NS + BigInt(i)),
    endTimeUnixNano: String(START_NS + 1_500n),
  }));
}

function jsonOf(spans: readonly unknown[]): Body {
  return utf8(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
}

function protobufOf(list: readonly Record<string, unknown>[]): Body {
  const spans = list.map((span) => ({
    ...span,
    traceId: Buffer.from(String(span.traceId), "hex"),
    spanId: Buffer.from(String(span.spanId), "hex"),
  }));
  const request = Request.fromObject({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  return new Uint8Array(Request.encode(request).finish());
}

const ACCEPTED: {
  name: string;
  headers: Record<string, string>;
  body: Body;
  query?: string;
  names?: readonly string[];
}[] = [
  { name: "protobuf", headers: { "content-type": PROTOBUF }, body: protobufOf(spans(NAMES)) },
  { name: "JSON", headers: { "content-type": JSON_TYPE }, body: jsonOf(spans(NAMES)) },
  {
    name: "gzip protobuf with commit=auto",
    headers: { "content-type": PROTOBUF, "content-encoding": "gzip" },
    query: "?commit=auto",
    body: new Uint8Array(gzipSync(protobufOf(spans(NAMES)))),
  },
  {
    name: "spans of a sender that names an index for its logs",
    headers: { "content-type": PROTOBUF, "x-svc-index": "web" },
    body: protobufOf(spans(NAMES)),
  },
  {
    name: "an empty protobuf request",
    headers: { "content-type": PROTOBUF },
    body: new Uint8Array(0),
    names: [],
  },
  {
    name: "a JSON request without spans",
    headers: { "content-type": JSON_TYPE },
    body: utf8("{}"),
    names: [],
  },
];

for (const { name, headers, body, query, names = NAMES } of ACCEPTED) {
  Deno.test({
    name: `POST /v1/traces stores ${name} and answers in kind`,
    fn: async () => {
      await using ingest = await RunningIngest.start();
      const response = await ingest.post(body, { headers, query: query ?? "", path: PATH });
      const answer = await response.text();
      const type = headers["content-type"];
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("content-type"), type);
      assert.equal(answer, type === PROTOBUF ? "" : "{}");
      const stored = await ingest.rows();
      assert.deepEqual(
        stored.map(({ lane, timestampNs, columns }) => [
          lane,
          timestampNs,
          columns.name,
          columns.trace_id,
          columns.span_id,
          columns.kind,
        ]),
        names.map((span, i) => [
          "default/traces",
          START_NS + BigInt(i),
          span,
          TRACE_ID,
          `b7ad6b716920333${i + 1}`,
          "SPAN_KIND_SERVER",
        ]),
      );
      const counted = await ingest.metric('svc_ingest_events_total{endpoint="traces"}');
      assert.equal(counted, names.length);
    },
  });
}

const GOOD = spans(["good"]);

const REFUSED: {
  name: string;
  headers?: Record<string, string>;
  body: Body;
  query?: string;
  status: number;
  grpc: number;
  message: RegExp;
}[] = [
  {
    name: "a trace id of 15 bytes beside a good span",
    body: jsonOf([...GOOD, { ...GOOD[0], traceId: TRACE_ID.slice(2) }]),
    status: 400,
    grpc: 3,
    message: /traceId "f7651916cd43dd8448eb211c80319c" of 15 bytes: send 16/,
  },
  {
    name: "a span id of zeros",
    headers: { "content-type": PROTOBUF },
    body: protobufOf([{ ...GOOD[0], spanId: "0000000000000000" }]),
    status: 400,
    grpc: 3,
    message: /spanId "0000000000000000"/,
  },
  {
    name: "a span without ids",
    body: jsonOf([{ name: "x" }]),
    status: 400,
    grpc: 3,
    message: /traceId "" of 0 bytes/,
  },
  {
    name: "an unknown commit mode",
    body: jsonOf(GOOD),
    query: "?commit=never",
    status: 400,
    grpc: 3,
    message: /never/,
  },
  {
    name: "an empty JSON body",
    body: new Uint8Array(0),
    status: 400,
    grpc: 3,
    message: /at least \{"resourceSpans":\[\]\}/,
  },
  {
    name: "another content type",
    headers: { "content-type": "text/plain" },
    body: jsonOf(GOOD),
    status: 415,
    grpc: 3,
    message: /OTLP traces with Content-Type "text\/plain"/,
  },
  {
    name: "another tenant",
    headers: { "content-type": JSON_TYPE, "x-scope-orgid": "acme" },
    body: jsonOf(GOOD),
    status: 403,
    grpc: 7,
    message: /acme/,
  },
  {
    name: "a body past the cap",
    headers: { "content-type": PROTOBUF },
    body: new Uint8Array(5_000),
    status: 413,
    grpc: 8,
    message: /4096/,
  },
];

Deno.test({
  name: "POST /v1/traces refuses with a Status of the request's encoding and stores nothing",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--ingest-max-body-bytes", "4096"]);
    for (const { name, headers, body, query, status, grpc, message } of REFUSED) {
      const sent = headers ?? { "content-type": JSON_TYPE };
      const response = await ingest.post(body, { headers: sent, query: query ?? "", path: PATH });
      const isProtobuf = sent["content-type"] === PROTOBUF;
      const bytes = await response.bytes();
      assert.equal(response.status, status, name);
      assert.equal(response.headers.get("content-type"), isProtobuf ? PROTOBUF : JSON_TYPE, name);
      const answer = isProtobuf
        ? Status.toObject(Status.decode(bytes))
        : JSON.parse(new TextDecoder().decode(bytes));
      assert.equal(answer.code, grpc, name);
      assert.match(answer.message, message, name);
    }
    assert.deepEqual(await ingest.rows(), []);
  },
});
