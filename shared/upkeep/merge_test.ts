import assert from "node:assert/strict";
import { present } from "../base/assert.ts";
import { isOperatingError } from "../base/errors.ts";
import { rowsOf } from "../columns/rows.ts";
import { completeColumns } from "../iceberg/complete_columns.ts";
import { readParquet } from "../parquet/read_parquet.ts";
import { unaskedColumn } from "../schema/promoted.ts";
import { addAttributeColumns } from "../tables/attribute_columns.ts";
import { rewriteKindOf } from "../iceberg/snapshot_summary.ts";
import { currentSnapshot } from "../iceberg/table_metadata.ts";
import { isFullFile } from "../iceberg/locations.ts";
import { sidecarKey } from "../derived/sidecar.ts";
import { type LabRow, MaintenanceLab } from "../testing/maintenance_lab.ts";
import { EVENTS } from "../testing/table_lab.ts";
import { applyMerge, lookForMerges } from "./merge.ts";
import { MergeSweep } from "./merge_sweep.ts";
import type { MergeReport } from "./merge.ts";
import { overlapDepth } from "./plan_merge.ts";

const START_NS = BigInt(Date.UTC(2026, 10, 20, 6)) * 1_000_000n;
const NONE = { texts: 0, integers: 0, numbers: 0, textBytes: 0, distinctTexts: 0 };
const NEVER = new AbortController().signal;

/** `count` rows, called from `first` on, a second apart from `startSecs` on. */
function rowsFrom(first: number, count: number, startSecs = first): LabRow[] {
  return Array.from({ length: count }, (_, at) => ({
    number: first + at,
    ns: START_NS + BigInt(startSecs + at) * 1_000_000_000n,
  }));
}

async function labOf(appends: number, rowsEach = 10): Promise<MaintenanceLab> {
  const lab = await MaintenanceLab.open(1);
  for (let at = 0; at < appends; at += 1) await lab.append(rowsFrom(at * rowsEach, rowsEach));
  return lab;
}

Deno.test({
  name: "applyMerge makes one sorted file of small ones, with its sidecar, and every row once",
  async fn() {
    await using lab = await labOf(8);
    const before = await lab.rows();
    const plan = await lookForMerges(lab.deps(), EVENTS);
    const [task] = plan?.tasks ?? [];
    assert.ok(plan !== undefined && task !== undefined);
    assert.equal(task.reason, "tier");
    const report = await applyMerge(lab.deps(), plan.table, task);
    assert.deepEqual([report.outcome, report.rows, report.filesWritten], ["merged", 80, 1]);
    const [file, ...others] = await lab.files();
    assert.ok(file !== undefined && others.length === 0);
    assert.deepEqual(await lab.rows(), before);
    const rows = await lab.rowsOf(file.key);
    assert.deepEqual(rows, rows.toSorted((a, b) => (a.ns < b.ns ? -1 : 1)));
    assert.equal(file.sortOrderId, 1);
    await lab.store.head(sidecarKey(file.key));
    const table = await lab.table();
    assert.equal(rewriteKindOf(table && currentSnapshot(table.metadata)?.summary), "merge");
    assert.deepEqual((await lookForMerges(lab.deps(), EVENTS))?.tasks, []);
  },
});

Deno.test({
  name:
    "applyMerge cuts at the size of full files, which no merge takes again, one after another in time",
  async fn() {
    await using lab = await labOf(8, 40);
    const before = await lab.rows();
    const plan = await lookForMerges(lab.deps(), EVENTS);
    assert.ok(plan?.tasks[0] !== undefined);
    const report = await applyMerge(lab.deps(), plan.table, plan.tasks[0], {
      inputBytesMax: 4_000,
    });
    assert.ok(report.filesWritten >= 3, `${report.filesWritten} files`);
    const files = await lab.files();
    assert.deepEqual(await lab.rows(), before);
    assert.equal(overlapDepth(files), 1);
    const full = files.filter(({ key }) => isFullFile(key));
    assert.ok(full.length >= files.length - 1);
    const again = await lookForMerges(lab.deps(), EVENTS);
    assert.deepEqual(again?.tasks, []);
  },
});

Deno.test({
  name:
    "applyMerge keeps rows that were appended meanwhile, and gives up when another merge was first",
  async fn() {
    await using lab = await labOf(8);
    const plan = await lookForMerges(lab.deps(), EVENTS);
    const [task] = plan?.tasks ?? [];
    assert.ok(plan !== undefined && task !== undefined);
    await lab.append(rowsFrom(80, 10));
    const outcomes: MergeReport["outcome"][] = [];
    for (let turn = 0; turn < 2; turn += 1) {
      outcomes.push((await applyMerge(lab.deps(), plan.table, task)).outcome);
    }
    assert.deepEqual(outcomes, ["merged", "superseded"]);
    assert.deepEqual((await lab.rows()).map(({ number }) => number), [...Array(90).keys()]);
    const data = (await lab.keys()).filter((key) => key.endsWith(".parquet"));
    assert.equal(data.length, 8 + 1 + 1, "the second merge removed its files");
  },
});

