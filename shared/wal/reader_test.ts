import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { isOperatingError } from "../base/errors.ts";
import { concatBytes } from "../base/bytes.ts";
import type { LaneId } from "../tenant/tenant.ts";
import { CrashableFileSystem } from "../testing/crashable_file_system.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { numberedBatch, rowsOfMessage } from "../testing/numbered_rows.ts";
import type { Random } from "../os/random.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { frameOf } from "../testing/wal_frame.ts";
import { openWalConsumerAdmin } from "./admin.ts";
import { encodeHeader } from "./format.ts";
import { CHUNK_BYTES } from "./frame_scanner.ts";
import { openWalReader } from "./reader.ts";
import type { SegmentState } from "./types.ts";
import { openWal } from "./wal.ts";

const ROOT = "/data/wal";
const LANE: LaneId = { tenant: "default", index: "events" };
const NAME = "1795208645000-0000-0123456789abcdef.seg";
const HEADER = encodeHeader({
  lane: LANE,
  createdMs: 1,
  schemaMessage: new Uint8Array(24).fill(5),
});

function frame(rows: number[], options: { messageBytes?: number; noise?: Random } = {}) {
  return frameOf(numberedBatch(rows, options), HEADER.frameSeed);
}

async function segmentIn(state: SegmentState, ...parts: Uint8Array[]) {
  const fs = new CrashableFileSystem();
  const directory = join(ROOT, LANE.tenant, LANE.index, state);
  await fs.mkdir(directory);
  await using file = await fs.create(join(directory, NAME));
  await file.write(concatBytes(parts));
  return { fs, reader: openWalReader(fs, ROOT) };
}

async function rowsOf(reader: ReturnType<typeof openWalReader>, offset?: number) {
  await using segment = await reader.open(LANE, NAME);
  const rows: number[] = [];
  for await (const frame of segment.frames(offset)) rows.push(...rowsOfMessage(frame.message));
  return rows;
}

Deno.test({
  name: "SegmentReader.frames() hands out frames of any size, and goes on from an offset",
  async fn() {
    const sizes = [0, 8, 100_000, CHUNK_BYTES, 3 * CHUNK_BYTES + 8, 16, CHUNK_BYTES - 40, 8];
    const noise = new SeededRandom(1);
    const frames = [
      ...sizes.map((messageBytes, row) => frame([row], { messageBytes, noise })),
      // Packed, where they are long enough.
      ...sizes.map((messageBytes, row) => frame([sizes.length + row], { messageBytes })),
    ];
    const { reader } = await segmentIn("sealed", HEADER.bytes, ...frames);
    await using segment = await reader.open(LANE, NAME);
    assert.deepEqual([...segment.schemaMessage], new Array(24).fill(5));
    let offset = segment.framesOffset;
    const kept: Uint8Array[] = [];
    for await (const found of segment.frames()) {
      assert.equal(found.offset, offset);
      offset += frames[kept.length]?.byteLength ?? 0;
      assert.equal(found.endOffset, offset);
      assert.deepEqual(await rowsOf(reader, found.offset), range(kept.length, frames.length));
      kept.push(found.message);
    }
    assert.deepEqual(kept.map((message) => rowsOfMessage(message)), frames.map((_, row) => [row]));
  },
});

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at);
}

const DAMAGE: readonly {
  name: string;
  state: SegmentState;
  parts: Uint8Array[];
  rows: number[] | "corrupt";
}[] = [
  {
    name: "torn tail of an active segment ends it",
    state: "active",
    parts: [HEADER.bytes, frame([1]), frame([2]).subarray(0, 39)],
    rows: [1],
  },
  {
    name: "torn tail of a sealed segment",
    state: "sealed",
    parts: [HEADER.bytes, frame([1]), frame([2]).subarray(0, 39)],
    rows: "corrupt",
  },
  {
    name: "bad frame before a good one in an active segment",
    state: "active",
    parts: [HEADER.bytes, frame([1]), frame([2]).fill(0), frame([3])],
    rows: "corrupt",
  },
  {
    name: "cut header of a sealed segment",
    state: "sealed",
    parts: [HEADER.bytes.subarray(0, 9)],
    rows: "corrupt",
  },
  {
    name: "frame of another segment",
    state: "sealed",
    parts: [
      encodeHeader({ lane: LANE, createdMs: 2, schemaMessage: new Uint8Array(24) }).bytes,
      frame([1]),
    ],
    rows: "corrupt",
  },
  {
    name: "segment of another lane",
    state: "sealed",
    parts: [
      encodeHeader({
        lane: { tenant: "other", index: "events" },
        createdMs: 1,
        schemaMessage: new Uint8Array(24),
      }).bytes,
    ],
    rows: "corrupt",
  },
];

