/** What the sweeps of tables cost where nothing is to do, and that they see what is to do. */

import assert from "node:assert/strict";
import { NS_PER_DAY } from "../base/time.ts";
import { ensureTable } from "../iceberg/commit_append.ts";
import { OperatingError } from "../base/errors.ts";
import { SystemClock } from "../os/clock.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { EXPIRE_POLICY_DEFAULT, REMOVAL_GRACE_MS } from "../tables/expire.ts";
import { commitDeletes } from "../testing/foreign_deletes.ts";
import { RoomKeepingStore } from "../storage/room_keeping_store.ts";
import { MaintenanceLab } from "../testing/maintenance_lab.ts";
import { SleeplessClock } from "../testing/sleepless_clock.ts";
import { EVENTS } from "../testing/table_lab.ts";
import { until } from "../testing/until.ts";
import type { MaintenanceObserver } from "./maintenance_observer.ts";
import { startScrubLoop } from "./scrub_loop.ts";
import { scrubTable } from "./scrub_table.ts";
import { tableSweeps } from "./table_sweeps.ts";

const DAY = 20_777;
const START_NS = BigInt(DAY) * NS_PER_DAY;
const NEVER = new AbortController().signal;

function append(lab: MaintenanceLab, first: number): Promise<void> {
  return lab.append(
    Array.from({ length: 3 }, (_, at) => ({
      number: first + at,
      ns: START_NS + BigInt(first + at) * 1_000_000_000n,
    })),
  );
}

Deno.test({
  name: "sweeps take no lease of a table of which nothing is to do, and see what is to do",
  async fn() {
    await using lab = await MaintenanceLab.open(1);
    let leases = 0;
    const gate = (call: string) => void (call === "before take" && (leases += 1));
    const sweeps = tableSweeps(lab.deps({ gate }), {
      expire: EXPIRE_POLICY_DEFAULT,
      summariesIntervalMs: 900_000,
    });
    const often = sweeps.filter(({ intervalMs }) => intervalMs <= 300_000);
    assert.deepEqual(
      often.map(({ name }) => name),
      ["deletes", "retention", "expire", "merge", "rollups"],
    );
    const sweep = async () => {
      leases = 0;
      for (const one of often) while (await one.run(EVENTS, NEVER));
      return leases;
    };

    await append(lab, 0);
    await sweep();
    assert.equal(await sweep(), 0);

    await append(lab, 10);
    lab.clock.shift(EXPIRE_POLICY_DEFAULT.ageMsMin);
    assert.ok(await sweep() > 0);
    assert.equal((await lab.table())?.metadata.snapshots.length, 1);
    const before = (await lab.keys()).length;
    lab.clock.shift(REMOVAL_GRACE_MS);
    await sweep();
    assert.ok((await lab.keys()).length < before, "the list of the expired snapshot went");

    await commitDeletes(lab.deps(), EVENTS, [{
      kind: "equality",
      day: DAY,
      columns: ["raw"],
      rows: [{ raw: "11" }],
    }]);
    await sweep();
    const numbers = (await lab.rows()).map(({ number }) => number);
    assert.deepEqual(numbers, [0, 1, 2, 10, 12]);
  },
});

Deno.test({
  name: "sweeps remove files that are due although nothing can be written, as on a full disk",
  async fn() {
    await using lab = await MaintenanceLab.open(1);
    const sweepsOf = (deps: ReturnType<MaintenanceLab["deps"]>) =>
      tableSweeps(deps, { expire: EXPIRE_POLICY_DEFAULT, summariesIntervalMs: 900_000 });
    const expire = (deps: ReturnType<MaintenanceLab["deps"]>) =>
      sweepsOf(deps).find(({ name }) => name === "expire")?.run(EVENTS, NEVER);
    await append(lab, 0);
    await append(lab, 10);
    lab.clock.shift(EXPIRE_POLICY_DEFAULT.ageMsMin);
    await expire(lab.deps());
    await append(lab, 20);
    lab.clock.shift(EXPIRE_POLICY_DEFAULT.ageMsMin);
    const before = (await lab.keys()).length;

    const isFull = (call: string) => {
      if (call === "before putNew") throw new Error("No space left on device (os error 28)");
    };
    // A snapshot is to expire, too, whose metadata cannot be written.
    await assert.rejects(async () => await expire(lab.deps({ gate: isFull })), /os error 28/);
    assert.ok((await lab.keys()).length < before);
    assert.equal((await lab.table())?.metadata.snapshots.length, 2);
  },
});

