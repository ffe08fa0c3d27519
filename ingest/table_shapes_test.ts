import assert from "node:assert/strict";
import { OperatingError } from "../shared/base/errors.ts";
import type { IndexView } from "../shared/catalog/index_catalog.ts";
import { EVENTS_SCHEMA } from "../shared/schema/events.ts";
import { parseIndexConfig } from "../shared/schema/index_config.ts";
import { parseIndexTemplate } from "../shared/schema/index_template.ts";
import { indexSchema } from "../shared/schema/index_schema.ts";
import type { Column, TableSchema } from "../shared/schema/schema.ts";
import { FakeClock } from "../shared/testing/fake_clock.ts";
import { EVENTS_SHAPE } from "../shared/schema/table_shape.ts";
import { TableShapes } from "./table_shapes.ts";

const withColumn = (name: string): TableSchema => ({
  columns: [...EVENTS_SCHEMA.columns, { id: 9, name, type: "long", required: false }],
  tags: [],
});

Deno.test({
  name: "TableShapes follows the catalog within seconds, and keeps what it knew while that is away",
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
      indexViews: () => Promise.resolve(new Map()),
    };
    const shapes = new TableShapes(catalog, { clock });
    const orders = { tenant: "default", index: "orders" };
    await shapes.start();
    assert.equal(shapes.shapeOf(orders), EVENTS_SHAPE);

    tables = new Map([
      ["svc", new Map([["orders", withColumn("a")], ["events", EVENTS_SCHEMA]])],
      ["acme", new Map([["orders", withColumn("b")]])],
    ]);
    await clock.advance(5_000);
    const first = shapes.shapeOf(orders);
    assert.deepEqual(first.schema.columns, withColumn("a").columns);
    assert.equal(shapes.shapeOf({ tenant: "default", index: "events" }), EVENTS_SHAPE);
    const acme = shapes.shapeOf({ tenant: "acme", index: "orders" });
    assert.equal(acme.schema.columns.at(-1)?.name, "b");
    await clock.advance(5_000);
    assert.equal(shapes.shapeOf(orders), first, "the same object");

    isAway = true;
    tables = new Map();
    await clock.advance(60_000);
    assert.equal(shapes.shapeOf(orders), first);
    isAway = false;
    await clock.advance(5_000);
    assert.equal(shapes.shapeOf(orders), EVENTS_SHAPE);

    await shapes.stop();
    assert.equal(clock.sleepers, 0);
  },
});

const TIME = { name: "timestamp", type: "datetime", required: true };
const CONFIG = parseIndexConfig({
  index_id: "app",
  doc_mapping: { mode: "strict", field_mappings: [TIME, { name: "status", type: "long" }] },
});
const TEMPLATE = parseIndexTemplate({
  template_id: "t",
  index_id_patterns: ["web-*"],
  doc_mapping: { field_mappings: [TIME, { name: "path", type: "text" }] },
});

Deno.test({
  name:
    "TableShapes knows configured indexes, templates and epochs; the same object while they stay",
  fn: async () => {
    const clock = new FakeClock();
    let view: IndexView = {
      indexes: new Map([["app", { config: CONFIG, etag: "e" }]]),
      templates: [TEMPLATE],
      epochs: new Map([["gone", { count: 2, droppedMs: 1 }]]),
    };
    const shapes = new TableShapes({
      namespaces: () => Promise.resolve([]),
      tableSchemas: () => Promise.resolve(new Map()),
      indexViews: () => Promise.resolve(new Map([["svc", structuredClone(view)]])),
    }, { clock });
    await shapes.start();
    const shapeOf = (index: string) => shapes.shapeOf({ tenant: "default", index });
    const ownNames = (index: string) =>
      shapeOf(index).schema.columns.slice(EVENTS_SCHEMA.columns.length).map(({ name }) => name);
    assert.deepEqual(shapeOf("app").mapping, CONFIG.doc_mapping);
    assert.deepEqual(ownNames("app"), ["status"]);
    assert.deepEqual(ownNames("web-1"), ["path"]);
    assert.deepEqual([ownNames("gone"), shapeOf("gone").schema.epoch], [[], 2]);
    assert.equal(shapeOf("other"), EVENTS_SHAPE);
    assert.equal(shapes.shapeOf({ tenant: "acme", index: "app" }), EVENTS_SHAPE);

    const before = [shapeOf("app"), shapeOf("web-1"), shapeOf("gone")];
    await clock.advance(500);
    assert.deepEqual([shapeOf("app"), shapeOf("web-1"), shapeOf("gone")], before);
    assert.ok(before.every((shape, at) => shape === shapeOf(["app", "web-1", "gone"][at] ?? "")));

    view = {
      indexes: new Map(),
      templates: [],
      epochs: new Map([["app", { count: 1, droppedMs: 2 }]]),
    };
    await clock.advance(500);
    assert.deepEqual(shapeOf("app"), { schema: { ...EVENTS_SCHEMA, epoch: 1 } });
    assert.equal(shapeOf("web-1"), EVENTS_SHAPE);
    await shapes.stop();
  },
});

