import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import {
  dataFileKey,
  dayOfKey,
  keyOfMetadata,
  metadataKey,
  metadataVersionOf,
  tableLocationKey,
  TableLocator,
} from "./locations.ts";

const ROOT = "file:///new/warehouse";
const UUID = "0f8fad5b-d9cb-469f-a165-70867728950e";
const TABLE = "svc/events-0f8fad5bd9cb469fa16570867728950e";

Deno.test({
  name: "names of a table's files carry its uuid, its day and a version",
  fn() {
    const locationKey = tableLocationKey({ namespace: "svc", name: "events" }, UUID);
    assert.equal(locationKey, TABLE);
    const audit = tableLocationKey({ namespace: "acme", name: "query_audit" }, UUID);
    assert.equal(audit, "acme/query_audit/0f8fad5bd9cb469fa16570867728950e");
    const cases: [day: number, date: string][] = [
      [0, "1970-01-01"],
      [20412, "2025-11-20"],
      [106_751, "2262-04-11"],
    ];
    for (const [day, date] of cases) {
      const key = dataFileKey({ locationKey }, day, "u");
      assert.equal(key, `${TABLE}/data/timestamp_day=${date}/u.parquet`);
      assert.equal(dayOfKey(key), day);
    }
    assert.equal(metadataKey(TABLE, 7, "u"), `${TABLE}/metadata/00007-u.metadata.json`);
  },
});

Deno.test({
  name: "metadataVersionOf reads the names of known writers",
  fn() {
    const cases: [location: string, version: number | undefined][] = [
      ["s3://b/t/metadata/00012-uuid.metadata.json", 12],
      ["s3://b/t/metadata/00003-uuid.gz.metadata.json", 3],
      ["s3://b/t/metadata/v5.metadata.json", 5],
      ["s3://b/t/metadata/uuid.metadata.json", undefined],
    ];
    for (const [location, version] of cases) assert.equal(metadataVersionOf(location), version);
  },
});

Deno.test({
  name: "keyOfMetadata finds a metadata file below the current root wherever it was written",
  fn() {
    const key = `${TABLE}/metadata/00001-u.metadata.json`;
    for (
      const root of [
        ROOT,
        "file:///old/warehouse",
        "file:/old/warehouse",
        "/old/w",
        "s3://bucket/w",
      ]
    ) assert.equal(keyOfMetadata(ROOT, `${root}/${key}`), key, root);
    assert.equal(keyOfMetadata("s3://b/w", `s3a://b/w/${key}`), key);
  },
});

Deno.test({
  name: "TableLocator leads locations of every former root to the same key",
  fn() {
    const metadata = `${TABLE}/metadata/00001-u.metadata.json`;
    const data = `${TABLE}/data/timestamp_day=2025-11-20/u.parquet`;
    for (const location of [`${ROOT}/${TABLE}`, `file:///older/${TABLE}`, `/older/${TABLE}/`]) {
      const locator = new TableLocator(ROOT, location, metadata);
      assert.equal(locator.locationKey, TABLE);
      assert.equal(locator.location, `${ROOT}/${TABLE}`);
      for (const root of [ROOT, "file:///older", "file:///oldest/w"]) {
        assert.equal(locator.keyOf(`${root}/${data}`), data, `${location} ${root}`);
      }
    }
  },
});

Deno.test({
  name: "TableLocator refuses a file of another table outside of the warehouse",
  fn() {
    const locator = new TableLocator(ROOT, `${ROOT}/${TABLE}`, `${TABLE}/metadata/x`);
    assert.throws(
      () => locator.keyOf("s3://elsewhere/svc/other/data/u.parquet"),
      (error) => isOperatingError(error, "unimplemented") && /elsewhere/.test(error.message),
    );
  },
});
