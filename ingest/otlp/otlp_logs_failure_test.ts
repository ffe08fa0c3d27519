/**
 * What senders read when the server cannot store: the status decides whether they keep or drop the
 * batch.
 */

import assert from "node:assert/strict";
import { encodeLogsRequest } from "../../proto/otlp_logs.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import { ByteBudget } from "../../shared/base/byte_budget.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import type { AppendReceipt } from "../../shared/wal/types.ts";
import { LaneChoice } from "../lane_choice.ts";
import { createIngestMetrics } from "../metrics.ts";
import { LOGS } from "./otlp_logs.ts";
import { createOtlpRoute } from "./otlp_route.ts";
import { openGate } from "../../tests/doubles/tenant_gate.ts";

const BODY = new Uint8Array(encodeLogsRequest({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "row" } }] }] }],
}));

interface World {
  readonly append?: () => Promise<AppendReceipt>;
  readonly bodiesBytesMax?: number;
  /** How many of these bytes other requests hold. */
  readonly otherBytes?: number;
  readonly lanesMax?: number;
  readonly index?: string;
  /** Length of a body of which only the first byte comes. */
  readonly announced?: number;
  readonly requestMsMax?: number;
}

async function answer(world: World) {
  const metrics = createIngestMetrics({ version: "1", role: "ingest" });
  const { otherBytes = 0 } = world;
  const bodies = new ByteBudget(world.bodiesBytesMax ?? 1_000_000);
  bodies.take(otherBytes);
  const handle = createOtlpRoute(LOGS, {
    wal: { append: world.append ?? (() => Promise.resolve({ segment: "s" })) },
    forceCommit: () => Promise.resolve(),
    admission: { admit: () => Promise.resolve("default") },
    lanes: new LaneChoice(world.lanesMax ?? 0, { tenants: openGate(metrics), metrics }),
    clock: new SystemClock(),
    metrics,
    bodies,
    bodyCap: { bytesMax: 100_000 },
    // By default no halt of the machine may use it up.
    requestMsMax: world.requestMsMax ?? 10_000,
  });
  const post = async (index: string, announced?: number) => {
    const request = new Request("http://127.0.0.1/v1/logs", {
      method: "POST",
      headers: {
        "content-type": "application/x-protobuf",
        "content-length": String(announced ?? BODY.byteLength),
        "x-svc-index": index,
      },
      body: announced === undefined ? BODY : ReadableStream.from(firstByteOnly()),
    });
    const response = await handle(request, "", () => "127.0.0.1");
    const text = String.fromCharCode(...await response.bytes());
    const reason = /ErrorInfo.*?([A-Z_]{2,}).*svc$/s.exec(text)?.[1];
    return { status: response.status, retryAfter: response.headers.get("retry-after"), reason };
  };
  await post("first");
  const result = await post(world.index ?? "first", world.announced);
  // What a late request holds is given back once its body's reader has been told, in this turn.
  await new Promise((resolve) => setTimeout(resolve, 0));
  return { ...result, metrics, held: bodies.used - otherBytes };
}

async function* firstByteOnly() {
  yield BODY.slice(0, 1);
  await new Promise(() => {});
}

const hang = Promise.withResolvers<AppendReceipt>();

const FAILURES: {
  name: string;
  world: World;
  status: number;
  retryAfter: string | null;
  /** The reason of the status's `ErrorInfo`. */
  reason?: string;
  held?: number;
}[] = [
  {
    name: "an append that fails",
    world: { append: () => Promise.reject(new OperatingError("internal", "write failed")) },
    status: 500,
    retryAfter: null,
  },
  {
    name: "a lane that refuses until it is healed",
    world: {
      append: () =>
        Promise.reject(new OperatingError("unavailable", "disk full", { retryAfterSecs: 2 })),
    },
    status: 503,
    retryAfter: "2",
  },
  {
    name: "bodies in flight past their budget",
    world: { bodiesBytesMax: 8 * 1024 + BODY.byteLength, otherBytes: 1 },
    status: 503,
    retryAfter: "1",
    reason: "BODIES_IN_FLIGHT",
  },
  {
    name: "a body that no budget has room for",
    world: { bodiesBytesMax: 8 * 1024 + BODY.byteLength - 1 },
    status: 413,
    retryAfter: null,
  },
  {
    name: "a lane past the cap",
    world: { lanesMax: 1, index: "second" },
    status: 503,
    retryAfter: null,
    reason: "LANE_CAP",
  },
  {
    name: "an append that hangs past the deadline",
    // Long enough for the bodies to be taken in, whatever the machine does.
    world: { append: () => hang.promise, requestMsMax: 700 },
    status: 504,
    retryAfter: null,
    held: 2 * (8 * 1024 + BODY.byteLength),
  },
  {
    name: "a bug",
    world: { append: () => Promise.reject(new TypeError("undefined is not a function")) },
    status: 500,
    retryAfter: null,
  },
];

for (const { name, world, status, retryAfter, reason, held = 0 } of FAILURES) {
  Deno.test({
    name:
      `POST /v1/logs answers ${status} (retry ${retryAfter}) to ${name} and holds ${held} bytes`,
    fn: async () => {
      const result = await answer(world);
      assert.equal(result.status, status);
      assert.equal(result.retryAfter, retryAfter);
      if (reason !== undefined) assert.equal(result.reason, reason);
      assert.equal(result.held, held);
    },
  });
}

Deno.test({
  name: "POST /v1/logs fits a body that fills the budget exactly",
  fn: async () => {
    const result = await answer({ bodiesBytesMax: 8 * 1024 + BODY.byteLength });
    assert.equal(result.status, 200);
    assert.equal(result.metrics.events.at({ endpoint: "logs" }).value, 2);
  },
});

Deno.test({
  name: "POST /v1/logs gives back what it holds for a body that stops half-way, its sender staying",
  fn: async () => {
    const result = await answer({
      bodiesBytesMax: 300_000,
      announced: 90_000,
      requestMsMax: 100,
    });
    assert.equal(result.status, 504);
    assert.equal(result.held, 0);
  },
});
