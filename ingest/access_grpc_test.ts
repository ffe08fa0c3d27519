/**
 * Access over OTLP/gRPC, asked by real calls: codes, retry hints, TLS. `access_http_test.ts` has
 * all reasons.
 */

import { Buffer } from "node:buffer";
import {
  type ChannelCredentials,
  Client,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import assert from "node:assert/strict";
import { AUDIENCE, FakeIssuer } from "../shared/testing/fake_issuer.ts";
import { selfSigned } from "../shared/testing/self_signed.ts";
import { RunningIngest } from "../tests/clients/running_ingest.ts";

const EXPORT = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";

/** `resource_logs { scope_logs { log_records {} } }`: one row. */
const ONE_ROW = Buffer.from([0x0a, 0x04, 0x12, 0x02, 0x12, 0x00]);

interface CallEnd {
  readonly code: status;
  /** Whether a `RetryInfo` came with it. */
  readonly retry: boolean;
}

function call(
  ingest: RunningIngest,
  head: Record<string, string> = {},
  channel: ChannelCredentials = credentials.createInsecure(),
): Promise<CallEnd> {
  // The library would ask for the address's own name otherwise, which no name in TLS may be.
  const named = { "grpc.ssl_target_name_override": "localhost" };
  const client = new Client(ingest.grpcTarget, channel, named);
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(head)) metadata.set(name, value);
  const same = (bytes: Buffer) => bytes;
  const deadline = Date.now() + 10_000;
  return new Promise<CallEnd>((resolve) => {
    const done = (error: ServiceError | null) => {
      const details = String(error?.metadata.get("grpc-status-details-bin")[0] ?? "");
      resolve({ code: error?.code ?? status.OK, retry: details.includes("google.rpc.RetryInfo") });
    };
    client.makeUnaryRequest(EXPORT, same, same, ONE_ROW, metadata, { deadline }, done);
  }).finally(() => client.close());
}

const OK: CallEnd = { code: status.OK, retry: false };
const DENIED: CallEnd = { code: status.PERMISSION_DENIED, retry: false };
const UNAUTHENTICATED: CallEnd = { code: status.UNAUTHENTICATED, retry: false };
const LATER: CallEnd = { code: status.UNAVAILABLE, retry: true };

Deno.test({
  name: "gRPC with tokens answers UNAUTHENTICATED for others",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--auth-tokens=good"]);
    assert.deepEqual(await call(ingest), UNAUTHENTICATED);
    assert.deepEqual(await call(ingest, { authorization: "Bearer bad" }), UNAUTHENTICATED);
    assert.deepEqual(await call(ingest, { authorization: "Bearer good" }), OK);
    assert.equal((await ingest.rows()).length, 1);
  },
});

Deno.test({
  name: "gRPC answers PERMISSION_DENIED for a refused tenant, counted and traceless",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    assert.deepEqual(await call(ingest, { "x-scope-orgid": "acme" }), DENIED);
    assert.deepEqual(await ingest.rows(), []);
    const series = 'svc_ingest_tenant_denied_total{reason="header_not_trusted"}';
    assert.equal(await ingest.metric(series), 1);
    assert.deepEqual(await call(ingest, { "x-scope-orgid": "default" }), OK);
  },
});

Deno.test({
  name: "gRPC over an exhausted rate answers UNAVAILABLE with RetryInfo",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--ingest-rate-per-sec=1"]);
    const begunMs = performance.now();
    const ends = await Promise.all(Array.from({ length: 8 }, () => call(ingest)));
    const most = 1 + Math.ceil((performance.now() - begunMs) / 1_000);
    const taken = ends.filter(({ code }) => code === status.OK).length;
    assert.ok(taken >= 1 && taken <= most, `${taken} taken`);
    for (const end of ends.filter(({ code }) => code !== status.OK)) assert.deepEqual(end, LATER);
  },
});

Deno.test({
  name: "gRPC with OIDC writes for the claim, and answers UNAVAILABLE while no key is known",
  fn: async () => {
    await using issuer = await FakeIssuer.start();
    issuer.mood = "failing";
    await using ingest = await RunningIngest.start([
      ...["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE, "--oidc-tenant-claim=org"],
    ]);
    const authorization = `Bearer ${await issuer.token({ org: "acme" })}`;
    assert.deepEqual(await call(ingest, { authorization }), LATER);
    issuer.mood = "well";
    let end = LATER;
    for (let tries = 0; tries < 600 && end.code === status.UNAVAILABLE; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      end = await call(ingest, { authorization });
    }
    assert.deepEqual(end, OK);
    assert.deepEqual(await call(ingest, { authorization, "x-scope-orgid": "other" }), DENIED);
    assert.deepEqual((await ingest.rows()).map((row) => row.lane), ["acme/events"]);
  },
});

Deno.test({
  name: "gRPC serves TLS with the same files",
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "svc-tls-" });
    try {
      const { cert, key } = await selfSigned();
      await Deno.writeTextFile(`${folder}/cert`, cert);
      await Deno.writeTextFile(`${folder}/key`, key);
      const args = [`--tls-cert=${folder}/cert`, `--tls-key=${folder}/key`];
      await using ingest = await RunningIngest.start(args);
      const trusting = credentials.createSsl(Buffer.from(cert));
      assert.deepEqual(await call(ingest, {}, trusting), OK);
      assert.equal((await call(ingest)).code, status.UNAVAILABLE, "plaintext");
      assert.equal((await ingest.rows()).length, 1);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
