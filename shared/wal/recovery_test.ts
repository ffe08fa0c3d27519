import assert from "node:assert/strict";
import { join } from "node:path";
import { isOperatingError } from "../base/errors.ts";
import { concatBytes, crc32 } from "../base/bytes.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { FileSystem } from "../os/file_system.ts";
import { CrashableFileSystem } from "../testing/crashable_file_system.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { numberedBatch, rowsOfMessage } from "../testing/numbered_rows.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { frameOf } from "../testing/wal_frame.ts";
import { encodeHeader } from "./format.ts";
import { encodeKeyFile } from "./key_files.ts";
import { openWalReader } from "./reader.ts";
import type { Salvaged } from "./salvage.ts";
import { openWal } from "./wal.ts";

const ROOT = "/data/wal";
const LANE: LaneId = { tenant: "default", index: "events" };
const DIRECTORY = join(ROOT, LANE.tenant, LANE.index);
const NAME = "1795208645000-0000-0123456789abcdef.seg";

const HEADER = encodeHeader({ lane: LANE, createdMs: 1, schemaMessage: new Uint8Array(64) });

function frame(...rows: number[]): Uint8Array {
  return frameOf(numberedBatch(rows, { messageBytes: 96 }), HEADER.frameSeed);
}

function damaged(bytes: Uint8Array, at = bytes.byteLength - 1): Uint8Array {
  const copy = bytes.slice();
  copy[at] = (copy[at] ?? 0) ^ 0x10;
  return copy;
}

async function put(fs: FileSystem, path: string, bytes: Uint8Array): Promise<void> {
  await using file = await fs.create(path);
  await file.write(bytes);
}

async function list(fs: FileSystem, state: string): Promise<string[]> {
  return (await fs.readDir(join(DIRECTORY, state))).map((entry) => entry.name);
}

/** Opens and closes a WAL that finds `files` (paths below the lane's directory). */
async function recover(files: Record<string, Uint8Array>) {
  const fs = new CrashableFileSystem();
  for (const state of ["active", "sealed", "committed", "poison", "keys"]) {
    await fs.mkdir(join(DIRECTORY, state));
  }
  for (const [path, bytes] of Object.entries(files)) await put(fs, join(DIRECTORY, path), bytes);
  const salvaged: Salvaged[] = [];
  const wal = await openWal({
    fs,
    clock: new FakeClock(),
    random: new SeededRandom(1),
    root: ROOT,
    onEvent: (event) => {
      if (event.kind === "salvaged") salvaged.push(event);
    },
  });
  await wal.close();
  const reader = openWalReader(fs, ROOT);
  const rows: number[] = [];
  for (const { name } of await reader.list(LANE, ["active", "sealed", "committed"])) {
    await using segment = await reader.open(LANE, name);
    for await (const found of segment.frames()) rows.push(...rowsOfMessage(found.message));
  }
  return { fs, rows, salvaged };
}

const WHOLE = concatBytes([HEADER.bytes, frame(1, 2), frame(3)]);
const FRAME_BYTES = frame(1).byteLength;

const LEFTOVERS: readonly {
  name: string;
  bytes: Uint8Array;
  rows: number[];
  outcome: Salvaged["outcome"];
  cutBytes?: number;
  originalKept?: boolean;
}[] = [
  { name: "whole segment is sealed", bytes: WHOLE, rows: [1, 2, 3], outcome: "sealed" },
  { name: "header alone is removed", bytes: HEADER.bytes, rows: [], outcome: "empty" },
  { name: "empty file is removed", bytes: new Uint8Array(), rows: [], outcome: "empty" },
  {
    name: "header cut off is removed",
    bytes: HEADER.bytes.subarray(0, 40),
    rows: [],
    outcome: "empty",
    cutBytes: 40,
  },
  {
    name: "frame cut off is cut",
    bytes: WHOLE.subarray(0, WHOLE.byteLength - 1),
    rows: [1, 2],
    outcome: "sealed",
    cutBytes: FRAME_BYTES - 1,
  },
  {
    name: "frame header cut off is cut",
    bytes: WHOLE.subarray(0, WHOLE.byteLength - FRAME_BYTES + 5),
    rows: [1, 2],
    outcome: "sealed",
    cutBytes: 5,
  },
  {
    name: "zeros at the end are cut",
    bytes: concatBytes([WHOLE, new Uint8Array(4096)]),
    rows: [1, 2, 3],
    outcome: "sealed",
    cutBytes: 4096,
  },
  {
    name: "damaged last frame is cut",
    bytes: damaged(WHOLE),
    rows: [1, 2],
    outcome: "sealed",
    cutBytes: FRAME_BYTES,
  },
  {
    name: "damaged frame before a good one is left out and the original kept",
    bytes: concatBytes([HEADER.bytes, frame(1), damaged(frame(2)), frame(3)]),
    rows: [1, 3],
    outcome: "sealed",
    cutBytes: FRAME_BYTES,
    originalKept: true,
  },
  {
    name: "damaged length before a good frame is left out and the original kept",
    bytes: concatBytes([HEADER.bytes, frame(1), damaged(frame(2), 3), frame(3)]),
    rows: [1, 3],
    outcome: "sealed",
    cutBytes: FRAME_BYTES,
    originalKept: true,
  },
  { name: "damaged header is set aside", bytes: damaged(WHOLE, 20), rows: [], outcome: "poison" },
  {
    name: "foreign file is set aside",
    bytes: new Uint8Array(100).fill(65),
    rows: [],
    outcome: "poison",
  },
];

