/** What senders of every protocol read when the server has no room or its disk does not work. */

import { Buffer } from "node:buffer";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import assert from "node:assert/strict";
import {
  CrashableFileSystem,
  type CrashableOptions,
  type Operation,
} from "../shared/testing/crashable_file_system.ts";
import { until } from "../shared/testing/until.ts";
import { RunningIngest } from "../tests/clients/running_ingest.ts";

/** `resource_logs { scope_logs { log_records {} } }`: one row. */
const ONE_ROW = new Uint8Array([0x0a, 0x04, 0x12, 0x02, 0x12, 0x00]);

/** One answer: HTTP status or gRPC code, and the hint when to try again. */
interface Answer {
  readonly status: number;
  readonly retry: boolean;
}

type Head = Record<string, string>;
type Send = (ingest: RunningIngest, head?: Head) => Promise<Answer>;

function post(path: string, type: string, body: BodyInit): Send {
  return async (ingest, head = {}) => {
    const headers = { "content-type": type, ...head };
    const response = await ingest.post(body, { headers, path });
    await response.body?.cancel();
    const after = response.headers.get("retry-after");
    if (after !== null) assert.match(after, /^[1-5]$/);
    return { status: response.status, retry: after !== null };
  };
}

const exportLogs: Send = (ingest, head = {}) => {
  const client = new Client(ingest.grpcTarget, credentials.createInsecure());
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(head)) metadata.set(name, value);
  const same = (bytes: Buffer) => bytes;
  const path = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
  const deadline = { deadline: Date.now() + 10_000 };
  return new Promise<Answer>((resolve) => {
    const done = (error: ServiceError | null) => {
      const details = String(error?.metadata.get("grpc-status-details-bin")[0] ?? "");
      const retry = details.includes("google.rpc.RetryInfo");
      resolve({ status: error?.code ?? status.OK, retry });
    };
    client.makeUnaryRequest(path, same, same, Buffer.from(ONE_ROW), metadata, deadline, done);
  }).finally(() => client.close());
};

const logs = post("/v1/logs", "application/x-protobuf", ONE_ROW);

const SENDERS: readonly { name: string; send: Send; busy: number; ok: number }[] = [
  { name: "/v1/logs", send: logs, busy: 503, ok: 200 },
  {
    name: "/v1/traces",
    send: post("/v1/traces", "application/json", '{"resourceSpans":[]}'),
    busy: 503,
    ok: 200,
  },
  {
    name: "_bulk",
    send: post("/api/v1/_compat/events/_bulk", "application/x-ndjson", '{"index":{}}\n{"m":1}\n'),
    busy: 503,
    ok: 200,
  },
  { name: "OTLP/gRPC", send: exportLogs, busy: status.UNAVAILABLE, ok: status.OK },
];

/** A WAL in memory; `catalog` and everything else stays in the server's data directory. */
function startOn(machine: CrashableOptions, args: readonly string[] = []) {
  return RunningIngest.start(args, { fs: new CrashableFileSystem(machine) });
}

const A: Head = { "x-scope-orgid": "a" };
const B: Head = { "x-scope-orgid": "b" };
const REJECTED = "svc_ingest_backpressure_rejected_total";

Deno.test({
  name: "a tenant with a full queue reads 503 and a hint over every protocol, another is served",
  fn: async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const isOfA = ({ kind, path }: Operation) => kind === "sync" && path.includes("/wal/a/");
    const args = ["--trust-scope-header", "--ingest-backpressure-capacity=2"];
    await using ingest = await startOn(
      { onOperation: (o) => isOfA(o) ? promise : undefined },
      args,
    );
    const waiting = [logs(ingest, A), logs(ingest, A)];
    await until(async () => await ingest.metric("svc_ingest_backpressure_queued") === 2);
    for (const { name, send, busy, ok } of SENDERS) {
      assert.deepEqual(await send(ingest, A), { status: busy, retry: true }, name);
      assert.deepEqual(await send(ingest, B), { status: ok, retry: false }, name);
    }
    assert.equal(await ingest.metric(REJECTED), SENDERS.length);
    resolve(undefined);
    for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 200);
    for (const { name, send, ok } of SENDERS) {
      assert.deepEqual(await send(ingest, A), { status: ok, retry: false }, name);
    }
    assert.equal(await ingest.metric(REJECTED), SENDERS.length);
  },
});

Deno.test({
  name: "with capacity 0 no number of waiting requests is refused",
  fn: async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    await using ingest = await startOn(
      {
        onOperation: ({ kind, path }) =>
          kind === "sync" && path.includes(".seg") ? promise : undefined,
      },
      ["--ingest-backpressure-capacity=0"],
    );
    const sent = Array.from({ length: 1_100 }, () => logs(ingest));
    await until(async () =>
      await ingest.metric("svc_ingest_bodies_in_flight_bytes") >= 1_100 * 8192
    );
    resolve(undefined);
    const statuses = new Set((await Promise.all(sent)).map((answer) => answer.status));
    assert.deepEqual([...statuses], [200]);
  },
});

