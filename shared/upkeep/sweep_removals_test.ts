import assert from "node:assert/strict";
import { applyExpire, EXPIRE_POLICY_DEFAULT, REMOVAL_GRACE_MS } from "../tables/expire.ts";
import { IcebergReader, type LoadedTable } from "../iceberg/iceberg_reader.ts";
import { filesOfSnapshots } from "../tables/table_files.ts";
import { MaintenanceLab } from "../testing/maintenance_lab.ts";
import { EVENTS } from "../testing/table_lab.ts";
import { applyMerge, lookForMerges } from "./merge.ts";
import { sweepRemovals } from "./sweep_removals.ts";

/** How far two sweeps are apart: `table_sweeps.ts`. */
const SWEEP_MS = 60_000;
const FILES = 8;

/** A table of one file, which took the place of `FILES` a moment ago. */
async function mergedLab(): Promise<MaintenanceLab> {
  const lab = await MaintenanceLab.open(1);
  for (let file = 0; file < FILES; file += 1) {
    await lab.append(Array.from({ length: 10 }, (_, row) => {
      const number = 10 * file + row;
      return { number, ns: BigInt(Math.floor(lab.clock.nowMs())) * 1_000_000n + BigInt(number) };
    }));
  }
  const plan = await lookForMerges(lab.deps(), EVENTS);
  const [task] = plan?.tasks ?? [];
  assert.ok(plan !== undefined && task !== undefined);
  await applyMerge(lab.deps(), plan.table, task);
  return lab;
}

/** One sweep, as maintenance makes it. */
async function sweep(lab: MaintenanceLab): Promise<void> {
  await applyExpire(lab.deps(), EVENTS, EXPIRE_POLICY_DEFAULT);
  await sweepRemovals(lab.deps(), EVENTS);
}

async function dataFiles(lab: MaintenanceLab): Promise<number> {
  return (await lab.keys()).filter((key) => key.endsWith(".parquet")).length;
}

/** Sweeps each minute until the replaced files are gone; how long that took. */
async function untilGone(lab: MaintenanceLab): Promise<number> {
  const startMs = lab.clock.nowMs();
  while (await dataFiles(lab) > 1) {
    assert.ok(lab.clock.nowMs() - startMs < 3_600_000, "replaced files stay");
    lab.clock.shift(SWEEP_MS);
    await sweep(lab);
  }
  return lab.clock.nowMs() - startMs;
}

Deno.test("replaced files stay for five minutes, and are gone nine minutes after the merge though nothing is written any more", async () => {
  await using lab = await mergedLab();
  const before = await lab.rows();
  await sweep(lab);
  assert.equal(await dataFiles(lab), FILES + 1);
  lab.clock.shift(EXPIRE_POLICY_DEFAULT.ageMsMin - 1_000);
  await sweep(lab);
  assert.equal(await dataFiles(lab), FILES + 1, "the snapshot before is kept");
  const tookMs = EXPIRE_POLICY_DEFAULT.ageMsMin + await untilGone(lab);
  assert.ok(tookMs <= 9 * 60_000, `${tookMs / 60_000} minutes`);
  assert.deepEqual(await lab.rows(), before);
});

Deno.test("a reader of an older metadata file has its manifests for as long as its data files", async () => {
  await using lab = await mergedLab();
  const old = await lab.table();
  await lab.append([{ number: 1_000, ns: BigInt(Math.floor(lab.clock.nowMs())) * 1_000_000n }]);
  lab.clock.shift(EXPIRE_POLICY_DEFAULT.ageMsMin);
  await sweep(lab);
  assert.equal((await lab.table())?.metadata.snapshots.length, 1, "the older ones expired");
  const { store } = lab.deps();
  const filesOf = () => new IcebergReader(store).liveEntries(old as LoadedTable);
  lab.clock.shift(REMOVAL_GRACE_MS - 61_000);
  await sweep(lab);
  assert.equal((await filesOf()).length, 1);
  lab.clock.shift(61_000);
  await sweep(lab);
  await assert.rejects(filesOf(), { code: "not_found" });
  const table = await lab.table();
  assert.ok(table !== undefined);
  const { lists, manifests } = await filesOfSnapshots(lab.deps(), table, table.metadata.snapshots);
  const avro = (await lab.keys()).filter((key) => key.endsWith(".avro"));
  assert.equal(avro.length, lists.size + manifests.size, "nothing else is left of the metadata");
});

Deno.test("a statement that lasts keeps the files of its snapshot until it ends", async () => {
  await using lab = await mergedLab();
  await lab.kept.longReads.hold("job", 7 * 3_600_000);
  for (let minute = 0; minute < 6 * 60; minute += 10) {
    lab.clock.shift(10 * 60_000);
    await sweep(lab);
    assert.equal(await dataFiles(lab), FILES + 1, `${minute} minutes`);
  }
  await lab.kept.longReads.end("job");
  await sweep(lab);
  assert.equal(await dataFiles(lab), 1);
});

Deno.test("a statement that began after files were entered keeps none of them", async () => {
  await using lab = await mergedLab();
  lab.clock.shift(EXPIRE_POLICY_DEFAULT.ageMsMin);
  await sweep(lab);
  // Past the time in which a pin may still name the snapshot that expires.
  lab.clock.shift(SWEEP_MS + 1_000);
  await lab.kept.longReads.hold("job", 7 * 3_600_000);
  lab.clock.shift(REMOVAL_GRACE_MS);
  await sweep(lab);
  assert.equal(await dataFiles(lab), 1);
});

Deno.test("a sweep that ends at any of its calls is made good by the next one", async () => {
  const calls = await callsOf();
  assert.ok(calls > 10, `${calls} calls`);
  for (let at = 0; at < calls; at += 1) {
    await using lab = await mergedLab();
    const before = await lab.rows();
    lab.clock.shift(EXPIRE_POLICY_DEFAULT.ageMsMin);
    let seen = 0;
    const gate = () => {
      if (seen++ === at) throw new Error("cut off");
    };
    for (const step of [0, REMOVAL_GRACE_MS]) {
      lab.clock.shift(step);
      const deps = lab.deps({ gate });
      try {
        await applyExpire(deps, EVENTS, EXPIRE_POLICY_DEFAULT);
        await sweepRemovals(deps, EVENTS);
      } catch (error) {
        assert.match(String(error), /cut off/);
      }
    }
    assert.deepEqual(await lab.rows(), before, `cut off at call ${at}`);
    await untilGone(lab);
    assert.deepEqual(await lab.rows(), before, `cut off at call ${at}`);
  }
});

/** How many calls to store and catalog two sweeps make, the later of which removes. */
async function callsOf(): Promise<number> {
  await using lab = await mergedLab();
  let calls = 0;
  const deps = lab.deps({ gate: () => void (calls += 1) });
  for (const step of [EXPIRE_POLICY_DEFAULT.ageMsMin, REMOVAL_GRACE_MS]) {
    lab.clock.shift(step);
    await applyExpire(deps, EVENTS, EXPIRE_POLICY_DEFAULT);
    await sweepRemovals(deps, EVENTS);
  }
  assert.equal(await dataFiles(lab), 1);
  return calls;
}
