import assert from "node:assert/strict";
import { present } from "../base/assert.ts";
import { isOperatingError, OperatingError } from "../base/errors.ts";
import type { Catalog, TableCommit } from "../catalog/catalog.ts";
import { encodeBatch } from "../columns/ipc.ts";
import { batchOfRows, rowsOf } from "../columns/rows.ts";
import { isFullFile } from "../iceberg/locations.ts";
import { parseFooter } from "../parquet/footer.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { parseIndexConfig } from "../schema/index_config.ts";
import { readSidecar } from "../derived/sidecar.ts";
import { type LaneId, tableOf } from "../tenant/tenant.ts";
import { batchOf, DrainLab, EVENTS_LANE, numberedGroups } from "../testing/drain_lab.ts";
import { applyDrain, type DrainDeps, lookAtLane } from "./drain.ts";
import type { LaneLag } from "./drain_observer.ts";
import { sweepLane } from "./sweep_lane.ts";
import { drainAll } from "./drain_all.ts";
import { DRAIN_GATE_OPEN } from "./plan_drain.ts";

const RETENTION_MS = 61_000;
const WEB_LANE = { tenant: "acme", index: "web" };

/** A catalog in which all indexes are configured, and are indexed by the drain or later. */
function withIndex(catalog: Catalog, indexAtFlush: boolean): Catalog {
  const config = parseIndexConfig({
    index_id: WEB_LANE.index,
    doc_mapping: { field_mappings: [{ name: "timestamp", type: "datetime", required: true }] },
    index_at_flush: indexAtFlush,
  });
  return overriding(catalog, {
    indexState: () => Promise.resolve({ index: { config, etag: "1" }, epoch: 0 }),
  });
}

/** Seals `rows` rows of one day, each with a text of `rowBytes`. */
async function sealLarge(lab: DrainLab, rows: number, rowBytes: number): Promise<void> {
  const wal = await lab.openWal();
  const [row] = rowsOf(batchOf([0]));
  const perRequest = 20;
  for (let first = 0; first < rows; first += perRequest) {
    const texts = Array.from({ length: perRequest }, (_, at) => `${first + at}`);
    const batch = texts.map((text) => ({ ...row, raw: text.padEnd(rowBytes, "x") }));
    await wal.append(WEB_LANE, encodeBatch(batchOfRows(EVENTS_SCHEMA, batch)), "wait_for");
  }
  await wal.seal(WEB_LANE);
  await wal.close();
}

Deno.test({
  name: "drainAll puts every sealed row into the table, and moves the segments",
  async fn() {
    await using lab = await DrainLab.open();
    await lab.seal(numberedGroups(4, 25));
    const totals = await drainAll(lab.deps);
    // 25 rows are written on two days.
    const { secs: _, ...counts } = totals;
    assert.deepEqual(counts, {
      lanes: 1,
      rows: 100,
      files: 2,
      commits: 1,
      poisoned: 0,
      failures: [],
    });
    assert.deepEqual(await lab.tableNumbers(), numberedGroups(1, 100).flat());
    assert.deepEqual((await lab.deps.wal.list(EVENTS_LANE, ["sealed"])).length, 0);
    assert.deepEqual((await lab.deps.wal.list(EVENTS_LANE, ["committed"])).length, 4);
  },
});

Deno.test({
  name: "drainAll fills each lane's own table, and a failing lane does not keep the others",
  async fn() {
    await using lab = await DrainLab.open();
    const other = { tenant: "acme", index: "web.logs" };
    await lab.seal([[1, 2]]);
    await lab.seal([[3]], other);
    const broken = new OperatingError("unavailable", "no such disk");
    const deps = { ...lab.deps, catalog: failing(lab.catalog, "consumedOf", () => broken) };
    const failed = await drainAll(deps);
    assert.deepEqual(failed.failures.map(({ error }) => error), [broken, broken]);
    await drainAll(lab.deps);
    assert.deepEqual(await lab.tableNumbers(), [1, 2]);
    assert.deepEqual(await lab.tableNumbers(other), [3]);
    assert.deepEqual(await lab.catalog.namespaces(), ["acme", "svc"]);
  },
});

