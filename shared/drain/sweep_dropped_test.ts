import assert from "node:assert/strict";
import type { DroppedTable } from "../catalog/index_catalog.ts";
import { MemoryStore } from "../testing/memory_store.ts";
import { sweepDropped } from "./sweep_dropped.ts";

const UUID = "0123456789abcdef0123456789abcdef";

Deno.test({
  name: "sweepDropped removes the folders of old drops, and nothing beside them",
  async fn() {
    const store = new MemoryStore();
    const own = [`svc/app-${UUID}/metadata/m.json`, `svc/app-${UUID}/data/d=1/a.parquet`];
    const audit = [`svc/query_audit/${UUID}/metadata/m.json`, `svc/query_audit/${UUID}/data/a`];
    const later = `svc/query_audit/${UUID.replace("0", "f")}/data/a`;
    const others = [
      later,
      `svc/app-${UUID}x/data/a`,
      `svc/application/data/a`,
      `svc/foreign/metadata/m`,
    ];
    for (const key of [...own, ...audit, ...others]) await store.putNew(key, new Uint8Array(1));
    const dropped = (key: string, droppedMs: number): DroppedTable => ({
      ident: { namespace: "svc", name: key.split("/")[1]?.split("-")[0] ?? "" },
      metadataLocation: `${store.rootUri}/${key}`,
      droppedMs,
    });
    let tables = [
      dropped(`svc/app-${UUID}/metadata/m.json`, 1_000),
      dropped(`svc/query_audit/${UUID}/metadata/m.json`, 1_500),
      dropped("svc/foreign/metadata/m", 2_000),
      dropped(`svc/late-${UUID}/metadata/m.json`, 9_000),
    ];
    const indexes = {
      droppedTables: (max: number) => Promise.resolve(tables.slice(0, max)),
      forgetDropped: (location: string) => {
        tables = tables.filter((table) => table.metadataLocation !== location);
        return Promise.resolve();
      },
    };
    const entered = new Map([
      [`svc/app-${UUID}`, new Set(own)],
      ["svc/foreign", new Set(["svc/foreign/data/b"])],
      [`svc/late-${UUID}`, new Set(["svc/late/data/c"])],
    ]);
    const forgotten: string[] = [];
    const removals = {
      entered: (folder: string) => Promise.resolve(entered.get(folder) ?? new Set<string>()),
      forget: (keys: readonly string[]) => Promise.resolve(void forgotten.push(...keys)),
    };
    const options = { nowMs: 10_000, ageMsMin: 5_000 };
    assert.equal(await sweepDropped({ store, indexes, removals }, options), 4);
    assert.equal(await sweepDropped({ store, indexes, removals }, options), 0);
    const left = await Array.fromAsync(store.list(""), ({ key }) => key);
    assert.deepEqual(left, others.toSorted());
    assert.deepEqual(forgotten, [...own, "svc/foreign/data/b"]);
    assert.deepEqual(tables.map(({ droppedMs }) => droppedMs), [9_000]);
  },
});
