import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import type { LaneId } from "../tenant/tenant.ts";
import { CrashableFileSystem, type CrashableOptions } from "../testing/crashable_file_system.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { numberedBatch, rowsOfMessage } from "../testing/numbered_rows.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import type { FrameKey } from "./frame_key.ts";
import { decodeKeyFile, encodeKeyFile } from "./key_files.ts";
import { keysDirectory } from "./layout.ts";
import type { WalEvent } from "./wal_event.ts";
import { openWalReader } from "./reader.ts";
import type { Wal } from "./types.ts";
import { openWal, type WalOptions } from "./wal.ts";

const ROOT = "/data/wal";
const LANE: LaneId = { tenant: "default", index: "events" };

class Rig {
  readonly clock = new FakeClock();
  readonly fs: CrashableFileSystem;
  wal: Wal | undefined;

  constructor(machine: CrashableOptions = {}, readonly options: Partial<WalOptions> = {}) {
    this.fs = new CrashableFileSystem(machine);
  }

  async open(): Promise<Wal> {
    const random = new SeededRandom(this.fs.operations);
    const place = { fs: this.fs, clock: this.clock, random, root: ROOT };
    return this.wal = await openWal({ ...place, freeBytesMin: 0, ...this.options });
  }

  /** The key of `request`, taken now. */
  key(request: number, body = request): FrameKey {
    return {
      digest: new Uint8Array(16).fill(request),
      bodyDigest: new Uint8Array(16).fill(body),
      takenMs: this.clock.nowMs(),
    };
  }

  async send(request: number, body = request, lane = LANE) {
    assert(this.wal !== undefined);
    const batch = { ...numberedBatch([body]), key: this.key(request, body) };
    const { isRepeat } = await this.wal.append(lane, batch, "wait_for");
    return isRepeat === true;
  }

  async rows(lane = LANE): Promise<number[]> {
    const reader = openWalReader(this.fs, ROOT);
    const rows: number[] = [];
    for (const { name } of await reader.list(lane, ["active", "sealed"])) {
      await using segment = await reader.open(lane, name);
      for await (const frame of segment.frames()) rows.push(...rowsOfMessage(frame.message));
    }
    return rows;
  }

  async keyFiles(): Promise<number> {
    return (await this.fs.readDir(keysDirectory(ROOT, LANE))).length;
  }
}

Deno.test({
  name:
    "Wal.append() with a key again stores nothing and names the same segment, also after a restart",
  async fn() {
    const rig = new Rig();
    const wal = await rig.open();
    const batch = { ...numberedBatch([1]), key: rig.key(1) };
    const first = await wal.append(LANE, batch, "auto");
    const again = await wal.append(LANE, batch, "wait_for");
    assert.deepEqual(again, { segment: first.segment, isRepeat: true });
    await wal.close();
    const later = await (await rig.open()).append(LANE, batch, "wait_for");
    assert.deepEqual(later, again);
    assert.deepEqual(await rig.rows(), [1]);
    await rig.wal?.close();
  },
});

Deno.test({
  name:
    "Wal.append() with a key while the first is under way waits for that one, and fails with it",
  async fn() {
    const { promise, resolve } = Promise.withResolvers<Error>();
    let failing = true;
    const rig = new Rig({
      onOperation: ({ kind }) => kind === "sync" && failing ? promise : undefined,
    });
    await using _wal = await rig.open();
    const settled: string[] = [];
    const sends = [rig.send(1), rig.send(1)].map((sent, at) =>
      sent.then((isRepeat) => settled.push(`${at} ${isRepeat}`), () => settled.push(`${at} failed`))
    );
    await rig.clock.advance(10);
    assert.deepEqual(settled, []);
    failing = false;
    resolve(new Error("injected"));
    await Promise.all(sends);
    assert.deepEqual(settled.sort(), ["0 failed", "1 failed"]);
    await rig.clock.advance(1_000);
    // The frame was written and salvaged: the lane knows it although nobody was told.
    assert.equal(await rig.send(1), true);
    assert.deepEqual(await rig.rows(), [1]);
  },
});