for (const { name, bytes, rows, outcome, cutBytes = 0, originalKept = false } of LEFTOVERS) {
  Deno.test({
    name: `openWal() recovery: ${name}`,
    async fn() {
      const found = await recover({ [`active/${NAME}`]: bytes });
      assert.deepEqual(found.rows, rows);
      assert.deepEqual(
        found.salvaged.map(({ outcome, rows, cutBytes, originalKept }) => ({
          outcome,
          rows,
          cutBytes,
          originalKept,
        })),
        [{ outcome, rows: rows.length, cutBytes, originalKept }],
      );
      assert.deepEqual(await list(found.fs, "active"), []);
      assert.deepEqual(await list(found.fs, "sealed"), outcome === "sealed" ? [NAME] : []);
      const poison = outcome === "poison" ? [NAME] : originalKept ? [`${NAME}.torn`] : [];
      assert.deepEqual(await list(found.fs, "poison"), poison);
      for (const file of poison) {
        assert.deepEqual(await found.fs.readFile(join(DIRECTORY, "poison", file)), bytes);
      }
    },
  });
}

for (const state of ["sealed", "committed"] as const) {
  Deno.test({
    name: `openWal() recovery: a segment that is in ${state} already is not sealed again`,
    async fn() {
      const { fs, salvaged } = await recover({
        [`active/${NAME}`]: WHOLE,
        [`${state}/${NAME}`]: WHOLE,
      });
      assert.deepEqual(salvaged.map(({ outcome }) => outcome), ["moved"]);
      assert.deepEqual(await list(fs, "active"), []);
      assert.deepEqual([await list(fs, "sealed"), await list(fs, "committed")].flat(), [NAME]);
      assert.deepEqual(await list(fs, state), [NAME]);
    },
  });
}

Deno.test({
  name: "openWal() recovery: temporaries are removed, other files are left alone",
  async fn() {
    const bytes = new Uint8Array(8);
    const { fs } = await recover({
      [`active/.${NAME}.tmp`]: bytes,
      [`sealed/.${NAME}.tmp`]: bytes,
      [".probe"]: bytes,
      "sealed/notes.txt": bytes,
    });
    assert.deepEqual(await list(fs, "active"), []);
    assert.deepEqual(await list(fs, "sealed"), ["notes.txt"]);
    assert.equal(await fs.exists(join(DIRECTORY, ".probe")), false);
  },
});

for (
  const { left, bytes } of [
    { left: "no frame", bytes: concatBytes([HEADER.bytes, new Uint8Array(512)]) },
    { left: "half a header", bytes: HEADER.bytes.subarray(0, 40) },
    { left: "no header", bytes: new Uint8Array(512) },
  ]
) {
  Deno.test({
    name: `openWal() recovery: keys of a segment of which ${left} is left are forgotten`,
    async fn() {
      const digest = new Uint8Array(16);
      const keys = encodeKeyFile([{ digest, bodyDigest: digest, takenMs: 1 }]);
      const { fs } = await recover({ [`active/${NAME}`]: bytes, [`keys/${NAME}.keys`]: keys });
      assert.deepEqual(await list(fs, "keys"), []);
    },
  });
}

Deno.test({
  name: "openWal() recovery: a segment of version 1 is sealed as it is",
  async fn() {
    const header = HEADER.bytes.slice();
    header[4] = 1;
    const crc = crc32(header.subarray(16), crc32(header.subarray(0, 12)));
    new DataView(header.buffer).setUint32(12, crc, true);
    const bytes = concatBytes([header, frameOf(numberedBatch([1]), crc)]);
    const found = await recover({ [`active/${NAME}`]: bytes });
    assert.deepEqual(found.rows, [1]);
    assert.deepEqual(await found.fs.readFile(join(DIRECTORY, "sealed", NAME)), bytes);
  },
});

Deno.test({
  name: "openWal() recovery: a segment of a newer version stops the start and stays",
  async fn() {
    const newer = WHOLE.slice();
    newer[4] = 6;
    await assert.rejects(recover({ [`active/${NAME}`]: newer }), (error) => {
      assert(isOperatingError(error, "unimplemented"));
      assert.match(error.message, new RegExp(`${NAME}.*version 6.*versions 1 to 5`));
      return true;
    });
  },
});
