/**
 * Managed indexes on real processes: made, and written to through bulk and OTLP right after. They
 * are read with SQL, widened, refused where the mapping is strict, dropped and made again, all
 * without a restart.
 */

import assert from "node:assert/strict";
import { Client } from "@elastic/elasticsearch-9";
import { Stack } from "./stack.ts";

const FIELDS = [
  { name: "timestamp", type: "datetime", required: true },
  { name: "status", type: "long" },
  { name: "took", type: "double" },
  { name: "ok", type: "bool" },
  { name: "service_name", type: "text", tokenizer: "raw" },
];
const AT = "2026-01-02T03:04:05.678Z";
const TYPED = "SELECT raw, status, took, ok, service_name, attributes FROM orders ORDER BY raw";

Deno.test({
  name: "a managed index from its creation to its next one",
  async fn() {
    await using stack = await Stack.start();
    const client = new Client({ node: `${stack.ingestUrl}/api/v1/_compat` });
    const api = (method: string, path: string, body?: unknown) =>
      askApi(`${stack.queryUrl}/api/v1/${path}`, method, body);
    const mapping = { mode: "dynamic", field_mappings: FIELDS, tag_fields: ["service_name"] };

    const made = await api("POST", "indexes", { index_id: "orders", doc_mapping: mapping });
    assert.equal(made.status, 201);
    const bulk = await client.bulk({
      operations: [
        { index: { _index: "orders" } },
        { timestamp: AT, message: "a", status: 200, took: "1.5", ok: true, service_name: "web" },
        { index: { _index: "orders" } },
        { timestamp: AT, message: "b", status: "many" },
        { index: { _index: "orders" } },
        { "@timestamp": AT, message: "c", other: 7 },
        { index: { _index: "orders" } },
        { message: "no time" },
      ],
    });
    assert.deepEqual(bulk.items.map(({ index }) => index?.status), [201, 400, 201, 400]);
    assert.match(bulk.items[1]?.index?.error?.reason ?? "", /status is "many", not long/);
    assert.match(bulk.items[3]?.index?.error?.reason ?? "", /lacks timestamp/);
    const sent = await sendLogs(stack, "orders", [
      { body: "d", attributes: { status: 404, deep: "x" } },
      { body: "e", attributes: { status: "none" } },
    ]);
    assert.deepEqual(sent, {
      partialSuccess: {
        rejectedLogRecords: "1",
        errorMessage: 'Cannot store the document: status is "none", not long',
      },
    });
    const expected = [
      ["a", 200, 1.5, true, "web", null],
      ["c", null, null, null, null, '{"other":7}'],
      ["d", 404, null, null, null, '{"deep":"x"}'],
    ];
    assert.deepEqual((await stack.sql(TYPED)).rows, expected, "from the WAL");
    await forceCommit(stack, "orders");
    const committed = (await stack.sql(TYPED)).rows;
    assert.deepEqual(committed.filter(([raw]) => raw !== "forced"), expected, "from the table");

    const strict = {
      ...mapping,
      mode: "strict",
      field_mappings: [...FIELDS, { name: "added", type: "long" }],
    };
    assert.equal((await api("PUT", "indexes/orders", { doc_mapping: strict })).status, 200);
    const later = await client.bulk({
      operations: [
        { index: { _index: "orders" } },
        { timestamp: AT, message: "f", added: 9 },
        { index: { _index: "orders" } },
        { timestamp: AT, message: "g", more: 9 },
      ],
    });
    assert.equal(later.items[1]?.index?.error?.type, "strict_dynamic_mapping_exception");
    const added = await stack.sql("SELECT raw FROM orders WHERE added = 9");
    assert.deepEqual(added.rows, [["f"]]);

    assert.equal((await api("DELETE", "indexes/orders")).status, 204);
    await assert.rejects(stack.sql("SELECT * FROM orders"), /unknown_table/);
    const again = { index_id: "orders", doc_mapping: mapping };
    assert.equal((await api("POST", "indexes", again)).status, 201);
    assert.deepEqual((await stack.sql(TYPED)).rows, []);
    await client.bulk({
      operations: [{ index: { _index: "orders" } }, { timestamp: AT, message: "new", status: 1 }],
    });
    await forceCommit(stack, "orders");
    const own = (await stack.sql("SELECT raw FROM orders ORDER BY raw")).rows;
    assert.deepEqual(own, [["forced"], ["new"]]);
  },
});

Deno.test({
  name: "a template maps an index that nobody made from its first document on",
  async fn() {
    await using stack = await Stack.start();
    const client = new Client({ node: `${stack.ingestUrl}/api/v1/_compat` });
    const body = {
      index_id_patterns: ["app-*"],
      priority: 1,
      doc_mapping: { field_mappings: FIELDS },
    };
    const { status } = await askApi(`${stack.queryUrl}/api/v1/index-templates/t`, "PUT", body);
    assert.equal(status, 200);
    // Shippers name indexes so: such a name no client may configure.
    const name = "app-2026.01.02";
    for (const status of [3, 4]) {
      const sent = await client.bulk({
        operations: [{ index: { _index: name } }, { timestamp: AT, message: "a", status }],
      }, { querystring: { commit: "force" } });
      assert.equal(sent.errors, false);
    }
    const { rows } = await stack.sql(`SELECT raw, status FROM "${name}" ORDER BY status`);
    assert.deepEqual(rows, [["a", 3], ["a", 4]]);
    const listed = await askApi(`${stack.queryUrl}/api/v1/indexes`, "GET");
    const [index] = listed.body as {
      index_id: string;
      doc_mapping: { field_mappings: unknown[] };
    }[];
    assert.equal(index?.index_id, name);
    assert.equal(index?.doc_mapping.field_mappings.length, FIELDS.length);
  },
});

async function askApi(url: string, method: string, body?: unknown) {
  const response = await fetch(url, {
    method,
    headers: { "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) as unknown };
}

interface Log {
  readonly body: string;
  readonly attributes: Readonly<Record<string, string | number>>;
}

async function sendLogs(stack: Stack, index: string, logs: readonly Log[]): Promise<unknown> {
  const logRecords = logs.map(({ body, attributes }) => ({
    timeUnixNano: `${Date.parse(AT)}000000`,
    body: { stringValue: body },
    attributes: Object.entries(attributes).map(([key, value]) => ({
      key,
      value: typeof value === "string" ? { stringValue: value } : { intValue: String(value) },
    })),
  }));
  const response = await fetch(`${stack.ingestUrl}/v1/logs`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-svc-index": index },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
  });
  assert.equal(response.status, 200);
  return await response.json();
}

async function forceCommit(stack: Stack, index: string): Promise<void> {
  const response = await fetch(`${stack.ingestUrl}/api/v1/_compat/${index}/_bulk?commit=force`, {
    method: "POST",
    headers: { "content-type": "application/x-ndjson" },
    body: `{"index":{}}\n{"timestamp":"${AT}","message":"forced"}\n`,
  });
  const body = await response.text();
  assert.equal(response.status, 200, body);
}
