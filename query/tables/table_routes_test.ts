/** The table routes over a real warehouse and catalog. */

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { openIndexCatalog } from "../../shared/catalog/open_catalog_parts.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { parseIndexConfig } from "../../shared/schema/index_config.ts";
import { QUERY_AUDIT_TABLE } from "../../shared/schema/query_audit.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { FakeEngine } from "../../tests/doubles/fake_engine.ts";
import { testService } from "../../tests/doubles/query_server.ts";
import { queryApp, type QueryService } from "../routes.ts";
import { TableFacts } from "./table_facts.ts";

const MAPPING = {
  field_mappings: [
    { name: "timestamp", type: "datetime", required: true },
    { name: "status", type: "long" },
  ],
};
const DAY_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const SECS_OF_DAY = 86_400n;
const CONNECTION = { remoteAddr: { hostname: "127.0.0.1" } };

function appOf(lab: WarehouseLab, fields: Partial<QueryService> = {}) {
  const tables = new TableFacts({ catalog: lab.catalog, store: lab.store });
  const app = queryApp(testService(new FakeEngine(), { tables, ...fields }));
  return async (path: string) => {
    const response = await app.request(path, {}, CONNECTION);
    return { status: response.status, body: await response.json() };
  };
}

const rowsFrom = (ns: bigint, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    ns: ns + BigInt(at) * 1_000_000_000n,
    attributes: at % 2 === 0 ? null : "{}",
  }));

Deno.test({
  name: "GET /api/v1/tables lists the tenant's tables with the counts of their newest snapshot",
  async fn() {
    await using lab = await WarehouseLab.open();
    const ask = appOf(lab);
    const { body: before } = await ask("/api/v1/tables");
    deepStrictEqual(before.map((one: { table: string }) => one.table), [
      ...["events", "query_audit", "traces"],
    ]);
    deepStrictEqual(before[0], {
      ...{ table: "events", kind: "built_in", rows: 0, bytes: 0, files: 0, snapshots: 0 },
    });
    await lab.commit(rowsFrom(DAY_NS, 3));
    await lab.commit(rowsFrom(DAY_NS + SECS_OF_DAY * 1_000_000_000n, 2));
    await lab.commitRows(
      [{ ...plainRow(DAY_NS) }],
      { ident: { namespace: "svc", name: "app" }, schema: EVENTS_SCHEMA },
    );
    await lab.commitRows(
      [{ ...plainRow(DAY_NS) }],
      { ident: { namespace: "other", name: "theirs" }, schema: EVENTS_SCHEMA },
    );
    const { body } = await ask("/api/v1/tables");
    const [app, events, ...others] = body;
    deepStrictEqual(others.map((one: { table: string }) => one.table), ["query_audit", "traces"]);
    deepStrictEqual([app.table, app.kind, app.rows], ["app", "unconfigured", 1]);
    deepStrictEqual([events.rows, events.files, events.snapshots], [5, 2, 2]);
    match(events.committed_at, /^20\d\d-.*Z$/);
  },
});

function plainRow(ns: bigint) {
  return {
    ...{ timestamp: ns / 1_000n, timestamp_ns: ns, host: "h", source: "s", sourcetype: "t" },
    ...{ index: "main", raw: "x", attributes: null },
  };
}

Deno.test({
  name: "GET /api/v1/tables/{name} tells days, columns and snapshots; 404 for no table",
  async fn() {
    await using lab = await WarehouseLab.open();
    const ask = appOf(lab);
    await lab.commit(rowsFrom(DAY_NS, 3));
    await lab.commit(rowsFrom(DAY_NS + SECS_OF_DAY * 1_000_000_000n, 2));
    const { status, body } = await ask("/api/v1/tables/events");
    strictEqual(status, 200);
    deepStrictEqual([body.rows, body.files, body.day_count], [5, 2, 2]);
    deepStrictEqual(
      body.days.map(({ day, rows, files }: Record<string, unknown>) => [day, rows, files]),
      [["2026-11-21", 2, 1], ["2026-11-20", 3, 1]],
    );
    strictEqual(
      body.bytes,
      body.days.reduce((sum: number, { bytes }: { bytes: number }) => sum + bytes, 0),
    );
    strictEqual(body.oldest_row_at, "2026-11-20T00:00:00.000000000Z");
    strictEqual(body.newest_row_at, "2026-11-21T00:00:01.000000000Z");
    const columns = new Map(
      body.columns.map((one: Record<string, unknown>) => [one["name"], one["values"]]),
    );
    deepStrictEqual([columns.get("raw"), columns.get("attributes")], [5, 2]);
    deepStrictEqual(
      body.snapshot_list.map((
        one: Record<string, unknown>,
      ) => [one["operation"], one["rows_added"]]),
      [["append", 2], ["append", 3]],
    );
    const { body: empty } = await ask("/api/v1/tables/traces");
    deepStrictEqual([empty.rows, empty.days, empty.snapshot_list], [0, [], []]);
    strictEqual(empty.columns.length, 18);
    const index = parseIndexConfig({ index_id: "orders", doc_mapping: MAPPING });
    await using writer = await openIndexCatalog(`${lab.dir}/warehouse/catalog.db`, {
      files: lab.files,
    });
    await writer.create("svc", { config: { ...index, retention: { period_secs: 60 } }, etag: "e" });
    const { body: orders } = await ask("/api/v1/tables/orders");
    deepStrictEqual([orders.kind, orders.retention_secs, orders.rows], ["index", 60, 0]);
    strictEqual(orders.columns.at(-1).name, "status");
    const missing = await ask("/api/v1/tables/absent");
    deepStrictEqual([missing.status, missing.body.reason], [404, "unknown_table"]);
  },
});

Deno.test({
  name: "one of many tenants sees its own tables, and not the audit's",
  async fn() {
    await using lab = await WarehouseLab.open();
    const caller = { namespace: "acme", tenant: "acme", isOneOfMany: true };
    const ask = appOf(lab, { callers: { admit: () => Promise.resolve(caller) } });
    await lab.commit(rowsFrom(DAY_NS, 1));
    const { body } = await ask("/api/v1/tables");
    deepStrictEqual(
      body.map(({ table, rows }: Record<string, unknown>) => [table, rows]),
      [["events", 0], ["traces", 0]],
    );
    strictEqual((await ask(`/api/v1/tables/${QUERY_AUDIT_TABLE}`)).status, 404);
  },
});

Deno.test({
  name: "requests wait for each other, and past a bound they are told to come again",
  async fn() {
    await using lab = await WarehouseLab.open();
    const ask = appOf(lab);
    const all = await Promise.all(Array.from({ length: 40 }, () => ask("/api/v1/tables")));
    const refused = all.filter(({ status }) => status === 429);
    strictEqual(refused.length, 8);
    strictEqual(refused[0]?.body.reason, "tables_busy");
    strictEqual((await ask("/api/v1/tables")).status, 200);
  },
});
