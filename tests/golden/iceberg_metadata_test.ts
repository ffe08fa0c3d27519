/**
 * Metadata that PyIceberg 0.12.0 wrote is read as it is, from another root than it was written
 * under. The table had an append of 4 rows on 2025-11-20 and 3 on 2025-11-21, then an append of 5
 * rows on 2025-11-21. A delete of one of those 3 rewrote their file. Row i of a file is i seconds
 * into its day plus 7 ns; every other `note` is null. Data files are not kept.
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { NS_PER_DAY, NS_PER_SEC } from "../../shared/base/time.ts";
import { decodeSingleValue } from "../../shared/iceberg/single_value.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { openLocalReader } from "../../shared/storage/local_store.ts";

const POINTER = "file:///tmp/warehouse/svc/events/metadata/" +
  "00003-68681a1c-2fae-4be9-8a79-316eebaf7a12.metadata.json";

function reader(): IcebergReader {
  const root = fileURLToPath(new URL("./iceberg/pyiceberg", import.meta.url));
  return new IcebergReader(openLocalReader(new DenoFileSystem(), root));
}

Deno.test({
  name: "loadTable reads PyIceberg's schema, order and 64-bit snapshot id",
  async fn() {
    const table = await reader().loadTable({ namespace: "svc", name: "events" }, POINTER);
    assert.equal(table.uuid, "5caa0ad4-96e2-419b-98ad-514ba177f093");
    assert.equal(table.snapshotId, 5710731082629405420n);
    assert.equal(table.locationKey, "svc/events");
    assert.deepEqual([table.schemaId, table.sortOrderId], [0, 1]);
    assert.deepEqual(table.schema, {
      columns: [
        { id: 1, name: "timestamp", type: "timestamptz", required: true },
        { id: 2, name: "timestamp_ns", type: "long", required: true },
        { id: 3, name: "host", type: "string", required: true },
        { id: 4, name: "note", type: "string", required: false },
      ],
      tags: [],
    });
  },
});

Deno.test({
  name: "selectFiles reads PyIceberg's manifests after append and rewrite",
  async fn() {
    const iceberg = reader();
    const table = await iceberg.loadTable({ namespace: "svc", name: "events" }, POINTER);
    const all = await iceberg.selectFiles(table);
    const facts = all.files.map((file) => ({
      day: file.day,
      rows: file.rows,
      lastSecond: ((file.timestampNsMax ?? 0n) - BigInt(file.day) * NS_PER_DAY) / NS_PER_SEC,
      hosts: [file.lowerBounds.get(3), file.upperBounds.get(3)].map((bytes) =>
        bytes === undefined ? undefined : decodeSingleValue("string", bytes)
      ),
      nulls: file.nullCounts.get(4),
    }));
    assert.deepEqual(facts, [
      { day: 20412, rows: 4, lastSecond: 3n, hosts: ["a0", "a3"], nulls: 2 },
      {
        day: 20413,
        rows: 5,
        lastSecond: 4n,
        hosts: ["a-host-name-of-m", "a-host-name-of-n"],
        nulls: 2,
      },
      { day: 20413, rows: 2, lastSecond: 2n, hosts: ["b0", "b2"], nulls: 0 },
    ]);
    assert.ok(
      all.files.every((file) => file.timestampNsMin === BigInt(file.day) * NS_PER_DAY + 7n),
    );
    assert.ok(all.files.every((file) => file.key.startsWith("svc/events/data/timestamp_day=")));
    const first = await iceberg.selectFiles(table, {
      minNs: undefined,
      maxNs: 20413n * NS_PER_DAY,
    });
    assert.deepEqual([first.files.map((file) => file.rows), first.considered], [[4], 3]);
  },
});
