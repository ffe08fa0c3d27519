/**
 * The official Elasticsearch clients, 8 and 9, against a started ingest server: what they send
 * through refusals is there, once.
 */

import assert from "node:assert/strict";
import { Client as Client8 } from "@elastic/elasticsearch-8";
import { Client as Client9 } from "@elastic/elasticsearch-9";
import { FullServer } from "./full_server.ts";
import { metricReaches } from "./metric_wait.ts";
import { RunningIngest, type StoredRow } from "./running_ingest.ts";

const PREFIX = "/api/v1/_compat";
/** 2026-01-02T03:04:05.678Z */
const TIME_MS = 1_767_323_045_678;

/** Options that both versions take alike. */
type Options = ConstructorParameters<typeof Client8>[0];

const CLIENTS = {
  "elasticsearch 8": (options: Options) => new Client8(options),
  // The two declare the same client separately.
  "elasticsearch 9": (options: Options) => new Client9(options as never) as unknown as Client8,
};

interface Order {
  readonly "@timestamp": string;
  readonly message: string;
  readonly order: number;
}

function orders(count: number): Order[] {
  return Array.from({ length: count }, (_, i) => ({
    "@timestamp": new Date(TIME_MS + i).toISOString(),
    message: `order ${i} placed`,
    order: i,
  }));
}

function ordersIn(rows: readonly StoredRow[]): number[] {
  return rows.map((row) => Number(JSON.parse(row.columns.attributes ?? "{}").order))
    .sort((a, b) => a - b);
}

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

