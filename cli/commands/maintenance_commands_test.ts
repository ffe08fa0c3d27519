/**
 * `svc table-info`, `gc-orphans` and `retention-sweep` on a data directory: plans that change
 * nothing, and what they do.
 */

import assert from "node:assert/strict";
import { openMaintenanceCatalog } from "../../shared/catalog/open_catalog_parts.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { COMMANDS } from "../commands.ts";
import { OutputClosed } from "../console.ts";
import { eventLines, runRecorded } from "../recorded_run.ts";
import { RecordingConsole } from "../recording_console.ts";
import { runCommand } from "../run_command.ts";

const ROWS = 200;
/** The time of the oldest row: long ago, so that any period is over. */
const FIRST_NS = 1_763_700_000_000_000_000n;

Deno.test({
  name: "table-info shows rows, files, levels and bytes by what they are for",
  fn: () =>
    withTable(async (dataDir) => {
      const { output } = await runRecorded(dataDir, "table-info", []);
      const [info] = tableOf(output);
      assert.equal(info?.["table"], "svc.events");
      assert.deepEqual([info?.["rows"], info?.["files"], info?.["snapshots"]], ["200", "1", "1"]);
      assert.deepEqual([info?.["overlap"], info?.["merges due"], info?.["WAL bytes"]], [
        "1",
        "0",
        "0",
      ]);
      for (const column of ["live bytes", "data bytes", "index bytes", "metadata bytes"]) {
        assert.ok(Number(info?.[column]) > 0, column);
      }
      assert.equal(info?.["live bytes"], info?.["data bytes"]);
      const levels = tableOf((await runRecorded(dataDir, "table-info", ["--levels"])).output);
      assert.deepEqual(levels.map(({ level, files, rows }) => [level, files, rows]), [
        ["64 rows and more", "1", "200"],
      ]);
      const unknown = await runRecorded(dataDir, "table-info", ["--table", "nope"]);
      assert.equal(unknown.status, 1);
      assert.match(unknown.notes, /Cannot find table nope/);
      const columns = tableOf((await runRecorded(dataDir, "table-info", ["--columns"])).output);
      assert.deepEqual(
        columns.map((one) => [one["column"], one["rows with a value"]]),
        EVENTS_SCHEMA.columns.map(({ name }) => [name, String(ROWS)]),
      );
      const both = await runRecorded(dataDir, "table-info", ["--columns", "--levels"]);
      assert.equal(both.status, 2);
      assert.match(both.notes, /either --levels or --columns/);
    }),
});

const OVER_TABLES: readonly (readonly [name: string, ...args: string[]])[] = [
  ["table-info"],
  ["gc-orphans", "--apply"],
  ["retention-sweep", "--apply"],
  ["migrate-schema", "--all-tables"],
  ["audit-rotate"],
  ["delete-sweep", "--index", "events", "--apply"],
  ["rebuild-group-counts", "--table", "events"],
  ["rebuild-time-aggregates", "--table", "events"],
  ["subscribe", "--table", "events", "--once"],
];

for (const [name, ...args] of OVER_TABLES) {
  Deno.test({
    name: `${name} where nobody has made a catalog says so, and makes none`,
    async fn() {
      const parent = await Deno.makeTempDir({ prefix: "svc-mistyped-" });
      try {
        const { status, output, notes } = await runRecorded(`${parent}/data`, name, args);
        assert.deepEqual([status, output], [1, ""]);
        assert.match(
          notes,
          /Cannot find a catalog at .*\/data\/warehouse\/catalog\.db: .*--data-dir/,
        );
        assert.deepEqual(await Array.fromAsync(Deno.readDir(parent)), []);
      } finally {
        await Deno.remove(parent, { recursive: true });
      }
    },
  });
}

