/** Requirements and updates of a commit, case by case as the protocol has them. */

import assert from "node:assert/strict";
import { createTableMetadata } from "../../shared/iceberg/new_table.ts";
import { losslessJson } from "../../shared/iceberg/lossless_json.ts";
import { withSnapshot } from "../../shared/iceberg/next_metadata.ts";
import { utf8 } from "../../shared/base/bytes.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { checkRequirements, parseCommit } from "./commit_request.ts";
import { updatedTable } from "./table_updates.ts";

const NOW_MS = 1_795_132_800_000;
const UUID = "0f8fad5b-d9cb-469f-a165-70867728950e";
/** More digits than a double keeps. */
const FIRST = 9_007_199_254_740_993n;
const NEXT = 9_007_199_254_740_995n;

const EMPTY = createTableMetadata({
  schema: EVENTS_SCHEMA,
  uuid: UUID,
  location: "file:///w/svc/events-1",
  nowMs: NOW_MS,
});
const TABLE = withSnapshot(EMPTY, {
  "snapshot-id": FIRST,
  "sequence-number": 1n,
  "timestamp-ms": NOW_MS,
  "manifest-list": "file:///w/svc/events-1/metadata/l.avro",
  summary: { operation: "append" },
  "schema-id": 0,
});

function updated(...updates: readonly object[]) {
  const request = parseCommit(utf8(losslessJson({ requirements: [], updates })));
  return updatedTable(TABLE, request.updates, NOW_MS + 5);
}

function required(...requirements: readonly object[]): void {
  checkRequirements(
    parseCommit(utf8(losslessJson({ requirements, updates: [] }))).requirements,
    TABLE,
  );
}

Deno.test({
  name: "requirements hold by all digits, and a failed one says what the table has",
  fn() {
    required(
      { type: "assert-table-uuid", uuid: UUID.toUpperCase() },
      { type: "assert-ref-snapshot-id", ref: "main", "snapshot-id": FIRST },
      { type: "assert-ref-snapshot-id", ref: "tag", "snapshot-id": null },
      { type: "assert-last-assigned-field-id", "last-assigned-field-id": 2_036_870_911 },
      { type: "assert-current-schema-id", "current-schema-id": 0 },
      { type: "assert-last-assigned-partition-id", "last-assigned-partition-id": 1000 },
      { type: "assert-default-spec-id", "default-spec-id": 0 },
      { type: "assert-default-sort-order-id", "default-sort-order-id": 1 },
    );
    const failing = [
      { type: "assert-create" },
      { type: "assert-table-uuid", uuid: "other" },
      { type: "assert-ref-snapshot-id", ref: "main", "snapshot-id": FIRST - 1n },
      { type: "assert-ref-snapshot-id", ref: "main", "snapshot-id": null },
      { type: "assert-ref-snapshot-id", ref: "tag", "snapshot-id": FIRST },
      { type: "assert-current-schema-id", "current-schema-id": 1 },
    ];
    for (const one of failing) {
      assert.throws(() => required(one), { code: "conflict", reason: "requirement_failed" });
    }
    assert.throws(() => required({ type: "assert-nothing" }), { code: "invalid_argument" });
  },
});

const SNAPSHOT = {
  "snapshot-id": NEXT,
  "parent-snapshot-id": FIRST,
  "sequence-number": 2,
  "timestamp-ms": NOW_MS + 3,
  "manifest-list": "file:///w/svc/events-1/metadata/n.avro",
  summary: { operation: "append" },
  "schema-id": 0,
};
const TO_MAIN = {
  action: "set-snapshot-ref",
  "ref-name": "main",
  type: "branch",
  "snapshot-id": NEXT,
};
const FIELDS = TABLE.schemas[0]?.fields ?? [];
const schema = (fields: readonly object[]) => ({
  action: "add-schema",
  schema: { type: "struct", "schema-id": 7, fields },
});
const CURRENT = { action: "set-current-schema", "schema-id": -1 };
/** Columns of data files alone have ids below. */
const COLUMN = { id: 2_036_870_912, name: "region", required: false, type: "string" };

