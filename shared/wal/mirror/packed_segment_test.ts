import assert from "node:assert/strict";
import { constants } from "node:os";
import { join } from "node:path";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { threads } from "../../testing/threads.ts";
import { packSegment, unpackSegment } from "./packed_segment.ts";
import { openSegmentPacker } from "./segment_packer.ts";

const KEY = "wal-mirror/default/events/x.zst";

Deno.test({
  name: "unpackSegment gives back what packSegment was given, of any length, and text in less room",
  fn() {
    const random = new SeededRandom(1);
    for (const length of [0, 1, 4_095, 70_000, 300_001]) {
      const bytes = random.bytes(length);
      const { object } = packSegment(bytes);
      assert.deepEqual(unpackSegment(object, { key: KEY, bytes: length }), bytes);
    }
    const lines = new TextEncoder().encode("GET /index.html 200 in 12 ms\n".repeat(10_000));
    assert.ok(packSegment(lines).object.byteLength * 20 < lines.byteLength);
  },
});

Deno.test({
  name:
    "unpackSegment names an object that is damaged, cut off, or longer or shorter than its name says",
  fn() {
    const bytes = new SeededRandom(2).bytes(10_000);
    const { object: packed } = packSegment(bytes);
    const damaged = packed.slice();
    damaged[5_000] = (damaged[5_000] ?? 0) ^ 1;
    const cases: [what: string, object: Uint8Array, bytes: number][] = [
      ["damaged", damaged, 10_000],
      ["cut off", packed.subarray(0, 5_000), 10_000],
      ["nothing", new Uint8Array(), 10_000],
      ["no zstd", bytes, 10_000],
      ["longer", packed, 9_999],
      ["shorter", packed, 10_001],
    ];
    for (const [what, object, length] of cases) {
      assert.throws(
        () => unpackSegment(object, { key: KEY, bytes: length }),
        { code: "corrupt", reason: "wal_segment_corrupt", message: /x\.zst/ },
        what,
      );
    }
  },
});

Deno.test({
  name:
    "openSegmentPacker packs files one after the other, smaller ones after larger, and says what is gone",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc-packer-" });
    using packer = openSegmentPacker();
    try {
      const random = new SeededRandom(3);
      for (const length of [2_000_000, 10, 0, 50_000]) {
        const path = join(folder, String(length));
        const segment = random.bytes(length);
        await Deno.writeFile(path, segment);
        const packed = await packer.packFile(path, { isUrgent: length > 10 });
        assert.ok(packed);
        assert.equal(packed.bytes, length);
        const unpacked = unpackSegment(packed.object, { key: KEY, bytes: length });
        assert.ok(unpacked.every((byte, at) => byte === segment[at]));
      }
      assert.equal(await packer.packFile(join(folder, "gone"), { isUrgent: true }), undefined);
      for (const isUrgent of [false, true]) {
        await assert.rejects(packer.packFile(folder, { isUrgent }), /directory/i);
        const packed = await packer.packFile(join(folder, "10"), { isUrgent });
        assert.equal(packed?.bytes, 10, "after a failure");
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "openSegmentPacker packs what is urgent at the usual priority, all else below it",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const path = await Deno.makeTempFile({ prefix: "svc-packer-" });
    using packer = openSegmentPacker();
    try {
      const before = await patientThreads();
      const since = async () => (await patientThreads()).filter((id) => !before.includes(id));
      await packer.packFile(path, { isUrgent: true });
      assert.deepEqual(await since(), []);
      await packer.packFile(path, { isUrgent: false });
      const patient = await since();
      assert.equal(patient.length, 1);
      assert.ok(!patient.includes(String(Deno.pid)), "the thread that serves");
    } finally {
      await Deno.remove(path);
    }
  },
});

Deno.test({
  name: "openSegmentPacker packs without the permission to have a priority",
  permissions: { read: true, write: true, sys: false },
  async fn() {
    const path = await Deno.makeTempFile({ prefix: "svc-packer-" });
    using packer = openSegmentPacker();
    try {
      assert.equal((await packer.packFile(path, { isUrgent: false }))?.bytes, 0);
    } finally {
      await Deno.remove(path);
    }
  },
});

/**
 * Threads of this process that have the packer's low priority; those of other files' tests may have
 * others.
 */
async function patientThreads(): Promise<string[]> {
  const all = await Array.fromAsync(threads());
  return all.filter(({ niceness }) => niceness === constants.priority.PRIORITY_LOW)
    .map(({ id }) => id);
}
