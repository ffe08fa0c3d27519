import assert from "node:assert/strict";
import { MemoryStore } from "../testing/memory_store.ts";
import { Staging } from "./staging.ts";

const OBJECTS = 60;

/** Takes a few turns of the event loop for each object; `broken` fails. */
class SlowStore extends MemoryStore {
  writing = 0;
  writingMost = 0;
  deletedWhileWriting = false;

  constructor(readonly broken?: string) {
    super("memory://wh");
  }

  override async putNew(key: string, bytes: Uint8Array): Promise<void> {
    this.writing += 1;
    this.writingMost = Math.max(this.writingMost, this.writing);
    const turns = key === this.broken ? 1 : 1 + Number(key) % 5;
    for (let turn = 0; turn < turns; turn += 1) await new Promise((go) => setTimeout(go, 0));
    this.writing -= 1;
    if (key === this.broken) throw new Error(`the disk is full at ${key}`);
    await super.putNew(key, bytes);
  }

  override delete(keys: readonly string[]): Promise<void> {
    this.deletedWhileWriting ||= this.writing > 0;
    return super.delete(keys);
  }
}

function keysOf(store: MemoryStore): Promise<string[]> {
  return Array.fromAsync(store.list(""), ({ key }) => key);
}

Deno.test("Staging has written all that was put once written ends, a bounded number at a time", async () => {
  const store = new SlowStore();
  const staging = new Staging(store);
  const locations = Array.from(
    { length: OBJECTS },
    (_, at) => staging.put(`${at}`, Uint8Array.of(at)),
  );
  assert.equal(locations[7], "memory://wh/7");
  await staging.written();
  assert.equal((await keysOf(store)).length, OBJECTS);
  assert.ok(store.writingMost > 1 && store.writingMost <= 16, `${store.writingMost} at once`);
});

Deno.test("Staging tells of a failed write, and discards what others are still writing", async () => {
  const store = new SlowStore("3");
  const staging = new Staging(store);
  for (let at = 0; at < OBJECTS; at += 1) staging.put(`${at}`, Uint8Array.of(at));
  await assert.rejects(staging.written(), /the disk is full at 3/);
  await staging.discard();
  assert.equal(store.deletedWhileWriting, false);
  assert.deepEqual([store.writing, await keysOf(store)], [0, []]);
});
