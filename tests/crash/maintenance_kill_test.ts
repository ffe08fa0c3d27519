/**
 * Two compactors that maintain one table, killed with SIGKILL at random moments, while rows are
 * appended and statements ask for all of it. Holds when no statement fails or counts wrongly, and
 * at the end the table is merged and has every row once. Each round has a day of its own, because a
 * killed process keeps the lease of the day that it worked on for a while. Rounds: `SVC_TEST_KILLS`
 * (default 3).
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../cli/commands.ts";
import { processArguments } from "../../cli/permissions.ts";
import { RecordingConsole } from "../../cli/recording_console.ts";
import { runCommand } from "../../cli/run_command.ts";
import { NS_PER_DAY } from "../../shared/base/time.ts";
import { openSqliteCatalog } from "../../shared/catalog/sqlite_catalog.ts";
import { batchOfRows } from "../../shared/columns/rows.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { commitAppend, ensureTable } from "../../shared/iceberg/commit_append.ts";
import type { CommitDeps } from "../../shared/iceberg/commit_table.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import type { DataFile } from "../../shared/iceberg/types.ts";
import { DataFileWriter } from "../../shared/tables/data_file_writer.ts";
import { overlapDepth } from "../../shared/upkeep/plan_merge.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { openLocalStore } from "../../shared/storage/local_store.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { numbersIn } from "../../shared/testing/numbers_in_files.ts";

const KILLS = Number(Deno.env.get("SVC_TEST_KILLS") ?? "3");
const EVENTS = { namespace: "svc", name: "events" };
const ROWS_PER_APPEND = 20;
const APPENDS_PER_ROUND = 12;
const SETTLE_MS_MAX = 120_000;

Deno.test({
  name:
    `two compactors of one table, killed ${KILLS} times while rows come: every row once, no statement fails`,
  async fn() {
    const dataDir = await Deno.makeTempDir({ prefix: "svc-maintenance-kill-" });
    try {
      await Deno.mkdir(join(dataDir, "wal"));
      await Deno.mkdir(join(dataDir, "warehouse"));
      await using table = await TestTable.open(dataDir);
      const random = new SeededRandom(4);
      for (let round = 0; round < KILLS; round += 1) {
        for (let at = 0; at < APPENDS_PER_ROUND; at += 1) await table.append(round);
        const compactors = [startCompactor(dataDir), startCompactor(dataDir)];
        await table.append(round);
        await countUntil(Date.now() + 300 + random.float() * 2_500, dataDir, table);
        for (const compactor of compactors) await kill(compactor);
        assert.equal(await count(dataDir), table.rows);
      }
      const last = startCompactor(dataDir);
      try {
        await settled(table);
      } finally {
        await kill(last);
      }
      assert.deepEqual(await table.numbers(), Array.from({ length: table.rows }, (_, at) => at));
      assert.ok(overlapDepth(await table.files()) <= 12);
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});

/** Statements one after another: fails when one does, or sees another number of rows. */
async function countUntil(endMs: number, dataDir: string, table: TestTable): Promise<void> {
  while (Date.now() < endMs) assert.equal(await count(dataDir), table.rows);
}

async function count(dataDir: string): Promise<number> {
  const console = new RecordingConsole("");
  const sql = "SELECT count(DISTINCT raw) AS n, count(*) AS rows FROM events WHERE host <> ''";
  const argv = ["query", "--data-dir", dataDir, "--sql", sql, "--format", "ndjson"];
  const status = await runCommand(argv, { commands: COMMANDS, console, env: () => undefined });
  assert.equal(status, 0, console.notesText);
  const { n, rows } = JSON.parse(console.outputText);
  assert.equal(n, rows, "each row once");
  return rows;
}

function startCompactor(dataDir: string): Deno.ChildProcess {
  const args = ["--role", "maintenance", "--metrics-bind", "127.0.0.1:0"];
  return new Deno.Command(Deno.execPath(), {
    args: processArguments("compactor", dataDir, args),
    env: { SVC_LOG: "error" },
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
}

async function kill(process: Deno.ChildProcess): Promise<void> {
  process.kill("SIGKILL");
  await process.status;
}

async function settled(table: TestTable): Promise<void> {
  const endMs = Date.now() + SETTLE_MS_MAX;
  // Each day then has fewer than eight files of a tier, and few tiers with so few rows.
  while ((await table.files()).length > KILLS * 7) {
    assert.ok(Date.now() < endMs, `not merged within ${SETTLE_MS_MAX} ms`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Rows are numbers, kept in `raw`. */
class TestTable implements AsyncDisposable {
  rows = 0;
  readonly #deps: CommitDeps & AsyncDisposable;

  private constructor(deps: CommitDeps & AsyncDisposable) {
    this.#deps = deps;
  }

  static async open(dataDir: string): Promise<TestTable> {
    const catalog = await openSqliteCatalog({ path: join(dataDir, "warehouse/catalog.db") });
    return new TestTable({
      store: openLocalStore(new DenoFileSystem(), join(dataDir, "warehouse")),
      catalog,
      clock: new SystemClock(),
      random: new SystemRandom(),
      [Symbol.asyncDispose]: () => catalog.close(),
    });
  }

  async append(daysAgo: number): Promise<void> {
    const deps = { ...this.#deps, encoder: INLINE_PARQUET_ENCODER };
    const table = await ensureTable(deps, { ident: EVENTS, schema: EVENTS_SCHEMA });
    const writer = new DataFileWriter(deps, table);
    const nowNs = BigInt(Date.now()) * 1_000_000n - BigInt(daysAgo) * NS_PER_DAY;
    const rows = Array.from({ length: ROWS_PER_APPEND }, (_, at) => ({
      timestamp: nowNs / 1_000n,
      timestamp_ns: nowNs + BigInt(at),
      host: "host",
      source: "test",
      sourcetype: "test",
      index: "main",
      raw: String(this.rows + at),
      attributes: null,
    }));
    await writer.add(batchOfRows(EVENTS_SCHEMA, rows));
    const files = await writer.finish();
    await commitAppend(deps, { ident: EVENTS, schema: EVENTS_SCHEMA, files, consumed: [] });
    this.rows += ROWS_PER_APPEND;
  }

  async files(): Promise<readonly DataFile[]> {
    const reader = new IcebergReader(this.#deps.store);
    const location = await this.#deps.catalog.metadataLocation(EVENTS);
    const table = await reader.loadTable(EVENTS, location ?? "");
    return (await reader.selectFiles(table)).files;
  }

  async numbers(): Promise<number[]> {
    return await numbersIn(this.#deps.store, (await this.files()).map(({ key }) => key));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#deps[Symbol.asyncDispose]());
  }
}
