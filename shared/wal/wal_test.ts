import assert from "node:assert/strict";
import { tenantNameFault } from "../auth/tenant_claim.ts";
import { isOperatingError } from "../base/errors.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { LaneId } from "../tenant/tenant.ts";
import {
  CrashableFileSystem,
  type CrashableOptions,
  type Operation,
} from "../testing/crashable_file_system.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { numberedBatch, rowsOfMessage } from "../testing/numbered_rows.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { openWalConsumerAdmin } from "./admin.ts";
import { ordinalOfSegmentName } from "./layout.ts";
import { activeLanePrefix } from "./mirror/mirror_layout.ts";
import { openWalReader } from "./reader.ts";
import type { SegmentState } from "./types.ts";
import { openWal, type WalOptions } from "./wal.ts";

const ROOT = "/data/wal";
const LANE: LaneId = { tenant: "default", index: "events" };

async function open(machine: CrashableOptions = {}, options: Partial<WalOptions> = {}) {
  const fs = new CrashableFileSystem(machine);
  const clock = new FakeClock();
  const random = new SeededRandom(1);
  const wal = await openWal({ fs, clock, random, root: ROOT, freeBytesMin: 0, ...options });
  return { fs, clock, wal };
}

async function segments(fs: CrashableFileSystem, ...states: SegmentState[]): Promise<number[][]> {
  const reader = openWalReader(fs, ROOT);
  const found: number[][] = [];
  for (const { name } of await reader.list(LANE, states)) {
    await using segment = await reader.open(LANE, name);
    const rows: number[] = [];
    for await (const frame of segment.frames()) rows.push(...rowsOfMessage(frame.message));
    found.push(rows);
  }
  return found;
}

/** Lets everything happen that needs no clock. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Holds the operations that `match`, until `release`. */
function gate(match: (operation: Operation) => boolean) {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return {
    onOperation: (operation: Operation) => match(operation) ? promise : undefined,
    release: () => resolve(undefined),
  };
}

const ACKNOWLEDGEMENTS = [
  { held: "the data's sync", match: (o: Operation) => o.kind === "sync" },
  {
    held: "the sync of its name",
    match: (o: Operation) => o.kind === "syncDir" && o.path.endsWith("/active"),
  },
];

for (const { held, match } of ACKNOWLEDGEMENTS) {
  Deno.test({
    name: `Wal.append() auto does not wait for ${held}, wait_for does`,
    async fn() {
      const held = gate(match);
      const { wal, fs } = await open(held);
      const receipt = await wal.append(LANE, numberedBatch([1]), "auto");
      let durable = false;
      const waiting = wal.append(LANE, numberedBatch([2]), "wait_for").then((receipt) => {
        durable = true;
        return receipt;
      });
      await settle();
      assert.equal(durable, false);
      assert.deepEqual(await segments(fs, "active"), [[1, 2]]);
      held.release();
      assert.deepEqual(await waiting, receipt);
      await wal.close();
    },
  });
}

Deno.test({
  name: "Wal.append() one sync serves every append that was written before it",
  async fn() {
    let syncs = 0;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { wal } = await open({
      onOperation: ({ kind }) => kind === "sync" && syncs++ === 0 ? promise : undefined,
    });
    const first = wal.append(LANE, numberedBatch([0]), "wait_for");
    await settle();
    const others = [];
    for (let row = 1; row <= 20; row++) {
      others.push(wal.append(LANE, numberedBatch([row]), "wait_for"));
      await settle();
    }
    assert.equal(syncs, 1);
    resolve(undefined);
    await Promise.all([first, ...others]);
    assert.equal(syncs, 2);
    await wal.close();
  },
});

Deno.test({
  name:
    "Wal.append() lets a full segment take what arrives until its sync, up to 16 times its size",
  async fn() {
    let syncs = 0;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { wal, fs } = await open({
      onOperation: ({ kind }) => kind === "sync" && syncs++ === 0 ? promise : undefined,
    }, { eventsMax: 4 });
    const appends = [];
    for (let row = 0; row < 68; row++) {
      appends.push(wal.append(LANE, numberedBatch([row]), "wait_for"));
      await settle();
    }
    resolve(undefined);
    await Promise.all(appends);
    await settle();
    const rows = Array.from({ length: 68 }, (_, row) => row);
    assert.deepEqual(await segments(fs, "sealed"), [rows.slice(0, 64), rows.slice(64)]);
    await wal.close();
  },
});

