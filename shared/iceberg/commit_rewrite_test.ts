import assert from "node:assert/strict";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { type Fault, FaultPlan, faultsOf } from "../testing/fault_plan.ts";
import { EVENTS, TableLab } from "../testing/table_lab.ts";
import { withCommit } from "../testing/with_commit.ts";
import { commitAppend, ensureTable } from "./commit_append.ts";
import { commitRewrite } from "./commit_rewrite.ts";
import { STATUS } from "./manifest.ts";
import { MANIFEST_FILES_TARGET } from "./merge_plan.ts";
import { REWRITE, rewriteKindOf } from "./snapshot_summary.ts";
import { currentSnapshot } from "./table_metadata.ts";
import type { DataFile, NewDataFile, RewriteCommit } from "./types.ts";

const TABLE = { ident: EVENTS, schema: EVENTS_SCHEMA };

/** A table with `count` files of ten rows, one commit each, by turns of day 5, 6 and 7. */
async function filled(count: number, seed?: number): Promise<TableLab> {
  const lab = await TableLab.open(seed);
  const table = await ensureTable(lab.deps, TABLE);
  for (let i = 0; i < count; i += 1) {
    const file = lab.newFile(table, { day: 5 + i % 3, startNs: BigInt(i) * 10n });
    await commitAppend(lab.deps, { ...TABLE, files: [file], consumed: [`s${i}`] });
  }
  return lab;
}

/** A merge of the files of `day` into one. */
async function mergeOf(lab: TableLab, day: number): Promise<RewriteCommit> {
  const table = await ensureTable(lab.deps, TABLE);
  const replaced = (await lab.liveFiles() ?? []).filter((file) => file.day === day);
  const files = [lab.newFile(table, { day, rows: 10 * replaced.length })];
  return { ident: EVENTS, tableUuid: table.uuid, kind: "merge", replaced, files };
}

function keysOf(files: readonly Pick<DataFile, "key">[]): string[] {
  return files.map(({ key }) => key).sort();
}

Deno.test({
  name: "commitRewrite puts the new files in the place of the replaced ones, and says so",
  async fn() {
    await using lab = await filled(6);
    const merge = await mergeOf(lab, 5);
    const others = (await lab.liveFiles() ?? []).filter(({ day }) => day !== 5);
    const result = await commitRewrite(lab.deps, merge);
    assert.deepEqual([result.outcome, result.retries], ["committed", 0]);
    assert.deepEqual(await lab.liveKeys(), keysOf([...others, ...merge.files]));
    const loaded = await lab.load();
    const snapshot = loaded === undefined ? undefined : currentSnapshot(loaded.metadata);
    assert.deepEqual({ ...snapshot?.summary }, {
      operation: "replace",
      "added-data-files": "1",
      "added-records": "20",
      "added-files-size": "2000",
      "deleted-data-files": "2",
      "deleted-records": "20",
      "removed-files-size": "2000",
      "changed-partition-count": "1",
      "total-records": "60",
      "total-data-files": "5",
      "total-files-size": "6000",
      "total-delete-files": "0",
      "total-position-deletes": "0",
      "total-equality-deletes": "0",
      [REWRITE]: "merge",
    });
  },
});

Deno.test({
  name: "commitRewrite calls each kind of change by Iceberg's name and marks it as ours",
  async fn() {
    const table: [kind: RewriteCommit["kind"], rowsLeft: number, operation: string][] = [
      ["merge", 20, "replace"],
      ["delete", 5, "overwrite"],
      ["delete", 0, "delete"],
      ["retention", 0, "delete"],
      ["retention", 7, "overwrite"],
    ];
    for (const [kind, rows, operation] of table) {
      await using lab = await filled(6);
      const { uuid } = await ensureTable(lab.deps, TABLE);
      const merge = await mergeOf(lab, 6);
      const files = merge.files.flatMap((file) => rows === 0 ? [] : { ...file, rows });
      await commitRewrite(lab.deps, {
        ...merge,
        tableUuid: uuid,
        kind,
        files,
        summary: { "svc.task": "7" },
      });
      const loaded = await lab.load();
      const summary = loaded && currentSnapshot(loaded.metadata)?.summary;
      assert.deepEqual(
        [summary?.["operation"], rewriteKindOf(summary), summary?.["svc.task"]],
        [operation, kind, "7"],
      );
      assert.equal(summary?.["total-records"], String(40 + rows));
    }
    assert.equal(rewriteKindOf({ operation: "replace" }), undefined);
    assert.equal(rewriteKindOf(undefined), undefined);
  },
});

