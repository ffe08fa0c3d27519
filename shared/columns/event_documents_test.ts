import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { TableSchema } from "../schema/schema.ts";
import { EventDocumentBuilder } from "./event_documents.ts";
import { rowsOf } from "./rows.ts";

Deno.test({
  name: "EventDocumentBuilder makes a batch of the documents it took",
  fn() {
    const builder = new EventDocumentBuilder();
    builder.add({ message: "one", timestamp: 1, k: "v" }, { nowNs: 0n });
    builder.addLine(`{"message":"zwei ü","host.name":"h"}`, { nowNs: 2_500n });
    assert.equal(builder.rows, 2);
    assert.deepEqual(rowsOf(builder.finish()), [
      {
        timestamp: 1_000_000n,
        timestamp_ns: 1_000_000_000n,
        host: "unknown",
        source: "bulk",
        sourcetype: "bulk:doc",
        index: "main",
        raw: "one",
        attributes: `{"k":"v"}`,
      },
      {
        timestamp: 2n,
        timestamp_ns: 2_500n,
        host: "h",
        source: "bulk",
        sourcetype: "bulk:doc",
        index: "main",
        raw: "zwei ü",
        attributes: null,
      },
    ]);
    assert.equal(builder.rows, 0);
  },
});

Deno.test({
  name: "EventDocumentBuilder names line and value of a refused document and keeps the others",
  fn() {
    const builder = new EventDocumentBuilder();
    builder.add({ message: "kept" }, { nowNs: 1n });
    for (
      const { add, names } of [
        { add: () => builder.add({ timestamp: "x" }, { nowNs: 1n }), names: `Line 2: ` },
        { add: () => builder.add({ timestamp: "x" }, { nowNs: 1n, line: 17 }), names: `Line 17: ` },
        { add: () => builder.addLine("{", { nowNs: 1n, line: 18 }), names: `Line 18: ` },
      ]
    ) {
      assert.throws(
        add,
        (error: unknown) =>
          isOperatingError(error, "invalid_argument") && error.message.startsWith(names),
      );
    }
    assert.deepEqual(rowsOf(builder.finish()).map((row) => row.raw), ["kept"]);
  },
});

const TYPED_SCHEMA: TableSchema = {
  columns: [
    ...EVENTS_SCHEMA.columns.slice(0, 4),
    { id: 9, name: "status", type: "int", required: true },
    ...EVENTS_SCHEMA.columns.slice(4),
    { id: 10, name: "bytes", type: "long", required: false },
    { id: 11, name: "took", type: "double", required: false },
    { id: 12, name: "ok", type: "bool", required: false },
    { id: 13, name: "seen", type: "timestamptz", required: false },
    { id: 14, name: "user", type: "string", required: false },
  ],
  tags: [],
};

Deno.test({
  name: "EventDocumentBuilder fills the typed columns of a table that has more than events",
  fn() {
    const builder = new EventDocumentBuilder({ schema: TYPED_SCHEMA });
    const nowNs = 0n;
    builder.addLine(
      `{"message":"a","status":"200","bytes":9223372036854775807,"took":1e-3,"ok":"true",` +
        `"seen":"1970-01-01T00:00:01Z","user":{"id":7},"k":"v"}`,
      { nowNs },
    );
    builder.addLine(`{"message":"b","status":-1,"ok":false,"bytes":null}`, { nowNs });
    const batch = builder.finish();
    assert.equal(batch.schema, TYPED_SCHEMA);
    const [first, second] = rowsOf(batch);
    assert.deepEqual(Object.keys(first ?? {}), TYPED_SCHEMA.columns.map(({ name }) => name));
    assert.deepEqual(
      { ...first, timestamp: 0n, timestamp_ns: 0n },
      {
        timestamp: 0n,
        timestamp_ns: 0n,
        host: "unknown",
        source: "bulk",
        status: 200,
        sourcetype: "bulk:doc",
        index: "main",
        raw: "a",
        attributes: `{"k":"v"}`,
        bytes: 9_223_372_036_854_775_807n,
        took: 0.001,
        ok: true,
        seen: 1_000_000n,
        user: `{"id":7}`,
      },
    );
    const { status, bytes, took, ok, seen, user, attributes } = second ?? {};
    assert.deepEqual(
      { status, bytes, took, ok, seen, user, attributes },
      {
        status: -1,
        bytes: null,
        took: null,
        ok: false,
        seen: null,
        user: null,
        attributes: null,
      },
    );
  },
});

const MISFITS: readonly { json: string; names: string }[] = [
  { json: `{}`, names: "it lacks status, which is required" },
  { json: `{"status":null}`, names: "it lacks status" },
  { json: `{"status":1.5}`, names: "status is 1.5, not int" },
  { json: `{"status":2147483648}`, names: "status is 2147483648, not int" },
  { json: `{"status":"many"}`, names: `status is "many", not int` },
  { json: `{"status":1,"bytes":9223372036854775808}`, names: "bytes is 9223372036854775808" },
  { json: `{"status":1,"took":"fast"}`, names: `took is "fast", not double` },
  { json: `{"status":1,"ok":1}`, names: "ok is 1, not bool" },
  {
    json: `{"status":1,"seen":"noon"}`,
    names:
      `seen is "noon", not datetime: RFC 3339 (UTC without a zone), or s, ms, µs or ns since 1970`,
  },
];

for (const { json, names } of MISFITS) {
  Deno.test({
    name: `EventDocumentBuilder refuses ${json} where columns are typed, leaving no trace`,
    fn() {
      const builder = new EventDocumentBuilder({ schema: TYPED_SCHEMA });
      assert.throws(
        () => builder.addLine(json, { nowNs: 0n, line: 3 }),
        (error) =>
          isOperatingError(error, "invalid_argument") && error.message.startsWith("Line 3: ") &&
          error.message.includes(names),
      );
      assert.equal(builder.rows, 0);
      builder.addLine(`{"status":1}`, { nowNs: 0n });
      assert.equal(builder.finish().rows, 1);
    },
  });
}

Deno.test({
  name: "EventDocumentBuilder takes no table that lacks a column of events",
  fn() {
    const columns = EVENTS_SCHEMA.columns.filter(({ name }) => name !== "raw");
    assert.throws(
      () => new EventDocumentBuilder({ schema: { columns, tags: [] } }),
      (error) =>
        isOperatingError(error, "invalid_argument") && error.message.includes("column raw"),
    );
  },
});