Deno.test({
  name: "Wal.append() rolls a full segment once it is ageMsMin old, with or without another append",
  async fn() {
    const { wal, fs, clock } = await open({}, { eventsMax: 4, ageMsMin: 100 });
    for (let row = 0; row < 6; row++) await wal.append(LANE, numberedBatch([row]), "wait_for");
    await clock.advance(99);
    await settle();
    assert.deepEqual(await segments(fs, "sealed"), []);
    await clock.advance(1);
    await settle();
    assert.deepEqual(await segments(fs, "sealed"), [[0, 1, 2, 3, 4, 5]]);

    await wal.append(LANE, numberedBatch([6]), "wait_for");
    await clock.advance(150);
    for (let row = 7; row < 11; row++) await wal.append(LANE, numberedBatch([row]), "wait_for");
    await settle();
    assert.deepEqual(await segments(fs, "sealed"), [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9]]);
    await wal.close();
  },
});

Deno.test({
  name: "Wal.append() rolls after eventsMax rows, also when the next segment was made ahead",
  async fn() {
    const { wal, fs } = await open({}, { eventsMax: 4 });
    for (let row = 0; row < 10; row++) await wal.append(LANE, numberedBatch([row]), "wait_for");
    await settle();
    assert.deepEqual(await segments(fs, "sealed"), [[0, 1, 2, 3], [4, 5, 6, 7]]);
    assert.deepEqual((await segments(fs, "active")).flat(), [8, 9]);
    await wal.close();
    assert.deepEqual((await segments(fs, "sealed")).at(-1), [8, 9]);
    assert.deepEqual(await segments(fs, "active"), []);
  },
});

Deno.test({
  name: "Wal.append() rolls by the age of the first row; a segment without rows is never sealed",
  async fn() {
    const { wal, fs, clock } = await open({}, { ageSecsMax: 5 });
    await wal.append(LANE, numberedBatch([1]), "wait_for");
    await clock.advance(4_900);
    await wal.append(LANE, numberedBatch([2]), "auto");
    assert.deepEqual(await segments(fs, "sealed"), []);
    await clock.advance(200);
    assert.deepEqual(await segments(fs, "sealed"), [[1, 2]]);
    await clock.advance(60_000);
    assert.equal(await wal.seal(LANE), undefined);
    assert.deepEqual(await segments(fs, "active", "sealed"), [[1, 2]]);
    assert.equal(clock.sleepers, 0);
    await wal.close();
  },
});

Deno.test({
  name: "Wal.append() rolls when the schema changes, and only then",
  async fn() {
    const { wal, fs } = await open();
    const other = { schema: EVENTS_SCHEMA };
    const same = { schema: structuredClone(EVENTS_SCHEMA) };
    await wal.append(LANE, numberedBatch([1]), "auto");
    await wal.append(LANE, numberedBatch([2], other), "auto");
    await wal.append(LANE, numberedBatch([3], same), "auto");
    await wal.close();
    assert.deepEqual(await segments(fs, "sealed"), [[1], [2, 3]]);
  },
});

Deno.test({
  name:
    "Wal numbers sealed segments of all lanes without a gap, also where one made ahead was not used",
  async fn() {
    const { wal, fs } = await open({}, { eventsMax: 4 });
    const lanes = [LANE, { tenant: "acme", index: "web" }];
    for (let at = 0; at < 24; at++) {
      // Two rows, after which the next segment is made; then rows of another schema, which it is
      // not for.
      const schema = at % 4 < 2 ? {} : { schema: EVENTS_SCHEMA };
      await wal.append(lanes[at % 3 === 0 ? 1 : 0] ?? LANE, numberedBatch([at], schema), "auto");
      await settle();
    }
    await wal.close();
    const listed = await Promise.all(
      lanes.map((lane) => openWalReader(fs, ROOT).list(lane, ["sealed"])),
    );
    const ordinals = listed.flat().map(({ name }) => ordinalOfSegmentName(name));
    assert.equal(new Set(ordinals.map((ordinal) => ordinal?.writer)).size, 1);
    const numbers = ordinals.map((ordinal) => ordinal?.number ?? NaN).sort((a, b) => a - b);
    assert.deepEqual(numbers, Array.from(numbers, (_, at) => at));
    assert.ok(numbers.length > 8, `${numbers.length} segments`);
  },
});

Deno.test({
  name: "Wal.seal() names the segment that the receipts named, whenever it comes between appends",
  async fn() {
    for (let turns = 0; turns < 60; turns++) {
      const { wal, fs } = await open();
      const first = await wal.append(LANE, numberedBatch([1]), "auto");
      const second = wal.append(LANE, numberedBatch([2]), "wait_for");
      for (let turn = 0; turn < turns; turn++) await null;
      assert.equal(await wal.seal(LANE), first.segment);
      await second;
      await wal.close();
      assert.deepEqual((await segments(fs, "sealed")).flat(), [1, 2]);
    }
  },
});

