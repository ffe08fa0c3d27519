import assert from "node:assert/strict";
import { batchOfRows, rowsOf } from "../shared/columns/rows.ts";
import { EVENTS_SCHEMA } from "../shared/schema/events.ts";
import type { MappingMode } from "../shared/schema/doc_mapping.ts";
import { parseIndexConfig } from "../shared/schema/index_config.ts";
import { indexSchema } from "../shared/schema/index_schema.ts";
import { EVENTS_SHAPE, type TableShape } from "../shared/schema/table_shape.ts";
import { TRACES_SCHEMA } from "../shared/schema/traces.ts";
import { mapRows } from "./mapped_rows.ts";

const NS = 1_795_208_645_123_456_789n;

function batchWith(attributes: readonly (string | null)[]) {
  const core = { host: "h", source: "s", sourcetype: "t", index: "main" };
  return batchOfRows(
    EVENTS_SCHEMA,
    attributes.map((text, at) => ({
      timestamp: NS / 1_000n,
      timestamp_ns: NS,
      ...core,
      raw: `row ${at}`,
      attributes: text,
    })),
  );
}

function shapeOf(mode: MappingMode): TableShape {
  const { doc_mapping: mapping } = parseIndexConfig({
    index_id: "app",
    doc_mapping: {
      mode,
      timestamp_field: "ts",
      field_mappings: [
        { name: "ts", type: "datetime", required: true },
        { name: "status", type: "long" },
      ],
    },
  });
  return { mapping, schema: indexSchema(mapping) };
}

const ATTRIBUTES = [
  null,
  '{"status":200,"big":12345678901234567890}',
  '{"status":"many"}',
  '{"other":true}',
];

const CASES: [mode: MappingMode, rows: unknown[], refused: unknown][] = [
  [
    "dynamic",
    [["row 0", null, null], ["row 1", 200n, '{"big":12345678901234567890}'], [
      "row 3",
      null,
      '{"other":true}',
    ]],
    { count: 1, reason: 'Cannot store the document: status is "many", not long' },
  ],
  [
    "lenient",
    [
      ["row 0", null, null],
      ["row 1", 200n, '{"big":12345678901234567890}'],
      ["row 2", null, '{"status":"many"}'],
      ["row 3", null, '{"other":true}'],
    ],
    undefined,
  ],
  [
    "strict",
    [["row 0", null, null]],
    {
      count: 3,
      reason: 'Cannot store the document: the mapping is strict and does not name "big"',
    },
  ],
];

for (const [mode, expected, refused] of CASES) {
  Deno.test({
    name: `mapRows of log rows in mode ${mode}`,
    async fn() {
      let released = 0;
      const batch = { ...batchWith(ATTRIBUTES), release: () => released += 1 };
      const mapped = await mapRows(batch, shapeOf(mode));
      const rows = rowsOf(mapped.batch);
      assert.deepEqual(rows.map((row) => [row["raw"], row["status"], row["attributes"]]), expected);
      assert.ok(rows.every((row) => row["ts"] === NS / 1_000n && row["timestamp_ns"] === NS));
      assert.deepEqual(mapped.refused, refused);
      assert.equal(released, 1);
    },
  });
}

Deno.test({
  name: "mapRows leaves rows of other tables as they are, and tells a new epoch",
  async fn() {
    const batch = batchWith([null]);
    assert.equal((await mapRows(batch, EVENTS_SHAPE)).batch, batch);
    const spans = { ...batch, schema: TRACES_SCHEMA };
    assert.equal((await mapRows(spans, shapeOf("strict"))).batch, spans);
    const { batch: later } = await mapRows(batch, { schema: { ...EVENTS_SCHEMA, epoch: 3 } });
    assert.equal(later.schema.epoch, 3);
    assert.equal(later.columns, batch.columns);
  },
});

Deno.test({
  name: "mapRows of many rows lets others have turns, and keeps their order",
  async fn() {
    const many = Array.from({ length: 3_500 }, (_, at) => `{"status":${at},"other":1}`);
    let turns = 0;
    const timer = setInterval(() => turns += 1, 0);
    const { batch } = await mapRows(batchWith(many), shapeOf("dynamic"));
    clearInterval(timer);
    assert.ok(turns >= 2, `${turns} turns`);
    const statuses = rowsOf(batch).map((row) => Number(row["status"]));
    assert.deepEqual(statuses, many.map((_, at) => at));
  },
});
