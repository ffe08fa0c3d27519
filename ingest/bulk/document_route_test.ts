/** Single documents over HTTP: stored as a bulk item is, and answered with its status. */

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { snappyBlock } from "../../shared/testing/snappy.ts";
import { FullServer } from "../../tests/clients/full_server.ts";
import { RunningIngest } from "../../tests/clients/running_ingest.ts";

const PREFIX = "/api/v1/_compat";

interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly body?: BodyInit;
  readonly headers?: Readonly<Record<string, string>>;
}

async function send(ingest: RunningIngest, { method = "POST", path, body, headers }: Sent) {
  const response = await fetch(`${ingest.url}${path}`, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body }),
  });
  assert.equal(response.headers.get("x-elastic-product"), "Elasticsearch");
  return { status: response.status, headers: response.headers, reply: await response.json() };
}

const CREATED = {
  _version: 1,
  result: "created",
  _shards: { total: 1, successful: 1, failed: 0 },
  _seq_no: 0,
  _primary_term: 1,
};

/** Pretty-printed, as people send it: a bulk request could not hold it. */
const DOCUMENT = `{
  "@timestamp": "2026-01-02T03:04:05",
  "message": "hello",
  "n": 1
}
`;

Deno.test({
  name: "a document is stored under the id that its path gives, or one of its own, with 201",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--compat-at-root"]);
    const paths = [
      ["POST", "/_doc"],
      ["PUT", "/_doc/an%20id"],
      ["POST", "/_doc/an%20id"],
      ["PUT", "/_create/an%20id"],
      ["POST", "/_create/an%20id?refresh=true&pipeline=none"],
      ["PUT", "/_doc/an%20id?op_type=create"],
    ] as const;
    for (const place of ["", PREFIX]) {
      for (const [method, rest] of paths) {
        const path = `${place}/web/${rest.slice(1)}`;
        const { status, headers, reply } = await send(ingest, { method, path, body: DOCUMENT });
        assert.equal(status, 201, path);
        const { _id, ...others } = reply;
        assert.deepEqual(others, { _index: "web", ...CREATED });
        if (rest !== "/_doc") assert.equal(_id, "an id");
        assert.match(_id, /^.{3,}$/);
        assert.equal(headers.get("location"), `/web/_doc/${encodeURIComponent(_id)}`);
        assert.deepEqual(Object.keys(reply)[0], "_index");
      }
    }
    const rows = await ingest.rows();
    assert.equal(rows.length, 2 * paths.length);
    for (const { lane, timestampNs, columns } of rows) {
      assert.equal(lane, "default/web");
      assert.equal(timestampNs, 1_767_323_045_000_000_000n);
      assert.equal(columns.raw, "hello");
    }
    const ids = rows.map(({ columns }) => JSON.parse(columns.attributes ?? "{}")._id);
    assert.equal(ids.filter((id) => id === "an id").length, 10);
    assert.equal(ids.filter((id) => id === undefined).length, 2);
    assert.equal(await ingest.metric('svc_ingest_events_total{endpoint="bulk"}'), 12);
    const answered = 'svc_ingest_requests_total{endpoint="bulk",status="201"}';
    assert.equal(await ingest.metric(answered), 12);
    assert.equal(await ingest.metric("svc_ingest_bodies_in_flight_bytes"), 0);
  },
});

interface Refusal {
  readonly name: string;
  readonly args?: readonly string[];
  readonly sent: Sent;
  readonly status: number;
  readonly type: string;
  readonly reason: RegExp;
}

