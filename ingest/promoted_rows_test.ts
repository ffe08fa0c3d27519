import assert from "node:assert/strict";
import { batchOfRows, rowsOf } from "../shared/columns/rows.ts";
import { EVENTS_SCHEMA } from "../shared/schema/events.ts";
import { EVENTS_SHAPE } from "../shared/schema/table_shape.ts";
import { TRACES_SCHEMA } from "../shared/schema/traces.ts";
import { mapRows } from "./mapped_rows.ts";
import { promotedRows } from "./promoted_rows.ts";

const SHAPE = {
  schema: { ...EVENTS_SCHEMA },
  withPromoted: {
    ...EVENTS_SCHEMA,
    columns: [
      ...EVENTS_SCHEMA.columns,
      { id: 2_001, name: "status", type: "int", required: false },
    ],
    promoted: ["status"],
  },
} as const;

const ATTRIBUTES = [`{"status":7}`, `{"status":"many","a":1}`, null];

Deno.test({
  name:
    "log rows of a table with a promoted column have what fits in it, and all of their attributes",
  async fn() {
    const core = { host: "h", source: "s", sourcetype: "t", index: "main", raw: "row" };
    const times = { timestamp: 1n, timestamp_ns: 1_000n };
    const rows = ATTRIBUTES.map((attributes) => ({ ...times, ...core, attributes }));
    const { batch, refused } = await mapRows(batchOfRows(EVENTS_SCHEMA, rows), SHAPE);
    assert.equal(refused, undefined);
    const lifted = promotedRows(batch, SHAPE);
    assert.equal(lifted.schema, SHAPE.withPromoted);
    assert.deepEqual(
      rowsOf(lifted),
      rows.map((row, at) => ({ ...row, status: at === 0 ? 7 : null })),
    );

    assert.equal(promotedRows(batch, EVENTS_SHAPE), batch);
    const spans = batchOfRows(TRACES_SCHEMA, []);
    assert.equal(promotedRows(spans, SHAPE), spans);
  },
});
