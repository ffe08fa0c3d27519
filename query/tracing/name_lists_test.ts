/**
 * Name lists: read once per snapshot, never without what is only in the WAL, never kept past the
 * entry's bound.
 */

import assert from "node:assert/strict";
import type { Engine, QueryRequest } from "../../shared/engine/types.ts";
import { ENTRY_BYTES_MAX, NameCache } from "./name_lists.ts";
import { replanned } from "../../tests/tracing/replanned_engine.ts";
import { TraceLab } from "../../tests/tracing/trace_lab.ts";

/** Notes for each statement that reads committed rows how many files it was planned to read. */
function counted(engine: Engine, reads: number[]): Engine {
  const prepare = async (request: QueryRequest) => {
    const prepared = await engine.prepare(request);
    if (request.snapshot !== undefined) reads.push(prepared.tables[0]?.files ?? 0);
    return prepared;
  };
  return new Proxy(engine, {
    get: (target, name) => name === "prepare" ? prepare : Reflect.get(target, name),
  });
}

Deno.test({
  name: "lists read each committed file once, and the WAL each time",
  async fn() {
    await using lab = await TraceLab.open();
    const reads: number[] = [];
    Object.assign(lab.service, { engine: counted(lab.lab.engine, reads) });
    const services = async () => (await lab.ok("/services")).data as string[];
    const names = async (service: string) =>
      (await lab.ok(`/services/${service}/operations`)).data as string[];
    assert.deepEqual(await services(), []);
    await lab.append([{ trace: 1, span: 1, at: 1, service: "wal" }]);
    assert.deepEqual(await services(), ["wal"]);
    assert.equal(reads.length, 0, "there is no snapshot");

    await lab.commit([{ trace: 2, span: 2, at: 2, service: "table", name: "a" }]);
    assert.deepEqual(await services(), ["table", "wal"]);
    assert.equal(reads.length, 1);
    await lab.append([{ trace: 3, span: 3, at: 3, service: "fresh" }, {
      trace: 3,
      span: 4,
      at: 3,
      service: "table",
      name: "b",
    }]);
    assert.deepEqual(await services(), ["fresh", "table", "wal"]);
    assert.equal(reads.length, 1, "kept by its snapshot");
    for (let round = 0; round < 2; round += 1) {
      assert.deepEqual(await names("table"), ["a", "b"]);
      assert.deepEqual(await names("none"), []);
      assert.deepEqual((await lab.ok("/v3/services")).services, ["fresh", "table", "wal"]);
    }
    assert.equal(reads.length, 3, "each list once");

    await lab.commit([{ trace: 4, span: 5, at: 4, service: "later", name: "c" }]);
    assert.deepEqual(await services(), ["fresh", "later", "table", "wal"]);
    assert.deepEqual(await names("later"), ["c"]);
    assert.equal(reads.length, 5);
    await lab.commit([{ trace: 5, span: 6, at: 5, service: "later", name: "d" }]);
    await lab.commit([{ trace: 5, span: 7, at: 5, service: "later", name: "c" }]);
    reads.length = 0;
    assert.deepEqual(await names("later"), ["c", "d"]);
    assert.deepEqual(await services(), ["fresh", "later", "table", "wal"]);
    assert.deepEqual(reads, [2, 2], "what came since, of four files");
  },
});

Deno.test({
  name: "a list forgets what is in no row any more, once rows were taken out of the table",
  async fn() {
    await using lab = await TraceLab.open();
    const old = { trace: 1, span: 1, at: 1, service: "shop", name: "old" };
    const kept = { trace: 2, span: 2, at: 2, service: "shop", name: "kept" };
    await lab.commit([old]);
    await lab.commit([kept]);
    const names = async () => (await lab.ok("/services/shop/operations")).data as string[];
    assert.deepEqual(await names(), ["kept", "old"]);
    await lab.removeOldestFile();
    assert.deepEqual(await names(), ["kept"]);
  },
});

Deno.test({
  name: "a list that the engine answers from counts, planned to read nothing, is told",
  async fn() {
    await using lab = await TraceLab.open();
    await lab.commit([{ trace: 1, span: 1, at: 1, service: "counted" }]);
    const counted = replanned(lab.lab.engine, ({ cost }) => ({
      cost: { ...cost, estimated_rows_processed: 0, files_to_scan: 0 },
      servedBy: "tier1_inline",
    }));
    Object.assign(lab.service, { engine: counted });
    assert.deepEqual((await lab.ok("/services")).data, ["counted"]);
  },
});

Deno.test({
  name:
    "NameCache keeps a list within 512 KiB with its key, refuses a longer one, forgets the oldest",
  fn() {
    const cache = new NameCache(32 * 2 ** 20);
    const list = (characters: number) => ({ snapshotId: "1", rows: [["x".repeat(characters)]] });
    // Two bytes a character, and 40 for the string itself.
    const most = (ENTRY_BYTES_MAX - 40) / 2 - "k1".length;
    cache.set("k", list(most));
    assert.equal(cache.bytes, ENTRY_BYTES_MAX);
    assert.equal(cache.get("k")?.rows.length, 1);
    cache.set("k", list(1));
    assert.ok(cache.bytes < 100, "replaced, and charged once");
    cache.set("l", list(most + 1));
    assert.equal(cache.get("l"), undefined);
    for (let n = 0; n < 100; n += 1) {
      cache.get("k");
      cache.set(`n${n}`, list(most - 5));
      assert.ok(cache.bytes <= 32 * 2 ** 20);
    }
    assert.ok(cache.get("k") !== undefined, "used each time");
    assert.equal(cache.get("n0"), undefined);
    assert.ok(cache.get("n99") !== undefined);
  },
});