Deno.test({
  name: "Wal.append() refuses a key that another body had, in its own lane only",
  async fn() {
    const rig = new Rig();
    await using _wal = await rig.open();
    await rig.send(1, 1);
    const isReused = (error: unknown) =>
      isOperatingError(error, "unprocessable") && error.reason === "idempotency_key_reused";
    await assert.rejects(rig.send(1, 2), isReused);
    const other = { tenant: "default", index: "other" };
    assert.equal(await rig.send(1, 2, other), false);
    assert.deepEqual([await rig.rows(), await rig.rows(other)], [[1], [2]]);
  },
});

Deno.test({
  name: "Wal.append() remembers a key for keyAgeMsMax, also over a restart, then removes its file",
  async fn() {
    const rig = new Rig({}, { keyAgeMsMax: 60_000 });
    await rig.open();
    await rig.send(1);
    await rig.wal?.close();
    await rig.open();
    await rig.clock.advance(60_000);
    assert.equal(await rig.send(1), true);
    assert.equal(await rig.keyFiles(), 1);
    await rig.clock.advance(1);
    assert.equal(await rig.send(1, 7), false);
    await rig.wal?.seal(LANE);
    assert.equal(await rig.keyFiles(), 1); // The new one's.
    assert.deepEqual(await rig.rows(), [1, 7]);
    await rig.wal?.close();
  },
});

Deno.test({
  name: "Wal.append() remembers a key for keyAgeMsMax though the clock jumps by hours meanwhile",
  async fn() {
    const rig = new Rig({}, { keyAgeMsMax: 60_000 });
    await rig.open();
    await rig.send(1);
    for (const hours of [5, -9, 0]) {
      rig.clock.jumpMs = hours * 3_600_000;
      assert.equal(await rig.send(1), true, `${hours} hours`);
    }
    await rig.clock.advance(60_001);
    assert.equal(await rig.send(1), false);
    await rig.wal?.close();
  },
});

Deno.test({
  name: "Wal.append() remembers the newest keysMax keys, also over a restart",
  async fn() {
    const rig = new Rig({}, { keysMax: 3, eventsMax: 1 });
    await rig.open();
    for (let request = 1; request <= 8; request++) await rig.send(request);
    await rig.wal?.close();
    assert.equal(await rig.keyFiles(), 3);
    await rig.open();
    for (const request of [6, 7, 8]) assert.equal(await rig.send(request), true);
    assert.equal(await rig.send(5), false);
    await rig.wal?.close();
  },
});

Deno.test({
  name: "openWal() refuses appends to a lane whose key file is damaged, naming it",
  async fn() {
    const rig = new Rig();
    await rig.open();
    await rig.send(1);
    await rig.wal?.close();
    const directory = keysDirectory(ROOT, LANE);
    const [file] = await rig.fs.readDir(directory);
    const path = `${directory}/${file?.name}`;
    const bytes = await rig.fs.readFile(path);
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    await rig.fs.writeFileAtomic(path, bytes);
    await rig.open();
    await assert.rejects(rig.send(2), (error) => {
      assert.ok(error instanceof Error);
      return error.message.includes(path.replace(ROOT, "<wal>"));
    });
    await rig.wal?.close();
  },
});

Deno.test({
  name: "decodeKeyFile() refuses a file with any byte changed or cut off",
  fn() {
    const key = new Rig().key(1);
    const bytes = encodeKeyFile([key, key]);
    assert.deepEqual(decodeKeyFile(bytes, "here"), [key, key]);
    for (let at = 0; at < bytes.byteLength; at++) {
      const damaged = bytes.slice();
      damaged[at] = (damaged[at] ?? 0) ^ 0x10;
      assert.throws(() => decodeKeyFile(damaged, "here"), isOperatingError);
      assert.throws(() => decodeKeyFile(bytes.subarray(0, at), "here"), isOperatingError);
    }
  },
});

