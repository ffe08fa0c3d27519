import assert from "node:assert/strict";
import type { ObjectInfo, ReadableStore } from "../../storage/object_store.ts";
import { MemoryStore } from "../../testing/memory_store.ts";
import { segmentBytes } from "../../testing/claim_lab.ts";
import { packedSegmentKey, segmentKey } from "./mirror_layout.ts";
import { openMirrorWalReader } from "./mirror_wal_reader.ts";
import { packSegment } from "./packed_segment.ts";

const LANE = { tenant: "default", index: "events" };
const PREFIX = "wal-mirror";
const MIB = 1024 * 1024;

Deno.test({
  name:
    "a mirror's reader lists packed segments by their own length, and opens each form without a list",
  async fn() {
    const store = new MemoryStore();
    const [plain, early, packed] = [nameOf(0), nameOf(1), nameOf(2)];
    // Its frames are packed, too.
    const bytes = segmentBytes(Array.from({ length: 10_000 }, (_, row) => row), LANE);
    const { object, messageBytes } = packSegment(bytes);
    assert.ok(messageBytes > bytes.byteLength);
    const digits = String(bytes.byteLength).padStart(12, "0");
    await store.putNew(segmentKey(PREFIX, LANE, plain), bytes);
    // A name of before messages were counted.
    await store.putNew(`${segmentKey(PREFIX, LANE, early)}.${digits}.zst`, object);
    const key = packedSegmentKey(PREFIX, LANE, packed, {
      bytes: bytes.byteLength,
      messageBytes,
    });
    await store.putNew(key, object);
    const reader = openMirrorWalReader(store, PREFIX);
    assert.deepEqual(await reader.lanes(), [LANE]);
    for (const name of [packed, early, plain]) {
      await using segment = await reader.open(LANE, name);
      assert.equal((await Array.fromAsync(segment.frames())).length, 1);
    }
    const listed = await reader.list(LANE, ["sealed"]);
    assert.deepEqual(
      listed.map(({ name, byteLength }) => [name, byteLength]),
      [plain, early, packed].map((name) => [name, bytes.byteLength]),
    );
    assert.deepEqual(
      await Promise.all(listed.map((segment) => reader.messageBytes(segment))),
      [bytes.byteLength, bytes.byteLength, messageBytes],
    );
    const swept = { code: "not_found", reason: "wal_segment_swept" };
    await assert.rejects(reader.open(LANE, nameOf(3)), swept);
    await store.delete([key]);
    await assert.rejects(reader.open(LANE, packed), swept, "it was listed before");
  },
});

Deno.test({
  name: "ahead asks for the next segments while one is read, once each, by count and by bytes",
  async fn(t) {
    const cases: [what: string, size: number, asked: number][] = [
      ["small ones", 1_000, 17],
      ["of 5 MiB", 5 * MIB, 6],
      ["of 20 MiB", 20 * MIB, 1],
      ["of 50 MiB", 50 * MIB, 1],
    ];
    for (const [what, size, asked] of cases) {
      await t.step(what, async () => {
        const store = new SilentStore(40, size);
        const reader = openMirrorWalReader(store, PREFIX);
        const names = (await reader.list(LANE, ["sealed"])).map(({ name }) => name);
        using ahead = reader.ahead?.(LANE, names);
        ahead?.open(LANE, names[3] ?? "").catch(() => {});
        ahead?.open(LANE, names[3] ?? "").catch(() => {});
        await Promise.resolve();
        const keys = names.slice(3, 3 + asked).map((name) => segmentKey(PREFIX, LANE, name));
        assert.deepEqual(store.asked, keys);
      });
    }
  },
});

Deno.test({
  name:
    "ahead gives each segment its own rows, twice where it is asked twice, and the failure of each to its own",
  async fn() {
    const store = new MemoryStore();
    const names = Array.from({ length: 30 }, (_, at) => nameOf(at));
    for (const [at, name] of names.entries()) {
      const bytes = segmentBytes([at], LANE);
      const packed = packSegment(bytes);
      const key = packedSegmentKey(PREFIX, LANE, name, packed);
      await store.putNew(key, at === 7 ? bytes : packed.object);
    }
    const reader = openMirrorWalReader(store, PREFIX);
    await reader.list(LANE, ["sealed"]);
    using ahead = reader.ahead?.(LANE, names);
    assert.ok(ahead);
    for (let pass = 0; pass < 2; pass += 1) {
      for (const [at, name] of names.entries()) {
        if (at === 7) {
          await assert.rejects(ahead.open(LANE, name), { code: "corrupt" });
          continue;
        }
        await using segment = await ahead.open(LANE, name);
        assert.equal(segment.name, name);
        const [frame] = await Array.fromAsync(segment.frames());
        assert.equal(frame?.timestampNsMin, (await firstFrame(reader, name))?.timestampNsMin);
      }
    }
  },
});

async function firstFrame(reader: ReturnType<typeof openMirrorWalReader>, name: string) {
  await using segment = await reader.open(LANE, name);
  const [frame] = await Array.fromAsync(segment.frames());
  return frame;
}

function nameOf(at: number): string {
  return `17000000000${String(at).padStart(2, "0")}-0000-0123456789abcdef.seg`;
}

/** Lists `count` segments of `size` bytes and never gives one. */
class SilentStore implements ReadableStore {
  readonly rootUri = "s3://silent";
  readonly asked: string[] = [];

  constructor(readonly count: number, readonly size: number) {}

  async *list(): AsyncIterable<ObjectInfo> {
    for (let at = 0; at < this.count; at += 1) {
      yield { key: segmentKey(PREFIX, LANE, nameOf(at)), size: this.size, modifiedMs: 0 };
    }
  }

  getRange(key: string): Promise<Uint8Array<ArrayBuffer>> {
    this.asked.push(key);
    return new Promise(() => {});
  }

  get(): Promise<never> {
    throw new Error("not asked for");
  }

  head(): Promise<never> {
    throw new Error("not asked for");
  }

  localPath(): undefined {}
}
