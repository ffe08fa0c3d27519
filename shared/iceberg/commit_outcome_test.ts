/**
 * Commits that do not go straight through: other writers, lost answers, recreated tables, aborts.
 */

import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { EVENTS, TableLab } from "../testing/table_lab.ts";
import { withCommit } from "../testing/with_commit.ts";
import { commitAppend, ensureTable } from "./commit_append.ts";
import { type CommitDeps, commitTable } from "./commit_table.ts";
import { PREVIOUS_VERSIONS_MAX } from "./new_table.ts";
import { stageMetadata } from "./stage_snapshot.ts";
import type { NewDataFile } from "./types.ts";

const TABLE = { ident: EVENTS, schema: EVENTS_SCHEMA };

function append(files: readonly NewDataFile[], consumed: readonly string[]) {
  return { ...TABLE, files, consumed };
}

Deno.test({
  name: "commitAppend asks in each attempt whether the segments are still due",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const before = await lab.keys();
    const answers = [true, false];
    const conflicting = withCommit(lab.catalog, () => Promise.resolve("conflict"));
    const result = await commitAppend({ ...lab.deps, catalog: conflicting }, {
      ...append([lab.newFile(table, { day: 5 })], ["s1"]),
      isStillDue: () => Promise.resolve(answers.shift() ?? true),
    });
    assert.deepEqual([result.outcome, result.retries, answers], ["consumed", 1, []]);
    assert.deepEqual(await lab.keys(), before);
  },
});

Deno.test({
  name: "commitAppend restages on a moved pointer, keeping the other writer's files",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const others = [1, 2, 3].map((i) => lab.newFile(table, { day: 5, startNs: BigInt(i) }));
    let turn = 0;
    const raced = withCommit(lab.catalog, async (change) => {
      const other = others[turn];
      turn += 1;
      if (other !== undefined) await commitAppend(lab.deps, append([other], [`other${turn}`]));
      return await lab.catalog.commit(change);
    });
    const own = lab.newFile(table, { day: 5 });
    const result = await commitAppend({ ...lab.deps, catalog: raced }, append([own], ["own"]));
    assert.deepEqual([result.outcome, result.retries], ["committed", 3]);
    assert.deepEqual(await lab.liveKeys(), [...others, own].map((file) => file.key).sort());
    assert.deepEqual(await lab.keys(), await lab.namedKeys());
  },
});

Deno.test({
  name: "commitAppend gives up as unavailable when other writers are always first",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const before = await lab.keys();
    const deps = {
      ...lab.deps,
      catalog: withCommit(lab.catalog, () => Promise.resolve("conflict")),
    };
    await assert.rejects(
      commitAppend(deps, append([lab.newFile(table, { day: 5 })], ["s1"])),
      (error) => isOperatingError(error, "unavailable") && error.reason === "commit_contention",
    );
    assert.deepEqual(await lab.keys(), before);
  },
});

Deno.test({
  name: "commitAppend finds exactly one outcome when the catalog's answer is lost",
  async fn() {
    /** What the catalog does at each call, and whether the caller hears of it. */
    type Step = "lost before" | "lost after" | "answers" | "other first, lost after";
    const cases: [steps: Step[], committed: boolean][] = [
      [["lost after"], true],
      [["lost before", "answers"], true],
      [["lost before", "lost before", "lost after"], true],
      [["other first, lost after", "answers"], true],
      [["lost before", "lost before", "lost before", "lost before", "lost before"], false],
    ];
    for (const [steps, committed] of cases) {
      await using lab = await TableLab.open();
      const table = await ensureTable(lab.deps, TABLE);
      const own = lab.newFile(table, { day: 5 });
      let turn = 0;
      const flaky = withCommit(lab.catalog, async (change) => {
        const step = steps[turn];
        turn += 1;
        if (step === "lost before") throw new Error("connection lost");
        if (step === "other first, lost after") {
          await commitAppend(lab.deps, append([lab.newFile(table, { day: 6 })], ["other"]));
        }
        const outcome = await lab.catalog.commit(change);
        if (step === "answers") return outcome;
        throw new Error("connection lost");
      });
      const attempt = commitAppend({ ...lab.deps, catalog: flaky }, append([own], ["own"]));
      if (committed) assert.equal((await attempt).outcome, "committed", steps.join());
      else {
        await assert.rejects(
          attempt,
          (error) => isOperatingError(error, "unavailable") && error.reason === "commit_unknown",
        );
      }
      assert.equal(turn, steps.length, steps.join());
      assert.equal((await lab.liveKeys())?.filter((key) => key === own.key).length, +committed);
      const consumed = await lab.catalog.consumedOf(["own"]);
      assert.equal(consumed.has("own"), committed);
    }
  },
});

