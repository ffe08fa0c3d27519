import assert from "node:assert/strict";
import { gzipSync, zstdCompressSync } from "node:zlib";
import protobuf from "protobufjs";
import { utf8 } from "../../shared/base/bytes.ts";
import { snappyBlock, snappyFramed } from "../../shared/testing/snappy.ts";
import { RunningIngest } from "../../tests/clients/running_ingest.ts";

type Body = Uint8Array<ArrayBuffer>;

/**
 * The messages as opentelemetry-proto and googleapis define them, apart from the code under test.
 */
const messages = protobuf.parse(`
  syntax = "proto3";
  message AnyValue { string string_value = 1; }
  message LogRecord { fixed64 time_unix_nano = 1; AnyValue body = 5; }
  message ScopeLogs { repeated LogRecord log_records = 2; }
  message ResourceLogs { repeated ScopeLogs scope_logs = 2; }
  message Request { repeated ResourceLogs resource_logs = 1; }
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
`).root;
const Request = messages.lookupType("Request");
const Status = messages.lookupType("Status");

const TIME_NS = 1_763_000_000_123_456_789n;
const PROTOBUF = "application/x-protobuf";
const JSON_TYPE = "application/json";

function request(bodies: readonly string[]) {
  const logRecords = bodies.map((body, i) => ({
    timeUnixNano: String(TIME_NS + BigInt(i)),
    body: { stringValue: body },
  }));
  return { resourceLogs: [{ scopeLogs: [{ logRecords }] }] };
}

function protobufOf(bodies: readonly string[]): Body {
  return new Uint8Array(Request.encode(Request.fromObject(request(bodies))).finish());
}

function jsonOf(bodies: readonly string[]): Body {
  return utf8(JSON.stringify(request(bodies)));
}

const ROWS = ["first", "zweite", "三番目"];

const ACCEPTED: {
  name: string;
  headers: Record<string, string>;
  body: Body;
  query?: string;
  rows?: readonly string[];
  lane?: string;
}[] = [
  { name: "protobuf", headers: { "content-type": PROTOBUF }, body: protobufOf(ROWS) },
  { name: "JSON", headers: { "content-type": JSON_TYPE }, body: jsonOf(ROWS) },
  {
    name: "JSON with a charset",
    headers: { "content-type": "application/json; charset=utf-8" },
    body: jsonOf(ROWS),
  },
  {
    name: "gzip protobuf",
    headers: { "content-type": PROTOBUF, "content-encoding": "gzip" },
    body: new Uint8Array(gzipSync(protobufOf(ROWS))),
  },
  {
    name: "snappy protobuf",
    headers: { "content-type": PROTOBUF, "content-encoding": "snappy" },
    body: snappyBlock(protobufOf(ROWS)),
  },
  {
    name: "framed snappy JSON",
    headers: { "content-type": JSON_TYPE, "content-encoding": "x-snappy-framed" },
    body: snappyFramed(jsonOf(ROWS)),
  },
  {
    name: "zstd JSON",
    headers: { "content-type": JSON_TYPE, "content-encoding": "zstd" },
    body: new Uint8Array(zstdCompressSync(jsonOf(ROWS))),
  },
  {
    name: "commit=auto",
    headers: { "content-type": PROTOBUF },
    query: "?commit=auto",
    body: protobufOf(ROWS),
  },
  {
    name: "the tenant named default",
    headers: { "content-type": PROTOBUF, "x-scope-orgid": "default" },
    body: protobufOf(ROWS),
  },
  {
    name: "an index of its own",
    headers: { "content-type": PROTOBUF, "x-svc-index": "web" },
    body: protobufOf(ROWS),
    lane: "default/web",
  },
  {
    name: "an empty protobuf request",
    headers: { "content-type": PROTOBUF },
    body: new Uint8Array(0),
    rows: [],
  },
  {
    name: "a JSON request without records",
    headers: { "content-type": JSON_TYPE },
    body: utf8("{}"),
    rows: [],
  },
];