for (const [name, createClient] of Object.entries(CLIENTS)) {
  const clientOf = (ingest: RunningIngest, options: Options = {}) =>
    createClient({ node: `${ingest.url}${PREFIX}`, ...options });

  Deno.test({
    name: `${name} pings, reads fingerprint and health, and stores a bulk once`,
    fn: async () => {
      await using ingest = await RunningIngest.start();
      const client = clientOf(ingest);
      assert.equal(await client.ping(), true);
      assert.equal((await client.info()).version.number, "8.17.0");
      assert.equal((await client.cluster.health()).status, "green");
      const operations = orders(3).flatMap((order, i) => [
        { create: { _index: "orders-app.x", _id: `id ${i}` } },
        order,
      ]);
      const reply = await client.bulk({ operations });
      assert.equal(reply.errors, false);
      assert.deepEqual(
        reply.items,
        range(3).map((i) => ({ create: { _index: "orders-app.x", _id: `id ${i}`, status: 201 } })),
      );
      const rows = await ingest.rows();
      assert.deepEqual(ordersIn(rows), range(3));
      for (const row of rows) {
        const { order, _id } = JSON.parse(row.columns.attributes ?? "{}");
        assert.equal(row.lane, "default/orders-app.x");
        assert.equal(row.timestampNs, BigInt(TIME_MS + order) * 1_000_000n);
        assert.equal(row.columns.raw, `order ${order} placed`);
        assert.equal(_id, `id ${order}`);
      }
      await client.close();
    },
  });

  for (const compression of [false, true]) {
    Deno.test({
      name:
        `${name} helpers.bulk with compression ${compression} drops only what is refused for good`,
      fn: async () => {
        await using ingest = await RunningIngest.start();
        const client = clientOf(ingest, { compression });
        const datasource: object[] = orders(500);
        datasource[250] = { "@timestamp": "yesterday", order: 250 };
        const dropped: unknown[] = [];
        const stats = await client.helpers.bulk({
          datasource,
          flushBytes: 5_000,
          concurrency: 3,
          onDocument: () => ({ index: { _index: "orders" } }),
          onDrop: (drop) => dropped.push([drop.status, drop.error?.type, drop.document]),
        });
        assert.deepEqual(dropped, [[400, "document_parsing_exception", datasource[250]]]);
        assert.equal(stats.successful, 499);
        assert.equal(stats.failed, 1);
        assert.deepEqual(ordersIn(await ingest.rows()), range(500).filter((i) => i !== 250));
        await client.close();
      },
    });
  }

  for (const isAtRoot of [false, true]) {
    Deno.test({
      name: `${name} makes what an index needs, stores single documents, and finds nodes${
        isAtRoot ? " at the root" : ""
      }`,
      fn: async () => {
        await using ingest = await RunningIngest.start(isAtRoot ? ["--compat-at-root"] : []);
        const node = isAtRoot ? ingest.url : `${ingest.url}${PREFIX}`;
        const client = createClient({ node, sniffOnStart: isAtRoot });
        const template = { index_patterns: ["orders-*"], template: { settings: {} } };
        assert.equal(await client.indices.existsIndexTemplate({ name: "orders" }), false);
        const acknowledged = await client.indices.putIndexTemplate({ name: "orders", ...template });
        assert.equal(acknowledged.acknowledged, true);
        assert.equal(await client.indices.existsIndexTemplate({ name: "orders" }), true);
        const { index_templates: [found] } = await client.indices.getIndexTemplate({
          name: "orders",
        });
        assert.equal(found?.name, "orders");
        assert.deepEqual(found?.index_template.index_patterns, ["orders-*"]);
        await client.cluster.putComponentTemplate({ name: "c", template: {} });
        await client.ilm.putLifecycle({ name: "p", policy: { phases: {} } });
        assert.deepEqual((await client.ilm.getLifecycle({ name: "p" })).p?.policy, { phases: {} });
        await assert.rejects(client.ilm.getLifecycle({ name: "q" }), { statusCode: 404 });
        await client.ingest.putPipeline({ id: "i", processors: [] });
        await client.indices.createDataStream({ name: "s" });
        await client.indices.putAlias({ index: "orders-1", name: "orders" });
        assert.equal(await client.indices.existsAlias({ name: "orders" }), true);
        assert.equal(await client.indices.exists({ index: "orders-1" }), false);
        const made = await client.indices.create({ index: "orders-1" });
        assert.deepEqual(made, {
          acknowledged: true,
          shards_acknowledged: true,
          index: "orders-1",
        });
        await assert.rejects(
          client.indices.create({ index: "orders-1" }),
          /resource_already_exists_exception/,
        );
        assert.equal((await client.security.authenticate()).username, "default");
        assert.equal(Object.values((await client.nodes.info()).nodes)[0]?.version, "8.17.0");
        const [first, second, third] = orders(3);
        const indexed = await client.index({ index: "orders-1", document: first });
        assert.equal(indexed.result, "created");
        assert.equal(
          (await client.index({ index: "orders-1", id: "a", document: second }))._id,
          "a",
        );
        const created = await client.create({ index: "orders-1", id: "b/c", document: third });
        assert.equal(created._id, "b/c");
        await assert.rejects(
          client.index({ index: "orders-1", document: { "@timestamp": "noon" } }),
          (error: { statusCode?: number; message: string }) =>
            error.statusCode === 400 && /document_parsing_exception/.test(error.message),
        );
        await client.indices.refresh({ index: "orders-1" });
        await assert.rejects(client.count({ index: "orders-1" }), { statusCode: 501 });
        assert.deepEqual(ordersIn(await ingest.rows()), range(3));
        await client.close();
      },
    });
  }

  Deno.test({
    name: `${name} helpers.bulk sends items answered 429 again until each is stored once`,
    fn: async () => {
      await using ingest = await RunningIngest.start();
      const client = clientOf(ingest);
      const stats = await client.helpers.bulk({
        datasource: orders(150),
        wait: 20,
        retries: 5,
        // More indexes than one request may write to.
        onDocument: (order: Order) => ({ create: { _index: `orders-${order.order % 100}` } }),
        onDrop: (drop) => assert.fail(JSON.stringify(drop)),
      });
      assert.equal(stats.successful, 150);
      assert.ok(stats.retry > 0, "no item was answered 429");
      assert.deepEqual(ordersIn(await ingest.rows()), range(150));
      await client.close();
    },
  });

  Deno.test({
    name: `${name} repeats a request that was answered 503 until it is stored, once`,
    fn: async () => {
      await using ingest = await RunningIngest.start();
      // The client does not wait between attempts, nor heed Retry-After.
      const client = clientOf(ingest, { maxRetries: 10_000 });
      const full = await FullServer.of(ingest);
      const storing = client.helpers.bulk({
        datasource: orders(40),
        onDocument: () => ({ index: { _index: "orders" } }),
        onDrop: (drop) => assert.fail(JSON.stringify(drop)),
      });
      await metricReaches(ingest, 'svc_ingest_requests_total{endpoint="bulk",status="503"}', 1);
      full[Symbol.dispose]();
      assert.equal((await storing).successful, 40);
      assert.deepEqual(ordersIn(await ingest.rows()), range(40));
      await client.close();
    },
  });
}