Deno.test({
  name: "commitRewrite lists a replaced file once more, as deleted; the next commit no longer does",
  async fn() {
    await using lab = await filled(3);
    const merge = await mergeOf(lab, 6);
    const files = [] as NewDataFile[];
    await commitRewrite(lab.deps, { ...merge, kind: "retention", files });
    const after = await lab.load();
    assert.ok(after !== undefined);
    const manifests = await lab.reader().manifests(after);
    const counts = manifests.map((one) => [one.addedFiles, one.existingFiles, one.deletedFiles]);
    assert.deepEqual(counts, [[0, 0, 1], [1, 0, 0], [1, 0, 0]]);
    assert.deepEqual([manifests[0]?.deletedRows, manifests[0]?.addedSnapshotId], [
      10n,
      after.snapshotId,
    ]);
    await commitAppend(lab.deps, { ...TABLE, files: [], consumed: ["next"] });
    const next = await lab.load();
    assert.ok(next !== undefined);
    const left = await lab.reader().manifests(next);
    assert.deepEqual(left, manifests.slice(1));
  },
});

Deno.test({
  name: "commitRewrite keeps the snapshot and sequence numbers of files that stay",
  async fn() {
    await using lab = await filled(16);
    const before = await entriesOf(lab);
    const merge = await mergeOf(lab, 5);
    await commitRewrite(lab.deps, merge);
    const snapshotId = (await lab.load())?.snapshotId;
    const gone = new Set(keysOf(merge.replaced));
    const expected = before.filter(([key]) => !gone.has(key));
    const added = merge.files.map(({ key }) => [key, snapshotId, 17n, STATUS.added] as const);
    assert.deepEqual(
      (await entriesOf(lab)).toSorted(),
      [...expected.map(([key, id, number]) => [key, id, number, STATUS.existing]), ...added]
        .toSorted(),
    );
    assert.deepEqual(await lab.keys(), await lab.namedKeys());
  },
});

Deno.test({
  name:
    "commitRewrite cuts a large manifest by days, so that the next rewrite of a day writes little anew",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const files = Array.from(
      { length: 1_400 },
      (_, at) => lab.newFile(table, { day: at % 14, startNs: BigInt(at) * 10n }),
    );
    await commitAppend(lab.deps, { ...TABLE, files, consumed: ["s"] });
    for (const day of [3, 4]) {
      const merge = await mergeOf(lab, day);
      assert.equal((await commitRewrite(lab.deps, merge)).outcome, "committed");
    }
    const loaded = await lab.load();
    assert.ok(loaded !== undefined);
    const manifests = await lab.reader().manifests(loaded);
    const live = manifests.map((one) => one.addedFiles + one.existingFiles);
    assert.equal(live.reduce((sum, count) => sum + count), 1_400 - 2 * 99);
    assert.ok(live.every((count) => count <= MANIFEST_FILES_TARGET), `files: ${live}`);
    const anew = manifests.filter((one) => one.addedSnapshotId === loaded.snapshotId);
    const written = anew.map((one) => one.addedFiles + one.existingFiles + one.deletedFiles);
    assert.ok(written.reduce((sum, count) => sum + count) <= 2 * MANIFEST_FILES_TARGET);
    assert.deepEqual(await lab.keys(), await lab.namedKeys());
  },
});

async function entriesOf(
  lab: TableLab,
): Promise<(readonly [string, bigint, bigint | undefined, number])[]> {
  const table = await lab.load();
  assert.ok(table !== undefined);
  const manifests = await lab.reader().manifests(table);
  const all = await Promise.all(manifests.map((one) => lab.reader().entries(table, one)));
  return all.flat().map(({ file, snapshotId, sequenceNumber, status }) =>
    [file.key, snapshotId, sequenceNumber, status] as const
  );
}

Deno.test({
  name: "commitRewrite stages again when appends come first, and keeps their files",
  async fn() {
    await using lab = await filled(9);
    const table = await ensureTable(lab.deps, TABLE);
    const late = [1, 2].map((i) => lab.newFile(table, { day: 5, startNs: BigInt(i) }));
    const waiting = [...late];
    const raced = withCommit(lab.catalog, async (change) => {
      const file = waiting.pop();
      if (file !== undefined) {
        await commitAppend(lab.deps, { ...TABLE, files: [file], consumed: [file.key] });
      }
      return await lab.catalog.commit(change);
    });
    const merge = await mergeOf(lab, 5);
    const others = (await lab.liveFiles() ?? []).filter(({ day }) => day !== 5);
    const result = await commitRewrite({ ...lab.deps, catalog: raced }, merge);
    assert.deepEqual([result.outcome, result.retries], ["committed", 2]);
    assert.deepEqual(await lab.liveKeys(), keysOf([...others, ...late, ...merge.files]));
    assert.deepEqual(await lab.keys(), await lab.namedKeys());
  },
});