Deno.test({
  name: "merges wait while the disk has little room, and retention does not",
  async fn() {
    await using lab = await MaintenanceLab.open(1);
    for (let file = 0; file < 8; file += 1) await append(lab, 10 * file);
    const deps = lab.deps();
    const roomKeeping = new RoomKeepingStore(
      deps.store,
      () => Promise.resolve({ freeBytes: 0, bytes: 1e9 }),
    );
    const retained = { index: { config: { retention: { period_secs: 1 } } } };
    const catalog = new Proxy(deps.catalog, {
      get: (target, name) =>
        name === "indexState" ? () => Promise.resolve(retained) : Reflect.get(target, name),
    });
    const sweeps = tableSweeps({ ...deps, catalog, roomKeeping }, {
      expire: EXPIRE_POLICY_DEFAULT,
      summariesIntervalMs: 900_000,
    });
    const run = async (wanted: string) => {
      await sweeps.find(({ name }) => name === wanted)?.run(EVENTS, NEVER);
    };
    await assert.rejects(run("merge"), { reason: "warehouse_disk_full" });

    await run("retention");
    assert.deepEqual(await lab.rows(), []);
  },
});

Deno.test({
  name: "the scrub of many tables lists each of them a few times, not as often as there are tables",
  async fn() {
    await using lab = await MaintenanceLab.open(1);
    const names = Array.from({ length: 12 }, (_, at) => `t${at}`);
    for (const name of names) {
      await ensureTable(lab.deps(), { ident: { ...EVENTS, name }, schema: EVENTS_SCHEMA });
    }
    let lists = 0;
    const { store } = lab.deps();
    const counted = new Proxy(store, {
      get(_, name) {
        if (name === "list") lists += 1;
        return Reflect.get(store, name);
      },
    });
    const { scrubs } = lab.kept;
    const deps = { ...lab.deps(), store: counted, scrubs, clock: new SystemClock() };
    const loop = startScrubLoop(deps, { periodMs: 1e9, bytesPerSecMax: 1e9 });
    try {
      await until(async () => (await scrubs.passes()).size === names.length);
    } finally {
      await loop[Symbol.asyncDispose]();
    }
    assert.ok(lists <= 4 * names.length, `${lists} lists of ${names.length} tables`);
  },
});

Deno.test({
  name:
    "a scrub that fails is told as a sweep that does not get on, until it or another is through",
  async fn() {
    for (const isMendedByAnother of [false, true]) {
      await using lab = await MaintenanceLab.open(1);
      await append(lab, 0);
      const { scrubs } = lab.kept;
      const clock = new UnrenewedClock();
      let isAway = true;
      const told: string[] = [];
      const gate = (call: string) => {
        if (!isAway || call !== "before head") return;
        throw new OperatingError("unavailable", "away", { reason: "object_store_silent" });
      };
      const startMs = clock.nowMs();
      const observer: MaintenanceObserver = {
        failed: (_, sweep) => void told.push(`${sweep} failed`),
        stalled(_, sweep, stall) {
          told.push(`${sweep} ${stall?.why} ${stall && stall.sinceMs - startMs < 1_000}`);
          if (told.length < 4) return;
          if (!isMendedByAnother) isAway = false;
          else scrubTable({ ...lab.deps(), scrubs, clock }, EVENTS, { signal: NEVER });
        },
      };
      const deps = { ...lab.deps({ gate, observer }), scrubs, clock };
      await using _loop = startScrubLoop(deps, { periodMs: 1e9, bytesPerSecMax: 1e9 });
      await until(() => told.at(-1) === "scrub undefined undefined");
      const failed = ["scrub failed", "scrub object_store_silent true"];
      assert.deepEqual(told.slice(0, 4), [...failed, ...failed]);
    }
  },
});

const RENEWAL_MS = 5_000;

/** Sleeps pass at once, but for those between renewals of a lease, which never do. */
class UnrenewedClock extends SleeplessClock {
  override async sleep(ms: number, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve));
    signal?.throwIfAborted();
    if (ms !== RENEWAL_MS) return await super.sleep(ms);
    await new Promise((resolve) => signal?.addEventListener("abort", resolve, { once: true }));
    signal?.throwIfAborted();
  }
}
