/**
 * Power is cut before every single file system operation of a workload, and again somewhere in the
 * recovery. What `wait_for` acknowledged must be there exactly once, whatever of the rest survives.
 */

import assert from "node:assert/strict";
import type { LaneId } from "../tenant/tenant.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import {
  CrashableFileSystem,
  NoPowerError,
  type PowerLoss,
} from "../testing/crashable_file_system.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { NUMBERED_SCHEMA, numberedBatch, rowsOfMessage } from "../testing/numbered_rows.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { waysAt } from "../testing/ways_at.ts";
import { openWalConsumerAdmin } from "./admin.ts";
import { segmentNamesIn, stateDirectory } from "./layout.ts";
import { PACKED_MESSAGE_BYTES_MIN } from "./packed_message.ts";
import { openWalReader } from "./reader.ts";
import type { Wal } from "./types.ts";
import { openWal } from "./wal.ts";

const SEED = 20261120;
const ROOT = "/data/wal";
const LANES: readonly LaneId[] = [
  { tenant: "default", index: "events" },
  { tenant: "acme", index: "web.logs" },
];
const STEPS = 30;

/** What the world outside the disk knows. */
interface Ledger {
  /** Rows that were handed to `append`, acknowledged or not. */
  readonly attempted: Set<number>;
  /** Acknowledged rows and the segment that the receipt named. */
  readonly durable: Map<number, string>;
  readonly written: Map<number, string>;
  /** Segments whose rows a table holds: they may be there or not. */
  readonly consumed: Set<string>;
  /** Segments that the sweep reported as removed: they may not come back. */
  readonly swept: Set<string>;
}

function newLedger(): Ledger {
  return {
    attempted: new Set(),
    durable: new Map(),
    written: new Map(),
    consumed: new Set(),
    swept: new Set(),
  };
}

/** A machine whose calls take turns of varying length, the same ones each time. */
function newMachine(crashAt?: number): CrashableFileSystem {
  const turns = new SeededRandom(SEED);
  return new CrashableFileSystem({
    extraTurns: () => turns.below(turns.chance(0.2) ? 40 : 4),
    ...(crashAt === undefined ? {} : { crashAt }),
  });
}

async function start(fs: CrashableFileSystem, clock: FakeClock, random: SeededRandom) {
  return await openWal({ fs, clock, random, root: ROOT, eventsMax: 6, freeBytesMin: 0 });
}

/** Takes steps that the seed decides, until done or until the power fails. */
async function work(fs: CrashableFileSystem, ledger: Ledger): Promise<void> {
  const random = new SeededRandom(SEED);
  const clock = new FakeClock();
  const admin = openWalConsumerAdmin(fs, clock, ROOT);
  let wal = await start(fs, clock, random);
  for (let step = 0; step < STEPS; step++) {
    const lane = random.chance(0.7) ? LANES[0] : LANES[1];
    assert(lane !== undefined);
    const dice = random.float();
    if (dice < 0.7) await appendSome(wal, lane, { random, ledger });
    else if (dice < 0.8) await wal.seal(lane);
    else if (dice < 0.9) await drain(fs, admin, { lane, ledger, clock });
    else if (dice < 0.96) await clock.advance(6_000);
    else {
      await wal.close();
      wal = await start(fs, clock, random);
    }
  }
  await wal.close();
}

async function appendSome(
  wal: Wal,
  lane: LaneId,
  options: { random: SeededRandom; ledger: Ledger },
): Promise<void> {
  const { random, ledger } = options;
  const appends = Array.from({ length: 1 + random.below(4) }, async () => {
    const rows = Array.from({ length: 1 + random.below(3) }, () => {
      const row = ledger.attempted.size;
      ledger.attempted.add(row);
      return row;
    });
    const batch = numberedBatch(rows, {
      // Some are packed.
      messageBytes: random.chance(0.2) ? PACKED_MESSAGE_BYTES_MIN : random.below(1500),
      schema: random.chance(0.1) ? EVENTS_SCHEMA : NUMBERED_SCHEMA,
    });
    const mode = random.chance(0.6) ? "wait_for" : "auto";
    await turns(random.below(20));
    const { segment } = await wal.append(lane, batch, mode);
    for (const row of rows) {
      ledger.written.set(row, segment);
      if (mode === "wait_for") ledger.durable.set(row, segment);
    }
  });
  const sealing = random.chance(0.3) ? [turns(random.below(20)).then(() => wal.seal(lane))] : [];
  const results = await Promise.allSettled([...appends, ...sealing]);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

async function turns(count: number): Promise<void> {
  for (; count > 0; count--) await null;
}

/** Says that a table holds every sealed segment, and removes those that may go. */
async function drain(
  fs: CrashableFileSystem,
  admin: ReturnType<typeof openWalConsumerAdmin>,
  options: { lane: LaneId; ledger: Ledger; clock: FakeClock },
): Promise<void> {
  const { lane, ledger, clock } = options;
  const sealed = await openWalReader(fs, ROOT).list(lane, ["sealed"]);
  for (const { name } of sealed) ledger.consumed.add(name);
  await admin.markCommitted(lane, sealed.map((segment) => segment.name));
  for (const name of await admin.sweepCommitted(lane, clock.nowMs() + 61_000)) {
    ledger.swept.add(name);
  }
}

/** Segment of each row on disk; throws when a row is there twice or a segment cannot be read. */
async function rowsOnDisk(fs: CrashableFileSystem): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  const reader = openWalReader(fs, ROOT);
  for (const lane of await reader.lanes()) {
    for (const { name } of await reader.list(lane, ["active", "sealed", "committed"])) {
      await using segment = await reader.open(lane, name);
      for await (const frame of segment.frames()) {
        const rows = rowsOfMessage(frame.message);
        assert.equal(frame.rows, rows.length);
        for (const row of rows) {
          assert.equal(found.get(row), undefined, `row ${row} is there twice`);
          found.set(row, name);
        }
      }
    }
  }
  return found;
}