Deno.test({
  name: "commitAppend sent again after an unheard success is committed, not in conflict",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const own = lab.newFile(table, { day: 5 });
    let commits = 0;
    let silent = false;
    const deaf = new Proxy(
      withCommit(lab.catalog, async (change) => {
        commits += 1;
        const outcome = await lab.catalog.commit(change);
        silent = commits === 1;
        if (silent) throw new Error("connection lost");
        return outcome;
      }),
      {
        get(target, name) {
          if (name !== "metadataLocation") return Reflect.get(target, name);
          return (ident: TableIdent) => {
            if (!silent) return lab.catalog.metadataLocation(ident);
            silent = false;
            return Promise.reject(new Error("still no connection"));
          };
        },
      },
    );
    const result = await commitAppend({ ...lab.deps, catalog: deaf }, append([own], ["own"]));
    assert.deepEqual([result.outcome, result.retries, commits], ["committed", 0, 2]);
    assert.deepEqual(await lab.liveKeys(), [own.key]);
  },
});

Deno.test({
  name: "commitAppend with a lost answer and another commit on top is committed once",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const files = [lab.newFile(table, { day: 5 }), lab.newFile(table, { day: 5 })] as const;
    const lossy = withCommit(lab.catalog, async (change) => {
      await lab.catalog.commit(change);
      await commitAppend(lab.deps, append([files[1]], ["other"]));
      throw new Error("connection lost");
    });
    const result = await commitAppend({ ...lab.deps, catalog: lossy }, append([files[0]], ["own"]));
    assert.equal(result.outcome, "committed");
    assert.deepEqual(await lab.liveKeys(), files.map((file) => file.key).sort());
  },
});

Deno.test({
  name: "commitAppend removes nothing when the history no longer shows a lost commit",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const own = lab.newFile(table, { day: 5 });
    let commits = 0;
    const paused = withCommit(lab.catalog, async (change) => {
      const outcome = await lab.catalog.commit(change);
      commits += 1;
      if (commits > 1) return outcome;
      for (let i = 0; i <= PREVIOUS_VERSIONS_MAX; i += 1) {
        await commitAppend(lab.deps, append([], [`other${i}`]));
      }
      await expireAllButCurrent(lab);
      throw new Error("connection lost while the process was suspended");
    });
    await assert.rejects(
      commitAppend({ ...lab.deps, catalog: paused }, append([own], ["own"])),
      (error) => isOperatingError(error) && error.reason === "commit_unknown",
    );
    assert.deepEqual(await lab.liveKeys(), [own.key]);
  },
});

/** What expiring snapshots will do, through the same commit. */
async function expireAllButCurrent(lab: TableLab): Promise<void> {
  await commitTable(lab.deps, EVENTS, (base, staging) => {
    assert.ok(base !== undefined);
    const { metadata } = base;
    const snapshots = metadata.snapshots.slice(-1);
    const next = { ...metadata, snapshots, "snapshot-log": metadata["snapshot-log"].slice(-1) };
    const staged = stageMetadata(lab.deps, { table: base, exists: true }, { next, staging });
    return { ...staged, snapshotId: 0n, consumed: [] };
  });
}

Deno.test({
  name: "commitAppend refuses files of a dropped table's incarnation",
  async fn() {
    await using lab = await TableLab.open();
    const dropped = await ensureTable(lab.deps, TABLE);
    const file = lab.newFile(dropped, { day: 5 });
    await lab.catalog.dropTable(EVENTS);
    const refused = (error: unknown) =>
      isOperatingError(error, "conflict") && error.reason === "table_recreated";
    await assert.rejects(commitAppend(lab.deps, append([file], ["s1"])), refused);
    assert.equal(await lab.load(), undefined);
    const recreated = await ensureTable(lab.deps, TABLE);
    assert.notEqual(recreated.locationKey, dropped.locationKey);
    await assert.rejects(commitAppend(lab.deps, append([file], ["s1"])), refused);
    assert.deepEqual(await lab.liveKeys(), []);
    assert.deepEqual(await lab.catalog.consumedOf(["s1"]), new Set());
  },
});

Deno.test({
  name: "commitAppend heeds an abort before the commit point",
  async fn() {
    await using lab = await TableLab.open();
    const deps: CommitDeps = { ...lab.deps, signal: AbortSignal.abort(new Error("shutting down")) };
    await assert.rejects(commitAppend(deps, append([], ["s1"])), /shutting down/);
    assert.equal(await lab.load(), undefined);
  },
});

Deno.test({
  name: "commitAppend of concurrent writers keeps each file once",
  async fn() {
    await using lab = await TableLab.open();
    const table = await ensureTable(lab.deps, TABLE);
    const keys: string[] = [];
    const writer = async (name: string) => {
      for (let i = 0; i < 5; i += 1) {
        const file = lab.newFile(table, { day: 5 });
        keys.push(file.key);
        const result = await commitAppend(lab.deps, append([file], [`${name}${i}`]));
        assert.equal(result.outcome, "committed");
      }
    };
    await Promise.all(["a", "b", "c"].map(writer));
    assert.deepEqual(await lab.liveKeys(), keys.sort());
    assert.equal((await lab.load())?.metadata["last-sequence-number"], 15n);
    assert.deepEqual(await lab.keys(), await lab.namedKeys());
  },
});
