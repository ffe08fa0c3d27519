/**
 * What gRPC senders read when the server cannot store: code and `RetryInfo` decide whether they
 * keep or drop the batch.
 */

import assert from "node:assert/strict";
import { encodeLogsRequest } from "../../proto/otlp_logs.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import { listenerMeter } from "../../shared/http/connection_metrics.ts";
import { CONNECTION_BOUNDS_DEFAULT } from "../../shared/http/serve.ts";
import { ByteBudget } from "../../shared/base/byte_budget.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { until } from "../../shared/testing/until.ts";
import type { AppendReceipt } from "../../shared/wal/types.ts";
import { type Answer, framed, grpcCall, GrpcConnection } from "../../tests/clients/grpc_call.ts";
import { LaneChoice } from "../lane_choice.ts";
import { createIngestMetrics } from "../metrics.ts";
import type { OtlpDeps } from "../otlp/otlp_route.ts";
import { openGate } from "../../tests/doubles/tenant_gate.ts";
import { serveOtlp } from "./serve_otlp.ts";

const BODY = encodeLogsRequest({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "row" } }] }] }],
});
/** What a call counts for besides its message. */
const CALL_BYTES = 8 * 1024;
/** A deadline that no halt of the machine may use up. */
const PATIENT_MS = 10_000;
/** A deadline that ends a message that never comes whole; what is seen before it may be late. */
const HALF_SENT_MS = 1_000;

interface World {
  readonly append?: () => Promise<AppendReceipt>;
  readonly admit?: () => Promise<string>;
  readonly forceCommit?: OtlpDeps["forceCommit"];
  readonly bodiesBytesMax?: number;
  /** How many of these bytes other requests hold. */
  readonly otherBytes?: number;
  readonly lanesMax?: number;
  readonly requestMsMax?: number;
  readonly stopMsMax?: number;
}

function start(world: World) {
  const metrics = createIngestMetrics({ version: "1", role: "ingest" });
  const bodies = new ByteBudget(world.bodiesBytesMax ?? 1_000_000);
  bodies.take(world.otherBytes ?? 0);
  const deps: OtlpDeps = {
    wal: { append: world.append ?? (() => Promise.resolve({ segment: "s" })) },
    forceCommit: world.forceCommit ?? (() => Promise.resolve()),
    admission: { admit: world.admit ?? (() => Promise.resolve("default")) },
    lanes: new LaneChoice(world.lanesMax ?? 0, { tenants: openGate(metrics), metrics }),
    clock: new SystemClock(),
    metrics,
    bodies,
    bodyCap: { bytesMax: 100_000 },
    requestMsMax: world.requestMsMax ?? PATIENT_MS,
  };
  const listen = { hostname: "127.0.0.1", port: 0 };
  const server = serveOtlp({
    listen,
    bounds: CONNECTION_BOUNDS_DEFAULT,
    meter: listenerMeter(metrics, "grpc"),
    tls: undefined,
    stopMsMax: world.stopMsMax ?? PATIENT_MS,
    deps,
    browsers: { origins: new Set(), hosts: undefined },
  });
  return { server, bodies, metrics, target: `127.0.0.1:${server.address.port}` };
}

const refuse = (...error: ConstructorParameters<typeof OperatingError>) => () =>
  Promise.reject(new OperatingError(...error));

/**
 * Codes and who repeats what: docs/clients.md#what-otlp-asks-of-a-server; the lane's cap:
 * docs/api/README.md#tenants-on-ingest.
 */
const FAILURES: {
  name: string;
  world: World;
  metadata?: Record<string, string>;
  code: number;
  retryAfterSecs?: number;
  errorInfo?: string;
}[] = [
  {
    name: "a failed append, which senders of 500 over HTTP would drop",
    world: { append: refuse("internal", "write failed", { reason: "wal_append_failed" }) },
    code: 14,
    retryAfterSecs: 1,
    errorInfo: "svc/WAL_APPEND_FAILED",
  },
  {
    name: "a lane that refuses until it is healed",
    world: { append: refuse("unavailable", "disk full", { retryAfterSecs: 4 }) },
    code: 14,
    retryAfterSecs: 4,
  },
  {
    name: "an exhausted rate",
    world: { admit: refuse("rate_limited", "slower", { retryAfterSecs: 2 }) },
    code: 14,
    retryAfterSecs: 2,
  },
  {
    name: "bodies in flight past their budget",
    world: { bodiesBytesMax: CALL_BYTES + BODY.byteLength, otherBytes: 1 },
    code: 14,
    retryAfterSecs: 1,
    errorInfo: "svc/BODIES_IN_FLIGHT",
  },
  { name: "a lane past the cap", world: { lanesMax: 1 }, code: 14, errorInfo: "svc/LANE_CAP" },
  { name: "a missing token", world: { admit: refuse("unauthenticated", "no") }, code: 16 },
  { name: "a refused tenant", world: { admit: refuse("permission_denied", "no") }, code: 7 },
  {
    name: "an append that hangs",
    world: { append: () => new Promise(() => {}), requestMsMax: 150 },
    code: 4,
    errorInfo: "svc/DEADLINE",
  },
  {
    name: "a forced commit that was not seen",
    world: { forceCommit: refuse("deadline_exceeded", "no compactor") },
    metadata: { "x-svc-commit": "force" },
    code: 4,
  },
  {
    name: "a bug, without its message",
    world: { append: () => Promise.reject(new TypeError("undefined is not a function")) },
    code: 13,
  },
];

