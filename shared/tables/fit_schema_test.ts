import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { batchOfRows, rowsOf } from "../columns/rows.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { Column, TableSchema } from "../schema/schema.ts";
import { TRACES_SCHEMA } from "../schema/traces.ts";
import { fitTo, schemaForNewTable } from "./fit_schema.ts";

const TIMESTAMP: Column = { id: 1, name: "timestamp", type: "timestamptz", required: true };
const RAW: Column = { id: 7, name: "raw", type: "string", required: true };
const SEGMENT: TableSchema = { columns: [TIMESTAMP, RAW], tags: [] };
const BATCH = batchOfRows(SEGMENT, [{ timestamp: 1n, raw: "a" }, { timestamp: 2n, raw: "b" }]);

Deno.test({
  name: "fitTo gives a batch of the table's own columns without copying",
  fn() {
    const table: TableSchema = { columns: [TIMESTAMP, RAW], tags: ["raw"] };
    const fitted = fitTo(table, SEGMENT.columns)(BATCH);
    assert.equal(fitted.schema, table);
    assert.equal(fitted.columns, BATCH.columns);
  },
});

Deno.test({
  name: "fitTo meets columns by id and fills new ones with nulls",
  fn() {
    const added: Column[] = (["string", "long", "int", "double", "bool", "timestamptz"] as const)
      .map(
        (type, at) => ({ id: 20 + at, name: `new_${type}`, type, required: false }),
      );
    const renamed: Column = { ...RAW, name: "body", required: false };
    const table: TableSchema = { columns: [renamed, ...added, TIMESTAMP], tags: [] };
    const nulls = Object.fromEntries(added.map(({ name }) => [name, null]));
    assert.deepEqual(rowsOf(fitTo(table, SEGMENT.columns)(BATCH)), [
      { body: "a", ...nulls, timestamp: 1n },
      { body: "b", ...nulls, timestamp: 2n },
    ]);
  },
});

Deno.test({
  name: "fitTo refuses what would lose a value or break a promise",
  fn() {
    const required: Column = { id: 9, name: "must", type: "long", required: true };
    const table: [what: string, table: Column[], segment: Column[]][] = [
      ["a column the table lacks", [TIMESTAMP], [TIMESTAMP, { ...RAW, id: 99 }]],
      ["another type", [TIMESTAMP, { ...RAW, type: "long" }], [TIMESTAMP, RAW]],
      ["a required column the segment lacks", [TIMESTAMP, required], [TIMESTAMP]],
      ["nulls for a required column", [RAW], [{ ...RAW, required: false }]],
    ];
    for (const [what, columns, segment] of table) {
      assert.throws(
        () => fitTo({ columns, tags: [] }, segment),
        (error) => isOperatingError(error, "unprocessable"),
        what,
      );
    }
  },
});

Deno.test({
  name: "fitTo names the column and the remedy where the table is older than the program",
  fn() {
    const columns = EVENTS_SCHEMA.columns.filter(({ name }) => name !== "attributes");
    const promoted: Column = { id: 5_000, name: "user.id", type: "string", required: false };
    for (
      const table of [
        { columns, tags: [] },
        { columns: [...columns, promoted], tags: [], promoted: ["user.id"] },
      ]
    ) {
      assert.throws(
        () => fitTo(table, EVENTS_SCHEMA.columns),
        (error) =>
          isOperatingError(error, "precondition_failed") && error.reason === "schema_gate" &&
          /"attributes"/.test(error.message) && /svc migrate-schema/.test(error.message),
      );
    }
  },
});

Deno.test({
  name:
    "schemaForNewTable knows the built-in tables, with their tags, and takes others as they are",
  fn() {
    const undocumented = ({ columns }: TableSchema): Column[] =>
      columns.map(({ doc: _, ...column }) => column);
    for (const schema of [EVENTS_SCHEMA, TRACES_SCHEMA]) {
      assert.equal(schemaForNewTable(undocumented(schema)), schema);
    }
    const segment = undocumented(EVENTS_SCHEMA);
    const wider = [...segment, { id: 9, name: "user", type: "string", required: false } as const];
    assert.deepEqual(schemaForNewTable(wider), { columns: wider, tags: [] });
  },
});
