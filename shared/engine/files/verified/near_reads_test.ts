/** Which reads of a folder's files block the thread. */

import assert from "node:assert/strict";
import { DenoFileSystem } from "../../../os/deno_file_system.ts";
import type { FileStat } from "../../../os/file_system.ts";
import { NearReads } from "./near_reads.ts";

const SMALL = 256 * 1024;
const STAT: FileStat = { isFile: true, isDirectory: false, size: 7, mtimeMs: 1, inode: 2 };

/** Files that note how they are asked; each call that blocks takes `callMs`. */
class FakeFiles {
  ms = 0;
  callMs = 0;
  asked: string[] = [];

  constructor(readonly hasBlocking = true) {}

  readonly nowMs = () => this.ms;

  get files() {
    const blocked = <T>(what: string, value: T): T => {
      this.asked.push(what);
      this.ms += this.callMs;
      return value;
    };
    const aside = <T>(what: string, value: T): Promise<T> => {
      this.asked.push(`${what} aside`);
      return Promise.resolve(value);
    };
    const file = {
      readAt: (into: Uint8Array) => aside("read", into.byteLength),
      readNow: (into: Uint8Array) => blocked("read", into.byteLength),
      size: () => Promise.resolve(7),
      close: () => {},
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    const blocking = {
      statNow: () => blocked("stat", STAT),
      openNow: () => blocked("open", file),
    };
    return {
      stat: () => aside("stat", STAT),
      openRead: () => aside("open", file),
      ...(this.hasBlocking ? { blocking } : {}),
    };
  }
}

async function look(reads: NearReads, bytes: readonly number[]): Promise<void> {
  assert.deepEqual(await reads.stat("a"), STAT);
  using file = await reads.open("a");
  for (const length of bytes) {
    assert.equal((await file.read(new Uint8Array(length), 3)).byteLength, length);
  }
}

Deno.test("NearReads blocks for small reads, and makes large ones on other threads", async () => {
  const fake = new FakeFiles();
  await look(new NearReads(fake), [1, SMALL, SMALL + 1]);
  assert.deepEqual(fake.asked, ["stat", "open", "read", "read", "read aside"]);
});

Deno.test("NearReads asks files aside that have no calls that block", async () => {
  const fake = new FakeFiles(false);
  await look(new NearReads(fake), [1]);
  assert.deepEqual(fake.asked, ["stat aside", "open aside", "read aside"]);
});

Deno.test("NearReads asks aside for 50 times as long as a call took, after two of more than 2 ms or one of more than 20", async () => {
  for (
    const { callMs, asideMs, seen } of [
      { callMs: 2.5, asideMs: 125, seen: ["stat", "open", "read aside"] },
      { callMs: 60, asideMs: 3_000, seen: ["stat", "open aside", "read aside"] },
      { callMs: 300, asideMs: 10_000, seen: ["stat", "open aside", "read aside"] },
    ]
  ) {
    const fake = new FakeFiles();
    const reads = new NearReads(fake);
    fake.callMs = 2;
    await look(reads, [1]);
    assert.deepEqual(fake.asked.splice(0), ["stat", "open", "read"]);
    fake.callMs = callMs;
    await look(reads, [1]);
    assert.deepEqual(fake.asked.splice(0), seen);
    fake.ms += asideMs - 1;
    await look(reads, [1]);
    assert.deepEqual(fake.asked.splice(0), ["stat aside", "open aside", "read aside"]);
    fake.ms += 2;
    fake.callMs = 0;
    await look(reads, [1]);
    assert.deepEqual(fake.asked.splice(0), ["stat", "open", "read"]);
  }
});

Deno.test("NearReads goes on with calls that block where one of seventeen takes long", async () => {
  const fake = new FakeFiles();
  const reads = new NearReads(fake);
  const callsOf = async (ms: number, calls: number) => {
    fake.callMs = ms;
    for (let call = 0; call < calls; call += 1) await reads.stat("a");
    return fake.asked.splice(0);
  };
  for (let time = 0; time < 3; time += 1) {
    assert.deepEqual(await callsOf(12, 1), ["stat"]);
    assert.deepEqual(new Set(await callsOf(0.1, 16)), new Set(["stat"]));
  }
  assert.deepEqual(await callsOf(12, 1), ["stat"]);
  assert.deepEqual(new Set(await callsOf(0.1, 15)), new Set(["stat"]));
  assert.deepEqual(await callsOf(12, 2), ["stat", "stat aside"]);
});

Deno.test("NearReads gives others a turn after each 2 ms in calls that block", async () => {
  const fake = new FakeFiles();
  const reads = new NearReads(fake);
  const turns = async () => {
    let served = false;
    const timer = setTimeout(() => served = true, 0);
    await reads.turn();
    clearTimeout(timer);
    return served;
  };
  fake.callMs = 0.9;
  await reads.stat("a");
  await reads.stat("a");
  assert.equal(await turns(), false);
  await reads.stat("a");
  assert.equal(await turns(), true);
  assert.equal(await turns(), false);
});

Deno.test("NearReads reads at once until others are to have a turn, or calls take long", async () => {
  const fake = new FakeFiles();
  const reads = new NearReads(fake);
  const into = new Uint8Array(SMALL);
  fake.callMs = 0.6;
  assert.equal(reads.readNow("a", into, 3)?.byteLength, SMALL);
  assert.deepEqual(fake.asked.splice(0), ["open", "read"]);
  assert.equal(reads.readNow("a", into, 3)?.byteLength, SMALL);
  assert.equal(reads.readNow("a", into, 3), undefined, "2.4 ms");
  await reads.turn();
  assert.equal(reads.readNow("a", into, 3)?.byteLength, SMALL);
  fake.callMs = 30;
  reads.readNow("a", into, 3);
  await reads.turn();
  assert.equal(reads.readNow("a", into, 3), undefined, "slow");
});

Deno.test("NearReads reads the same either way, and rejects for a file that is not there", async () => {
  const path = await Deno.makeTempFile({ prefix: "svc-near-reads-" });
  try {
    const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => at % 251);
    await Deno.writeFile(path, bytes);
    const disk = new DenoFileSystem();
    const aside = {
      stat: (place: string) => disk.stat(place),
      openRead: (place: string) => disk.openRead(place),
    };
    for (const files of [disk, aside]) {
      const reads = new NearReads({ files, nowMs: () => 0 });
      assert.equal((await reads.stat(path)).size, bytes.length);
      await using file = await reads.open(path);
      for (
        const [offset, length] of [[0, 10], [5, 200_000], [299_990, 20], [300_000, 5]] as const
      ) {
        const read = await file.read(new Uint8Array(length), offset);
        assert.deepEqual(read, bytes.slice(offset, offset + length));
      }
      await assert.rejects(async () => await reads.open(`${path}-none`), Deno.errors.NotFound);
      await assert.rejects(async () => await reads.stat(`${path}-none`), Deno.errors.NotFound);
    }
  } finally {
    await Deno.remove(path);
  }
});