for (const { name, headers, body, query, rows = ROWS, lane = "default/events" } of ACCEPTED) {
  Deno.test({
    name: `POST /v1/logs stores ${name} and answers in kind`,
    fn: async () => {
      await using ingest = await RunningIngest.start();
      const response = await ingest.post(body, { headers, query: query ?? "" });
      const answer = await response.text();
      const type = headers["content-type"]?.startsWith(JSON_TYPE) ? JSON_TYPE : PROTOBUF;
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("content-type"), type);
      assert.equal(answer, type === PROTOBUF ? "" : "{}");
      const stored = await ingest.rows();
      assert.deepEqual(stored.map((row) => row.columns.raw), rows);
      assert.deepEqual(
        stored.map((row) => row.timestampNs),
        rows.map((_, i) => TIME_NS + BigInt(i)),
      );
      for (const row of stored) assert.equal(row.lane, lane);
      assert.equal(await ingest.metric('svc_ingest_events_total{endpoint="logs"}'), rows.length);
    },
  });
}

const REFUSED: {
  name: string;
  headers: Record<string, string>;
  body: Body;
  query?: string;
  status: number;
  /** google.rpc.Code */
  code: number;
  message: RegExp;
}[] = [
  {
    name: "a content type that is not OTLP",
    headers: { "content-type": "text/plain" },
    body: jsonOf(ROWS),
    status: 415,
    code: 3,
    message: /"text\/plain": send application\/x-protobuf or application\/json/,
  },
  {
    name: "an empty JSON body",
    headers: { "content-type": JSON_TYPE },
    body: new Uint8Array(0),
    status: 400,
    code: 3,
    message: /body is empty/,
  },
  {
    name: "JSON that is none",
    headers: { "content-type": JSON_TYPE },
    body: utf8('{"resourceLogs": ['),
    status: 400,
    code: 3,
    message: /JSON/,
  },
  {
    name: "protobuf cut short",
    headers: { "content-type": PROTOBUF },
    body: protobufOf(ROWS).slice(0, -3),
    status: 400,
    code: 3,
    message: /./,
  },
  {
    name: "broken gzip",
    headers: { "content-type": PROTOBUF, "content-encoding": "gzip" },
    body: new Uint8Array(gzipSync(protobufOf(ROWS))).slice(0, -9),
    status: 400,
    code: 3,
    message: /decompress the request body as gzip/,
  },
  {
    name: "zstd cut short",
    headers: { "content-type": PROTOBUF, "content-encoding": "zstd" },
    body: new Uint8Array(zstdCompressSync(protobufOf(ROWS))).slice(0, -4),
    status: 400,
    code: 3,
    message: /decompress the request body as zstd/,
  },
  {
    name: "an unknown encoding",
    headers: { "content-type": PROTOBUF, "content-encoding": "br" },
    body: protobufOf(ROWS),
    status: 415,
    code: 3,
    message: /Content-Encoding "br"/,
  },
  {
    name: "a 17 MiB body",
    headers: { "content-type": PROTOBUF },
    body: new Uint8Array(17 * 1024 * 1024),
    status: 413,
    code: 8,
    message: /17825792 bytes is over the limit of 16777216 bytes.*--ingest-max-body-bytes$/,
  },
  {
    name: "a decompression bomb",
    headers: { "content-type": JSON_TYPE, "content-encoding": "gzip" },
    body: new Uint8Array(gzipSync(new Uint8Array(512 * 1024 * 1024))),
    status: 413,
    code: 8,
    message: /decompressed request body is over the limit of 16777216 .*--ingest-max-body-bytes$/,
  },
  {
    name: "an unknown commit mode",
    headers: { "content-type": PROTOBUF },
    query: "?commit=eventually",
    body: protobufOf(ROWS),
    status: 400,
    code: 3,
    message: /"eventually".*auto, wait_for, force/,
  },
  {
    name: "an unknown commit mode in the header",
    headers: { "content-type": JSON_TYPE, "x-svc-commit": "soon" },
    body: jsonOf(ROWS),
    status: 400,
    code: 3,
    message: /"soon"/,
  },
  {
    name: "another tenant",
    headers: { "content-type": PROTOBUF, "x-scope-orgid": "acme" },
    body: protobufOf(ROWS),
    status: 403,
    code: 7,
    message: /"acme"/,
  },
  {
    name: "an index name that climbs",
    headers: { "content-type": PROTOBUF, "x-svc-index": "../../etc" },
    body: protobufOf(ROWS),
    status: 400,
    code: 3,
    message: /"..\/..\/etc"/,
  },
];

