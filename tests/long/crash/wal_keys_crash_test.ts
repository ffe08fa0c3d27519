/**
 * Requests with idempotency keys over machines that fail: whatever happens at whichever operation,
 * a sender that repeats each request until it is acknowledged finds every row stored exactly once.
 */

import assert from "node:assert/strict";
import type { LaneId } from "../../../shared/tenant/tenant.ts";
import {
  CrashableFileSystem,
  type CrashableOptions,
} from "../../../shared/testing/crashable_file_system.ts";
import { FakeClock } from "../../../shared/testing/fake_clock.ts";
import { numberedBatch, rowsOfMessage } from "../../../shared/testing/numbered_rows.ts";
import { SeededRandom } from "../../../shared/testing/seeded_random.ts";
import { waysAt } from "../../../shared/testing/ways_at.ts";
import { openWalConsumerAdmin } from "../../../shared/wal/admin.ts";
import type { FrameKey } from "../../../shared/wal/frame_key.ts";
import { PACKED_MESSAGE_BYTES_MIN } from "../../../shared/wal/packed_message.ts";
import { openWalReader } from "../../../shared/wal/reader.ts";
import type { AckMode, Wal } from "../../../shared/wal/types.ts";
import { openWal } from "../../../shared/wal/wal.ts";

const SEED = 20261121;
const ROOT = "/data/wal";
const LANE: LaneId = { tenant: "default", index: "events" };
const REQUESTS = 22;
const CLOCK_MS = new FakeClock().nowMs();

/** Rows of consumed segments, by the name that a catalog remembers. */
type Table = Map<string, number[]>;

function keyOf(request: number, body = request): FrameKey {
  return {
    digest: new Uint8Array(16).fill(request),
    bodyDigest: new Uint8Array(16).fill(body),
    takenMs: CLOCK_MS,
  };
}

function send(wal: Wal, request: number, mode: AckMode) {
  // Some are packed.
  const messageBytes = request % 3 === 1 ? PACKED_MESSAGE_BYTES_MIN : 700;
  const batch = numberedBatch([2 * request, 2 * request + 1], { messageBytes });
  return wal.append(LANE, { ...batch, key: keyOf(request) }, mode);
}

const modeOf = (request: number): AckMode => request % 3 === 0 ? "auto" : "wait_for";

function machine(options: CrashableOptions = {}): CrashableFileSystem {
  const turns = new SeededRandom(SEED);
  return new CrashableFileSystem({ extraTurns: () => turns.below(6), ...options });
}

/** Names of segments differ between starts, as the real ones do. */
let starts = 0;

function open(fs: CrashableFileSystem, clock = new FakeClock()): Promise<Wal> {
  const random = new SeededRandom(++starts);
  return openWal({ fs, clock, random, root: ROOT, eventsMax: 6, freeBytesMin: 0 });
}

/** Sends all requests, every third twice at a time, and drains and sweeps in between. */
async function sendAll(fs: CrashableFileSystem, table: Table): Promise<void> {
  const wal = await open(fs);
  for (let request = 0; request < REQUESTS; request += 2) {
    const sent = [send(wal, request, modeOf(request)), send(wal, request + 1, modeOf(request + 1))];
    if (request % 3 === 0) sent.push(send(wal, request, "wait_for"));
    for (const outcome of await Promise.allSettled(sent)) {
      if (outcome.status === "rejected") throw outcome.reason;
    }
    if (request % 4 === 2) {
      await wal.seal(LANE);
      await drain(fs, table);
    }
  }
  await wal.close();
}

async function drain(fs: CrashableFileSystem, table: Table): Promise<void> {
  const admin = openWalConsumerAdmin(fs, new FakeClock(), ROOT);
  const reader = openWalReader(fs, ROOT);
  const sealed = await reader.list(LANE, ["sealed"]);
  for (const { name } of sealed) table.set(name, await rowsOf(fs, name));
  await admin.markCommitted(LANE, sealed.map(({ name }) => name));
  await admin.sweepCommitted(LANE, CLOCK_MS + 61_000);
}

async function rowsOf(fs: CrashableFileSystem, name: string): Promise<number[]> {
  await using segment = await openWalReader(fs, ROOT).open(LANE, name);
  const rows: number[] = [];
  for await (const frame of segment.frames()) rows.push(...rowsOfMessage(frame.message));
  return rows;
}

/** Rows of the table and of segments that it does not have yet. */
async function allRows(fs: CrashableFileSystem, table: Table): Promise<number[]> {
  const rows = [...table.values()].flat();
  const states = ["active", "sealed", "committed"] as const;
  for (const { name } of await openWalReader(fs, ROOT).list(LANE, states)) {
    if (!table.has(name)) rows.push(...await rowsOf(fs, name));
  }
  return rows.sort((a, b) => a - b);
}