Deno.test({
  name: "openWal() refuses a root that is open, and takes it once it was closed",
  async fn() {
    const { wal, fs, clock } = await open();
    const again = () => openWal({ fs, clock, random: new SeededRandom(2), root: ROOT });
    await assert.rejects(again(), (error) => {
      assert(isOperatingError(error, "conflict"));
      assert.match(error.message, /\/data\/wal\/LOCK.*stop that ingest server/);
      return true;
    });
    await wal.close();
    await (await again()).close();
  },
});

Deno.test({
  name: "openWal() says when it cannot use the root",
  async fn() {
    await assert.rejects(
      open({ onOperation: ({ kind }) => kind === "mkdir" ? new Error("read-only") : undefined }),
      (error) =>
        isOperatingError(error, "unavailable") && /\/data\/wal: read-only/.test(error.message),
    );
  },
});

Deno.test({
  name: "Wal refuses below the free-space floor, says so, and takes rows again above it",
  async fn() {
    let free = 1000;
    const { wal, clock } = await open({ freeBytes: () => free }, { freeBytesMin: 600 });
    assert.equal(await wal.unreadyReason(), undefined);
    await wal.append(LANE, numberedBatch([1], { messageBytes: 400 }), "wait_for");
    await assert.rejects(wal.append(LANE, numberedBatch([2]), "wait_for"), (error) => {
      assert(isOperatingError(error, "unavailable") && error.retryAfterSecs === 5);
      return true;
    });
    free = 500;
    assert.match(
      await wal.unreadyReason() ?? "",
      /500 B are free on its disk, 600 B must stay free/,
    );
    free = 2000;
    await clock.advance(1_001);
    assert.equal(await wal.unreadyReason(), undefined);
    await wal.append(LANE, numberedBatch([3]), "wait_for");
    await wal.close();
  },
});

Deno.test({
  name: "Wal leaves nothing in its root that a tenant could be called, or in its mirror's",
  async fn() {
    const { fs, wal } = await open();
    await wal.append(LANE, numberedBatch([1]), "wait_for");
    await wal.requestDrain(LANE);
    assert.equal(await wal.unreadyReason(), undefined);
    const entries = (await fs.readDir(ROOT)).map(({ name }) => name).sort();
    assert.deepEqual(entries, ["LOCK", LANE.tenant, "drain_bell"].sort());
    const active = activeLanePrefix("mirror", LANE).split("/")[1] ?? "";
    for (const name of [...entries.filter((name) => name !== LANE.tenant), active]) {
      assert.notEqual(tenantNameFault(name), undefined, name);
    }
    await wal.close();
  },
});

Deno.test({
  name: "Wal.requestDrain() is taken once",
  async fn() {
    const { wal, fs, clock } = await open();
    const admin = openWalConsumerAdmin(fs, clock, ROOT);
    assert.equal(await admin.takeDrainRequest(LANE), false);
    await wal.requestDrain(LANE);
    await wal.requestDrain(LANE);
    assert.equal(await admin.takeDrainRequest(LANE), true);
    assert.equal(await admin.takeDrainRequest(LANE), false);
    await wal.close();
  },
});

Deno.test({
  name: "Wal.append() after close is refused, and close seals what was written",
  async fn() {
    const { wal, fs } = await open();
    await wal.append(LANE, numberedBatch([1]), "auto");
    const pending = wal.append(LANE, numberedBatch([2]), "wait_for");
    const closed = wal.close();
    await assert.rejects(
      wal.append(LANE, numberedBatch([3]), "auto"),
      (error) => isOperatingError(error, "unavailable"),
    );
    await Promise.all([pending, closed, wal.close()]);
    assert.deepEqual(await segments(fs, "sealed"), [[1, 2]]);
    assert.match(await wal.unreadyReason() ?? "", /is closed/);
  },
});

Deno.test({
  name: "openWal() sorts new segments behind those that are there, although the clock stepped back",
  async fn() {
    const { wal, fs, clock } = await open();
    await wal.append(LANE, numberedBatch([1]), "auto");
    await wal.close();
    const past = new FakeClock(clock.nowMs() - 3_600_000);
    const random = new SeededRandom(0);
    const next = await openWal({ fs, clock: past, random, root: ROOT });
    await next.append(LANE, numberedBatch([2]), "auto");
    await next.close();
    assert.deepEqual(await segments(fs, "sealed"), [[1], [2]]);
  },
});