for (const { name, state, parts, rows } of DAMAGE) {
  Deno.test({
    name: `SegmentReader damage: ${name}`,
    async fn() {
      const { reader } = await segmentIn(state, ...parts);
      if (rows !== "corrupt") return assert.deepEqual(await rowsOf(reader), rows);
      await assert.rejects(rowsOf(reader), (error) => {
        assert(isOperatingError(error, "corrupt"));
        assert.match(error.message, new RegExp(NAME));
        return true;
      });
    },
  });
}

Deno.test({
  name:
    "SegmentReader.frames() of a sealed segment with any byte changed throws, never a wrong row",
  async fn() {
    const whole = concatBytes([HEADER.bytes, frame([1]), frame([2, 3])]);
    for (let at = 0; at < whole.byteLength; at++) {
      const damaged = whole.slice();
      damaged[at] = (damaged[at] ?? 0) ^ 0x41;
      const { reader } = await segmentIn("sealed", damaged);
      const seen: number[] = [];
      await assert.rejects(async () => {
        await using segment = await reader.open(LANE, NAME);
        for await (const { message } of segment.frames()) seen.push(...rowsOfMessage(message));
      }, (error) => isOperatingError(error));
      assert.deepEqual(seen, [1, 2, 3].slice(0, seen.length));
    }
  },
});

Deno.test({
  name: "WalReader.open() takes the complete copy, not the active one that a power failure damaged",
  async fn() {
    for (const damage of [HEADER.bytes.subarray(0, 9), concatBytes([HEADER.bytes, frame([1])])]) {
      const { fs, reader } = await segmentIn("sealed", HEADER.bytes, frame([1]), frame([2]));
      const active = join(ROOT, LANE.tenant, LANE.index, "active");
      await fs.mkdir(active);
      await using file = await fs.create(join(active, NAME));
      await file.write(damage);
      assert.deepEqual(await rowsOf(reader), [1, 2]);
    }
  },
});

Deno.test({
  name:
    "WalReader lists and opens every acknowledged row once while segments roll, seal and commit",
  async fn() {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 0xffffffff }), async (seed) => {
        const random = new SeededRandom(seed);
        const fs = new CrashableFileSystem({ extraTurns: () => random.below(8) });
        const clock = new FakeClock();
        const wal = await openWal({ fs, clock, random, root: ROOT, eventsMax: 3, freeBytesMin: 0 });
        const admin = openWalConsumerAdmin(fs, clock, ROOT);
        const acknowledged = new Set<number>();
        let writing = true;
        const write = async () => {
          for (let row = 0; row < 40; row++) {
            await wal.append(LANE, numberedBatch([row]), random.chance(0.5) ? "auto" : "wait_for");
            acknowledged.add(row);
            if (random.chance(0.1)) await wal.seal(LANE);
          }
          writing = false;
        };
        const commit = async () => {
          const reader = openWalReader(fs, ROOT);
          while (writing) {
            const sealed = await reader.list(LANE, ["sealed"]);
            await admin.markCommitted(LANE, sealed.map((segment) => segment.name));
          }
        };
        const look = async () => {
          while (writing) {
            const before = [...acknowledged];
            const rows = await unionOf(fs);
            assert.equal(new Set(rows).size, rows.length, "a row is seen twice");
            assert.deepEqual(before.filter((row) => !rows.includes(row)), [], "rows are not seen");
          }
        };
        await Promise.all([write(), commit(), look()]);
        await wal.close();
        assert.deepEqual((await unionOf(fs)).sort((a, b) => a - b), range(0, 40));
      }),
      { numRuns: 25 },
    );
  },
});

/** What a query does: list all states once, then open what was listed. */
async function unionOf(fs: CrashableFileSystem): Promise<number[]> {
  const reader = openWalReader(fs, ROOT);
  const rows: number[] = [];
  for (const { name } of await reader.names(LANE, ["active", "sealed", "committed"])) {
    let segment;
    try {
      segment = await reader.open(LANE, name);
    } catch (error) {
      if (isOperatingError(error, "not_found")) continue; // An empty one, discarded.
      throw error;
    }
    for await (const { message } of segment.frames()) rows.push(...rowsOfMessage(message));
    await segment.close();
  }
  return rows;
}

Deno.test({
  name: "WalReader.open() of a segment that is nowhere says that it is no longer present",
  async fn() {
    const reader = openWalReader(new CrashableFileSystem(), ROOT);
    await assert.rejects(
      reader.open(LANE, NAME),
      (error) =>
        isOperatingError(error, "not_found") && /segment no longer present/.test(error.message),
    );
    assert.deepEqual(await reader.lanes(), []);
    assert.deepEqual(await reader.list(LANE, ["sealed"]), []);
  },
});