Deno.test({
  name: "TableShapes forgets the columns of a dropped table when it learns of the drop",
  fn: async () => {
    const clock = new FakeClock();
    const config = (type: string) =>
      parseIndexConfig({
        index_id: "app",
        doc_mapping: { field_mappings: [TIME, { name: "status", type }] },
      });
    let current = config("long");
    let epochs = new Map<string, { count: number; droppedMs: number }>();
    let tables = new Map([["app", indexSchema(current.doc_mapping)]]);
    const shapes = new TableShapes({
      namespaces: () => Promise.resolve(["svc"]),
      tableSchemas: () => Promise.resolve(new Map(tables)),
      indexViews: () =>
        Promise.resolve(
          new Map([["svc", {
            indexes: new Map([["app", { config: current, etag: current.doc_mapping.mode }]]),
            templates: [],
            epochs,
          }]]),
        ),
    }, { clock });
    await shapes.start();
    const shape = () => shapes.shapeOf({ tenant: "default", index: "app" }).schema;
    const statusType = () => shape().columns.find(({ name }) => name === "status")?.type;
    assert.deepEqual([shape().epoch, statusType()], [undefined, "long"]);

    current = config("text");
    epochs = new Map([["app", { count: 1, droppedMs: 1 }]]);
    tables = new Map();
    await clock.advance(500);
    assert.deepEqual([shape().epoch, statusType()], [1, "string"]);
    await shapes.stop();
  },
});

Deno.test({
  name:
    "TableShapes has no promoted column for rows, unless their mapping has a field of that name",
  fn: async () => {
    const promoted = ["path", "attributes:user"];
    const table: TableSchema = {
      columns: [
        ...indexSchema(CONFIG.doc_mapping).columns,
        { id: 2_001, name: "path", type: "int", required: false },
        { id: 2_002, name: "attributes:user", type: "string", required: false },
      ],
      tags: EVENTS_SCHEMA.tags,
      promoted: [...promoted, "status"],
    };
    const isCore = ({ id }: Column) => EVENTS_SCHEMA.columns.some((column) => column.id === id);
    const events = {
      ...table,
      columns: table.columns.filter((one) => isCore(one) || promoted.includes(one.name)),
      promoted,
    };
    const shapes = new TableShapes({
      namespaces: () => Promise.resolve(["svc"]),
      tableSchemas: () => Promise.resolve(new Map([["events", events], ["app", table]])),
      indexViews: () =>
        Promise.resolve(
          new Map([["svc", {
            indexes: new Map([["app", { config: CONFIG, etag: "e" }]]),
            templates: [],
            epochs: new Map(),
          }]]),
        ),
    }, { clock: new FakeClock() });
    await shapes.start();
    const shapeOf = (index: string) => shapes.shapeOf({ tenant: "default", index });
    assert.deepEqual(shapeOf("events").schema.columns, EVENTS_SCHEMA.columns);
    assert.deepEqual(shapeOf("app").schema, indexSchema(CONFIG.doc_mapping));
    for (const index of ["events", "app"]) {
      const names = shapeOf(index).withPromoted?.columns.map(({ name }) => name);
      assert.deepEqual(names, [...shapeOf(index).schema.columns.map(({ name }) => name), "path"]);
    }
    await shapes.stop();
  },
});
