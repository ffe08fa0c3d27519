/** The three modes on one table: what a document becomes, through the builder of bulk documents. */

import assert from "node:assert/strict";
import { EventDocumentBuilder } from "../columns/event_documents.ts";
import { rowsOf } from "../columns/rows.ts";
import type { MappingMode } from "../schema/doc_mapping.ts";
import { parseIndexConfig } from "../schema/index_config.ts";
import { indexSchema } from "../schema/index_schema.ts";
import type { TableShape } from "../schema/table_shape.ts";
import { typedValue } from "./typed_value.ts";

function shapeOf(mode: MappingMode, timestamp_field = "timestamp"): TableShape {
  const { doc_mapping: mapping } = parseIndexConfig({
    index_id: "app",
    doc_mapping: {
      mode,
      timestamp_field,
      field_mappings: [
        { name: timestamp_field, type: "datetime", required: true },
        { name: "status", type: "long" },
        { name: "ok", type: "bool" },
        { name: "took", type: "double" },
        { name: "text", type: "text" },
        { name: "id", type: "text", required: true },
      ],
    },
  });
  return { mapping, schema: indexSchema(mapping) };
}

const AT = "2026-11-20T21:04:05.123456789Z";

type Document = Record<string, unknown>;
/** Values of status and attributes, or why the document is refused. */
type Outcome = readonly [status: bigint | null, attributes: string | null] | RegExp;

const DOCUMENTS: [document: Document, dynamic: Outcome, lenient: Outcome, strict: Outcome][] = [
  [{ timestamp: AT, id: "a" }, [null, null], [null, null], [null, null]],
  [{ "@timestamp": AT, id: "a", status: 5 }, [5n, null], [5n, null], [5n, null]],
  [{ timestamp: AT, id: "a", status: "7" }, [7n, null], [7n, null], [7n, null]],
  [
    { timestamp: AT, id: "a", other: { b: 1 } },
    [null, '{"other":{"b":1}}'],
    [null, '{"other":{"b":1}}'],
    /the mapping is strict and does not name "other"/,
  ],
  [
    { timestamp: AT, id: "a", status: "many" },
    /status is "many", not long/,
    [null, '{"status":"many"}'],
    /status is "many", not long/,
  ],
  [{ timestamp: AT, id: "a", status: null }, [null, null], [null, null], [null, null]],
  [{ timestamp: AT, id: "a", status: 1.5 }, /1\.5, not long/, [null, '{"status":1.5}'], /not long/],
  [{ timestamp: AT }, /lacks id/, /lacks id/, /lacks id/],
  [{ timestamp: AT, id: null }, /lacks id/, /lacks id/, /lacks id/],
  [{ id: "a" }, /lacks timestamp/, /lacks timestamp/, /lacks timestamp/],
  [{ timestamp: "soon", id: "a" }, /timestamp is "soon"/, /timestamp is "soon"/, /"soon"/],
  [{ timestamp: AT, id: { deep: [1] } }, [null, null], [null, null], [null, null]],
];

for (const [at, mode] of (["dynamic", "lenient", "strict"] as const).entries()) {
  Deno.test({
    name: `mapping in mode ${mode}`,
    async fn(t) {
      for (const [document, ...outcomes] of DOCUMENTS) {
        await t.step(JSON.stringify(document), () => {
          const builder = new EventDocumentBuilder(shapeOf(mode));
          const add = () => builder.add(document, { nowNs: 1n });
          const outcome = outcomes[at];
          if (outcome instanceof RegExp) {
            assert.throws(add, { message: outcome, code: "invalid_argument" });
            assert.equal(builder.rows, 0);
            return;
          }
          add();
          const [row] = rowsOf(builder.finish());
          assert.deepEqual([row?.["status"], row?.["attributes"]], outcome);
        });
      }
    },
  });
}

Deno.test({
  name: "mapping fills a column of each type, and the declared time field is the row's time",
  fn() {
    const builder = new EventDocumentBuilder(shapeOf("strict", "ts"));
    builder.add(
      {
        ts: AT,
        id: { a: "\ud800" },
        ok: "true",
        took: "2.5",
        text: "hello",
        status: -3,
        host: "h",
      },
      { nowNs: 1n },
    );
    const [row] = rowsOf(builder.finish());
    const ns = 1_795_208_645_123_456_789n;
    assert.deepEqual(
      ["timestamp_ns", "ts", "id", "ok", "took", "text", "status", "host", "attributes"]
        .map((name) => row?.[name]),
      [ns, ns / 1_000n, '{"a":"\ufffd"}', true, 2.5, "hello", -3n, "h", null],
    );
    assert.throws(() => builder.add({ timestamp: AT, id: "a" }, { nowNs: 1n }), /lacks ts/);
  },
});

Deno.test({
  name: "mapping refuses a document that lacks a required field of those that every index has",
  fn() {
    const { doc_mapping: mapping } = parseIndexConfig({
      index_id: "app",
      doc_mapping: {
        mode: "lenient",
        field_mappings: [
          { name: "timestamp", type: "datetime", required: true },
          { name: "host", type: "text", required: true },
          { name: "source", type: "text" },
        ],
      },
    });
    const builder = new EventDocumentBuilder({ mapping, schema: indexSchema(mapping) });
    for (const lacking of [{}, { host: "" }, { host: null }, { host: { ip: "::1" } }]) {
      const add = () => builder.add({ timestamp: AT, ...lacking }, { nowNs: 1n });
      assert.throws(add, { message: /lacks host, which is required/, code: "invalid_argument" });
    }
    assert.equal(builder.rows, 0);
    for (const host of [{ host: "a" }, { host: { name: "a" } }, { "host.name": "a" }]) {
      builder.add({ timestamp: AT, ...host }, { nowNs: 1n });
    }
    assert.deepEqual(rowsOf(builder.finish()).map((row) => row["host"]), ["a", "a", "a"]);
  },
});

Deno.test({
  name: "typedValue reads a datetime without a zone as UTC, and a date as its midnight",
  fn() {
    const midnightUs = 1_767_312_000_000_000n;
    for (
      const [text, us] of [
        ["2026-01-02", midnightUs],
        ["2026-01-02T00:00", midnightUs],
        ["2026-01-02 00:00:01", midnightUs + 1_000_000n],
        ["2026-01-02T00:00:00.123456", midnightUs + 123_456n],
        ["2026-01-02T01:00:00+01:00", midnightUs],
        ["2026-02-30", undefined],
      ] as const
    ) assert.equal(typedValue(text, "timestamptz"), us, text);
  },
});
