import assert from "node:assert/strict";
import { SeededRandom } from "../../../shared/testing/seeded_random.ts";
import { CUTS, type Platter, SECTOR_BYTES, VolatileCache } from "./volatile_cache.ts";

const DISK_BYTES = 64 * SECTOR_BYTES;

class MemoryPlatter implements Platter {
  readonly bytes = new Uint8Array(DISK_BYTES);

  read(offset: number, into: Uint8Array): void {
    into.set(this.bytes.subarray(offset, offset + into.byteLength));
  }

  write(offset: number, bytes: Uint8Array): void {
    this.bytes.set(bytes, offset);
  }
}

function newDisk() {
  const platter = new MemoryPlatter();
  return { platter, cache: new VolatileCache(platter, { sizeBytes: DISK_BYTES }) };
}

function sectors(count: number, value: number): Uint8Array {
  return new Uint8Array(count * SECTOR_BYTES).fill(value);
}

function readAll(cache: VolatileCache): Uint8Array {
  const bytes = new Uint8Array(DISK_BYTES);
  cache.read(0, bytes);
  return bytes;
}

Deno.test("VolatileCache.read has what was written, before and behind a flush", () => {
  const random = new SeededRandom(7);
  const { cache, platter } = newDisk();
  const model = new Uint8Array(DISK_BYTES);
  for (let step = 0; step < 400; step += 1) {
    if (random.chance(0.1)) assert.ok(cache.flush());
    const offset = random.below(63) * SECTOR_BYTES;
    const count = 1 + random.below(Math.min(10, 64 - offset / SECTOR_BYTES));
    const bytes = sectors(count, random.below(256));
    assert.ok(cache.write(offset, bytes));
    model.set(bytes, offset);
    bytes.fill(0); // The cache has a copy.
    const from = random.below(DISK_BYTES);
    const part = new Uint8Array(random.below(DISK_BYTES - from));
    cache.read(from, part);
    assert.deepEqual(part, model.slice(from, from + part.byteLength));
  }
  cache.flush();
  assert.deepEqual(platter.bytes, model);
});

Deno.test("VolatileCache.cutPower keeps what was flushed, of the rest what its kind says", () => {
  const kept = new Map(CUTS.map((cut) => [cut, new Set<string>()]));
  for (let seed = 0; seed < 300; seed += 1) {
    for (const cut of CUTS) {
      const { cache, platter } = newDisk();
      cache.write(0, sectors(4, 1));
      cache.flush();
      for (let write = 0; write < 4; write += 1) {
        cache.write((4 + 4 * write) * SECTOR_BYTES, sectors(4, 2));
      }
      const report = cache.cutPower(cut, new SeededRandom(seed));
      assert.equal(report.unflushedBytes, 16 * SECTOR_BYTES);
      const found = Array.from({ length: 20 }, (_, at) => platter.bytes[at * SECTOR_BYTES] ?? 0);
      assert.deepEqual(found.slice(0, 4), [1, 1, 1, 1]);
      assert.equal(report.keptBytes / SECTOR_BYTES, found.filter((value) => value === 2).length);
      kept.get(cut)?.add(found.slice(4).join(""));
    }
  }
  const none = "0".repeat(16);
  assert.deepEqual(kept.get("none"), new Set([none]));
  const firsts = [0, 4, 8, 12, 16].map((count) => "2".repeat(count) + "0".repeat(16 - count));
  assert.deepEqual(kept.get("first"), new Set(firsts));
  const torn = [...kept.get("sectors") ?? []].filter((found) => !firsts.includes(found));
  assert.ok(torn.length > 100, "sectors are kept out of order, and writes in part");
});

Deno.test("VolatileCache takes nothing once its power is off, and keeps what it was then", () => {
  const { cache, platter } = newDisk();
  cache.write(0, sectors(1, 1));
  cache.flush();
  cache.write(0, sectors(1, 2));
  cache.cutPower("none", new SeededRandom(1));
  assert.equal(cache.write(0, sectors(1, 3)), false);
  assert.equal(cache.flush(), false);
  assert.equal(platter.bytes[0], 1);
});

Deno.test("VolatileCache.powerOn brings back what was flushed, and takes writes again", () => {
  const { cache, platter } = newDisk();
  cache.write(0, sectors(1, 1));
  cache.flush();
  cache.write(0, sectors(1, 2));
  cache.cutPower("none", new SeededRandom(1));
  cache.powerOn();
  assert.equal(cache.unflushedBytes, 0);
  assert.equal(readAll(cache)[0], 1);
  assert.ok(cache.write(0, sectors(1, 3)));
  assert.ok(cache.flush());
  assert.equal(platter.bytes[0], 3);
});

Deno.test("VolatileCache.keep leaves a copy as a cut would, and the disk as it was", () => {
  const { cache, platter } = newDisk();
  cache.write(0, sectors(2, 5));
  const copy = new MemoryPlatter();
  for (let seed = 0; copy.bytes[0] !== 5; seed += 1) {
    assert.ok(seed < 100, "the first write is kept now and then");
    cache.keep("first", new SeededRandom(seed), copy);
  }
  assert.equal(platter.bytes[0], 0);
  assert.equal(readAll(cache)[0], 5);
  assert.ok(cache.flush());
  assert.equal(platter.bytes[0], 5);
});

Deno.test("VolatileCache that lies answers a flush and loses what it covered", () => {
  const { cache, platter } = newDisk();
  cache.lies = true;
  cache.write(0, sectors(1, 9));
  assert.ok(cache.flush());
  assert.equal(readAll(cache)[0], 9);
  cache.cutPower("none", new SeededRandom(1));
  assert.equal(platter.bytes[0], 0);
});
