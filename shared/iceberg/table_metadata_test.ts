import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { textOf, utf8 } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { createTableMetadata } from "./new_table.ts";
import { withPrevious, withSnapshot } from "./next_metadata.ts";
import { dayFieldOf } from "./partition.ts";
import { tableSchemaOf } from "./schema_json.ts";
import { currentSnapshot, encodeTableMetadata, parseTableMetadata } from "./table_metadata.ts";

const NOW_MS = 1_763_640_000_000;
const UUID = "0f8fad5b-d9cb-469f-a165-70867728950e";

const NEW = createTableMetadata({
  schema: EVENTS_SCHEMA,
  uuid: UUID,
  location: "file:///wh/svc/events-0",
  nowMs: NOW_MS,
});

/** Written by hand from the specification, appendix C. */
const GOLDEN = {
  "format-version": 2,
  "table-uuid": UUID,
  "location": "file:///wh/svc/events-0",
  "last-sequence-number": 0,
  "last-updated-ms": NOW_MS,
  // Columns of data files alone have ids up to this.
  "last-column-id": 2_036_870_911,
  "schemas": [{
    "type": "struct",
    "schema-id": 0,
    "fields": [
      { id: 1, name: "timestamp", required: true, type: "timestamptz", doc: "event time" },
      {
        id: 2,
        name: "timestamp_ns",
        required: true,
        type: "long",
        doc: "event time, exact Unix nanoseconds",
      },
      { id: 3, name: "host", required: true, type: "string", doc: "host.name, else unknown" },
      {
        id: 4,
        name: "source",
        required: true,
        type: "string",
        doc: "service.name, else scope, else otel",
      },
      { id: 5, name: "sourcetype", required: true, type: "string", doc: "kind of source" },
      { id: 6, name: "index", required: true, type: "string", doc: "logical index, else main" },
      { id: 7, name: "raw", required: true, type: "string", doc: "log body" },
      {
        id: 8,
        name: "attributes",
        required: false,
        type: "string",
        doc: "remaining attributes, JSON object",
      },
    ],
  }],
  "current-schema-id": 0,
  "partition-specs": [{
    "spec-id": 0,
    "fields": [
      { "source-id": 1, "field-id": 1000, "name": "timestamp_day", "transform": "day" },
    ],
  }],
  "default-spec-id": 0,
  "last-partition-id": 1000,
  "properties": {
    "read.parquet.vectorization.enabled": "false",
    "schema.name-mapping.default":
      '[{"field-id":1,"names":["timestamp"]},{"field-id":2,"names":["timestamp_ns"]},' +
      '{"field-id":3,"names":["host"]},{"field-id":4,"names":["source"]},' +
      '{"field-id":5,"names":["sourcetype"]},{"field-id":6,"names":["index"]},' +
      '{"field-id":7,"names":["raw"]},{"field-id":8,"names":["attributes"]}]',
    "write.format.default": "parquet",
    "write.parquet.compression-codec": "zstd",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "10",
    "svc.tags": '["host","source","sourcetype","index"]',
    "svc.schema-version": "1",
  },
  "snapshots": [],
  "snapshot-log": [],
  "metadata-log": [],
  "sort-orders": [{
    "order-id": 1,
    "fields": [
      { "transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-first" },
      { "transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first" },
    ],
  }],
  "default-sort-order-id": 1,
  "refs": {},
};

Deno.test({
  name: "createTableMetadata writes the JSON that the specification describes",
  fn() {
    assert.deepEqual(JSON.parse(textOf(encodeTableMetadata(NEW))), GOLDEN);
  },
});

Deno.test({
  name: "parseTableMetadata keeps foreign ids beyond 2^53 and members it does not know",
  fn() {
    const id = "9151314442816847873";
    const text = JSON.stringify({
      ...GOLDEN,
      "last-sequence-number": "SEQ",
      "current-snapshot-id": "ID",
      "snapshots": [{
        "snapshot-id": "ID",
        "sequence-number": "SEQ",
        "timestamp-ms": NOW_MS,
        "manifest-list": "file:///wh/svc/events-0/metadata/snap.avro",
        "summary": { operation: "append" },
        "key-id": "foreign",
      }],
      "refs": { main: { "snapshot-id": "ID", type: "branch", "max-ref-age-ms": 5 } },
      "statistics": [{ "snapshot-id": "ID" }],
    }).replaceAll('"ID"', id).replaceAll('"SEQ"', "9007199254740993");
    const metadata = parseTableMetadata(utf8(text), "m");
    assert.equal(currentSnapshot(metadata)?.["snapshot-id"], BigInt(id));
    assert.equal(metadata["last-sequence-number"], 9007199254740993n);
    assert.equal(textOf(encodeTableMetadata(metadata)).split(id).length, text.split(id).length);
    assert.match(textOf(encodeTableMetadata(metadata)), /"key-id":"foreign"/);
    assert.match(textOf(encodeTableMetadata(metadata)), /"max-ref-age-ms":5/);
  },
});

Deno.test({
  name: "parseTableMetadata reads gzip and takes -1 for no snapshot",
  fn() {
    const bytes = gzipSync(utf8(JSON.stringify({ ...GOLDEN, "current-snapshot-id": -1 })));
    assert.equal(currentSnapshot(parseTableMetadata(bytes, "m")), undefined);
  },
});