async function check(
  fs: CrashableFileSystem,
  ledger: Ledger,
  acknowledged: ReadonlyMap<number, string>,
): Promise<void> {
  const found = await rowsOnDisk(fs);
  for (const [row, segment] of acknowledged) {
    if (ledger.consumed.has(segment) && !found.has(row)) continue;
    assert.equal(found.get(row), segment, `acknowledged row ${row} of segment ${segment}`);
  }
  for (const [row, segment] of found) {
    assert(ledger.attempted.has(row), `row ${row} was never appended`);
    assert(!ledger.swept.has(segment), `swept segment ${segment} came back`);
  }
  for (const lane of LANES) {
    const active = stateDirectory(ROOT, lane, "active");
    assert.deepEqual(await segmentNamesIn(fs, active), [], "a closed WAL leaves nothing active");
  }
}

async function untilPowerFails(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch {
    return false;
  }
}

/** Recovers, with the power failing once more on the way, and checks what is left. */
async function recoverAndCheck(
  fs: CrashableFileSystem,
  ledger: Ledger,
  options: { random: SeededRandom; loss: PowerLoss },
): Promise<void> {
  const { random, loss } = options;
  const recover = async (machine: CrashableFileSystem) => {
    await (await start(machine, new FakeClock(), random)).close();
  };
  const first = fs.reboot(loss, random, { crashAt: random.below(30) });
  const done = await untilPowerFails(() => recover(first));
  const second = first.reboot(loss, random);
  await recover(second);
  await check(second, ledger, ledger.durable);
  if (done) assert.deepEqual(await rowsOnDisk(second.kill()), await rowsOnDisk(second.kill()));
}

Deno.test({
  name: "openWal() power cut before every operation keeps acknowledged rows once",
  async fn() {
    const whole = newMachine();
    await work(whole, newLedger());
    assert(whole.operations > 200, `the workload has ${whole.operations} operations`);
    for (let crashAt = 0; crashAt < whole.operations; crashAt++) {
      const random = new SeededRandom(SEED + crashAt);
      const fs = newMachine(crashAt);
      const ledger = newLedger();
      await untilPowerFails(() => work(fs, ledger));
      assert(!fs.powered, `operation ${crashAt} was not reached`);
      for (const loss of waysAt(["drop", "keep", "prefix", "torn"] as const, crashAt)) {
        await recoverAndCheck(fs, ledger, { random, loss });
      }
    }
  },
});

Deno.test({
  name: "openWal() killed before every operation keeps every written row, then also without power",
  async fn() {
    const whole = newMachine();
    await work(whole, newLedger());
    for (let crashAt = 0; crashAt < whole.operations; crashAt++) {
      const fs = newMachine(crashAt);
      const ledger = newLedger();
      await untilPowerFails(() => work(fs, ledger));
      const random = new SeededRandom(crashAt);
      const next = fs.kill();
      await (await start(next, new FakeClock(), random)).close();
      await check(next, ledger, ledger.written);
      const last = next.reboot("prefix", random);
      await (await start(last, new FakeClock(), random)).close();
      await check(last, ledger, ledger.written);
    }
  },
});

Deno.test({
  name: "openWal() after a start that ended anywhere keeps acknowledged rows without power",
  async fn() {
    for (let crashAt = 0;; crashAt++) {
      const first = new CrashableFileSystem({ crashAt });
      const random = new SeededRandom(SEED + crashAt);
      await untilPowerFails(async () => {
        await (await start(first, new FakeClock(), random)).close();
      });
      if (first.powered) return assert(crashAt > 3, `a start has only ${crashAt} operations`);
      const second = first.kill();
      const wal = await start(second, new FakeClock(), random);
      const { segment } = await wal.append(LANES[0] as LaneId, numberedBatch([7]), "wait_for");
      await wal.close();
      const found = await rowsOnDisk(second.reboot("drop", random));
      assert.deepEqual([...found], [[7, segment]], `the start ended before operation ${crashAt}`);
    }
  },
});

Deno.test({
  name: "openWal() after a failed sync of its directory keeps acknowledged rows without power",
  async fn() {
    let failures = 1;
    const fs = new CrashableFileSystem({
      onOperation: ({ kind }) =>
        kind === "syncDir" && failures-- > 0 ? new Error("Input/output error") : undefined,
    });
    const random = new SeededRandom(SEED);
    await assert.rejects(start(fs, new FakeClock(), random), /Input\/output error/);
    const wal = await start(fs, new FakeClock(), random);
    await wal.append(LANES[0] as LaneId, numberedBatch([7]), "wait_for");
    await wal.close();
    assert.deepEqual([...(await rowsOnDisk(fs.reboot("drop", random))).keys()], [7]);
  },
});

Deno.test({
  name: "CrashableFileSystem workload acknowledges, rolls, drains and sweeps",
  async fn() {
    const fs = newMachine();
    const ledger = newLedger();
    await work(fs, ledger);
    await check(fs, ledger, ledger.written);
    assert.equal(ledger.written.size, ledger.attempted.size);
    assert(ledger.durable.size > 50 && ledger.durable.size < ledger.written.size);
    assert(ledger.swept.size > 3, `${ledger.swept.size} segments were swept`);
    await assert.rejects(fs.kill({ crashAt: 0 }).mkdir("/x"), NoPowerError);
  },
});
