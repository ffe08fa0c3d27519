/** `X-Svc-Idempotency-Key` as senders use it, over every protocol, on a running server. */

import { Buffer } from "node:buffer";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import assert from "node:assert/strict";
import { encodeLogsRequest } from "../proto/otlp_logs.ts";
import { encodeTracesRequest } from "../proto/otlp_traces.ts";
import { parseOptions } from "../shared/config/parse_options.ts";
import { RunningIngest } from "../tests/clients/running_ingest.ts";
import { OPTIONS, startIngest } from "./mod.ts";

const KEY = "x-svc-idempotency-key";

function logsBody(text: string): Uint8Array<ArrayBuffer> {
  const logRecords = [{ timeUnixNano: "1763000000000000000", body: { stringValue: text } }];
  return new Uint8Array(encodeLogsRequest({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

function tracesBody(name: string): Uint8Array<ArrayBuffer> {
  const span = {
    traceId: new Uint8Array(16).fill(1),
    spanId: new Uint8Array(8).fill(2),
    name,
    startTimeUnixNano: "1763000000000000000",
  };
  return new Uint8Array(
    encodeTracesRequest({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }),
  );
}

interface Answer {
  /** HTTP status, or gRPC code. */
  readonly status: number;
  readonly text: string;
}

type Send = (port: { http: string; grpc: string }, key: string, body: string) => Promise<Answer>;

function post(path: string, type: string, encode: (body: string) => BodyInit): Send {
  return async ({ http }, key, body) => {
    const headers = { "content-type": type, [KEY]: key };
    const response = await fetch(http + path, { method: "POST", headers, body: encode(body) });
    return { status: response.status, text: await response.text() };
  };
}

function exportOver(service: string, encode: (body: string) => Uint8Array): Send {
  return ({ grpc }, key, body) => {
    const client = new Client(grpc, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set(KEY, key);
    const same = (bytes: Buffer) => bytes;
    const path = `/opentelemetry.proto.collector.${service}/Export`;
    const deadline = { deadline: Date.now() + 10_000 };
    return new Promise<Answer>((resolve) => {
      const done = (error: ServiceError | null) =>
        resolve({ status: error?.code ?? status.OK, text: error?.details ?? "" });
      client.makeUnaryRequest(
        path,
        same,
        same,
        Buffer.from(encode(body)),
        metadata,
        deadline,
        done,
      );
    }).finally(() => client.close());
  };
}

const bulkBody = (text: string) =>
  ["one", "two"].map((index) => `{"create":{"_index":"${index}"}}\n{"message":"${text}"}\n`).join(
    "",
  );

interface Protocol {
  readonly name: string;
  readonly send: Send;
  readonly rows: number;
  readonly ok: number;
  readonly reused: number;
  readonly bad: number;
}

const HTTP = { rows: 1, ok: 200, reused: 422, bad: 400 };
const GRPC = {
  rows: 1,
  ok: status.OK,
  reused: status.INVALID_ARGUMENT,
  bad: status.INVALID_ARGUMENT,
};

const PROTOCOLS: readonly Protocol[] = [
  { name: "/v1/logs", send: post("/v1/logs", "application/x-protobuf", logsBody), ...HTTP },
  { name: "/v1/traces", send: post("/v1/traces", "application/x-protobuf", tracesBody), ...HTTP },
  {
    name: "_bulk of two indexes",
    send: post("/api/v1/_compat/_bulk", "application/x-ndjson", bulkBody),
    ...HTTP,
    rows: 2,
  },
  { name: "gRPC logs", send: exportOver("logs.v1.LogsService", logsBody), ...GRPC },
  { name: "gRPC traces", send: exportOver("trace.v1.TraceService", tracesBody), ...GRPC },
];

for (const { name, send, rows, ok, reused, bad } of PROTOCOLS) {
  Deno.test({
    name: `${name} with an idempotency key stores once: at once, later, after a restart`,
    fn: async () => {
      await using ingest = await RunningIngest.start();
      const port = { http: ingest.url, grpc: ingest.grpcTarget };
      const both = await Promise.all([send(port, "k1", "a"), send(port, "k1", "a")]);
      assert.deepEqual(both.map((answer) => answer.status), [ok, ok]);
      assert.equal((await send(port, "k1", "a")).status, ok);
      assert.equal(await ingest.metric("svc_ingest_idempotent_repeats_total"), 2 * rows);
      const other = await send(port, "k1", "b");
      assert.equal(other.status, reused);
      assert.match(other.text, /another body/);
      for (const key of ["", "two words", "x".repeat(256)]) {
        assert.equal((await send(port, key, "a")).status, bad, key);
      }
      assert.equal((await send(port, "k2", "a")).status, ok);
      await ingest.server.stop();

      const listeners = ["--bind", "--metrics-bind", "--otlp-grpc-listen"]
        .flatMap((flag) => [flag, "127.0.0.1:0"]);
      const settings = parseOptions(OPTIONS, ["--data-dir", ingest.dataDir, ...listeners]);
      await using again = await startIngest(settings);
      const later = {
        http: `http://127.0.0.1:${again.address.port}`,
        grpc: `127.0.0.1:${again.otlpGrpcAddress?.port}`,
      };
      assert.equal((await send(later, "k1", "a")).status, ok);
      assert.equal((await send(later, "k1", "b")).status, reused);
      assert.equal((await ingest.rows()).length, 2 * rows);
    },
  });
}

Deno.test({
  name: "a key is remembered as long and as often as the options say",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--ingest-idempotency-keys=1"]);
    const port = { http: ingest.url, grpc: ingest.grpcTarget };
    const { send } = PROTOCOLS[0] ?? assert.fail();
    for (const key of ["k1", "k2", "k2", "k1"]) {
      assert.equal((await send(port, key, "a")).status, 200);
    }
    assert.equal((await ingest.rows()).length, 3);
  },
});