for (
  const { groupWaitMs, groups } of [
    { groupWaitMs: 0, groups: [[1, 0], [1, 0], [1, 0], [1, 0]] },
    { groupWaitMs: 5, groups: [[4, 5]] },
  ]
) {
  const writes = groups.length;
  Deno.test({
    name:
      `Wal.append() with groupWaitMs ${groupWaitMs} puts 4 appends 1 ms apart in ${writes} writes`,
    async fn() {
      let count = 0;
      let counting = false;
      const told: number[][] = [];
      const onEvent = (event: WalEvent) => {
        if (event.kind === "grouped" && counting) told.push([event.appends, event.waitMs]);
      };
      const rig = new Rig({
        onOperation: ({ kind }) => void (kind === "write" && counting && count++),
      }, { groupWaitMs, onEvent });
      const wal = await rig.open();
      const first = wal.append(LANE, numberedBatch([0]), "auto"); // Creates the segment.
      await rig.clock.advance(100);
      await first;
      counting = true;
      const appends: Promise<unknown>[] = [];
      for (let row = 1; row <= 4; row++) {
        appends.push(wal.append(LANE, numberedBatch([row]), "auto"));
        await rig.clock.advance(1);
      }
      await rig.clock.advance(10);
      await Promise.all(appends);
      assert.equal(count, writes);
      assert.deepEqual(told, groups);
      assert.deepEqual(await rig.rows(), [0, 1, 2, 3, 4]);
      await wal.close();
    },
  });
}

Deno.test({
  name: "a key file that cannot be removed fails no lane; the next sealing removes it",
  async fn() {
    let failing = true;
    const rig = new Rig({
      onOperation: ({ kind, path }) =>
        failing && kind === "remove" && path.endsWith(".keys") ? new Error("injected") : undefined,
    }, { keyAgeMsMax: 60_000 });
    const wal = await rig.open();
    await rig.send(1);
    await wal.seal(LANE);
    await rig.clock.advance(60_001);
    await rig.send(2);
    await wal.seal(LANE);
    assert.equal(await rig.keyFiles(), 2);
    assert.equal(await wal.unreadyReason(), undefined);
    failing = false;
    await wal.append(LANE, numberedBatch([3]), "wait_for");
    await wal.seal(LANE);
    assert.equal(await rig.keyFiles(), 1);
    assert.deepEqual(await rig.rows(), [1, 2, 3]);
    await wal.close();
  },
});

Deno.test({
  name: "Wal.append() stores a key once, though its sync failed and the clock jumped meanwhile",
  async fn() {
    let failing = true;
    const rig = new Rig({
      onOperation: ({ kind, path }) =>
        failing && kind === "sync" && path.includes("/active/") ? new Error("injected") : undefined,
    }, { keyAgeMsMax: 60_000 });
    await using wal = await rig.open();
    await assert.rejects(rig.send(1), (error) => isOperatingError(error, "internal"));
    rig.clock.jumpMs = 36_000_000;
    failing = false;
    while (await wal.unreadyReason() !== undefined) await rig.clock.advance(1_000);
    await rig.send(1);
    assert.deepEqual(await rig.rows(), [1]);
  },
});

interface SecondFault {
  /** Counted from the failed sync on. */
  readonly operation: number;
  /** Whether the operation takes effect, and says that it failed. */
  readonly takesEffect: boolean;
}

/**
 * A disk whose first sync of a segment fails, and one operation while the lane heals. Returns
 * whether there was such an operation.
 */
async function repeatOverFaults({ operation, takesEffect }: SecondFault): Promise<boolean> {
  let isFailing = false;
  let count = 0;
  let isInside = false;
  const rig: Rig = new Rig({
    onOperation: async ({ kind, path }) => {
      if (isInside) return undefined;
      const isFirst = !isFailing && kind === "sync" && path.includes("/active/");
      isFailing ||= isFirst;
      if (!isFailing || count > operation) return undefined;
      count += 1;
      if (!isFirst && count <= operation) return undefined;
      if (takesEffect && kind === "remove") {
        isInside = true;
        await rig.fs.remove(path).finally(() => isInside = false);
      }
      return new Error("injected");
    },
  });
  await using wal = await rig.open();
  await assert.rejects(rig.send(1), (error) => isOperatingError(error, "internal"));
  for (let waits = 0; await wal.unreadyReason() !== undefined && waits < 40; waits += 1) {
    await rig.clock.advance(1_000);
  }
  const what = `operation ${operation}, which ${takesEffect ? "takes" : "has no"} effect`;
  await rig.send(1);
  assert.deepEqual(await rig.rows(), [1], what);
  await rig.send(1);
  assert.deepEqual(await rig.rows(), [1], what);
  return count > operation;
}

Deno.test({
  name: "Wal.append() stores a key once, though its sync failed and then any step of the healing",
  async fn() {
    for (const takesEffect of [false, true]) {
      let operation = 1;
      while (await repeatOverFaults({ operation, takesEffect })) operation += 1;
      assert.ok(operation > 20, `${operation} operations`);
    }
  },
});
