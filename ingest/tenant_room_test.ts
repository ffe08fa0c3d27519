/** Tenants share the memory for bodies in flight: one that takes all it can leaves others room. */

import assert from "node:assert/strict";
import { connect } from "node:http2";
import { until } from "../shared/testing/until.ts";
import { RunningIngest } from "../tests/clients/running_ingest.ts";

const MIB = 1024 ** 2;
const ARGS = ["--trust-scope-header"];
/** More than fit into 256 MiB. */
const REQUESTS = 80;
/** A body that begins, and whose end never arrives: it is charged as soon as it is announced. */
const ANNOUNCED = 3.9 * MIB | 0;
const SENT = new Uint8Array(64 * 1024).fill(0x20);

/** Begins a request of tenant `a` without ending it. */
type Begin = (ingest: RunningIngest, told: { refused(): void }) => Disposable;

function overHttp(method: string, path: string, type: string): Begin {
  return ({ server }, { refused }) => {
    const head = [
      `${method} ${path} HTTP/1.1`,
      ...["host: localhost", "x-scope-orgid: a", `content-type: ${type}`],
      `content-length: ${ANNOUNCED}`,
    ];
    const connecting = Deno.connect({ hostname: "127.0.0.1", port: server.address.port });
    const send = async () => {
      const conn = await connecting;
      const writing = (async () => {
        const writer = conn.writable.getWriter();
        await writer.write(new TextEncoder().encode(head.join("\r\n") + "\r\n\r\n"));
        await writer.write(SENT);
      })();
      writing.catch(() => {});
      const { value } = await conn.readable.getReader().read();
      if (new TextDecoder().decode(value).startsWith("HTTP/1.1 503")) refused();
    };
    send().catch(() => {});
    return { [Symbol.dispose]: () => void connecting.then((conn) => conn.close()).catch(() => {}) };
  };
}

const overGrpc: Begin = ({ grpcTarget }, { refused }) => {
  const session = connect(`http://${grpcTarget}`);
  session.on("error", () => {});
  const stream = session.request({
    ":method": "POST",
    ":path": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    ...{ "content-type": "application/grpc", te: "trailers", "x-scope-orgid": "a" },
  });
  stream.on("error", () => {});
  const seen = (fields: Record<string, unknown>) => {
    if (fields["grpc-status"] === "14") refused();
  };
  stream.on("response", seen).on("trailers", seen).resume();
  const prefix = new DataView(new ArrayBuffer(5));
  prefix.setUint32(1, ANNOUNCED);
  stream.write(new Uint8Array(prefix.buffer));
  stream.write(SENT);
  return { [Symbol.dispose]: () => session.destroy() };
};

const WAYS: readonly (readonly [string, Begin])[] = [
  ["/v1/logs", overHttp("POST", "/v1/logs", "application/json")],
  ["/v1/traces", overHttp("POST", "/v1/traces", "application/x-protobuf")],
  ["_bulk", overHttp("POST", "/api/v1/_compat/_bulk", "application/x-ndjson")],
  ["_template", overHttp("PUT", "/api/v1/_compat/_template/t", "application/json")],
  ["OTLP/gRPC", overGrpc],
];

Deno.test({
  name: "a tenant whose bodies take all the memory that they can leaves others room",
  // At once: a refused body is drained for seconds.
  fn: async () => void await Promise.all(WAYS.map(([name, begin]) => leavesRoom(name, begin))),
});

async function leavesRoom(name: string, begin: Begin): Promise<void> {
  await using ingest = await RunningIngest.start(ARGS);
  using begun = new DisposableStack();
  let refusals = 0;
  for (let at = 0; at < REQUESTS; at += 1) {
    begun.use(begin(ingest, { refused: () => refusals += 1 }));
  }
  await until(() => refusals > 0);
  const post = async (tenant: string) => {
    const response = await ingest.post(`{"resourceLogs":[]}${" ".repeat(13 * MIB)}`, {
      headers: { "content-type": "application/json", "x-scope-orgid": tenant },
    });
    return { status: response.status, text: await response.text() };
  };
  assert.deepEqual(await post("b"), { status: 200, text: "{}" }, name);
  const own = await post("a");
  assert.equal(own.status, 503, `${name}: ${own.text}`);
  assert.match(own.text, /requests of this tenant in flight hold \d+ of the \d+ body bytes/);
}
