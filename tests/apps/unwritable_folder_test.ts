/**
 * A compactor whose table has a folder that nobody may write to for a while. It drains and merges
 * nothing, every row can still be read, and it goes on by itself when the folder can be written to
 * again. The folder is mounted read-only on itself. The test is ignored, by name, where that is not
 * allowed.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { processArguments } from "../../cli/permissions.ts";
import { eventLines, runRecorded } from "../../cli/recorded_run.ts";
import { sql, SqliteDatabase } from "../../shared/catalog/sql_database.ts";
import { openSqliteCatalog } from "../../shared/catalog/sqlite_catalog.ts";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { batchOfRows } from "../../shared/columns/rows.ts";
import { EVENTS_SCHEMA, EVENTS_TABLE } from "../../shared/schema/events.ts";
import { DEFAULT_TENANT } from "../../shared/tenant/tenant.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { openWal } from "../../shared/wal/wal.ts";
import { MAY_MOUNT, mountReadOnly } from "./small_disk.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";

const LANE = { tenant: DEFAULT_TENANT, index: EVENTS_TABLE };
/** So many files make one merge. */
const FILES = 8;
const ROWS = 20;
/** Rows of the files, and of one segment of the WAL. */
const ALL_ROWS = (FILES + 1) * ROWS;
const FIRST_NS = 1_790_000_000_000_000_000n;
const PASS_MS_MAX = 60_000;
const TITLE =
  "a compactor that cannot write to a table's folder loses nothing, and recovers by itself";

Deno.test({
  name: MAY_MOUNT ? TITLE : `${TITLE} (may not mount)`,
  ignore: !MAY_MOUNT,
  async fn() {
    const dataDir = await Deno.makeTempDir({ prefix: "svc-unwritable-" });
    try {
      for (let at = 0; at < FILES; at += 1) {
        const lines = eventLines(ROWS, { seed: at, firstNs: FIRST_NS + BigInt(at) * 1_000_000n });
        await runRecorded(dataDir, "ingest", [], lines);
      }
      await appendToWal(join(dataDir, "wal"));
      const data = await folderOfFiles(join(dataDir, "warehouse/svc"));
      const before = await filesBelow(data);
      assert.equal(before.length, FILES);

      const metrics = `127.0.0.1:${freePorts(1)[0]}`;
      const readOnly = await mountReadOnly(data);
      const compactor = startCompactor(dataDir, metrics);
      try {
        try {
          await until(
            "a drain fails",
            () => reaches(metrics, /^svc_drain_commits_total{outcome="failed"} (\d+)/m),
          );
          await until(
            "a merge fails",
            () => reaches(metrics, /^svc_compactor_sweep_failures_total{sweep="merge"} (\d+)/m),
          );
          assert.equal(await count(dataDir), ALL_ROWS);
          assert.deepEqual(await inTable(dataDir), { rows: FILES * ROWS, files: FILES });
        } finally {
          await readOnly[Symbol.asyncDispose]();
        }
        await until("all is drained", async () => (await inTable(dataDir)).rows === ALL_ROWS);
        await until("all is merged", async () => (await inTable(dataDir)).files < FILES);
      } finally {
        compactor.kill("SIGTERM");
        await compactor.status;
      }
      assert.equal(await count(dataDir), ALL_ROWS);
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});

const OPENED_TITLE = "a catalog that was opened in a read-only folder is written to once it can be";

Deno.test({
  name: MAY_MOUNT ? OPENED_TITLE : `${OPENED_TITLE} (may not mount)`,
  ignore: !MAY_MOUNT,
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc-unwritable-" });
    try {
      const path = join(folder, "catalog.db");
      // A writer that is killed leaves these files.
      await withWriter(async (file) => {
        for (const end of ["", "-wal", "-shm"]) await Deno.copyFile(`${file}${end}`, path + end);
      });
      await using readOnly = await mountReadOnly(folder);
      // Its connection is read-only, too.
      await using reader = await openSqliteCatalog({ path, readOnly: true });
      await reader.namespaces();
      await using database = new SqliteDatabase(path, { busyTimeoutMs: 1_000 });
      const add = () =>
        database.transaction("add a table", function* () {
          yield sql("CREATE TABLE IF NOT EXISTS added (at INTEGER)");
          yield sql("INSERT INTO added VALUES (1)");
          return (yield sql("SELECT count(*) AS n FROM added")).length;
        });
      const refused = { code: "unavailable", message: /readonly database/ };
      await assert.rejects(add(), refused);
      await assert.rejects(add(), refused);
      await readOnly.release();
      assert.equal(await add(), 1);
      assert.deepEqual(await reader.namespaces(), []);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

async function withWriter(body: (path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "svc-catalog-" });
  try {
    const path = join(folder, "catalog.db");
    await using _catalog = await openSqliteCatalog({ path });
    await body(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Rows that are in no table yet, sealed, and a request to drain them. */
async function appendToWal(root: string): Promise<void> {
  await Deno.mkdir(root, { recursive: true });
  const parts = { fs: new DenoFileSystem(), clock: new SystemClock(), random: new SystemRandom() };
  await using wal = await openWal({ ...parts, root });
  const rows = Array.from({ length: ROWS }, (_, at) => ({
    timestamp: FIRST_NS / 1_000n,
    timestamp_ns: FIRST_NS + BigInt(at),
    host: "host",
    source: "test",
    sourcetype: "test",
    index: "main",
    raw: `waiting ${at}`,
    attributes: null,
  }));
  await wal.append(LANE, encodeBatch(batchOfRows(EVENTS_SCHEMA, rows)), "auto");
  await wal.seal(LANE);
  await wal.requestDrain(LANE);
}

function startCompactor(dataDir: string, metrics: string): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: processArguments("compactor", dataDir, ["--metrics-bind", metrics]),
    env: { SVC_LOG: "error" },
    stdin: "null",
    stdout: "null",
    // It says of each attempt that it failed.
    stderr: "null",
  }).spawn();
}

async function folderOfFiles(tables: string): Promise<string> {
  const [table] = await Array.fromAsync(Deno.readDir(tables));
  return join(tables, table?.name ?? "", "data");
}

async function filesBelow(folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    files.push(...(isDirectory ? await filesBelow(path) : [path]));
  }
  return files;
}

/** What statements see, of the WAL and the table. */
async function count(dataDir: string): Promise<number> {
  const sql = "SELECT count(DISTINCT raw) AS n, count(*) AS rows FROM events WHERE host <> ''";
  const { output } = await runRecorded(dataDir, "query", ["--sql", sql, "--format", "ndjson"]);
  const { n, rows } = JSON.parse(output);
  assert.equal(n, rows, "each row once");
  return rows;
}

async function inTable(dataDir: string): Promise<{ rows: number; files: number }> {
  const { output } = await runRecorded(dataDir, "table-info", []);
  const [header = [], _rule, row = []] = output.split("\n").map((line) =>
    line.split("|").map((cell) => cell.trim())
  );
  const cell = (name: string) => Number(row[header.indexOf(name)]);
  return { rows: cell("rows"), files: cell("files") };
}

async function reaches(metrics: string, series: RegExp): Promise<boolean> {
  const text = await fetch(`http://${metrics}/metrics`).then(
    (response) => response.text(),
    () => "",
  );
  return Number(series.exec(text)?.[1] ?? 0) >= 1;
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + PASS_MS_MAX;
  while (!await condition()) {
    assert.ok(performance.now() < endMs, `${what}: not within ${PASS_MS_MAX} ms`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