const EXPECTED = Array.from({ length: 2 * REQUESTS }, (_, row) => row);

async function succeeds(work: () => Promise<void>): Promise<boolean> {
  return await work().then(() => true, () => false);
}

const CUTS = ["drop", "keep", "prefix", "torn"] as const;

for (const end of ["kill", ...CUTS] as const) {
  Deno.test({
    name: `Wal.append() with keys, ${end} before every operation and on the way back: rows once`,
    async fn() {
      const whole = machine();
      await sendAll(whole, new Map());
      assert(whole.operations > 150, `the workload has ${whole.operations} operations`);
      for (let crashAt = 0; crashAt < whole.operations; crashAt++) {
        if (end !== "kill" && !waysAt(CUTS, crashAt).includes(end)) continue;
        const random = new SeededRandom(SEED + crashAt);
        const after = (fs: CrashableFileSystem, options: CrashableOptions = {}) =>
          end === "kill" ? fs.kill(options) : fs.reboot(end, random, options);
        const table: Table = new Map();
        const first = machine({ crashAt });
        await succeeds(() => sendAll(first, table));
        assert(!first.powered, `operation ${crashAt} was not reached`);
        const second = after(first, { crashAt: random.below(80) });
        await succeeds(() => sendAll(second, table));
        const third = after(second);
        await sendAll(third, table);
        assert.deepEqual(await allRows(third, table), EXPECTED, `crash at ${crashAt}`);
      }
    },
  });
}

Deno.test({
  name:
    "Wal.append() with keys, an error at every operation: repeated until acknowledged, rows once",
  async fn() {
    const whole = machine();
    await sendAll(whole, new Map());
    for (let failAt = 8; failAt < whole.operations; failAt++) {
      const fs = machine({
        onOperation: ({ index }) => index === failAt ? new Error("injected") : undefined,
      });
      const clock = new FakeClock();
      const wal = await open(fs, clock).catch(() => undefined);
      if (wal === undefined) continue; // Another test has starts that fail.
      for (let request = 0; request < REQUESTS; request++) {
        for (let attempt = 0;; attempt++) {
          if (await succeeds(async () => void await send(wal, request, modeOf(request)))) break;
          assert(attempt < 10, `request ${request} is never acknowledged, error at ${failAt}`);
          await clock.advance(1_000);
        }
        if (request % 5 === 4) await wal.seal(LANE).catch(() => {});
      }
      await clock.advance(10_000);
      for (let request = 0; request < REQUESTS; request++) {
        await send(wal, request, "wait_for").catch(() => clock.advance(10_000));
        await send(wal, request, "wait_for");
      }
      await wal.close();
      assert.deepEqual(await allRows(fs, new Map()), EXPECTED, `error at ${failAt}`);
    }
  },
});

/** Repeats each request until it is acknowledged, or until the power fails. */
async function sendStubbornly(fs: CrashableFileSystem): Promise<void> {
  const clock = new FakeClock();
  const wal = await open(fs, clock);
  for (let request = 0; request < REQUESTS; request++) {
    while (!await succeeds(async () => void await send(wal, request, modeOf(request)))) {
      if (!fs.powered) return;
      await clock.advance(1_000);
    }
  }
}

Deno.test({
  name: "Wal.append() with keys, power lost while a lane heals from a failed sync: rows once",
  async fn() {
    const syncs: number[] = [];
    const whole = machine({
      onOperation: ({ index, kind, path }) =>
        void (kind === "sync" && path.includes("/active/") && syncs.push(index)),
    });
    await sendStubbornly(whole);
    assert(syncs.length >= REQUESTS / 2, `${syncs.length} syncs of segments`);
    for (const failAt of syncs) {
      for (let crashAt = failAt + 1; crashAt < failAt + 40; crashAt++) {
        const fs = machine({
          crashAt,
          onOperation: ({ index }) => index === failAt ? new Error("injected") : undefined,
        });
        await succeeds(() => sendStubbornly(fs));
        if (fs.powered) break; // The workload has no later operation.
        for (const loss of ["drop", "prefix"] as const) {
          const after = fs.reboot(loss, new SeededRandom(crashAt));
          const table: Table = new Map();
          await sendAll(after, table);
          assert.deepEqual(await allRows(after, table), EXPECTED, `${failAt}, ${crashAt}, ${loss}`);
        }
      }
    }
  },
});
