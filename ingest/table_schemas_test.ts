import assert from "node:assert/strict";
import { OperatingError } from "../shared/base/errors.ts";
import { EVENTS_SCHEMA } from "../shared/event/events.ts";
import type { TableSchema } from "../shared/event/schema.ts";
import { FakeClock } from "../shared/testing/fake_clock.ts";
import { TableSchemas } from "./table_schemas.ts";

const withColumn = (name: string): TableSchema => ({
  columns: [...EVENTS_SCHEMA.columns, { id: 9, name, type: "long", required: false }],
  tags: [],
});

Deno.test({
  name:
    "TableSchemas follows the catalog within seconds, and keeps what it knew while that is away",
  fn: async () => {
    const clock = new FakeClock();
    let tables = new Map<string, Map<string, TableSchema>>();
    let isAway = false;
    const catalog = {
      namespaces: () => {
        if (isAway) return Promise.reject(new OperatingError("unavailable", "locked"));
        return Promise.resolve([...tables.keys()]);
      },
      tableSchemas: (namespace: string) =>
        Promise.resolve(structuredClone(tables.get(namespace) ?? new Map())),
    };
    const schemas = new TableSchemas(catalog, { clock });
    const orders = { tenant: "default", index: "orders" };
    await schemas.start();
    assert.equal(schemas.schemaOf(orders), EVENTS_SCHEMA);

    tables = new Map([
      ["svc", new Map([["orders", withColumn("a")], ["events", EVENTS_SCHEMA]])],
      ["acme", new Map([["orders", withColumn("b")]])],
    ]);
    await clock.advance(5_000);
    const first = schemas.schemaOf(orders);
    assert.deepEqual(first.columns, withColumn("a").columns);
    assert.equal(schemas.schemaOf({ tenant: "default", index: "events" }), EVENTS_SCHEMA);
    const acme = schemas.schemaOf({ tenant: "acme", index: "orders" });
    assert.equal(acme.columns.at(-1)?.name, "b");
    await clock.advance(5_000);
    assert.equal(schemas.schemaOf(orders), first, "the same object");

    isAway = true;
    tables = new Map();
    await clock.advance(60_000);
    assert.equal(schemas.schemaOf(orders), first);
    isAway = false;
    await clock.advance(5_000);
    assert.equal(schemas.schemaOf(orders), EVENTS_SCHEMA);

    await schemas.stop();
    assert.equal(clock.sleepers, 0);
  },
});
