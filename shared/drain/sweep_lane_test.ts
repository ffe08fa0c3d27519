import assert from "node:assert/strict";
import { tableOf } from "../tenant/tenant.ts";
import { DrainLab, EVENTS_LANE, numberedGroups } from "../testing/drain_lab.ts";

import { activeKey, packedSegmentKey, segmentKey } from "../wal/mirror/mirror_layout.ts";
import { MirrorConsumerAdmin, openMirrorWalReader } from "../wal/mirror/mirror_wal_reader.ts";
import { isBacklogOver } from "./backlog.ts";
import { packSegment } from "../wal/mirror/packed_segment.ts";
import { applyDrain, type DrainDeps, lookAtLane } from "./drain.ts";
import { DRAIN_GATE_OPEN } from "./plan_drain.ts";
import { RECLAIM_AGE_MS_MIN } from "../wal/mirror/reclaim_mirror.ts";
import { sweepLane, sweepMirror } from "./sweep_lane.ts";

const PREFIX = "wal-mirror";
const FLOOR_MS = 61_000;

Deno.test({
  name:
    "sweepLane takes segments out of the way that a drain elsewhere committed, and its copies with them",
  async fn() {
    await using lab = await DrainLab.open();
    const names = await sealAndMirror(lab);
    await drainAll(remoteOf(lab));
    const local = { ...lab.deps, mirrorPrefix: PREFIX };
    assert.equal(await sweepLane(local, EVENTS_LANE), 0, "kept for readers that listed them");
    assert.equal((await lab.deps.wal.list(EVENTS_LANE, ["committed"])).length, names.length);
    lab.clock.shift(FLOOR_MS);
    assert.equal(await sweepLane(local, EVENTS_LANE), names.length);
    assert.deepEqual(await remoteOf(lab).wal.list(EVENTS_LANE, ["sealed"]), []);
    assert.deepEqual(await lab.catalog.consumedOf(names), new Set(names), "for ever");
    assert.deepEqual(await lab.visibleNumbers(), numberedGroups(1, 6).flat());
  },
});

Deno.test({
  name:
    "a sweep that ends before its mirror is empty goes on later: a remote drain in between adds nothing",
  async fn() {
    await using lab = await DrainLab.open();
    const names = await sealAndMirror(lab);
    const local = { ...lab.deps, mirrorPrefix: PREFIX };
    await drainAll(local);
    lab.clock.shift(FLOOR_MS);
    // Power is cut after each step of the sweep in turn: a remote drain comes then.
    const store = local.store;
    const cut = { delete: () => Promise.reject(new Error("the store is gone")) };
    await assert.rejects(sweepLane({ ...local, store: { ...bound(store), ...cut } }, EVENTS_LANE));
    assert.equal((await lab.catalog.consumedOf(names)).size, names.length);
    await drainAll(remoteOf(lab));
    assert.deepEqual(await lab.tableNumbers(), numberedGroups(1, 6).flat());
    assert.equal((await lab.deps.wal.list(EVENTS_LANE, ["committed"])).length, names.length);
    assert.equal(await sweepLane(local, EVENTS_LANE), names.length, "the next one makes up for it");
    assert.deepEqual(await remoteOf(lab).wal.list(EVENTS_LANE, ["sealed"]), []);
  },
});

