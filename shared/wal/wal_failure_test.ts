/**
 * Disks that fail: an error at every operation of a workload, and what a lane does while it cannot
 * write.
 */

import assert from "node:assert/strict";
import { dirname } from "node:path";
import { isOperatingError } from "../base/errors.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { FileSystem } from "../os/file_system.ts";
import { CrashableFileSystem, type Operation } from "../testing/crashable_file_system.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { numberedBatch, rowsOfMessage } from "../testing/numbered_rows.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { openWalReader } from "./reader.ts";
import type { AckMode, Wal } from "./types.ts";
import { openWal, type WalOptions } from "./wal.ts";
import type { WalEvent } from "./wal_event.ts";

const ROOT = "/data/wal";
const LANE: LaneId = { tenant: "default", index: "events" };

interface Rig {
  /** Names in the order in which they were given to `sealed/`. */
  readonly sealed: string[];
  readonly fs: CrashableFileSystem;
  readonly clock: FakeClock;
  readonly wal: Wal;
  readonly events: WalEvent[];
}

type OnOperation = (operation: Operation) => Error | undefined | Promise<Error | undefined>;

async function open(
  onOperation: OnOperation,
  options: Partial<WalOptions> = {},
): Promise<Rig> {
  const turns = new SeededRandom(1);
  const sealed: string[] = [];
  const fs = new CrashableFileSystem({
    extraTurns: () => turns.below(turns.chance(0.3) ? 60 : 3),
    onOperation: async (operation) => {
      const name = /\d{13}-.*\.seg/.exec(operation.path)?.[0];
      const toSealed = operation.kind === "link" ||
        (operation.kind === "rename" && operation.path.includes("/sealed/."));
      const error = await onOperation(operation);
      if (name !== undefined && toSealed && error === undefined) sealed.push(name);
      return error;
    },
  });
  const clock = new FakeClock();
  const events: WalEvent[] = [];
  const wal = await openWal({
    fs,
    clock,
    random: new SeededRandom(1),
    root: ROOT,
    eventsMax: 6,
    freeBytesMin: 0,
    onEvent: (event) => events.push(event),
    ...options,
  });
  return { fs, clock, wal, events, sealed };
}

async function rowsOnDisk(fs: CrashableFileSystem): Promise<number[]> {
  const rows: number[] = [];
  const reader = openWalReader(fs, ROOT);
  for (const { name } of await reader.list(LANE, ["active", "sealed"])) {
    await using segment = await reader.open(LANE, name);
    for await (const frame of segment.frames()) rows.push(...rowsOfMessage(frame.message));
  }
  return rows;
}

function kinds(events: readonly WalEvent[]): string[] {
  return events.map((event) => event.kind);
}

const FAILURES: readonly { name: string; message: string; kind: Operation["kind"] }[] = [
  { name: "a write", message: "No space left on device (os error 28)", kind: "write" },
  { name: "a sync", message: "Input/output error (os error 5)", kind: "sync" },
];

Deno.test({
  name: "Wal.append() refuses rows and leaves nothing behind where no segment can be begun",
  async fn() {
    let failing = true;
    const { fs, clock, wal } = await open(({ kind, path }) =>
      failing && kind === "write" && path.includes("/active/")
        ? new Error("No space left on device (os error 28)")
        : undefined
    );
    for (let times = 0; times < 3; times += 1) {
      await assert.rejects(wal.append(LANE, numberedBatch([1]), "wait_for"), {
        code: "unavailable",
        reason: "wal_lane_failed",
        retryAfterSecs: 1,
        message: /os error 28/,
      });
      await clock.advance(60_000); // The probe, which writes elsewhere, lets the lane try again.
    }
    assert.deepEqual(await fs.readDir(`${ROOT}/default/events/active`), []);
    failing = false;
    await wal.append(LANE, numberedBatch([2]), "wait_for");
    await wal.close();
    assert.deepEqual(await rowsOnDisk(fs), [2]);
  },
});