for (const { name, headers, body, query, status, code, message } of REFUSED) {
  Deno.test({
    name: `POST /v1/logs refuses ${name} with ${status} and stores nothing`,
    fn: async () => {
      await using ingest = await RunningIngest.start();
      const response = await ingest.post(body, { headers, query: query ?? "" });
      assert.equal(response.status, status);
      const type = headers["content-type"] === PROTOBUF ? PROTOBUF : JSON_TYPE;
      assert.equal(response.headers.get("content-type"), type);
      const answer = type === PROTOBUF
        ? Status.toObject(Status.decode(await response.bytes()))
        : await response.json();
      assert.equal(answer.code, code);
      assert.match(answer.message, message);
      assert.deepEqual(await ingest.rows(), []);
      const series = `svc_ingest_requests_total{endpoint="logs",status="${status}"}`;
      assert.equal(await ingest.metric(series), 1);
      assert.equal(await ingest.metric('svc_ingest_events_total{endpoint="logs"}'), 0);
    },
  });
}

Deno.test({
  name: "POST /v1/logs stores every acknowledged row of many connections once",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--wal-max-events", "50"]);
    const expected: string[] = [];
    await Promise.all(Array.from({ length: 8 }, async (_, lane) => {
      for (let turn = 0; turn < 20; turn++) {
        const bodies = Array.from({ length: 5 }, (_, i) => `${lane}-${turn}-${i}`);
        const headers = { "content-type": PROTOBUF };
        const response = await ingest.post(protobufOf(bodies), { headers });
        await response.body?.cancel();
        assert.equal(response.status, 200);
        expected.push(...bodies);
      }
    }));
    const stored = (await ingest.rows()).map((row) => row.columns.raw ?? "");
    assert.deepEqual(stored.sort(), expected.sort());
  },
});

Deno.test({
  name:
    "an OTLP/JSON request of another path or with other names is accepted with a warning, an empty one without",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    const answer = async (path: string, body: string) => {
      const headers = { "content-type": "application/json" };
      const response = await ingest.post(body, { headers, path });
      assert.equal(response.status, 200, body);
      return await response.json();
    };
    const strange = [
      ["/v1/logs", '{"resourceSpans":[{}]}', "resourceLogs"],
      ["/v1/logs", '{"resource_logs":[]}', "resourceLogs"],
      ["/v1/logs", '{ "events": [1] }', "resourceLogs"],
      ["/v1/traces", '{"resourceLogs":[]}', "resourceSpans"],
    ] as const;
    for (const [path, body, member] of strange) {
      const { partialSuccess, ...others } = await answer(path, body);
      assert.deepEqual([Object.keys(partialSuccess), others], [["errorMessage"], {}], body);
      assert.match(
        partialSuccess.errorMessage,
        new RegExp(`nothing was stored: .*no member ${member};`),
      );
    }
    for (const body of ["{}", " { } ", '{"resourceLogs":[]}', '{"resourceLogs":[{"x":1}],"y":2}']) {
      assert.deepEqual(await answer("/v1/logs", body), {}, body);
    }
    assert.deepEqual(await ingest.rows(), []);
  },
});