Deno.test({
  name: "commitRewrite changes nothing once another rewrite took one of its files",
  async fn() {
    await using lab = await filled(9);
    const before = await lab.liveFiles() ?? [];
    const whole = await mergeOf(lab, 5);
    const table = await ensureTable(lab.deps, TABLE);
    const replaced = whole.replaced.slice(0, 2);
    const part = { ...whole, replaced, files: [lab.newFile(table, { day: 5, rows: 20 })] };
    const raced = withCommit(lab.catalog, async (change) => {
      await commitRewrite(lab.deps, part);
      return await lab.catalog.commit(change);
    });
    const result = await commitRewrite({ ...lab.deps, catalog: raced }, whole);
    assert.equal(result.outcome, "superseded");
    const live = await lab.liveKeys() ?? [];
    const gone = new Set(keysOf(replaced));
    const others = before.filter(({ key }) => !gone.has(key));
    assert.deepEqual(live, keysOf([...others, ...part.files]));
    assert.deepEqual(await lab.keys(), await lab.namedKeys());
  },
});

Deno.test({
  name: "commitRewrite is superseded when the table is gone or is another",
  async fn() {
    await using lab = await filled(3);
    const merge = await mergeOf(lab, 5);
    const before = await lab.keys();
    const other = { ...merge, tableUuid: "00000000-0000-4000-8000-000000000000" };
    assert.equal((await commitRewrite(lab.deps, other)).outcome, "superseded");
    assert.deepEqual(await lab.keys(), before);
    await lab.catalog.dropTable(EVENTS);
    assert.equal((await commitRewrite(lab.deps, merge)).outcome, "superseded");
  },
});

Deno.test({
  name: "commitRewrite refuses what would lose or double rows",
  async fn() {
    await using lab = await filled(6);
    const merge = await mergeOf(lab, 5);
    const [one] = merge.replaced;
    assert.ok(one !== undefined);
    const wrong: [what: string, rewrite: RewriteCommit, says: RegExp][] = [
      ["loses rows", { ...merge, files: [] }, /merge of 20 rows gave 0/],
      ["names a file twice", { ...merge, replaced: [one, one] }, /each file once/],
      ["replaces nothing", { ...merge, replaced: [] }, /replaces something/],
      ["deletes none", { ...merge, kind: "delete" }, /delete of 20 rows left 20/],
      ["summary of Iceberg's", { ...merge, summary: { operation: "append" } }, /summary operation/],
    ];
    for (const [what, rewrite, says] of wrong) {
      await assert.rejects(commitRewrite(lab.deps, rewrite), says, what);
    }
  },
});

Deno.test({
  name: "commitRewrite is all or nothing at every failing operation",
  async fn() {
    await using origin = await filled(15, 7);
    const merge = await mergeOf(origin, 5);
    const run = async (fault: Fault | undefined) => {
      await using lab = await origin.copy([]);
      const before = await lab.liveKeys() ?? [];
      const gone = new Set(keysOf(merge.replaced));
      const after = [...before.filter((key) => !gone.has(key)), ...keysOf(merge.files)].sort();
      const plan = new FaultPlan(fault);
      const keysBefore = await lab.keys();
      const outcome = await commitRewrite(plan.deps(lab.deps), merge).then(
        (result) => result.outcome,
        () => "failed" as const,
      );
      const live = await lab.liveKeys() ?? [];
      const isAfter = live.includes(keysOf(merge.files)[0] ?? "");
      const label = JSON.stringify(fault);
      assert.deepEqual(live, isAfter ? after : before, label);
      if (outcome !== "failed") assert.ok(isAfter && outcome === "committed", label);
      if (outcome === "failed" && fault?.then === "continue") {
        assert.deepEqual(await lab.keys(), keysBefore, `${label} leaves staged files`);
      }
      // A second start cannot merge the same files twice.
      const again = await commitRewrite(lab.deps, merge);
      assert.equal(again.outcome, isAfter ? "superseded" : "committed", label);
      assert.deepEqual(await lab.liveKeys(), after, label);
      return { operations: plan.operations.length, seen: `${outcome} ${isAfter}` };
    };
    const { operations } = await run(undefined);
    const seen = new Set<string>();
    for (const fault of faultsOf(operations)) seen.add((await run(fault)).seen);
    assert.deepEqual([...seen].sort(), ["committed true", "failed false", "failed true"]);
  },
});