/** `fs` in a process that may have so many files open. */
function withDescriptors(fs: CrashableFileSystem, max: number): FileSystem {
  let open = 0;
  const take = () => {
    if (open >= max) throw new Error("Too many open files (os error 24)");
  };
  return new Proxy<FileSystem>(fs, {
    get(_, name) {
      const value = Reflect.get(fs, name);
      if (typeof value !== "function") return value;
      if (name === "syncDir" || name === "readDir") {
        return async (path: string) => {
          take();
          return await value.call(fs, path);
        };
      }
      if (name !== "create") return value.bind(fs);
      return async (path: string) => {
        take();
        const file = await fs.create(path);
        open += 1;
        const close = file.close.bind(file);
        let isOpen = true;
        file.close = () => {
          if (isOpen) open -= 1;
          isOpen = false;
          close();
        };
        return file;
      };
    },
  });
}

Deno.test({
  name: "a WAL whose lanes have all files open that the process may open takes rows again",
  async fn() {
    const { fs: disk } = await open(() => undefined);
    const clock = new FakeClock();
    const fs = withDescriptors(disk, 8);
    const options = { clock, random: new SeededRandom(2), root: "/data/other", freeBytesMin: 0 };
    const wal = await openWal({ ...options, fs });
    const lanes = Array.from({ length: 12 }, (_, at) => ({ ...LANE, index: `i${at}` }));
    const append = (lane: LaneId, number: number) =>
      wal.append(lane, numberedBatch([number]), "wait_for").then(() => true, () => false);
    const before = await Promise.all(lanes.map((lane, at) => append(lane, at)));
    assert.ok(before.includes(false));
    await clock.advance(120_000);
    for (const [at, lane] of lanes.entries()) {
      assert.equal(await append(lane, 100 + at), true, `lane ${lane.index}`);
      await clock.advance(10_000);
    }
    await wal.close();
  },
});

Deno.test({
  name: "a sync is told when it begins, with how many appends wait for it, and what becomes of it",
  async fn() {
    const held = [1, 2].map(() => Promise.withResolvers<Error | undefined>());
    let syncs = 0;
    const { wal, events, clock } = await open(({ kind, path }) =>
      kind === "sync" && path.includes("/active/") ? held[syncs++]?.promise : undefined
    );
    const syncing = () => events.filter((event) => event.kind === "syncing");
    await wal.append(LANE, numberedBatch([1]), "auto");
    const first = wal.append(LANE, numberedBatch([2]), "wait_for");
    await clock.advance(1);
    const second = wal.append(LANE, numberedBatch([3]), "wait_for");
    const third = wal.append(LANE, numberedBatch([4]), "wait_for");
    await clock.advance(1);
    held[0]?.resolve(undefined);
    await first;
    const failed = Promise.allSettled([second, third]);
    held[1]?.resolve(new Error("Input/output error (os error 5)"));
    assert.deepEqual((await failed).map(({ status }) => status), ["rejected", "rejected"]);
    assert.deepEqual(syncing().map(({ appends }) => appends), [1, 2]);
    const ends = await Promise.allSettled(syncing().map(({ ended }) => ended));
    assert.deepEqual(ends.map(({ status }) => status), ["fulfilled", "rejected"]);
    await wal.close();
  },
});

Deno.test({
  name:
    "Wal.append() to a lane that cannot be made is unavailable, told once, and stores when it can",
  async fn() {
    let failing = true;
    const { fs, wal, events } = await open(({ kind, path }) =>
      failing && kind === "mkdir" && path.includes("/events")
        ? new Error("No space left on device (os error 28)")
        : undefined
    );
    for (let times = 0; times < 3; times += 1) {
      await assert.rejects(wal.append(LANE, numberedBatch([1]), "wait_for"), {
        code: "unavailable",
        reason: "wal_lane_failed",
        retryAfterSecs: 5,
        message: /default\/events: .*os error 28/,
      });
    }
    failing = false;
    await wal.append(LANE, numberedBatch([2]), "wait_for");
    await wal.close();
    assert.deepEqual(await rowsOnDisk(fs), [2]);
    const told = kinds(events).filter((kind) => kind === "failed" || kind === "healed");
    assert.deepEqual(told, ["failed", "healed"]);
  },
});

