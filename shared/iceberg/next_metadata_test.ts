import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { createTableMetadata, READER_PROPERTIES } from "./new_table.ts";
import { withSnapshot } from "./next_metadata.ts";
import type { Snapshot } from "./table_metadata.ts";

const VECTORIZED = "read.parquet.vectorization.enabled";
const NEW = createTableMetadata({
  schema: EVENTS_SCHEMA,
  uuid: "6b2f4a0e-0000-4000-8000-000000000001",
  location: "file:///warehouse/events",
  nowMs: 1_795_132_800_000,
});
const SNAPSHOT: Snapshot = {
  "snapshot-id": 7n,
  "sequence-number": 1n,
  "timestamp-ms": NEW["last-updated-ms"],
  "manifest-list": "file:///warehouse/events/metadata/snap-7.avro",
  summary: { operation: "append" },
  "schema-id": 0,
};

Deno.test({
  name:
    "tables have the properties that other engines need to read them, from their first commit on",
  fn() {
    strictEqual(NEW.properties[VECTORIZED], "false");
    deepStrictEqual(withSnapshot(NEW, SNAPSHOT).properties, NEW.properties);
  },
});

Deno.test({
  name: "withSnapshot gives a table from before these properties, and keeps what somebody set",
  fn() {
    const { [VECTORIZED]: _, ...properties } = NEW.properties;
    const old = withSnapshot({ ...NEW, properties }, SNAPSHOT);
    deepStrictEqual(old.properties, { ...READER_PROPERTIES, ...properties });
    const set = { ...properties, [VECTORIZED]: "true" };
    deepStrictEqual(withSnapshot({ ...NEW, properties: set }, SNAPSHOT).properties, set);
  },
});
