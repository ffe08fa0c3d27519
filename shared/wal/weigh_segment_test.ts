import assert from "node:assert/strict";
import { concatBytes } from "../base/bytes.ts";
import { CrashableFileSystem } from "../testing/crashable_file_system.ts";
import { numberedBatch } from "../testing/numbered_rows.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { frameOf } from "../testing/wal_frame.ts";
import { encodeHeader, FRAME_SUMMARY_BYTES_MAX } from "./format.ts";
import { CHUNK_BYTES } from "./frame_scanner.ts";
import { weighFile, weighSegment } from "./weigh_segment.ts";

const { bytes: HEADER, frameSeed } = encodeHeader({
  lane: { tenant: "default", index: "events" },
  createdMs: 1,
  schemaMessage: new Uint8Array(24),
});
const KEY = { digest: new Uint8Array(16), bodyDigest: new Uint8Array(16), takenMs: 1 };

/** The weight of a segment of `parts`, in memory and on disk. */
async function weigh(...parts: Uint8Array[]): Promise<number> {
  const segment = concatBytes(parts);
  const fs = new CrashableFileSystem();
  await using file = await fs.create("/segment");
  await file.write(segment);
  await using opened = await fs.openRead("/segment");
  const bytes = await weighFile(opened);
  assert.equal(weighSegment(segment), bytes);
  return bytes;
}

Deno.test({
  name: "a segment weighs what its messages do unpacked, wherever its chunks end",
  async fn() {
    const random = new SeededRandom(7);
    for (let round = 0; round < 6; round += 1) {
      const frames: Uint8Array[] = [];
      let expected = 0;
      for (let row = 0; row < 60; row += 1) {
        const messageBytes = 8 * (1 + random.below(random.chance(0.1) ? CHUNK_BYTES / 4 : 8_000));
        const options = { messageBytes, ...(random.chance(0.3) ? { noise: random } : {}) };
        const batch = numberedBatch([row], options);
        const summary = new Uint8Array(8 * random.below(FRAME_SUMMARY_BYTES_MAX / 8));
        const parts = {
          ...random.chance(0.5) ? { key: KEY } : {},
          ...random.chance(0.3) ? { summary } : {},
        };
        frames.push(frameOf({ ...batch, ...parts }, frameSeed));
        expected += messageBytes;
      }
      assert.equal(await weigh(HEADER, ...frames), expected, `round ${round}`);
    }
  },
});

Deno.test({
  name: "what is no frame weighs what it is, and all behind it; what is no segment its length",
  async fn() {
    const whole = frameOf(numberedBatch([1], { messageBytes: 100_000 }), frameSeed);
    const rubbish = new Uint8Array(1_000).fill(0xff);
    assert.equal(await weigh(HEADER, whole, rubbish, whole), 100_000 + 1_000 + whole.byteLength);
    assert.equal(await weigh(HEADER, whole, rubbish.subarray(0, 20)), 100_020);
    assert.equal(await weigh(HEADER, whole.subarray(0, 40)), 100_000, "a frame that is cut off");
    assert.equal(await weigh(HEADER, whole.subarray(0, 36)), whole.byteLength - 32);
    assert.equal(await weigh(HEADER), 0);
    assert.equal(await weigh(rubbish), 1_000);
    assert.equal(await weigh(new Uint8Array(10)), 10);
    assert.equal(await weigh(), 0);
  },
});