Deno.test({
  name: "wal-requeue tells a WAL without segments set aside from what is no WAL",
  fn: () =>
    withTable(async (dataDir) => {
      const requeue = (wal: string) => runRecorded(dataDir, "wal-requeue", ["--wal", wal]);
      const { status, notes } = await requeue(dataDir);
      assert.equal(status, 1);
      assert.match(notes, /it is no WAL; give the ingest server's/);
      await Deno.mkdir(`${dataDir}/wal`);
      await Deno.writeTextFile(`${dataDir}/wal/LOCK`, "");
      const empty = await requeue(`${dataDir}/wal`);
      assert.equal(empty.status, 0);
      assert.match(empty.notes, /has a segment: nothing to move/);
    }),
});

Deno.test({
  name: "gc-orphans names old files that nothing needs, and removes those alone, with --apply",
  fn: () =>
    withTable(async (dataDir) => {
      const [folder] = await Array.fromAsync(Deno.readDir(`${dataDir}/warehouse/svc`));
      const data = `${dataDir}/warehouse/svc/${folder?.name}/data`;
      const files = { old: `${data}/old.parquet`, young: `${data}/young.parquet` };
      for (const path of Object.values(files)) await Deno.writeTextFile(path, "of a crash");
      const twoDaysAgo = Date.now() / 1_000 - 2 * 86_400;
      await Deno.utime(files.old, twoDaysAgo, twoDaysAgo);

      const dry = await runRecorded(dataDir, "gc-orphans", []);
      const [plan] = tableOf(dry.output);
      assert.deepEqual([plan?.["orphans"], plan?.["bytes freed"], plan?.["action"]], [
        "1",
        "10",
        "would remove",
      ]);
      assert.match(dry.notes, /1 file, 10 B could go; nothing is removed without --apply/);
      const listed = tableOf((await runRecorded(dataDir, "gc-orphans", ["--list"])).output);
      assert.deepEqual(listed.map(({ file }) => file?.endsWith("/data/old.parquet")), [true]);
      await Deno.stat(files.old);

      assert.equal((await runRecorded(dataDir, "gc-orphans", ["--apply"])).status, 0);
      await assert.rejects(Deno.stat(files.old), Deno.errors.NotFound);
      await Deno.stat(files.young);
      const all = await runRecorded(dataDir, "gc-orphans", ["--apply", "--min-age-secs", "0"]);
      assert.match(all.notes, /removed 1 file/);
      await assert.rejects(Deno.stat(files.young), Deno.errors.NotFound);
      assert.equal(await count(dataDir), ROWS);
      assert.match(
        (await runRecorded(dataDir, "gc-orphans", ["--min-age-secs", "0"])).notes,
        /^0 files/,
      );
    }),
});

Deno.test({
  name: "gc-orphans removes a replaced file once its time has come, and says how much waits",
  fn: () =>
    withTable(async (dataDir) => {
      const [folder] = await Array.fromAsync(Deno.readDir(`${dataDir}/warehouse/svc`));
      const key = `svc/${folder?.name}`;
      const twoDaysAgo = Date.now() / 1_000 - 2 * 86_400;
      const pathOf = (name: string) => `${dataDir}/warehouse/${key}/data/${name}.parquet`;
      for (const name of ["due", "waits"]) {
        await Deno.writeTextFile(pathOf(name), "replaced");
        await Deno.utime(pathOf(name), twoDaysAgo, twoDaysAgo);
      }
      const files = new DenoFileSystem();
      await using catalog = await openMaintenanceCatalog(`${dataDir}/warehouse/catalog.db`, {
        files,
      });
      const { removals } = catalog;
      await removals.enter(key, [`${key}/data/due.parquet`], 0);
      await removals.enter(key, [`${key}/data/waits.parquet`], 3_600_000);

      const { notes } = await runRecorded(dataDir, "gc-orphans", ["--apply"]);
      assert.match(notes, /^1 file, 8 B, of expired snapshots or replaced stay for now/);
      assert.match(notes, /removed 1 file, 8 B/);
      await assert.rejects(Deno.stat(pathOf("due")), Deno.errors.NotFound);
      await Deno.stat(pathOf("waits"));
      assert.deepEqual(await removals.entered(key), new Set([`${key}/data/waits.parquet`]));
    }),
});

Deno.test({
  name: "retention-sweep --apply does what it was asked when nobody reads its plan",
  fn: () =>
    withTable(async (dataDir) => {
      const left = new RecordingConsole();
      const closed = { ...left.output, write: () => Promise.reject(new OutputClosed()) };
      const console = { input: left.input, output: closed, notes: left.notes };
      const period = ["--table", "events", "--period-secs", "3600"];
      const argv = ["retention-sweep", "--data-dir", dataDir, ...period, "--apply"];
      const run = { commands: COMMANDS, console, env: () => undefined };
      assert.equal(await runCommand(argv, run), 0);
      assert.equal(await count(dataDir), 0);
    }),
});

Deno.test({
  name: "retention-sweep drops what is past the period, with --apply, and of one table alone",
  fn: () =>
    withTable(async (dataDir) => {
      const none = tableOf((await runRecorded(dataDir, "retention-sweep", [])).output);
      const row = { "retention secs": "none", horizon: "none", files: "0", action: "nothing" };
      assert.partialDeepStrictEqual(none, [row]);
      const ageSecs = Math.ceil((Date.now() - Number(FIRST_NS / 1_000_000n)) / 1_000);
      const longer = ["--table", "events", "--period-secs", String(ageSecs + 86_400)];
      await runRecorded(dataDir, "retention-sweep", [...longer, "--apply"]);
      assert.equal(await count(dataDir), ROWS);
      const shorter = ["--table", "events", "--period-secs", "3600"];
      const dry = await runRecorded(dataDir, "retention-sweep", shorter);
      const [plan] = tableOf(dry.output);
      assert.deepEqual([plan?.["files"], plan?.["rows"], plan?.["action"]], [
        "1",
        String(ROWS),
        "would drop",
      ]);
      assert.equal(await count(dataDir), ROWS);
      const applied = await runRecorded(dataDir, "retention-sweep", [...shorter, "--apply"]);
      assert.match(applied.notes, new RegExp(`dropped ${ROWS} rows with 1 data file`));
      assert.equal(await count(dataDir), 0);
      const bare = await runRecorded(dataDir, "retention-sweep", ["--exact"]);
      assert.equal(bare.status, 2);
      assert.match(bare.notes, /Cannot use --exact without --period-secs/);
      const every = await runRecorded(dataDir, "retention-sweep", [
        "--period-secs",
        "1",
        "--apply",
      ]);
      assert.equal(every.status, 2);
      assert.match(every.notes, /name one with --table/);
    }),
});

async function withTable(body: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "svc-maintenance-commands-" });
  try {
    const lines = eventLines(ROWS, { seed: 3, firstNs: FIRST_NS });
    await runRecorded(dataDir, "ingest", [], lines);
    await body(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

async function count(dataDir: string): Promise<number> {
  const sql = "SELECT count(*) AS n FROM events";
  const { output } = await runRecorded(dataDir, "query", ["--sql", sql, "--format", "ndjson"]);
  return JSON.parse(output).n;
}

/** The lines below the header, by column. */
function tableOf(output: string): Record<string, string>[] {
  const [header = [], _rule, ...rows] = output.trimEnd().split("\n").map((line) =>
    line.split("|").map((cell) => cell.trim())
  );
  return rows.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at] ?? ""])));
}