for (const { name, world, metadata = {}, code, retryAfterSecs, errorInfo } of FAILURES) {
  Deno.test({
    name: `Export answers ${code} (retry ${retryAfterSecs ?? "unsaid"}) to ${name}`,
    fn: async () => {
      const { server, target } = start(world);
      await using _server = server;
      const wire = framed(BODY);
      if (world.lanesMax === 1) await grpcCall(target, { wire });
      const index = { "x-svc-index": world.lanesMax === 1 ? "second" : "events" };
      const answer = await grpcCall(target, { wire, metadata: { ...index, ...metadata } });
      assert.equal(answer.code, code, answer.message);
      assert.equal(answer.retryAfterSecs, retryAfterSecs);
      assert.equal(answer.errorInfo, errorInfo);
      assert.deepEqual(answer.violations, []);
      assert.doesNotMatch(answer.message, /undefined/);
    },
  });
}

Deno.test({
  name: "Export charges a message by its announced length before it is there, and gives it back",
  fn: async () => {
    const { server, bodies, target } = start({ requestMsMax: HALF_SENT_MS });
    await using _server = server;
    await using connection = new GrpcConnection(target);
    const begun = framed(new Uint8Array(90_000)).subarray(0, 6);
    const calling = connection.call({ wire: begun, halfSent: true });
    await until(() => bodies.used === CALL_BYTES + 90_000);
    const answer = await calling;
    assert.equal(answer.code, 4, "its deadline passed");
    assert.equal(bodies.used, 0);
  },
});

Deno.test({
  name: "Export gives back what a sender held that reset its call or left",
  fn: async () => {
    const { server, bodies, metrics, target } = start({});
    await using _server = server;
    const begun = framed(new Uint8Array(90_000)).subarray(0, 600);
    const leaving = new GrpcConnection(target);
    const left = leaving.call({ wire: begun, halfSent: true }).catch((error) => error);
    await until(() => bodies.used > CALL_BYTES);
    await leaving[Symbol.asyncDispose]();
    await left;
    await until(() => bodies.used === 0);
    const cancelled = metrics.grpcCalls.at({ endpoint: "grpc_logs", code: "CANCELLED" });
    assert.equal(cancelled.value, 1);
  },
});

Deno.test({
  name: "Export of many half-sent messages at once refuses past the budget and harms no other",
  fn: async () => {
    const held = 10 * (CALL_BYTES + 90_000);
    const { server, target } = start({
      bodiesBytesMax: held + CALL_BYTES + BODY.byteLength,
      requestMsMax: HALF_SENT_MS,
    });
    await using _server = server;
    await using slow = new GrpcConnection(target);
    await using quick = new GrpcConnection(target);
    const begun = framed(new Uint8Array(90_000)).subarray(0, 600);
    const answers = Array.from(
      { length: 30 },
      () => slow.call({ wire: begun, halfSent: true }),
    );
    const refused: Answer[] = [];
    for (const answer of answers) answer.then((one) => one.code === 14 && refused.push(one));
    await until(() => refused.length === 20);
    assert.equal((await quick.call({ wire: framed(BODY) })).code, 0);
    for (const one of refused) assert.equal(one.retryAfterSecs, 1);
    await Promise.all(answers);
  },
});

Deno.test({
  name: "serveOtlp lets a call in flight finish at a stop, takes no new one, and cuts what hangs",
  fn: async () => {
    const appending = Promise.withResolvers<AppendReceipt>();
    const started = Promise.withResolvers<void>();
    const { server, target } = start({
      append: () => {
        started.resolve();
        return appending.promise;
      },
    });
    await using connection = new GrpcConnection(target);
    const call = connection.call({ wire: framed(BODY) });
    await started.promise;
    const stopping = server.stop();
    await assert.rejects(grpcCall(target, { wire: framed(BODY) }));
    appending.resolve({ segment: "s" });
    assert.equal((await call).code, 0);
    await stopping;

    const admitting = Promise.withResolvers<void>();
    const hanging = start({
      admit: () => {
        admitting.resolve();
        return new Promise(() => {});
      },
      stopMsMax: 60,
    });
    await using waiting = new GrpcConnection(hanging.target);
    const cut = assert.rejects(waiting.call({ wire: framed(BODY) }));
    await admitting.promise;
    const begun = performance.now();
    await hanging.server.stop();
    assert.ok(
      performance.now() - begun < PATIENT_MS / 2,
      "it did not wait for the call's deadline",
    );
    await cut;
  },
});
