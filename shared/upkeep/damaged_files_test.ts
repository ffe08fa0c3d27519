/** Whatever bit of a data file is flipped, no work of upkeep copies what is damaged. */

import assert from "node:assert/strict";
import { present } from "../base/assert.ts";
import { DAMAGED_FILE } from "../base/damaged_file.ts";
import { isOperatingError } from "../base/errors.ts";
import { sidecarKey } from "../derived/sidecar.ts";
import { readerOf } from "../iceberg/commit_table.ts";
import type { ObjectStore } from "../storage/object_store.ts";
import { DeleteLab, numbersFrom } from "../testing/delete_lab.ts";
import { flipped } from "../testing/flipped_store.ts";
import { type LabRow, MaintenanceLab } from "../testing/maintenance_lab.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { EVENTS } from "../testing/table_lab.ts";
import { MergeSweep } from "./merge_sweep.ts";
import { applyMerge, lookForMerges } from "./merge.ts";
import { planRebuild, rebuildSidecar } from "./rebuild_sidecars.ts";
import { sweepDeleteTasks } from "./delete_loop.ts";

const START_NS = BigInt(Date.UTC(2026, 10, 20, 6)) * 1_000_000n;
const NEVER = new AbortController().signal;
/** Nobody reads the magic number at a file's start. */
const BLIND_BYTES = 4;

async function labOf(appends: number): Promise<MaintenanceLab> {
  const lab = await MaintenanceLab.open(1);
  for (let at = 0; at < appends; at += 1) {
    await lab.append(
      Array.from({ length: 40 }, (_, row): LabRow => ({
        number: at * 40 + row,
        ns: START_NS + BigInt(at * 40 + row) * 1_000_000_000n,
      })),
    );
  }
  return lab;
}

async function replace(store: ObjectStore, key: string, bytes: Uint8Array): Promise<void> {
  await store.delete([key]);
  await store.putNew(key, bytes);
}

/** Runs `work` over one file after the other with one bit flipped, and tells which file it is. */
async function eachFlip(
  store: ObjectStore,
  keys: readonly string[],
  { flips, work }: { readonly flips: number; readonly work: (key: string) => Promise<void> },
): Promise<void> {
  const random = new SeededRandom(28);
  for (let flip = 0; flip < flips; flip += 1) {
    const key = present(keys[flip % keys.length]);
    const bytes = await store.get(key);
    const at = BLIND_BYTES + Math.floor(random.float() * (bytes.byteLength - BLIND_BYTES));
    await replace(store, key, flipped(bytes, { at, bit: flip % 8 }));
    await work(key);
    await replace(store, key, bytes);
  }
}

function isDamaged(key: string): (error: unknown) => boolean {
  return (error) =>
    isOperatingError(error, "corrupt") && error.reason === DAMAGED_FILE &&
    error.details?.["file"] === key && error.message.includes(key);
}

Deno.test("a merge names the damaged file, and leaves the table and the store as they were", async () => {
  await using lab = await labOf(8);
  const before = await lab.rows();
  const plan = present(await lookForMerges(lab.deps(), EVENTS));
  const task = present(plan.tasks[0]);
  const keys = await lab.keys();
  await eachFlip(lab.store, task.files.map(({ key }) => key), {
    flips: 200,
    work: async (key) => {
      await assert.rejects(applyMerge(lab.deps(), plan.table, task), isDamaged(key));
      assert.deepEqual(await lab.keys(), keys);
    },
  });
  assert.equal((await applyMerge(lab.deps(), plan.table, task)).outcome, "merged");
  assert.deepEqual(await lab.rows(), before);
});

Deno.test("MergeSweep sets only the damaged file aside, and merges the others", async () => {
  await using lab = await labOf(9);
  const rows = await lab.rows();
  const [broken] = await lab.files();
  const { key } = present(broken);
  const bytes = await lab.store.get(key);
  await replace(lab.store, key, flipped(bytes, { at: bytes.byteLength >> 1, bit: 3 }));
  const sweep = new MergeSweep(lab.deps());
  await assert.rejects(sweep.run(EVENTS, NEVER), isDamaged(key));
  await sweep.run(EVENTS, NEVER);
  await replace(lab.store, key, bytes);
  const files = await lab.files();
  assert.deepEqual([files.length, files.some((file) => file.key === key)], [2, true]);
  assert.deepEqual(await lab.rows(), rows);
});

Deno.test("a delete task over a damaged file changes nothing, and succeeds once it is restored", async () => {
  await using lab = await DeleteLab.open();
  await lab.commit(numbersFrom(0, 40));
  await lab.commit(numbersFrom(100, 40));
  const all = await lab.numbers();
  const live = await lab.liveFiles();
  await eachFlip(lab.store, live.map(({ key }) => key), {
    flips: 40,
    work: async (key) => {
      const task = await lab.submit("CAST(raw AS BIGINT) % 2 = 0");
      assert.notEqual((await sweepDeleteTasks(lab.deps)).get(task.taskId), "done");
      assert.ok((await lab.task(task)).error?.includes(key));
      assert.deepEqual((await lab.liveFiles()).map((file) => file.key), live.map((f) => f.key));
    },
  });
  assert.deepEqual(await lab.numbers(), all);
  const task = await lab.submit("CAST(raw AS BIGINT) % 2 = 0");
  await sweepDeleteTasks(lab.deps);
  assert.equal((await lab.task(task)).status, "done");
  assert.deepEqual(await lab.numbers(), all.filter((number) => number % 2 === 1));
});

Deno.test("an index is not built of a damaged file", async () => {
  await using lab = await labOf(1);
  const deps = lab.deps();
  const { table } = present(await lookForMerges(deps, EVENTS));
  const reader = readerOf(deps);
  const plan = await planRebuild({ ...deps, reader }, table, { part: "all", wide: false });
  const [file] = plan.live;
  const { key } = present(file);
  const sidecar = await lab.store.get(sidecarKey(key));
  await eachFlip(lab.store, [key], {
    flips: 100,
    work: async () => {
      const rebuilt = rebuildSidecar(deps, plan, { file: present(file), wide: false });
      await assert.rejects(rebuilt, isDamaged(key));
      assert.deepEqual(await lab.store.get(sidecarKey(key)), sidecar);
    },
  });
});
