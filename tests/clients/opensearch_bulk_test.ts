/**
 * The official OpenSearch client against a started ingest server: what it sends through refusals is
 * there, once.
 */

import assert from "node:assert/strict";
import { Client } from "@opensearch-project/opensearch";
import { FullServer } from "./full_server.ts";
import { metricReaches } from "./metric_wait.ts";
import { RunningIngest } from "./running_ingest.ts";

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

function clientOf(ingest: RunningIngest, options: { maxRetries?: number } = {}): Client {
  return new Client({ node: `${ingest.url}/api/v1/_compat`, ...options });
}

async function numbers(ingest: RunningIngest): Promise<number[]> {
  const rows = await ingest.rows();
  return rows.map((row) => Number(JSON.parse(row.columns.attributes ?? "{}").n))
    .sort((a, b) => a - b);
}

Deno.test({
  name: "opensearch client pings, reads the fingerprint, and stores a bulk once",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    const client = clientOf(ingest);
    assert.equal((await client.ping()).statusCode, 200);
    assert.equal((await client.info()).body.version.number, "8.17.0");
    const body = range(5).flatMap((n) => [{ index: { _index: "metrics" } }, { n }]);
    const reply = await client.bulk({ body });
    assert.equal(reply.body.errors, false);
    assert.deepEqual(reply.body.items.map((item) => item.index?.status), [201, 201, 201, 201, 201]);
    assert.deepEqual(await numbers(ingest), range(5));
    await client.close();
  },
});

Deno.test({
  name: "opensearch helpers.bulk drops what is refused for good and sends 429 again, through 503",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    const client = clientOf(ingest, { maxRetries: 10_000 });
    const full = await FullServer.of(ingest);
    const dropped: unknown[] = [];
    const storing = client.helpers.bulk({
      datasource: range(120).map((n) => ({ n, ...(n === 60 ? { timestamp: "never" } : {}) })),
      wait: 20,
      retries: 5,
      onDocument: (document) => ({
        create: { _index: `metrics-${(document as { n: number }).n}` },
      }),
      onDrop: (drop) => dropped.push([drop.status, (drop.document as { n: number }).n]),
    });
    await metricReaches(ingest, 'svc_ingest_requests_total{endpoint="bulk",status="503"}', 1);
    full[Symbol.dispose]();
    const stats = await storing;
    assert.deepEqual(dropped, [[400, 60]]);
    assert.equal(stats.successful, 119);
    assert.ok(stats.retry > 0, "no item was answered 429");
    assert.deepEqual(await numbers(ingest), range(120).filter((n) => n !== 60));
    await client.close();
  },
});

Deno.test({
  name: "opensearch client makes what an index needs, and stores single documents, at the root",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--compat-at-root"]);
    const client = new Client({ node: ingest.url, sniffOnStart: true });
    assert.equal((await client.indices.existsIndexTemplate({ name: "t" })).body, false);
    await client.indices.putIndexTemplate({ name: "t", body: { index_patterns: ["m-*"] } });
    assert.equal((await client.indices.existsIndexTemplate({ name: "t" })).body, true);
    assert.equal((await client.indices.existsTemplate({ name: "t" })).body, false);
    await client.indices.putTemplate({ name: "t", body: { index_patterns: ["m-*"] } });
    assert.deepEqual((await client.indices.getTemplate({ name: "t" })).body.t?.index_patterns, [
      "m-*",
    ]);
    await client.ingest.putPipeline({ id: "p", body: { processors: [] } });
    await assert.rejects(client.ingest.getPipeline({ id: "q" }), { statusCode: 404 });
    assert.equal((await client.indices.exists({ index: "m-1" })).body, false);
    assert.equal((await client.indices.create({ index: "m-1" })).body.acknowledged, true);
    assert.equal((await client.indices.exists({ index: "m-1" })).body, true);
    const indexed = await client.index({ index: "m-1", body: { n: 1 } });
    assert.equal(indexed.statusCode, 201);
    assert.equal(indexed.body.result, "created");
    assert.equal((await client.create({ index: "m-1", id: "x", body: { n: 2 } })).body._id, "x");
    await client.indices.refresh({ index: "m-1" });
    const bulk = await client.bulk({ body: [{ index: { _index: "m-1" } }, { n: 3 }] });
    assert.equal(bulk.body.errors, false);
    assert.deepEqual(await numbers(ingest), [1, 2, 3]);
    await client.close();
  },
});
