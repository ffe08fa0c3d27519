/** What bulk senders read when some or all of the lanes cannot store. */

import assert from "node:assert/strict";
import { OperatingError } from "../../shared/base/errors.ts";
import { EVENTS_SHAPE } from "../../shared/schema/table_shape.ts";
import type { LaneId } from "../../shared/tenant/tenant.ts";
import { ByteBudget } from "../../shared/base/byte_budget.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import type { AckMode } from "../../shared/wal/types.ts";
import { LaneChoice } from "../lane_choice.ts";
import { createIngestMetrics } from "../metrics.ts";
import { openGate } from "../../tests/doubles/tenant_gate.ts";
import { createBulkRoute } from "./bulk_route.ts";
import { EventDocumentBuilders } from "./document_builders.ts";

interface World {
  /** Indexes whose lane cannot store, and why; a number is milliseconds that it takes. */
  readonly failures?: Readonly<Record<string, OperatingError | Error | number>>;
  readonly lanesMax?: number;
  readonly query?: string;
  readonly forceFails?: boolean;
  readonly indexes?: readonly string[];
  readonly requestMsMax?: number;
}

const INTERNAL = new OperatingError("internal", "write failed");
const UNAVAILABLE = new OperatingError("unavailable", "disk full", { retryAfterSecs: 2 });

async function answer(world: World) {
  const metrics = createIngestMetrics({ version: "1", role: "ingest" });
  const bodies = new ByteBudget(1_000_000);
  const appended: string[] = [];
  const forced: string[] = [];
  const append = async ({ index }: LaneId, batch: { rows: number }, mode: AckMode) => {
    const failure = world.failures?.[index];
    if (typeof failure === "number") {
      await new Promise((resolve) => setTimeout(resolve, failure));
    } else if (failure !== undefined) throw failure;
    appended.push(`${index} ${batch.rows} ${mode}`);
    return { segment: `segment of ${index}` };
  };
  const handle = createBulkRoute({
    wal: { append },
    forceCommit: (lane, segment) => {
      forced.push(`${lane.tenant}/${lane.index} ${segment}`);
      if (!world.forceFails) return Promise.resolve();
      return Promise.reject(new OperatingError("deadline_exceeded", "no commit seen"));
    },
    admission: { admit: () => Promise.resolve("default") },
    lanes: new LaneChoice(world.lanesMax ?? 0, { tenants: openGate(metrics), metrics }),
    clock: new SystemClock(),
    metrics,
    random: new SystemRandom(),
    builders: new EventDocumentBuilders(() => EVENTS_SHAPE),
    bodies,
    bodyCap: { bytesMax: 100_000 },
    // By default no halt of the machine may use it up.
    requestMsMax: world.requestMsMax ?? 10_000,
  });
  const indexes = world.indexes ?? ["a", "b", "a"];
  const request = new Request("http://127.0.0.1/api/v1/_compat/_bulk", {
    method: "POST",
    headers: { "content-type": "application/x-ndjson" },
    body: indexes.map((index) => `{"index":{"_index":"${index}","_id":"1"}}\n{}\n`).join(""),
  });
  const response = await handle(request, {
    query: world.query ?? "",
    peer: () => "127.0.0.1",
    pathIndex: undefined,
  });
  const reply = await response.json();
  return { response, reply, appended: appended.sort(), forced, metrics, held: bodies.used };
}

const STORED_A = { index: { _index: "a", _id: "1", status: 201 } };

for (
  const [failure, type] of [
    [INTERNAL, "exception"],
    [UNAVAILABLE, "es_rejected_execution_exception"],
  ] as const
) {
  Deno.test({
    name: `a lane that fails as ${failure.code} has its items sent again, others are stored`,
    fn: async () => {
      const { response, reply, appended, metrics } = await answer({ failures: { b: failure } });
      assert.equal(response.status, 200);
      assert.equal(reply.errors, true);
      const error = { type, reason: failure.message };
      const refused = { index: { _index: "b", _id: "1", status: 429, error } };
      assert.deepEqual(reply.items, [STORED_A, refused, STORED_A]);
      assert.deepEqual(appended, ["a 2 wait_for"]);
      assert.equal(metrics.events.at({ endpoint: "bulk" }).value, 2);
      assert.equal(metrics.bulkItems.at({ outcome: "stored" }).value, 2);
      assert.equal(metrics.bulkItems.at({ outcome: "send_again" }).value, 1);
    },
  });
}