const DOC = `${PREFIX}/web/_doc`;
const REFUSALS: readonly Refusal[] = [
  {
    name: "one that is no JSON",
    sent: { path: DOC, body: '{"a":' },
    status: 400,
    type: "document_parsing_exception",
    reason: /^Cannot store the document: .*JSON/,
  },
  {
    name: "a time that is none",
    sent: { path: DOC, body: '{"@timestamp":"noon"}' },
    status: 400,
    type: "document_parsing_exception",
    reason: /^Cannot store the document: @timestamp is "noon"/,
  },
  {
    name: "a number that no double holds",
    sent: { path: DOC, body: '{"a":{"b":1e400}}' },
    status: 400,
    type: "document_parsing_exception",
    reason: /^Cannot store the document: a\.b is 1e400/,
  },
  {
    name: "an _id that the path gainsays",
    sent: { path: `${DOC}/1`, body: '{"_id":"2"}' },
    status: 400,
    type: "document_parsing_exception",
    reason: /field \[_id\] is a metadata field/,
  },
  {
    name: "bytes that are no text",
    sent: { path: DOC, body: new Uint8Array([0x7b, 0xff, 0x7d]) },
    status: 400,
    type: "document_parsing_exception",
    reason: /is not UTF-8/,
  },
  {
    name: "no body",
    sent: { path: DOC },
    status: 400,
    type: "illegal_argument_exception",
    reason: /^request body is required/,
  },
  {
    name: "a name that no index can have",
    sent: { path: `${PREFIX}/Web/_doc`, body: "{}" },
    status: 400,
    type: "invalid_index_name_exception",
    reason: /^Invalid index name \[Web\]/,
  },
  {
    name: "a type that is no JSON",
    sent: { path: DOC, body: "{}", headers: { "content-type": "text/plain" } },
    status: 415,
    type: "media_type_header_exception",
    reason: /^cannot read a document with Content-Type/,
  },
  {
    name: "a commit mode that is none",
    sent: { path: `${DOC}?commit=soon`, body: "{}" },
    status: 400,
    type: "illegal_argument_exception",
    reason: /commit/,
  },
  {
    name: "a body over the cap",
    args: ["--ingest-max-bulk-body-bytes=1024"],
    sent: { path: DOC, body: `{"a":"${"x".repeat(2_000)}"}` },
    status: 413,
    type: "content_too_long_exception",
    reason: /--ingest-max-bulk-body-bytes$/,
  },
  {
    name: "no token",
    args: ["--auth-tokens=t"],
    sent: { path: DOC, body: "{}" },
    status: 401,
    type: "security_exception",
    reason: /./,
  },
  {
    name: "PUT without an id",
    sent: { method: "PUT", path: DOC, body: "{}" },
    status: 405,
    type: "method_not_allowed_exception",
    reason: /it takes POST/,
  },
  {
    name: "a document to be deleted",
    sent: { method: "DELETE", path: `${DOC}/1` },
    status: 405,
    type: "method_not_allowed_exception",
    reason: /it takes PUT, POST, GET, HEAD/,
  },
  {
    name: "a document to be read",
    sent: { method: "GET", path: `${DOC}/1` },
    status: 501,
    type: "unsupported_operation_exception",
    reason: /SQL/,
  },
];

for (const { name, args = [], sent, status, type, reason } of REFUSALS) {
  Deno.test({
    name: `a document's route refuses ${name} with ${status}, storing nothing`,
    fn: async () => {
      await using ingest = await RunningIngest.start(args);
      const answer = await send(ingest, sent);
      assert.equal(answer.status, status);
      assert.equal(answer.reply.status, status);
      assert.equal(answer.reply.error.type, type);
      assert.match(answer.reply.error.reason, reason);
      assert.deepEqual(answer.reply.error.root_cause, [{
        type,
        reason: answer.reply.error.reason,
      }]);
      assert.deepEqual(await ingest.rows(), []);
      assert.equal(await ingest.metric("svc_ingest_bodies_in_flight_bytes"), 0);
    },
  });
}

Deno.test({
  name: "a document's route reads encodings, keys, tenants and rates as bulk requests do",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--trust-scope-header"]);
    const bytes = new TextEncoder().encode(DOCUMENT);
    const headers = { "x-scope-orgid": "acme", "x-svc-idempotency-key": "k" };
    for (const [encoding, pack] of [["gzip", gzipSync], ["snappy", snappyBlock]] as const) {
      const sent = { path: DOC, body: new Uint8Array(pack(bytes)) };
      const answer = await send(ingest, {
        ...sent,
        headers: { ...headers, "content-encoding": encoding },
      });
      assert.equal(answer.status, 201, encoding);
    }
    assert.deepEqual((await ingest.rows()).map(({ lane }) => lane), ["acme/web"]);
    assert.equal(await ingest.metric("svc_ingest_idempotent_repeats_total"), 1);
  },
});

Deno.test({
  name: "a document's route answers 503 with Retry-After while the server is full",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    using _full = await FullServer.of(ingest);
    const { status, headers } = await send(ingest, { path: DOC, body: DOCUMENT });
    assert.equal(status, 503);
    assert.equal(headers.get("retry-after"), "1");
  },
});