Deno.test({
  name:
    "sweepMirror removes objects of a machine that is gone, once their rows are committed and they are old, and no others",
  async fn() {
    await using lab = await DrainLab.open();
    const names = await sealAndMirror(lab);
    const { store } = lab.deps;
    const [first = ""] = names;
    const lone = activeKey(PREFIX, EVENTS_LANE, first, 10);
    await store.putNew(lone, new Uint8Array(10));
    const remote = { ...remoteOf(lab), mirrorPrefix: PREFIX };
    const keysThere = () => Array.fromAsync(store.list(`${PREFIX}/`), ({ key }) => key);
    const before = await keysThere();
    // The store has a clock of its own.
    const { modifiedMs } = await store.head(lone);
    lab.clock.shift(modifiedMs - lab.clock.nowMs() + RECLAIM_AGE_MS_MIN - 60_000);
    assert.equal(await sweepMirror(remote), 0, "nothing is committed");
    await drainAll(remote);
    await lab.seal([[7]]);
    const sealed = await lab.deps.wal.list(EVENTS_LANE, ["sealed"]);
    const another = sealed.find(({ name }) => !names.includes(name))?.name ?? "";
    const waiting = segmentKey(PREFIX, EVENTS_LANE, another);
    await store.putNew(waiting, new Uint8Array(10));
    assert.equal(await sweepMirror(remote), 0, "they are young");
    lab.clock.shift(2 * RECLAIM_AGE_MS_MIN);
    assert.equal(await sweepMirror(remote), before.length);
    assert.deepEqual(await keysThere(), [waiting], "not committed");
    assert.deepEqual(await lab.catalog.consumedOf(names), new Set(names));

    // The machine comes back with its disk: what it mirrors again is nothing new.
    for (const name of names) {
      await store.putNew(segmentKey(PREFIX, EVENTS_LANE, name), new Uint8Array(10));
    }
    await store.delete([waiting]);
    await drainAll(remote);
    assert.deepEqual(await lab.tableNumbers(), numberedGroups(1, 6).flat());
  },
});

Deno.test({
  name:
    "isBacklogOver counts segments of the mirror until a table holds them, not until they are swept",
  async fn() {
    await using lab = await DrainLab.open();
    await sealAndMirror(lab);
    const remote = remoteOf(lab);
    assert.ok(await isBacklogOver(1_000, remote.wal, lab.catalog));
    await drainAll(remote);
    assert.equal((await remote.wal.list(EVENTS_LANE, ["sealed"])).length, 2);
    assert.equal(await isBacklogOver(0, remote.wal, lab.catalog), false);
  },
});

Deno.test({
  name: "sweepLane of a drain without the WAL volume does nothing",
  async fn() {
    await using lab = await DrainLab.open();
    await sealAndMirror(lab);
    const remote = remoteOf(lab);
    const claiming = { claims: undefined as never, claimant: "x", leaseMs: 1, attemptsMax: 1 };
    assert.equal(await sweepLane({ ...remote, claiming }, EVENTS_LANE), 0);
    assert.equal(await lab.catalog.metadataLocation(tableOf(EVENTS_LANE)), undefined);
  },
});

/** Two sealed segments of three rows, each with a copy in the mirror; their names. */
async function sealAndMirror(lab: DrainLab): Promise<string[]> {
  await lab.seal(numberedGroups(2, 3));
  const sealed = await lab.deps.wal.list(EVENTS_LANE, ["sealed"]);
  for (const [at, { name }] of sealed.entries()) {
    const bytes = await lab.fs.readFile(`/data/wal/default/events/sealed/${name}`);
    if (at === 0) await lab.deps.store.putNew(segmentKey(PREFIX, EVENTS_LANE, name), bytes);
    else {
      const packed = packSegment(bytes);
      const key = packedSegmentKey(PREFIX, EVENTS_LANE, name, packed);
      await lab.deps.store.putNew(key, packed.object);
    }
  }
  return sealed.map(({ name }) => name);
}

/** A drain that sees the mirror only. */
function remoteOf(lab: DrainLab): DrainDeps {
  const { deps } = lab;
  return {
    ...deps,
    wal: openMirrorWalReader(deps.store, PREFIX),
    admin: new MirrorConsumerAdmin(),
  };
}

function bound(store: DrainDeps["store"]): DrainDeps["store"] {
  return {
    rootUri: store.rootUri,
    get: (key) => store.get(key),
    getRange: (key, offset, length) => store.getRange(key, offset, length),
    head: (key) => store.head(key),
    list: (prefix) => store.list(prefix),
    localPath: (key) => store.localPath(key),
    putNew: (key, bytes) => store.putNew(key, bytes),
    delete: (keys) => store.delete(keys),
  };
}

async function drainAll(deps: DrainDeps): Promise<void> {
  for (;;) {
    const plan = await lookAtLane(deps, EVENTS_LANE, { gate: DRAIN_GATE_OPEN, requested: true });
    if (await applyDrain(deps, EVENTS_LANE, plan) === "idle") return;
  }
}