Deno.test({
  name:
    "applyMerge that is aborted or fails in the middle removes its files and leaves the table as it is",
  async fn() {
    await using lab = await labOf(8, 40);
    const keys = await lab.keys();
    const plan = await lookForMerges(lab.deps(), EVENTS);
    const [task] = plan?.tasks ?? [];
    assert.ok(plan !== undefined && task !== undefined);
    const options = { inputBytesMax: 4_000 };
    const aborted = AbortSignal.abort(new Error("stopped"));
    await assert.rejects(applyMerge(lab.deps(), plan.table, task, { ...options, signal: aborted }));
    let puts = 0;
    const full = lab.deps({
      gate: (call) => {
        if (call === "before putNew") puts += 1;
        // A local store says this of a full disk.
        if (call === "before putNew" && puts >= 4) throw new Deno.errors.WriteZero("ENOSPC");
      },
    });
    await assert.rejects(applyMerge(full, plan.table, task, options), /ENOSPC/);
    assert.ok(puts >= 4);
    assert.deepEqual(await lab.keys(), keys);
    assert.equal((await applyMerge(lab.deps(), plan.table, task, options)).outcome, "merged");
  },
});

Deno.test({
  name: "MergeSweep works a table off task by task, and looks again only when it has changed",
  async fn() {
    await using lab = await labOf(24);
    const reports: MergeReport[] = [];
    let looks = 0;
    const observer = {
      merged: (_: unknown, report: MergeReport) => void reports.push(report),
      looked: () => void (looks += 1),
    };
    const sweep = new MergeSweep(lab.deps({ observer }));
    while (await sweep.run(EVENTS, NEVER));
    assert.deepEqual(reports.map(({ task }) => task.files.length), [24]);
    assert.equal(await sweep.run(EVENTS, NEVER), false);
    assert.equal(looks, 2);
    await lab.append(rowsFrom(1_000, 10));
    assert.equal(await sweep.run(EVENTS, NEVER), false);
    assert.equal(looks, 3);
  },
});

Deno.test({
  name: "MergeSweep stands back while rows wait for a drain, and leaves a day to who has its lease",
  async fn() {
    await using lab = await labOf(8);
    let throttled = 0;
    const deps = lab.deps({ observer: { throttled: () => void (throttled += 1) } });
    const busy = new MergeSweep({
      ...deps,
      isBacklogOver: (bytes) => Promise.resolve(1e9 > bytes),
    });
    assert.equal(await busy.run(EVENTS, NEVER), false);
    assert.deepEqual([throttled, (await lab.files()).length], [1, 8]);
    const day = (await lab.files())[0]?.day;
    await lab.kept.leases.take(`merge/svc.events/${day}`, "another", 60_000);
    const sweep = new MergeSweep(deps);
    assert.equal(await sweep.run(EVENTS, NEVER), false);
    assert.equal((await lab.files()).length, 8);
    lab.clock.shift(60_001);
    assert.equal(await sweep.run(EVENTS, NEVER), true, "the other one's lease ran out");
    assert.equal((await lab.files()).length, 1);
  },
});

Deno.test({
  name: "MergeSweep leaves a file alone for a while that it cannot read, and merges the others",
  async fn() {
    await using lab = await labOf(8);
    const [broken] = await lab.files();
    assert.ok(broken !== undefined);
    const bytes = await lab.store.get(broken.key);
    await lab.store.delete([broken.key]);
    await lab.store.putNew(broken.key, bytes.slice(0, -10));
    const sweep = new MergeSweep(lab.deps());
    await assert.rejects(
      sweep.run(EVENTS, NEVER),
      (error) => isOperatingError(error, "corrupt") && error.message.includes(broken.key),
    );
    assert.equal(await sweep.run(EVENTS, NEVER), false);
    for (let at = 8; at < 16; at += 1) await lab.append(rowsFrom(at * 10, 10));
    assert.equal(await sweep.run(EVENTS, NEVER), true);
    const left = await lab.files();
    assert.equal(left.length, 1 + 1);
    assert.ok(left.some(({ key }) => key === broken.key));
  },
});

Deno.test({
  name: "applyMerge fills columns of attributes for rows from before, and calls them complete",
  async fn() {
    await using lab = await labOf(4);
    const number = present(unaskedColumn("n", "integer"));
    const counts = { rows: 1, attributes: [{ ...NONE, name: "n", integers: 1 }] };
    const made = await addAttributeColumns(lab.deps(), EVENTS, { counts, columnsMax: 1 });
    assert.deepEqual(made?.added, [number]);
    for (let at = 4; at < 8; at += 1) await lab.append(rowsFrom(at * 10, 10));
    const completeIn = async () => {
      const { schema } = present(await lab.table());
      return (await lab.files()).map((file) => completeColumns(file, schema).size);
    };
    assert.deepEqual((await completeIn()).toSorted(), [0, 0, 0, 0, 1, 1, 1, 1]);
    const plan = present(await lookForMerges(lab.deps(), EVENTS));
    await applyMerge(lab.deps(), plan.table, present(plan.tasks[0]));
    assert.deepEqual(await completeIn(), [1]);
    const [file] = await lab.files();
    assert.equal(file?.nullCounts.get(number.id), 16);
    const values: unknown[] = [];
    for await (const batch of readParquet(await lab.store.get(file.key), file.key)) {
      values.push(...rowsOf(batch).map((row) => row[number.name]));
    }
    assert.deepEqual(
      values,
      rowsFrom(0, 80).map(({ number: n }) => n % 5 === 0 ? null : BigInt(n)),
    );
  },
});
