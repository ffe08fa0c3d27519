/** `filesSince`: what came after a snapshot, as long as nothing of it is gone. */

import assert from "node:assert/strict";
import { present } from "../base/assert.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { EVENTS, TableLab } from "../testing/table_lab.ts";
import { commitAppend, ensureTable } from "./commit_append.ts";
import { commitRewrite } from "./commit_rewrite.ts";
import { filesSince } from "./table_history.ts";
import type { DataFile, RewriteKind } from "./types.ts";

const TABLE = { ident: EVENTS, schema: EVENTS_SCHEMA };
const DAY = 5;

/** Adds a file of ten rows; its key. */
async function append(lab: TableLab, n: number): Promise<string> {
  const table = await ensureTable(lab.deps, TABLE);
  const file = lab.newFile(table, { day: DAY, startNs: BigInt(n) * 10n });
  await commitAppend(lab.deps, { ...TABLE, files: [file], consumed: [`s${n}`] });
  return file.key;
}

/** Puts one file in the place of the files of these keys, or none; its key. */
async function rewrite(
  lab: TableLab,
  kind: RewriteKind,
  keys: readonly string[],
): Promise<string> {
  const table = await ensureTable(lab.deps, TABLE);
  const replaced = (await lab.liveFiles() ?? []).filter(({ key }) => keys.includes(key));
  const gone = kind === "merge" ? 0 : 1;
  const file = lab.newFile(table, { day: DAY, rows: 10 * replaced.length - gone });
  const files = kind === "retention" ? [] : [file];
  const { outcome } = await commitRewrite(lab.deps, {
    ident: EVENTS,
    tableUuid: table.uuid,
    kind,
    replaced,
    files,
  });
  assert.equal(outcome, "committed");
  return file.key;
}

async function now(lab: TableLab): Promise<bigint> {
  return present((await lab.load())?.snapshotId);
}

async function since(lab: TableLab, snapshotId: bigint): Promise<string[] | undefined> {
  const files = await filesSince(lab.reader(), present(await lab.load()), snapshotId);
  return files?.map(({ key }: DataFile) => key).sort();
}

Deno.test({
  name:
    "filesSince tells what appends added and what merges made of it, whatever manifest names it",
  async fn() {
    await using lab = await TableLab.open();
    const first = await append(lab, 0);
    const before = await now(lab);
    assert.deepEqual(await since(lab, before), []);
    const keys: string[] = [];
    for (let n = 1; n <= 40; n += 1) keys.push(await append(lab, n));
    const manifests = await lab.reader().manifests(present(await lab.load()));
    assert.ok(manifests.length < 41, "some were put together");
    assert.deepEqual(await since(lab, before), [...keys].sort());
    const between = await now(lab);
    const [second = "", third = "", ...rest] = keys;
    const merged = await rewrite(lab, "merge", [first, second]);
    assert.deepEqual(await since(lab, between), [merged], "with rows that were there");
    assert.deepEqual(await since(lab, before), [...rest, third, merged].sort());
  },
});

for (const kind of ["retention", "delete"] as const) {
  Deno.test({
    name: `filesSince knows nothing of a snapshot before rows went by ${kind}`,
    async fn() {
      await using lab = await TableLab.open();
      const first = await append(lab, 0);
      const before = await now(lab);
      await append(lab, 1);
      await rewrite(lab, kind, [first]);
      const after = await now(lab);
      const last = await append(lab, 2);
      assert.equal(await since(lab, before), undefined);
      assert.deepEqual(await since(lab, after), [last]);
    },
  });
}

Deno.test({
  name: "filesSince knows nothing of a snapshot that is gone, or was never there",
  async fn() {
    await using lab = await TableLab.open();
    await append(lab, 0);
    const before = await now(lab);
    await append(lab, 1);
    const table = present(await lab.load());
    const snapshots = table.metadata.snapshots.filter((one) => one["snapshot-id"] !== before);
    const expired = { ...table, metadata: { ...table.metadata, snapshots } };
    assert.equal(await filesSince(lab.reader(), expired, before - 1n), undefined);
    assert.equal(await filesSince(lab.reader(), table, before + 1n), undefined);
    // Its own rows are not needed, only what came after it.
    assert.equal((await filesSince(lab.reader(), expired, before))?.length, 1);
  },
});
