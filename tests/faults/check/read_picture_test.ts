/** The independent reader against directories that the product's WAL wrote. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { utf8 } from "../../../shared/base/bytes.ts";
import type { EncodedBatch } from "../../../shared/columns/batch.ts";
import { DenoFileSystem } from "../../../shared/os/deno_file_system.ts";
import { FakeClock } from "../../../shared/testing/fake_clock.ts";
import { NUMBERED_SCHEMA } from "../../../shared/testing/numbered_rows.ts";
import { SeededRandom } from "../../../shared/testing/seeded_random.ts";
import { openWal } from "../../../shared/wal/wal.ts";
import { rowText } from "../ledger.ts";
import { readPicture } from "./read_picture.ts";
import { findSegments, readSegment } from "./wal_bytes.ts";

const LANE = { tenant: "default", index: "events" };

/** A request's rows; more than 32 KiB of it is packed. */
function batchOf(request: number, rows: number, { padBytes = 0 } = {}): EncodedBatch {
  const text = Array.from({ length: rows }, (_, row) => rowText(request, row)).join("");
  const bytes = utf8(text + " ".repeat(padBytes));
  const aligned = new Uint8Array(Math.ceil(bytes.byteLength / 8) * 8);
  aligned.set(bytes);
  return {
    schema: NUMBERED_SCHEMA,
    rows,
    timestampNsMin: 1n,
    timestampNsMax: 2n,
    pieces: [aligned],
    byteLength: aligned.byteLength,
    plainBytes: aligned.byteLength,
  };
}

/** A data folder with two sealed segments: requests 0 and 1 in the first, 2 in the other. */
async function withSegments(
  use: (dataDir: string, segments: readonly string[]) => Promise<void>,
): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "svc-faults-test-" });
  try {
    await Deno.mkdir(join(dataDir, "wal"));
    await Deno.mkdir(join(dataDir, "warehouse"));
    const wal = await openWal({
      fs: new DenoFileSystem(),
      clock: new FakeClock(),
      random: new SeededRandom(1),
      root: join(dataDir, "wal"),
    });
    await wal.append(LANE, batchOf(0, 3), "wait_for");
    await wal.append(LANE, batchOf(1, 2, { padBytes: 200_000 }), "wait_for");
    const first = await wal.seal(LANE) ?? assert.fail("nothing was sealed");
    await wal.append(LANE, batchOf(2, 1), "wait_for");
    const second = await wal.seal(LANE) ?? assert.fail("nothing was sealed");
    await wal.close();
    await use(dataDir, [first, second]);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

Deno.test("readPicture has the rows of segments, plain and packed", () =>
  withSegments(async (dataDir) => {
    const rows = await readPicture(dataDir, "icebird");
    assert.deepEqual(rows.ids, { events: ["0.0", "0.1", "0.2", "1.0", "1.1", "2.0"] });
    assert.deepEqual([rows.walRows, rows.tableRows, rows.segments], [6, 0, 2]);
    assert.deepEqual(rows.damage, []);
  }));

Deno.test("readPicture leaves out segments that the catalog calls consumed, by name or in a run", () =>
  withSegments(async (dataDir, [first = "", second = ""]) => {
    const db = new DatabaseSync(join(dataDir, "warehouse/catalog.db"));
    db.exec("CREATE TABLE svc_wal_consumed (segment_id TEXT)");
    db.exec(
      "CREATE TABLE svc_wal_consumed_runs (writer TEXT, first_number INTEGER, " +
        "last_number INTEGER, first_ms INTEGER, last_ms INTEGER)",
    );
    db.prepare("INSERT INTO svc_wal_consumed VALUES (?)").run(first);
    assert.deepEqual((await readPicture(dataDir, "icebird")).ids, { events: ["2.0"] });
    const [ms = "", , ordinal = ""] = second.replace(".seg", "").split("-");
    const number = Number.parseInt(ordinal.slice(10), 16);
    const insert = db.prepare("INSERT INTO svc_wal_consumed_runs VALUES (?, ?, ?, ?, ?)");
    insert.run(ordinal.slice(0, 10), number, number + 3, Number(ms), Number(ms));
    db.close();
    assert.deepEqual((await readPicture(dataDir, "icebird")).ids, {});
  }));

Deno.test("readSegment tells each flipped bit, and keeps the frames before it", () =>
  withSegments(async (dataDir) => {
    const [segment] = findSegments(join(dataDir, "wal"));
    const whole = await Deno.readFile(segment?.path ?? "");
    const ids = readSegment(whole).ids;
    assert.equal(ids.length, 5);
    const random = new SeededRandom(2);
    for (let flip = 0; flip < 300; flip += 1) {
      const bytes = whole.slice();
      const at = random.below(bytes.byteLength);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      const read = readSegment(bytes);
      assert.ok(read.damage !== undefined, `byte ${at} of ${bytes.byteLength}`);
      assert.deepEqual(read.ids, ids.slice(0, read.ids.length));
    }
  }));

Deno.test("readPicture calls a sealed segment that is cut off damaged", () =>
  withSegments(async (dataDir) => {
    const [segment] = findSegments(join(dataDir, "wal"));
    const path = segment?.path ?? "";
    await Deno.truncate(path, (await Deno.stat(path)).size - 8);
    const { damage, ids } = await readPicture(dataDir, "icebird");
    assert.equal(damage.length, 1);
    assert.deepEqual(ids, { events: ["0.0", "0.1", "0.2", "2.0"] });
  }));
