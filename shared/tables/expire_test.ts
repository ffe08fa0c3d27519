import assert from "node:assert/strict";
import type { Snapshot, TableMetadata } from "../iceberg/table_metadata.ts";
import { commitAppend, ensureTable } from "../iceberg/commit_append.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { EVENTS, TableLab } from "../testing/table_lab.ts";
import { applyExpire, planExpire } from "./expire.ts";

const NOW_MS = 1_790_000_000_000;

Deno.test({
  name: "planExpire keeps the newest, the young and the named",
  async fn() {
    await using lab = await TableLab.open();
    await ensureTable(lab.deps, { ident: EVENTS, schema: EVENTS_SCHEMA });
    const base = (await lab.load())?.metadata;
    assert.ok(base);
    // Five snapshots, 1 the oldest, ten seconds apart; the newest is at the present.
    const metadata: TableMetadata = {
      ...base,
      "current-snapshot-id": 5n,
      snapshots: [3, 1, 5, 2, 4].map(snapshotOf),
      "snapshot-log": [1, 2, 3, 4, 5].map((at) => ({
        "timestamp-ms": msOf(at),
        "snapshot-id": BigInt(at),
      })),
      refs: { main: { "snapshot-id": 5n, type: "branch" } },
      statistics: [{ "snapshot-id": 1 }, { "snapshot-id": 4n }],
    };
    const tagged = { ...metadata.refs, keep: { "snapshot-id": 2n, type: "tag" } };
    const withProperties = (own: Record<string, string>) => ({
      ...metadata,
      properties: Object.fromEntries(
        Object.entries(own).map(([name, value]) => [`history.expire.${name}`, value]),
      ),
    });
    const rolledBack = { ...metadata, "current-snapshot-id": 1n };
    const table: [
      what: string,
      from: TableMetadata,
      retainLast: number,
      ageMsMin: number,
      left: number[],
    ][] = [
      ["all are among the last", metadata, 5, 0, [1, 2, 3, 4, 5]],
      ["the last two", metadata, 2, 0, [4, 5]],
      ["the last one and what was the newest in the last 25 s", metadata, 1, 25_000, [2, 3, 4, 5]],
      ["the last one and what was the newest in the last 10 s", metadata, 1, 10_000, [4, 5]],
      ["as many as the table says", withProperties({ "min-snapshots-to-keep": "3" }), 1, 0, [
        3,
        4,
        5,
      ]],
      ["as old as the table says", withProperties({ "max-snapshot-age-ms": "0" }), 1, 90_000, [5]],
      ["what a property means to say", withProperties({ "min-snapshots-to-keep": "x" }), 4, 0, [
        ...[2, 3, 4, 5],
      ]],
      ["the last two and what a tag names", { ...metadata, refs: tagged }, 2, 0, [2, 4, 5]],
      ["the current one is an old one", rolledBack, 1, 0, [1, 5]],
    ];
    for (const [what, from, retainLast, ageMsMin, left] of table) {
      const next = planExpire(from, { retainLast, ageMsMin }, NOW_MS)?.next ?? from;
      const ids = next.snapshots.map((one) => Number(one["snapshot-id"])).sort();
      assert.deepEqual(ids, left, what);
    }
    const next = planExpire(metadata, { retainLast: 2, ageMsMin: 0 }, NOW_MS)?.next;
    assert.deepEqual(next?.["snapshot-log"].map((one) => one["snapshot-id"]), [4n, 5n]);
    assert.deepEqual(next?.statistics, [{ "snapshot-id": 4n }]);
    assert.equal(next?.["last-updated-ms"], Math.max(NOW_MS, base["last-updated-ms"]));
  },
});

Deno.test({
  name:
    "applyExpire keeps every row and every file that a remaining snapshot needs, and no other metadata",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, { ident: EVENTS, schema: EVENTS_SCHEMA });
    for (let commit = 0; commit < 60; commit += 1) {
      const files = [lab.newFile(table, { day: 20_700 + (commit % 3) })];
      await commitAppend(lab.deps, { ident: EVENTS, schema: EVENTS_SCHEMA, files, consumed: [] });
    }
    const live = await lab.liveKeys();
    const before = await lab.keys("svc/");
    const policy = { retainLast: 5, ageMsMin: 0 };
    assert.equal(await applyExpire(lab.deps, EVENTS, policy), 55);
    assert.deepEqual(await lab.liveKeys(), live);
    const after = await lab.load();
    assert.equal(after?.metadata.snapshots.length, 5);
    // Each snapshot that is left can still be read in full.
    const needed = new Set<string>();
    for (const snapshot of after?.metadata.snapshots ?? []) {
      const asOf = {
        ...after,
        metadata: { ...after.metadata, "current-snapshot-id": snapshot["snapshot-id"] },
      };
      needed.add(after.locator.keyOf(snapshot["manifest-list"] ?? ""));
      for (const manifest of await lab.reader().manifests(asOf)) {
        needed.add(after.locator.keyOf(manifest.location));
        assert.ok((await lab.reader().entries(asOf, manifest)).length > 0);
      }
    }
    const avro = (await lab.keys("svc/")).filter((key) => key.endsWith(".avro"));
    assert.deepEqual(avro, [...needed].sort());
    assert.ok(avro.length < before.filter((key) => key.endsWith(".avro")).length / 4);
    assert.equal(await applyExpire(lab.deps, EVENTS, policy), 0);
  },
});

Deno.test({
  name: "applyExpire of a table that is not there, or that was never written, does nothing",
  async fn() {
    await using lab = await TableLab.open();
    const policy = { retainLast: 1, ageMsMin: 0 };
    assert.equal(await applyExpire(lab.deps, EVENTS, policy), 0);
    await ensureTable(lab.deps, { ident: EVENTS, schema: EVENTS_SCHEMA });
    const pointer = await lab.catalog.metadataLocation(EVENTS);
    assert.equal(await applyExpire(lab.deps, EVENTS, policy), 0);
    assert.equal(await lab.catalog.metadataLocation(EVENTS), pointer);
  },
});

Deno.test({
  name: "applyExpire and an append at the same time both take effect",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, { ident: EVENTS, schema: EVENTS_SCHEMA });
    const append = () =>
      commitAppend(lab.deps, {
        ident: EVENTS,
        schema: EVENTS_SCHEMA,
        files: [lab.newFile(table, { day: 20_700 })],
        consumed: [],
      });
    for (let commit = 0; commit < 10; commit += 1) await append();
    await Promise.all([append(), applyExpire(lab.deps, EVENTS, { retainLast: 3, ageMsMin: 0 })]);
    assert.equal((await lab.liveKeys())?.length, 11);
    const left = (await lab.load())?.metadata.snapshots.length ?? 0;
    assert.ok(left >= 3 && left <= 4, `${left} snapshots`);
  },
});

function msOf(at: number): number {
  return NOW_MS - (5 - at) * 10_000;
}

function snapshotOf(at: number): Snapshot {
  return {
    "snapshot-id": BigInt(at),
    "sequence-number": BigInt(at),
    "timestamp-ms": msOf(at),
    "manifest-list": `memory://warehouse/list-${at}`,
  };
}