Deno.test({
  name: "an open memory breaker answers rows over every protocol with 503 and a hint, not probes",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--ingest-mem-limit-mib=1"]);
    for (const { name, send, busy } of SENDERS) {
      assert.deepEqual(await send(ingest), { status: busy, retry: true }, name);
    }
    assert.equal(await ingest.metric("svc_ingest_mem_breaker_open"), 1);
    for (const path of ["/healthz", "/"]) {
      const response = await fetch(ingest.url + path);
      await response.body?.cancel();
      assert.equal(response.status, 200, path);
    }
    assert.deepEqual(await ingest.rows(), []);
  },
});

Deno.test({
  name: "a lane past --ingest-max-lanes is 503 without a hint, also over gRPC and bulk",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--ingest-max-lanes=1"]);
    const other: Head = { "x-svc-index": "other" };
    assert.equal((await logs(ingest)).status, 200);
    assert.deepEqual(await logs(ingest, other), { status: 503, retry: false });
    assert.deepEqual(await exportLogs(ingest, other), { status: status.UNAVAILABLE, retry: false });
    const bulk = post("/api/v1/_compat/other/_bulk", "application/x-ndjson", '{"index":{}}\n{}\n');
    assert.deepEqual(await bulk(ingest), { status: 503, retry: false });
    assert.equal(await ingest.metric("svc_ingest_lane_refused_total"), 3);
    assert.equal((await logs(ingest)).status, 200);
  },
});

Deno.test({
  name:
    "a lane that cannot be opened takes no place of others, and its 503 names no place of the disk",
  fn: async () => {
    let failing = true;
    await using ingest = await startOn({
      onOperation: ({ kind, path }) =>
        failing && kind === "mkdir" && path.includes("/broken")
          ? new Error(`No space left on device (os error 28): mkdir '${path}'`)
          : undefined,
    }, ["--trust-scope-header", "--max-tenants=1", "--ingest-max-lanes=1"]);
    const headers = { "content-type": "application/x-protobuf", "x-scope-orgid": "broken" };
    const refused = await ingest.post(ONE_ROW, { headers });
    const text = await refused.text();
    assert.equal(refused.status, 503, text);
    assert.match(text, /WAL lane broken\/events: No space left on device/);
    assert.ok(!text.includes(ingest.dataDir), text);

    assert.equal((await logs(ingest, A)).status, 200);
    assert.deepEqual(await logs(ingest, { ...A, "x-svc-index": "more" }), {
      status: 503,
      retry: false,
    });
    failing = false;
    assert.equal(
      (await logs(ingest, { "x-scope-orgid": "broken" })).status,
      403,
      "A has the place",
    );
    assert.equal((await logs(ingest, A)).status, 200);
  },
});

Deno.test({
  name: "a shed request's body is read to its end, and its connection serves the next request",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--ingest-mem-limit-mib=1"]);
    const { port } = ingest.server.address;
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const bodyBytes = 6 * 1024 * 1024;
    const write = async (bytes: Uint8Array) => {
      for (let at = 0; at < bytes.byteLength;) at += await connection.write(bytes.subarray(at));
    };
    const head = (method: string, path: string, fields: string) =>
      new TextEncoder().encode(`${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${fields}\r\n`);
    const type = "content-type: application/x-protobuf\r\n";
    await write(head("POST", "/v1/logs", `${type}content-length: ${bodyBytes}\r\n`));
    await write(new Uint8Array(bodyBytes));
    await write(head("GET", "/healthz", "connection: close\r\n"));
    let text = "";
    for await (const part of connection.readable) text += new TextDecoder().decode(part);
    assert.match(text, /^HTTP\/1\.1 503 .*HTTP\/1\.1 200 OK/s);
    assert.match(text, /retry-after: 5/i);
  },
});

for (const kind of ["sync", "write"] as const) {
  Deno.test({
    name:
      `a disk whose ${kind} fails: 500, then 503 and not ready, and rows again without a restart`,
    fn: async () => {
      let failing = false;
      await using ingest = await startOn({
        onOperation: (operation) =>
          failing && operation.kind === kind ? new Error("injected: I/O error") : undefined,
      });
      const ready = async () => {
        const response = await fetch(`${ingest.url}/readyz`);
        return { status: response.status, text: await response.text() };
      };
      assert.equal((await logs(ingest)).status, 200);
      failing = true;
      assert.deepEqual(await logs(ingest), { status: 500, retry: false });
      for (const { name, send, busy } of SENDERS) {
        if (name === "/v1/traces") continue; // No rows: nothing fails.
        assert.deepEqual(await send(ingest), { status: busy, retry: true }, name);
      }
      await until(async () => (await ready()).status === 503);
      assert.match((await ready()).text, /injected: I\/O error/);
      failing = false;
      await until(async () => (await logs(ingest)).status === 200);
      await until(async () => (await ready()).status === 200);
    },
  });
}