Deno.test({
  name: "updates that are taken: a snapshot, a column, a tag, properties",
  fn() {
    const added = updated({ action: "add-snapshot", snapshot: SNAPSHOT }, TO_MAIN);
    assert.deepEqual(added.snapshotIds, [NEXT]);
    // PyIceberg overwrites by two snapshots in one commit.
    const third = {
      ...SNAPSHOT,
      ...{ "snapshot-id": 3, "parent-snapshot-id": NEXT, "sequence-number": 3 },
    };
    const both = updated(
      ...[{ action: "add-snapshot", snapshot: SNAPSHOT }, TO_MAIN],
      ...[{ action: "add-snapshot", snapshot: third }, { ...TO_MAIN, "snapshot-id": 3 }],
    );
    assert.deepEqual(both.snapshotIds, [NEXT, 3n]);
    const { metadata } = added;
    assert.equal(metadata["current-snapshot-id"], NEXT);
    assert.equal(metadata["last-sequence-number"], 2n);
    assert.deepEqual(metadata["snapshot-log"].at(-1), {
      "timestamp-ms": NOW_MS + 3,
      "snapshot-id": NEXT,
    });
    const widened = updated(schema([...FIELDS, COLUMN]), CURRENT).metadata;
    assert.equal(widened["current-schema-id"], 1);
    assert.equal(widened["last-column-id"], 2_036_870_912);
    assert.equal(widened.schemas.length, 2);
    // A schema that the table has is no other one.
    assert.equal(updated(schema(FIELDS), CURRENT).metadata["current-schema-id"], 0);
    const tag = { action: "set-snapshot-ref", "ref-name": "t", type: "tag", "snapshot-id": FIRST };
    assert.equal(updated(tag).metadata.refs["t"]?.["snapshot-id"], FIRST);
    const untagged = updated(tag, { action: "remove-snapshot-ref", "ref-name": "t" });
    assert.deepEqual(Object.keys(untagged.metadata.refs), ["main"]);
    const properties = updated(
      { action: "set-properties", updates: { a: "1", b: "2" } },
      { action: "remove-properties", removals: ["a"] },
    ).metadata.properties;
    assert.deepEqual([properties["a"], properties["b"]], [undefined, "2"]);
    assert.equal(properties["svc.tags"], TABLE.properties["svc.tags"]);
    updated(
      { action: "assign-uuid", uuid: UUID },
      { action: "upgrade-format-version", "format-version": 2 },
      { action: "set-default-spec", "spec-id": 0 },
    );
  },
});

const snapshot = (change: object) => [
  { action: "add-snapshot", snapshot: { ...SNAPSHOT, ...change } },
  TO_MAIN,
];
const ref = (change: object) => ({ ...TO_MAIN, "snapshot-id": FIRST, ...change });

const REFUSED: readonly (readonly [updates: readonly object[], says: RegExp])[] = [
  [[{ action: "upgrade-format-version", "format-version": 3 }], /it is and stays 2/],
  [[{ action: "set-location", location: "file:///other" }], /it is and stays/],
  [[{ action: "add-spec", spec: {} }], /partitioned by day\(timestamp\)/],
  [[{ action: "add-sort-order", "sort-order": {} }], /sorted by timestamp/],
  [[{ action: "remove-snapshots", "snapshot-ids": [1] }], /the compactor expires snapshots/],
  [[{ action: "set-statistics" }], /does not know it/],
  [[{ action: "set-properties", updates: { "svc.tags": "[]" } }], /this service's own/],
  [[{ action: "remove-properties", removals: ["svc.tags"] }], /this service's own/],
  [[{ action: "set-properties", updates: { a: "x".repeat(70_000) } }], /too long/],
  [[schema(FIELDS.slice(1)), CURRENT], /"timestamp" \(id 1\) would go or change/],
  [[schema(FIELDS.map((f) => ({ ...f, name: `${f.name}_` }))), CURRENT], /would go or change/],
  [[schema(FIELDS.map((f) => ({ ...f, required: false }))), CURRENT], /would go or change/],
  [[schema([...FIELDS, { ...COLUMN, required: true }]), CURRENT], /is required/],
  [[schema([...FIELDS, { ...COLUMN, name: "RAW" }]), CURRENT], /name that is taken/],
  [[schema([...FIELDS, { ...COLUMN, name: "attributes:x" }]), CURRENT], /name that is taken/],
  [[{ action: "set-current-schema", "schema-id": 4 }], /no schema 4/],
  [snapshot({ "parent-snapshot-id": null }), /does not follow the current one/],
  [snapshot({ "sequence-number": 1 }), /the next is 2/],
  [snapshot({ "sequence-number": 3 }), /the next is 2/],
  [snapshot({ "snapshot-id": FIRST }), /there already/],
  [snapshot({ "timestamp-ms": NOW_MS + 120_000 }), /set the clocks/],
  [snapshot({ summary: { operation: "append", "svc.wal-segments": "[]" } }), /service's own/],
  [[{ action: "add-snapshot", snapshot: SNAPSHOT }], /commit to main/],
  [[ref({ "snapshot-id": 5 })], /no snapshot 5/],
  [[ref({ "ref-name": "audit" })], /there is main alone/],
  [[{ action: "remove-snapshot-ref", "ref-name": "main" }], /main stays/],
  [[{ action: "add-encryption-key" }], /does not know it/],
];

Deno.test({
  name: "updates that would break what the service relies on are refused by name",
  fn() {
    for (const [updates, says] of REFUSED) {
      assert.throws(
        () => updated(...updates),
        { code: "invalid_argument", reason: "commit_refused", message: says },
        String(says),
      );
    }
    const late = withSnapshot(TABLE, {
      ...SNAPSHOT,
      "sequence-number": 2n,
      summary: { operation: "append" },
    });
    const back = parseCommit(utf8(losslessJson({ updates: [ref({})] }))).updates;
    assert.throws(() => updatedTable(late, back, NOW_MS), { message: /would be lost/ });
  },
});