Deno.test({
  name: "applyDrain takes back the table it made for an index that was dropped meanwhile",
  async fn() {
    await using lab = await DrainLab.open();
    const lane = { tenant: "acme", index: "web" };
    await lab.seal([[1, 2]], lane);
    let epoch = 0;
    const catalog = overriding(lab.catalog, {
      indexState: () => Promise.resolve({ index: undefined, epoch }),
      commit: async (change: TableCommit) => {
        const outcome = await lab.catalog.commit(change);
        // The table is there; before its first rows are, the index is dropped, as it was before the
        // table.
        epoch = 1;
        return outcome;
      },
    });
    const deps = { ...lab.deps, catalog };
    const options = { gate: DRAIN_GATE_OPEN, requested: true };
    const plan = await lookAtLane(deps, lane, options);
    assert.equal(await applyDrain(deps, lane, plan), "overtaken");
    assert.equal(await lab.catalog.metadataLocation(tableOf(lane)), undefined);
    assert.deepEqual(await Array.fromAsync(lab.deps.store.list("acme/")), []);
    const again = await lookAtLane(deps, lane, options);
    assert.equal(await applyDrain(deps, lane, again), "discarded");
  },
});

Deno.test({
  name: "applyDrain indexes words and values as it goes, or counts alone where the index says so",
  async fn() {
    const table: [indexAtFlush: boolean, types: RegExp[]][] = [
      [true, [/^svc-words-/, /^svc-values-/, /^svc-summary-/]],
      [false, [/^svc-summary-/]],
    ];
    for (const [indexAtFlush, types] of table) {
      await using lab = await DrainLab.open();
      await lab.seal(numberedGroups(1, 1), WEB_LANE);
      const deps = { ...lab.deps, catalog: withIndex(lab.catalog, indexAtFlush) };
      const plan = await lookAtLane(deps, WEB_LANE, { gate: DRAIN_GATE_OPEN, requested: true });
      assert.equal(await applyDrain(deps, WEB_LANE, plan), "committed");
      const [key] = await lab.tableFiles(tableOf(WEB_LANE));
      const sidecar = present(await readSidecar(lab.deps.store, { key: present(key), rows: 1 }));
      const isThere = (type: RegExp) => sidecar.blobs.some((blob) => type.test(blob.type));
      assert.ok(types.every(isThere), JSON.stringify(sidecar.blobs));
      assert.equal(isThere(/^svc-(words|values)-/), indexAtFlush);
    }
  },
});

Deno.test({
  name: "applyDrain divides a large commit into even full files, which no merge takes up",
  async fn() {
    const rowBytes = 64 * 1024;
    const table: [what: string, rows: number, indexAtFlush: boolean, full: boolean[]][] = [
      ["three times the least of a full file", 1_400, true, [true, true, true]],
      ["less than a full file", 200, true, [false]],
      ["without indexes", 1_400, false, [false, false, false]],
    ];
    for (const [what, rows, indexAtFlush, full] of table) {
      await using lab = await DrainLab.open();
      await sealLarge(lab, rows, rowBytes);
      const deps = { ...lab.deps, catalog: withIndex(lab.catalog, indexAtFlush) };
      const plan = await lookAtLane(deps, WEB_LANE, { gate: DRAIN_GATE_OPEN, requested: true });
      assert.equal(await applyDrain(deps, WEB_LANE, plan), "committed", what);
      const keys = await lab.tableFiles(tableOf(WEB_LANE));
      assert.deepEqual(keys.map(isFullFile), full, what);
      const footers = keys.map(async (key) => parseFooter(await lab.deps.store.get(key), key));
      const counts = (await Promise.all(footers)).map((footer) => footer.rows);
      assert.equal(counts.reduce((sum, count) => sum + count, 0), rows, what);
      assert.ok(Math.max(...counts) - Math.min(...counts) <= 40, `${what}: ${counts}`);
    }
  },
});

Deno.test({
  name: "applyDrain takes one commit's worth at a time and says that more waits",
  async fn() {
    await using lab = await DrainLab.open();
    await lab.seal(numberedGroups(3, 10));
    const { wal } = lab.deps;
    const sealed = await wal.list(EVENTS_LANE, ["sealed"]);
    const sizes = await Promise.all(sealed.map((segment) => wal.messageBytes(segment)));
    const gate = { ...DRAIN_GATE_OPEN, commitBytesMax: (sizes[0] ?? 0) + (sizes[1] ?? 0) };
    const first = await lookAtLane(lab.deps, EVENTS_LANE, { gate, requested: false });
    assert.deepEqual([first.commit.length, first.more], [2, true]);
    assert.equal(await applyDrain(lab.deps, EVENTS_LANE, first), "committed");
    assert.deepEqual(await lab.tableNumbers(), numberedGroups(1, 20).flat());
    const second = await lookAtLane(lab.deps, EVENTS_LANE, { gate, requested: false });
    assert.deepEqual([second.commit.length, second.more], [1, false]);
  },
});

