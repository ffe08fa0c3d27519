/** Whether an answer is one that docs/api/ingest.md#statuses allows for its request. */

import assert from "node:assert/strict";
import protobuf from "protobufjs";
import { textOf } from "../../shared/base/bytes.ts";
import type { FuzzInput } from "./fuzz_input.ts";

/** Never 500 (nothing fails here but the input) nor 504 (nothing waits). */
const STATUSES = new Set([200, 201, 400, 403, 404, 405, 413, 415, 501, 503]);

/** The message as googleapis defines it, apart from the code under test. */
const Status = protobuf.parse(`
  syntax = "proto3";
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
`).root.lookupType("Status");

/** gRPC codes by HTTP status: docs/clients.md#what-otlp-asks-of-a-server. */
const GRPC_CODES: Readonly<Record<number, number>> = {
  400: 3,
  403: 7,
  404: 5,
  405: 12,
  413: 8,
  415: 3,
  503: 14,
};

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Throws where the answer is not in form; returns the rows that it acknowledges, if it tells. */
export function checkAnswer(input: FuzzInput, answer: Answer): number | undefined {
  assert.ok(STATUSES.has(answer.status), `status ${answer.status}`);
  if (input.method === "HEAD") return undefined;
  // A URL's dots are resolved before anybody sees its path.
  const path = new URL(`http://127.0.0.1${input.target}`).pathname;
  if (path.startsWith("/v1/")) {
    checkOtlp(answer);
    return undefined;
  }
  const product = answer.headers.get("x-elastic-product");
  if (path.startsWith("/api/v1/_compat")) assert.equal(product, "Elasticsearch");
  if (/\/_bulk$/.test(path) && answer.status === 200) return checkBulk(answer, input);
  if (answer.status === 201) return checkDocument(answer, path);
  if (answer.status === 200) return /\/_(?:doc|create)(?:\/|$)/.test(path) ? 0 : undefined;
  // What the original answers without a word where nothing of a name is there.
  if (answer.status === 404 && ASKED.test(path)) return void JSON.parse(textOf(answer.body));
  checkError(answer, product !== null);
  return undefined;
}

const ASKED = /\/(?:_template|_ingest\/pipeline|_alias(?:es)?)\//;

function checkDocument({ body, headers }: Answer, path: string): number {
  assert.match(path, /\/_(?:doc|create)(?:\/[^/]+)?$/);
  const reply = JSON.parse(textOf(body));
  assert.equal(reply.result, "created");
  assert.ok(reply._id.length > 0);
  assert.equal(headers.get("location"), `/${reply._index}/_doc/${encodeURIComponent(reply._id)}`);
  return 1;
}

function checkOtlp({ status, headers, body }: Answer): void {
  const type = headers.get("content-type");
  assert.ok(type === "application/json" || type === "application/x-protobuf", `type ${type}`);
  if (status === 200) {
    const text = textOf(body);
    const isWarning = /^\{"partialSuccess":\{"errorMessage":"nothing was stored: [^"]+"\}\}$/.test(
      text,
    );
    assert.ok(isWarning || text === (type === "application/json" ? "{}" : ""), text);
    return;
  }
  const error = type === "application/json"
    ? JSON.parse(textOf(body))
    : Status.toObject(Status.decode(body));
  assert.equal(error.code, GRPC_CODES[status]);
  assert.ok(typeof error.message === "string" && error.message.length > 10, "no message");
}

function checkBulk({ body }: Answer, input: FuzzInput): number | undefined {
  const reply = JSON.parse(textOf(body));
  if (input.target.includes("filter_path")) return undefined;
  assert.deepEqual(Object.keys(reply), ["took", "errors", "items"]);
  let stored = 0;
  for (const item of reply.items) {
    const [[action, result], ...more] = Object.entries<Record<string, unknown>>(item) as [
      [string, { status: number; error?: { type: string; reason: string } }],
    ];
    assert.equal(more.length, 0);
    assert.match(action, /^(index|create|update|delete)$/);
    if (result.status === 201) {
      stored += 1;
      continue;
    }
    assert.ok(result.status === 400 || result.status === 429, `item status ${result.status}`);
    assert.ok((result.error?.reason.length ?? 0) > 10 && (result.error?.type.length ?? 0) > 5);
  }
  assert.equal(reply.errors, stored < reply.items.length);
  return stored;
}

function checkError({ status, body }: Answer, isCompat: boolean): void {
  const error = JSON.parse(textOf(body));
  if (isCompat) {
    assert.equal(error.status, status);
    assert.equal(typeof error.error.reason, "string");
    assert.equal(error.error.root_cause.length, 1);
  } else {
    assert.equal(error.code, status);
    assert.equal(typeof error.error, "string");
  }
}