Deno.test({
  name: "Wal.append() remembers the last 1,000 lanes that cannot be made, and forgets the first",
  async fn() {
    const { wal, events } = await open(({ kind, path }) =>
      kind === "mkdir" && path.includes("/lane-")
        ? new Error("No space left on device (os error 28)")
        : undefined
    );
    const append = (index: string) =>
      assert.rejects(wal.append({ tenant: "default", index }, numberedBatch([1]), "wait_for"), {
        reason: "wal_lane_failed",
      });
    const told = () => kinds(events).filter((kind) => kind === "failed").length;
    for (let lane = 0; lane <= 1_000; lane += 1) await append(`lane-${lane}`);
    assert.equal(told(), 1_001);
    await append("lane-1000");
    await append("lane-1");
    assert.equal(told(), 1_001, "both are remembered");
    await append("lane-0");
    assert.equal(told(), 1_002, "this one was forgotten");
    await wal.close();
  },
});

Deno.test({
  name: "Wal.unreadyReason() names no tenant but the default one: /readyz tells it to whoever asks",
  async fn() {
    let failing = false;
    const { wal } = await open(({ kind }) =>
      failing && kind === "sync" ? new Error("Input/output error (os error 5)") : undefined
    );
    const lane = { tenant: "acme", index: "merger" };
    await wal.append(lane, numberedBatch([1]), "wait_for");
    failing = true;
    await assert.rejects(wal.append(lane, numberedBatch([2]), "wait_for"));
    const reason = await wal.unreadyReason() ?? "";
    assert.match(reason, /WAL lane takes no rows/);
    assert.doesNotMatch(reason, /acme|merger/);
    failing = false;
    await wal.close();
  },
});

for (const { name, message, kind } of FAILURES) {
  Deno.test({
    name: `Wal.append() ${name} that fails is internal, then unavailable until the disk works`,
    async fn() {
      let failing = false;
      const { fs, clock, wal, events } = await open((operation) =>
        failing && operation.kind === kind ? new Error(message) : undefined
      );
      await wal.append(LANE, numberedBatch([1]), "wait_for");
      failing = true;
      await assert.rejects(wal.append(LANE, numberedBatch([2]), "wait_for"), (error) => {
        assert(isOperatingError(error, "internal"));
        assert.match(error.message, /default\/events: .*os error/);
        return true;
      });
      const refused = (error: unknown) => {
        assert(isOperatingError(error, "unavailable"));
        assert(error.retryAfterSecs !== undefined && error.retryAfterSecs >= 1);
        return true;
      };
      await assert.rejects(wal.append(LANE, numberedBatch([3]), "auto"), refused);
      await clock.advance(60_000);
      await assert.rejects(wal.append(LANE, numberedBatch([4]), "wait_for"), refused);
      assert.match(await wal.unreadyReason() ?? "", /WAL lane default\/events: .*os error/);

      failing = false;
      await clock.advance(5_000);
      assert.equal(await wal.unreadyReason(), undefined);
      await wal.append(LANE, numberedBatch([5]), "wait_for");
      const afterwards = fs.reboot("drop", new SeededRandom(2));
      const rows = (await rowsOnDisk(afterwards)).filter((row) => row !== 2);
      assert.deepEqual(rows, [1, 5]);
      assert.deepEqual(kinds(events).filter((kind) => kind === "failed" || kind === "healed"), [
        "failed",
        "healed",
      ]);
    },
  });
}

Deno.test({
  name: "Wal.append() rows of mode auto outlive a failed sync, also when power fails after healing",
  async fn() {
    let failing = false;
    const { fs, clock, wal, events } = await open((operation) =>
      failing && operation.kind === "sync" ? new Error("Input/output error") : undefined
    );
    await wal.append(LANE, numberedBatch([1]), "auto");
    failing = true;
    await assert.rejects(wal.append(LANE, numberedBatch([2]), "wait_for"));
    failing = false;
    await clock.advance(1_000);
    const salvaged = events.filter((event) => event.kind === "salvaged");
    assert.deepEqual(salvaged.map(({ outcome, rows }) => ({ outcome, rows })), [
      { outcome: "sealed", rows: 2 },
    ]);
    assert.deepEqual(await rowsOnDisk(fs.reboot("drop", new SeededRandom(2))), [1, 2]);
  },
});