Deno.test({
  name: "applyDrain sets a damaged segment aside and drains the others",
  async fn() {
    await using lab = await DrainLab.open();
    await lab.seal(numberedGroups(3, 10));
    const damaged = (await lab.deps.wal.list(EVENTS_LANE, ["sealed"]))[1];
    assert.ok(damaged);
    const path = `/data/wal/default/events/sealed/${damaged.name}`;
    const bytes = await lab.fs.readFile(path);
    await lab.fs.remove(path);
    await using file = await lab.fs.create(path);
    await file.write(bytes.map((byte, at) => at === bytes.length - 40 ? byte ^ 0xff : byte));

    const poisoned: [segment: string, error: unknown][] = [];
    const observer = {
      poisoned: (_lane: unknown, segment: string, error: unknown) =>
        void poisoned.push([segment, error]),
    };
    const totals = await drainAll({ ...lab.deps, observer });
    assert.equal(totals.poisoned, 1);
    assert.deepEqual(poisoned.map(([segment]) => segment), [damaged.name]);
    assert.ok(isOperatingError(poisoned[0]?.[1], "corrupt"));
    const kept = numberedGroups(3, 10).toSpliced(1, 1).flat();
    assert.deepEqual(await lab.tableNumbers(), kept);
    const aside = await lab.deps.wal.list(EVENTS_LANE, ["poison"]);
    assert.deepEqual(aside.map((segment) => segment.name), [damaged.name]);
    await assertNoOrphans(lab);
  },
});

Deno.test({
  name: "drainAll tells a catalog again what it forgot, and leaves those segments out",
  async fn() {
    await using lab = await DrainLab.open();
    await lab.seal(numberedGroups(2, 5));
    await drainAll(lab.deps);
    const names = (await lab.deps.wal.list(EVENTS_LANE, ["committed"])).map(({ name }) => name);
    for (const name of names) {
      const folder = "/data/wal/default/events";
      await lab.fs.rename(`${folder}/committed/${name}`, `${folder}/sealed/${name}`);
    }
    const forgotten = new Set(names);
    const known = lab.catalog;
    const catalog = overriding(known, {
      async consumedOf(segments) {
        return (await known.consumedOf(segments)).difference(forgotten);
      },
      async foldConsumed(segments) {
        await known.foldConsumed(segments);
        for (const name of segments) forgotten.delete(name);
      },
    });
    const told: (readonly string[])[] = [];
    const tries = new AbortController();
    let overtaken = 0;
    const observer = {
      overtaken: () => ++overtaken === 10 && tries.abort(new Error("it goes on for ever")),
      forgotten: (_lane: unknown, segments: readonly string[]) => void told.push(segments),
    };
    const deps = { ...lab.deps, catalog, observer };
    const { rows, failures } = await drainAll(deps, { signal: tries.signal });
    assert.deepEqual([rows, failures, told], [0, [], [names]]);
    assert.deepEqual(await lab.tableNumbers(), numberedGroups(1, 10).flat());
    assert.deepEqual(await lab.deps.wal.list(EVENTS_LANE, ["sealed"]), []);
    assert.deepEqual(await known.consumedOf(names), new Set(names));
    await assertNoOrphans(lab);
  },
});

Deno.test({
  name: "lookAtLane tells what waits also while the catalog cannot be read",
  async fn() {
    await using lab = await DrainLab.open();
    await lab.seal(numberedGroups(3, 5));
    const lags: number[] = [];
    const catalog = overriding(lab.deps.catalog, {
      consumedOf: () => Promise.reject(new OperatingError("unavailable", "no catalog")),
    });
    const deps = {
      ...lab.deps,
      catalog,
      observer: { lag: (_: LaneId, { segments }: LaneLag) => void lags.push(segments) },
    };
    await assert.rejects(
      lookAtLane(deps, EVENTS_LANE, { gate: DRAIN_GATE_OPEN, requested: false }),
      { code: "unavailable" },
    );
    assert.deepEqual(lags, [3]);
  },
});