const WHOLE: readonly {
  name: string;
  world: World;
  status: number;
  type: string;
  retryAfter: string | null;
}[] = [
  {
    name: "all lanes that refuse until they are healed",
    world: { failures: { a: UNAVAILABLE, b: UNAVAILABLE } },
    status: 503,
    type: "es_rejected_execution_exception",
    retryAfter: "2",
  },
  {
    name: "the only lane that fails",
    world: { failures: { a: INTERNAL }, indexes: ["a"] },
    status: 500,
    type: "exception",
    retryAfter: null,
  },
  {
    name: "a bug",
    world: { failures: { a: new Error("secret") }, indexes: ["a"] },
    status: 500,
    type: "exception",
    retryAfter: null,
  },
  {
    name: "a lane that takes too long",
    world: { failures: { b: 400 }, requestMsMax: 200 },
    status: 504,
    type: "timeout_exception",
    retryAfter: null,
  },
  {
    name: "a commit that is not seen",
    world: { query: "commit=force", forceFails: true },
    status: 504,
    type: "timeout_exception",
    retryAfter: null,
  },
  {
    name: "an unknown commit mode",
    world: { query: "commit=maybe" },
    status: 400,
    type: "illegal_argument_exception",
    retryAfter: null,
  },
];

for (const { name, world, status, type, retryAfter } of WHOLE) {
  Deno.test({
    name: `${name}: the request is answered ${status}`,
    fn: async () => {
      const { response, reply, metrics, held } = await answer(world);
      assert.equal(response.status, status);
      assert.equal(response.headers.get("x-elastic-product"), "Elasticsearch");
      assert.equal(response.headers.get("retry-after"), retryAfter);
      assert.equal(reply.error.type, type);
      assert.deepEqual(reply.error.root_cause, [{ type, reason: reply.error.reason }]);
      assert.equal(reply.status, status);
      assert.doesNotMatch(reply.error.reason, /secret/);
      // Rows whose commit is not seen are durable.
      assert.equal(metrics.events.at({ endpoint: "bulk" }).value, world.forceFails ? 3 : 0);
      // A lane that is late still holds its request's bytes.
      if (status !== 504) assert.equal(held, 0);
      await new Promise((resolve) => setTimeout(resolve, status === 504 ? 300 : 0));
    },
  });
}

Deno.test({
  name: "a lane past the cap has its items sent again, the lanes before it are stored",
  fn: async () => {
    const { reply, appended } = await answer({ lanesMax: 1 });
    assert.deepEqual(appended, ["a 2 wait_for"]);
    assert.deepEqual(reply.items.map((item: { index: { status: number } }) => item.index.status), [
      201,
      429,
      201,
    ]);
  },
});

for (
  const { query, mode, forced } of [
    { query: "commit=auto", mode: "auto", forced: [] },
    { query: "", mode: "wait_for", forced: [] },
    { query: "refresh=wait_for&pipeline=x&commit=wait_for", mode: "wait_for", forced: [] },
    {
      query: "commit=force",
      mode: "wait_for",
      forced: ["default/a segment of a", "default/b segment of b"],
    },
  ]
) {
  Deno.test({
    name: `bulk with query ${
      JSON.stringify(query)
    } appends with ${mode}, forces ${forced.length} lanes`,
    fn: async () => {
      const world = await answer({ query });
      assert.equal(world.response.status, 200);
      assert.deepEqual(world.appended, [`a 2 ${mode}`, `b 1 ${mode}`]);
      assert.deepEqual(world.forced, forced);
    },
  });
}