Deno.test({
  name: "Wal heals only after the sealing that was under way, so that segments stay in order",
  async fn() {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    let syncs = 0;
    let failing = false;
    const { fs, clock, wal, sealed } = await open(({ kind }) => {
      if (kind === "sync" && syncs++ === 0) return promise;
      return failing && kind === "write" ? new Error("EIO") : undefined;
    }, { eventsMax: 2 });
    await wal.append(LANE, numberedBatch([1, 2]), "auto"); // Full: its sealing hangs in the sync.
    await wal.append(LANE, numberedBatch([3]), "auto");
    failing = true;
    await assert.rejects(wal.append(LANE, numberedBatch([4]), "auto"));
    failing = false;
    await clock.advance(60_000);
    assert.deepEqual(sealed, []);
    assert.match(await wal.unreadyReason() ?? "", /EIO/);
    resolve(undefined);
    await clock.advance(60_000);
    assert.equal(sealed.length, 2);
    assert.deepEqual(sealed, [...sealed].sort());
    assert.deepEqual(await rowsOnDisk(fs), [1, 2, 3]);
    await wal.close();
  },
});

/** Appends in both modes, seals and ages; returns what was acknowledged. */
async function work({ wal, clock }: Rig): Promise<Set<number>> {
  const acknowledged = new Set<number>();
  let row = 0;
  const append = async (mode: AckMode) => {
    const own = row++;
    try {
      await wal.append(LANE, numberedBatch([own], { messageBytes: 700 }), mode);
      acknowledged.add(own);
    } catch (error) {
      assert(isOperatingError(error), String(error));
    }
  };
  for (let round = 0; round < 6; round++) {
    await Promise.all([append("auto"), append("wait_for"), append("auto"), append("wait_for")]);
    if (round === 2) await wal.seal(LANE).catch((error) => assert(isOperatingError(error)));
    await clock.advance(round === 4 ? 6_000 : 400);
  }
  return acknowledged;
}

Deno.test({
  name: "Wal an error at any operation loses no acknowledged row and heals by itself",
  async fn() {
    const whole = await open(() => undefined);
    const startAt = whole.fs.operations;
    assert.equal((await work(whole)).size, 24);
    const closeAt = whole.fs.operations;
    await whole.wal.close();

    for (let failAt = startAt; failAt < whole.fs.operations; failAt++) {
      const rig = await open(({ index }) => index === failAt ? new Error("EIO") : undefined);
      const acknowledged = await work(rig);
      if (failAt < closeAt) {
        assert.equal(await rig.wal.unreadyReason(), undefined, `operation ${failAt}: ready again`);
      }
      await rig.wal.close();
      const order = rig.sealed.filter((name, at) => rig.sealed.indexOf(name) === at);
      assert.deepEqual(order, [...order].sort(), `operation ${failAt}: sealed out of order`);
      const machine = rig.fs.reboot("drop", new SeededRandom(failAt));
      await (await openWal({
        fs: machine,
        clock: rig.clock,
        random: new SeededRandom(failAt),
        root: ROOT,
      })).close();
      const rows = await rowsOnDisk(machine);
      assert.equal(new Set(rows).size, rows.length, `operation ${failAt}: a row is there twice`);
      const lost = [...acknowledged].filter((row) => !rows.includes(row));
      assert.deepEqual(lost, [], `operation ${failAt}: lost rows`);
      assert(acknowledged.size >= 16, `operation ${failAt}: ${acknowledged.size} acknowledged`);
    }
  },
});

Deno.test({
  name: "Wal.close() ends after a probe of the root: it leaves no file in the root",
  async fn() {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    let asked = false;
    const { fs, wal } = await open(({ kind, path }) => {
      if (!asked || kind !== "create" || dirname(path) !== ROOT) return undefined;
      return promise;
    });
    asked = true;
    const reason = wal.unreadyReason();
    let isClosed = false;
    const closed = wal.close().then(() => isClosed = true);
    for (let turn = 0; turn < 1_000; turn += 1) await null;
    assert.equal(isClosed, false);
    resolve(undefined);
    await closed;
    const names = (await fs.readDir(ROOT)).map(({ name }) => name);
    await reason;
    assert.deepEqual(names.filter((name) => name.startsWith(".")), []);
  },
});