Deno.test({
  name: "applyDrain only moves segments that the catalog holds already",
  async fn() {
    await using lab = await DrainLab.open();
    await lab.seal(numberedGroups(2, 5));
    const broken = new OperatingError("unavailable", "the disk is slow today");
    const admin = { ...lab.deps.admin, markCommitted: () => Promise.reject(broken) };
    const plan = await lookAtLane(lab.deps, EVENTS_LANE, {
      gate: DRAIN_GATE_OPEN,
      requested: true,
    });
    await assert.rejects(applyDrain({ ...lab.deps, admin }, EVENTS_LANE, plan), broken);
    assert.deepEqual(await lab.visibleNumbers(), numberedGroups(1, 10).flat());
    const { rows, commits } = await drainAll(lab.deps);
    assert.deepEqual([rows, commits], [0, 0]);
    assert.deepEqual(await lab.tableNumbers(), numberedGroups(1, 10).flat());
    assert.equal((await lab.deps.wal.list(EVENTS_LANE, ["committed"])).length, 2);
  },
});

Deno.test({
  name:
    "sweepLane keeps segments for the retention floor, then removes them, and the catalog knows them",
  async fn() {
    await using lab = await DrainLab.open();
    await lab.seal(numberedGroups(2, 5));
    const names = (await lab.deps.wal.list(EVENTS_LANE, ["sealed"])).map((one) => one.name);
    await drainAll(lab.deps);
    assert.equal(await sweepLane(lab.deps, EVENTS_LANE), 0);
    assert.deepEqual(await lab.catalog.consumedOf(names), new Set(names));
    lab.clock.shift(RETENTION_MS);
    assert.equal(await sweepLane(lab.deps, EVENTS_LANE), 2);
    assert.deepEqual(await lab.catalog.consumedOf(names), new Set(names));
    assert.deepEqual(await lab.visibleNumbers(), numberedGroups(1, 10).flat());
  },
});

Deno.test({
  name:
    "two drains of one WAL put each row into the table once, and a query never misses or doubles one",
  async fn() {
    for (let seed = 1; seed <= 8; seed += 1) {
      await using lab = await DrainLab.open(seed);
      const groups = numberedGroups(12, 5);
      await lab.seal(groups);
      lab.restart({ extraTurns: () => lab.random.below(30) });
      let draining = true;
      const drains = [0, 1].map(() => drainInSteps(lab.deps)).map((drain) =>
        drain.finally(() => draining = false)
      );
      let looks = 0;
      while (draining) {
        assert.deepEqual(await lab.visibleNumbers(), groups.flat(), `seed ${seed}, look ${looks}`);
        looks += 1;
      }
      await Promise.all(drains);
      assert.deepEqual(await lab.tableNumbers(), groups.flat(), `seed ${seed}`);
      assert.ok(looks > 0, "a query looked while the drains ran");
      await assertNoOrphans(lab);
    }
  },
});

Deno.test({
  name:
    "a drain that is stopped while another drains, sweeps and forgets its segments adds nothing",
  async fn() {
    // Stopped before each of its catalog calls in turn.
    for (let stopAt = 0;; stopAt += 1) {
      await using lab = await DrainLab.open();
      await lab.seal(numberedGroups(2, 5));
      const plan = await lookAtLane(lab.deps, EVENTS_LANE, {
        gate: DRAIN_GATE_OPEN,
        requested: true,
      });
      let calls = 0;
      const catalog = beforeEachCall(lab.catalog, async () => {
        if (calls++ !== stopAt) return;
        await drainAll(lab.deps);
        lab.clock.shift(RETENTION_MS);
        assert.equal(await sweepLane(lab.deps, EVENTS_LANE), 2);
      });
      const outcome = await applyDrain({ ...lab.deps, catalog }, EVENTS_LANE, plan);
      assert.deepEqual(await lab.tableNumbers(), numberedGroups(1, 10).flat(), `call ${stopAt}`);
      if (calls <= stopAt) {
        assert.equal(outcome, "committed");
        assert.ok(stopAt > 3, `a drain makes only ${stopAt} catalog calls`);
        break;
      }
      assert.equal(outcome, "overtaken", `call ${stopAt}`);
      await assertNoOrphans(lab);
    }
  },
});

Deno.test({
  name: "a store that refuses any one call costs a retry and no row",
  async fn() {
    for (let failAt = 0;; failAt += 1) {
      await using lab = await DrainLab.open();
      await lab.seal(numberedGroups(2, 5));
      let calls = 0;
      const refused = new OperatingError("unavailable", "the store is busy");
      const store = new Proxy(lab.deps.store, {
        get: (target, property) => {
          const member: unknown = Reflect.get(target, property);
          if (typeof member !== "function" || property === "localPath") return member;
          return (...args: unknown[]) =>
            calls++ === failAt ? Promise.reject(refused) : Reflect.apply(member, target, args);
        },
      });
      await drainAll({ ...lab.deps, store });
      assert.deepEqual(await lab.visibleNumbers(), numberedGroups(1, 10).flat(), `call ${failAt}`);
      await drainAll(lab.deps);
      assert.deepEqual(await lab.tableNumbers(), numberedGroups(1, 10).flat(), `call ${failAt}`);
      if (calls > failAt) continue;
      assert.ok(failAt > 5, `a drain makes only ${failAt} calls of the store`);
      break;
    }
  },
});

