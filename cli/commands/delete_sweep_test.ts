/**
 * `svc delete-sweep` on a data directory: the plan, the dry run that changes nothing, and the
 * sweep.
 */

import assert from "node:assert/strict";
import { counted } from "../../shared/base/counted.ts";
import { openDeleteLedger } from "../../shared/catalog/open_catalog_parts.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { eventLines, runRecorded } from "../recorded_run.ts";

Deno.test({
  name: "delete-sweep prints its plan, changes nothing without --apply, and carries it out with it",
  async fn() {
    const dataDir = await Deno.makeTempDir({ prefix: "svc-delete-sweep-" });
    try {
      const lines = eventLines(500, { seed: 3, firstNs: 1_763_700_000_000_000_000n });
      await runRecorded(dataDir, "ingest", [], lines);
      const all = await count(dataDir);
      assert.equal(all, 500);
      const gone = await count(dataDir, "WHERE source = 'checkout'");
      assert.ok(gone > 0);

      const empty = await runRecorded(dataDir, "delete-sweep", ["--index", "events"]);
      assert.equal(empty.status, 0);
      assert.match(empty.notes, /^0 delete tasks/);

      await submit(dataDir, ["one", "source = 'checkout'"], ["two", "CAST(host AS BIGINT) > 0"]);
      const dry = await runRecorded(dataDir, "delete-sweep", ["--index", "events"]);
      assert.equal(dry.status, 0, dry.notes);
      const [header, , one, two] = dry.output.split("\n").map((line) => line.split(/ *\| */));
      assert.deepEqual(header?.slice(0, 5), ["task", "predicate", "files", "rewritten", "rows"]);
      assert.deepEqual([one?.[0], one?.[4], one?.[6]?.trim()], ["one", String(gone), "delete"]);
      assert.ok(Number(one?.[5]) > 0, "bytes freed");
      assert.match(two?.[6] ?? "", /^fail: .*Could not convert/);
      assert.match(dry.notes, /2 delete tasks have not ended; nothing is changed without --apply/);
      assert.equal(await count(dataDir), all);

      const other = await runRecorded(dataDir, "delete-sweep", ["--index", "traces", "--apply"]);
      assert.deepEqual([other.status, await count(dataDir)], [0, all]);
      assert.match(other.notes, /^0 delete tasks have not ended; nothing to do/);
      const mistyped = await runRecorded(dataDir, "delete-sweep", ["--index", "evnets", "--apply"]);
      assert.equal(mistyped.status, 1);
      assert.match(mistyped.notes, /Cannot sweep --index evnets: namespace svc has no such index/);

      const applied = await runRecorded(dataDir, "delete-sweep", ["--index", "events", "--apply"]);
      assert.equal(applied.status, 1, "one of the two failed");
      const done = `^one: done, ${counted(gone, "row")} deleted, 1 file rewritten$`;
      assert.match(applied.notes, new RegExp(done, "m"));
      assert.match(applied.notes, /^two: failed: .*Could not convert/m);
      assert.equal(await count(dataDir), all - gone);

      const again = await runRecorded(dataDir, "delete-sweep", ["--index", "events", "--apply"]);
      assert.deepEqual(
        [again.status, again.notes],
        [0, "0 delete tasks have not ended; nothing to do\n"],
      );
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});

async function count(dataDir: string, where = ""): Promise<number> {
  const sql = `SELECT count(*) AS n FROM events ${where}`;
  const { output } = await runRecorded(dataDir, "query", ["--sql", sql, "--format", "ndjson"]);
  return JSON.parse(output).n;
}

async function submit(
  dataDir: string,
  ...tasks: readonly (readonly [string, string])[]
): Promise<void> {
  const place = `${dataDir}/warehouse/catalog.db`;
  await using ledger = await openDeleteLedger(place, { files: new DenoFileSystem() });
  for (const [taskId, predicate] of tasks) {
    await ledger.submit({
      taskId,
      ident: { namespace: "svc", name: "events" },
      tableUuid: undefined,
      epoch: 0,
      predicate,
      startNs: undefined,
      endNs: undefined,
    }, 10);
  }
}