Deno.test({
  name: "parseTableMetadata refuses other versions, other JSON and no JSON, naming the file",
  fn() {
    const cases: [text: string, code: string, says: RegExp][] = [
      [JSON.stringify({ ...GOLDEN, "format-version": 1 }), "unimplemented", /format-version is 1/],
      [JSON.stringify({ ...GOLDEN, "format-version": 3 }), "unimplemented", /Recreate|upgrade/],
      ["{}", "unimplemented", /format-version is undefined/],
      [JSON.stringify({ ...GOLDEN, schemas: 5 }), "corrupt", /schemas/],
      [JSON.stringify({ ...GOLDEN, "last-sequence-number": "x" }), "corrupt", /last-sequence/],
      ['{"format-version":2', "corrupt", /JSON/],
    ];
    for (const [text, code, says] of cases) {
      assert.throws(
        () => parseTableMetadata(utf8(text), "file.json"),
        (error) =>
          isOperatingError(error) && error.code === code && says.test(error.message) &&
          /file\.json/.test(error.message),
        text.slice(0, 60),
      );
    }
    const lost = parseTableMetadata(
      utf8(JSON.stringify({ ...GOLDEN, "current-snapshot-id": 5 })),
      "m",
    );
    assert.throws(() => currentSnapshot(lost), { code: "corrupt" });
  },
});

Deno.test({
  name: "tableSchemaOf names a column and type that it cannot read",
  fn() {
    const field = { id: 9, name: "where", required: false, type: "decimal(9,2)" };
    const json = { type: "struct" as const, "schema-id": 0, fields: [field] };
    assert.throws(
      () => tableSchemaOf(json, []),
      (error) =>
        isOperatingError(error, "unimplemented") && /"where".*decimal\(9,2\)/.test(error.message),
    );
  },
});

Deno.test({
  name: "dayFieldOf takes day(timestamp) alone and names anything else",
  fn() {
    const day = { "source-id": 1, "field-id": 1000, name: "d", transform: "day" };
    const hour = { ...day, name: "h", transform: "hour" };
    assert.deepEqual(dayFieldOf({ "spec-id": 0, fields: [day] }, EVENTS_SCHEMA, "t"), {
      sourceId: 1,
      fieldId: 1000,
      name: "d",
    });
    const cases: [fields: (typeof day)[], says: RegExp][] = [
      [[hour], /"h" with hour/],
      [[day, hour], /"h" with hour/],
      [[{ ...day, "source-id": 3 }], /column 3/],
      [[{ ...day, transform: "truncate[4]" }], /truncate\[4\]/],
      [[], /0 fields/],
    ];
    for (const [fields, says] of cases) {
      assert.throws(
        () => dayFieldOf({ "spec-id": 0, fields }, EVENTS_SCHEMA, "t"),
        (error) => isOperatingError(error, "unimplemented") && says.test(error.message),
      );
    }
  },
});

Deno.test({
  name: "withSnapshot moves branch main and leaves other references and its settings",
  fn() {
    const tag = { "snapshot-id": 3n, type: "tag" };
    const main = { "snapshot-id": 3n, type: "branch", "max-snapshot-age-ms": 5 };
    const next = withSnapshot({ ...NEW, refs: { main, kept: tag } }, {
      "snapshot-id": 4n,
      "sequence-number": 1n,
      "timestamp-ms": NOW_MS,
    });
    assert.deepEqual(next.refs, { main: { ...main, "snapshot-id": 4n }, kept: tag });
  },
});

Deno.test({
  name: "withSnapshot and withPrevious keep the logs, the branch and few previous files",
  fn() {
    let metadata = NEW;
    const obsolete: string[] = [];
    for (let i = 1; i <= 13; i += 1) {
      const next = withSnapshot(metadata, {
        "snapshot-id": BigInt(i),
        "sequence-number": BigInt(i),
        "timestamp-ms": NOW_MS + i,
        "manifest-list": `l${i}`,
        summary: { operation: "append" },
      });
      const previous = { location: `m${i - 1}`, updatedMs: metadata["last-updated-ms"] };
      const logged = withPrevious(next, previous);
      metadata = logged.metadata;
      obsolete.push(...logged.obsolete);
    }
    assert.equal(metadata["last-sequence-number"], 13n);
    assert.equal(metadata["last-updated-ms"], NOW_MS + 13);
    assert.deepEqual(metadata.refs, { main: { "snapshot-id": 13n, type: "branch" } });
    assert.equal(metadata.snapshots.length, 13);
    assert.deepEqual(metadata["snapshot-log"].at(-1), {
      "timestamp-ms": NOW_MS + 13,
      "snapshot-id": 13n,
    });
    const logged = metadata["metadata-log"].map((entry) => entry["metadata-file"]);
    assert.deepEqual(logged, ["m3", "m4", "m5", "m6", "m7", "m8", "m9", "m10", "m11", "m12"]);
    assert.deepEqual(obsolete, ["m0", "m1", "m2"]);
    assert.equal(metadata["metadata-log"][0]?.["timestamp-ms"], NOW_MS + 3);
  },
});