Deno.test({
  name: "a commit whose answer is lost counts once",
  async fn() {
    await using lab = await DrainLab.open();
    await lab.seal(numberedGroups(2, 5));
    const lost = new OperatingError("unavailable", "the connection broke");
    let answers = 0;
    const catalog: Catalog = new Proxy(lab.catalog, {
      get: (target, property: keyof Catalog) => {
        const member = Reflect.get(target, property);
        if (property !== "commit") return bound(member, target);
        return async (...args: Parameters<Catalog["commit"]>) => {
          const outcome = await target.commit(...args);
          if (answers++ === 0) throw lost;
          return outcome;
        };
      },
    });
    await drainAll({ ...lab.deps, catalog });
    await drainAll(lab.deps);
    assert.deepEqual(await lab.tableNumbers(), numberedGroups(1, 10).flat());
  },
});

Deno.test({
  name: "applyDrain holds the rows of one file at a time, whatever the backlog",
  async fn() {
    await using lab = await DrainLab.open();
    await lab.seal(numberedGroups(40, 50));
    const segmentBytes = encodeBatch(batchOf(numberedGroups(1, 50).flat())).byteLength;
    const sizes: number[] = [];
    const { encoder } = lab.deps;
    const counting: DrainDeps = {
      ...lab.deps,
      inputBytesMax: 5 * segmentBytes,
      encoder: {
        ...encoder,
        encode(input, options) {
          sizes.push(input.rows);
          return encoder.encode(input, options);
        },
      },
    };
    const plan = await lookAtLane(counting, EVENTS_LANE, {
      gate: DRAIN_GATE_OPEN,
      requested: true,
    });
    await applyDrain(counting, EVENTS_LANE, plan);
    assert.deepEqual(await lab.tableNumbers(), numberedGroups(1, 2_000).flat());
    // Two days a round: the rows of a round are at most those of six segments.
    for (let at = 0; at + 1 < sizes.length; at += 2) {
      const rows = (sizes[at] ?? 0) + (sizes[at + 1] ?? 0);
      assert.ok(rows <= 6 * 50, `a round of ${rows} rows`);
    }
    assert.ok(sizes.length >= 14, `${sizes.length} files`);
  },
});

/** Drains in commits of a few segments, as long as there are any. */
async function drainInSteps(deps: DrainDeps): Promise<void> {
  const gate = { ...DRAIN_GATE_OPEN, commitBytesMax: 10_000 };
  for (;;) {
    const plan = await lookAtLane(deps, EVENTS_LANE, { gate, requested: true });
    if (await applyDrain(deps, EVENTS_LANE, plan) === "idle") return;
  }
}

/** Every data file in the warehouse belongs to the table. */
async function assertNoOrphans(lab: DrainLab): Promise<void> {
  const stored: string[] = [];
  for await (const { key } of lab.deps.store.list("")) {
    if (key.endsWith(".parquet")) stored.push(key);
  }
  assert.deepEqual(stored, await lab.tableFiles(tableOf(EVENTS_LANE)));
}

function bound(member: unknown, target: object): unknown {
  return typeof member === "function" ? member.bind(target) : member;
}

/** `catalog` whose method `name` rejects with what `error` makes. */
function failing(catalog: Catalog, name: keyof Catalog, error: () => Error): Catalog {
  return new Proxy(catalog, {
    get: (target, property) =>
      property === name
        ? () => Promise.reject(error())
        : bound(Reflect.get(target, property), target),
  });
}

/** `catalog` with other methods in the place of some. */
function overriding(catalog: Catalog, methods: Partial<Catalog>): Catalog {
  return new Proxy(catalog, {
    get: (target, property) =>
      Reflect.get(methods, property) ?? bound(Reflect.get(target, property), target),
  });
}

function beforeEachCall(catalog: Catalog, before: () => Promise<void>): Catalog {
  return new Proxy(catalog, {
    get: (target, property) => {
      const member: unknown = Reflect.get(target, property);
      if (typeof member !== "function") return member;
      return async (...args: unknown[]) => {
        await before();
        return await Reflect.apply(member, target, args);
      };
    },
  });
}
