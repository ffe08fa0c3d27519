import assert from "node:assert/strict";
import { openSqliteCatalog } from "../../shared/catalog/sqlite_catalog.ts";
import { isOperatingError } from "../../shared/base/errors.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { openLocalReader } from "../../shared/storage/local_store.ts";
import { auditRow } from "./audit_row.ts";
import { ThreadTable } from "./thread_table.ts";

const IDENT = { namespace: "acme", name: "query_audit" };
const NEVER = new AbortController().signal;

function batchOf(rows: number) {
  return Array.from({ length: rows }, (_, row) =>
    auditRow({
      startedMs: Date.UTC(2026, 10, 20) + row,
      durationMs: 1,
      caller: { tenant: "acme", namespace: "acme" },
      endpoint: "sql",
      query: `SELECT 'secret', ${row}`,
      format: "records",
      priority: "interactive",
      status: 200,
      truncated: false,
    }));
}

function tableIn(warehouse: string): ThreadTable {
  return new ThreadTable({
    places: { warehouse, catalog: `${warehouse}/catalog.db`, namespace: IDENT.namespace },
    logLevel: "error",
    appendDeadlineMs: 30_000,
    clock: new SystemClock(),
  });
}

/** Rows of each data file, oldest first. */
async function rowsIn(warehouse: string): Promise<number[]> {
  const catalog = await openSqliteCatalog({ path: `${warehouse}/catalog.db`, readOnly: true });
  try {
    const reader = new IcebergReader(openLocalReader(new DenoFileSystem(), warehouse));
    const location = await catalog.metadataLocation(IDENT);
    if (location === undefined) return [];
    const { files } = await reader.selectFiles(await reader.loadTable(IDENT, location));
    return files.map(({ rows }) => rows);
  } finally {
    await catalog.close();
  }
}

Deno.test({
  name: "ThreadTable.append commits batch after batch, and none that was abandoned in line",
  async fn() {
    const dir = await Deno.makeTempDir();
    {
      await using table = tableIn(dir);
      const abandoned = new AbortController();
      const appends = [
        table.append(batchOf(3), NEVER),
        table.append(batchOf(4), abandoned.signal),
        table.append(batchOf(5), NEVER),
      ];
      abandoned.abort(new Error("too late"));
      const [first, second, third] = await Promise.allSettled(appends);
      assert.deepEqual([first?.status, third?.status], ["fulfilled", "fulfilled"]);
      assert.deepEqual(second, { status: "rejected", reason: new Error("too late") });
    }
    assert.deepEqual((await rowsIn(dir)).sort(), [3, 5]);
    await Deno.remove(dir, { recursive: true });
  },
});

Deno.test({
  name: "ThreadTable.append tells of a failure without the statements, and takes the next batch",
  async fn() {
    const dir = await Deno.makeTempDir();
    const warehouse = `${dir}/warehouse`;
    await Deno.writeTextFile(warehouse, "no folder");
    await using table = tableIn(warehouse);
    const failed = await table.append(batchOf(1), NEVER).catch((error: unknown) => error);
    assert.ok(isOperatingError(failed), String(failed));
    assert.doesNotMatch(failed.message, /secret/);
    await Deno.remove(warehouse);
    await Deno.mkdir(warehouse);
    await table.append(batchOf(2), NEVER);
    assert.deepEqual(await rowsIn(warehouse), [2]);
    await Deno.remove(dir, { recursive: true });
  },
});
