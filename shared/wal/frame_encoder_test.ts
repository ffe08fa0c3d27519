import assert from "node:assert/strict";
import { concatBytes } from "../base/bytes.ts";
import { numberedBatch } from "../testing/numbered_rows.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { frameOf } from "../testing/wal_frame.ts";
import { FrameEncoder, type FrameThread, openFrameThread } from "./frame_encoder.ts";
import type { WalBatch } from "./types.ts";

const SEED = 42;

const noise = new SeededRandom(3);
const KEY = { digest: new Uint8Array(16), bodyDigest: new Uint8Array(16), takenMs: 1 };
const GROUPS: readonly (readonly WalBatch[])[] = [
  [numberedBatch([0], { messageBytes: 100_000 })],
  [numberedBatch([1], { messageBytes: 100_000 }), numberedBatch([7], { messageBytes: 50_000 })],
  [numberedBatch([2])],
  [
    numberedBatch([3], { messageBytes: 40_000 }),
    { ...numberedBatch([4], { messageBytes: 1_000, noise }), key: KEY },
    numberedBatch([5], { messageBytes: 200_000, noise }),
    { ...numberedBatch([6], { messageBytes: 300_000 }), key: KEY },
  ],
];

/** Whether each group comes out as its frames do one by one. */
async function encodesAll(encoder: FrameEncoder): Promise<void> {
  for (const group of GROUPS) {
    const frames = await encoder.encode(group, SEED);
    const expected = concatBytes(group.map((batch) => frameOf(batch, SEED)));
    assert.deepEqual(frames.bytes.subarray(0, frames.length), expected);
    encoder.release(frames);
  }
}

Deno.test({
  name: "FrameEncoder gives the same frames with a thread and without",
  async fn() {
    await encodesAll(new FrameEncoder());
    using thread = openFrameThread();
    let runs = 0;
    const counted: FrameThread = {
      isAvailable: true,
      run(frames, transfer) {
        runs += 1;
        return thread.run(frames, transfer);
      },
    };
    const encoder = new FrameEncoder(counted);
    await encodesAll(encoder);
    assert.equal(runs, 1, "what comes while the thread starts is not kept waiting");
    await thread.run({ bytes: new Uint8Array(0), length: 0, frameSeed: 0 });
    await encodesAll(encoder);
    await encodesAll(encoder);
    assert.equal(runs, 1 + 2 * 2, "one frame, and short ones, are not handed over");
  },
});

Deno.test({
  name: "FrameEncoder hands over one frame of more than a MiB, and waits for the thread to start",
  async fn() {
    using thread = openFrameThread();
    let handedOver = 0;
    const encoder = new FrameEncoder({
      isAvailable: true,
      run(frames, transfer) {
        handedOver += frames.length;
        return thread.run(frames, transfer);
      },
    });
    for (const messageBytes of [2_000_000, 10_000_000]) {
      const batch = numberedBatch([0], { messageBytes });
      handedOver = 0;
      const frames = await encoder.encode([batch], SEED);
      assert.deepEqual(frames.bytes.subarray(0, frames.length), frameOf(batch, SEED));
      assert.ok(handedOver >= messageBytes);
    }
  },
});

Deno.test({
  name: "FrameEncoder loses no rows with its thread",
  async fn() {
    let runs = 0;
    const failing = (isAvailable: () => boolean): FrameThread => ({
      get isAvailable() {
        return isAvailable();
      },
      run(frames, transfer = []) {
        runs += 1;
        if (frames.length === 0) return Promise.resolve(frames);
        structuredClone(frames.bytes, { transfer: [...transfer] }); // Its bytes are gone.
        return Promise.reject(new Error("the thread ended"));
      },
    });
    const encoder = new FrameEncoder(failing(() => true));
    for (let round = 0; round < 3; round += 1) await encodesAll(encoder);
    assert.ok(runs > 3);
    runs = 0;
    const without = new FrameEncoder(failing(() => false));
    await encodesAll(without);
    assert.equal(runs, 0);
  },
});
