/**
 * A compactor that promotes hot attributes, as a process beside a query server whose audit says
 * what is hot. The statement gives the same answer from the column, and nobody sees that column.
 */

import assert from "node:assert/strict";
import { runRecorded } from "../../cli/recorded_run.ts";
import { openSqliteCatalog } from "../../shared/catalog/sqlite_catalog.ts";
import { batchOfRows } from "../../shared/columns/rows.ts";
import { QUERY_AUDIT_SCHEMA } from "../../shared/schema/query_audit.ts";
import { commitAppend, ensureTable } from "../../shared/iceberg/commit_append.ts";
import { DataFileWriter } from "../../shared/tables/data_file_writer.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { openLocalStore } from "../../shared/storage/local_store.ts";
import { Stack } from "./stack.ts";

const AUDIT = { namespace: "svc", name: "query_audit" };
const ASKED = 60;
const WAIT_MS_MAX = 60_000;
const SQL = "SELECT raw, attr_get(attributes, 'status') AS status FROM events " +
  "WHERE attr_get(attributes, 'status') LIKE '5%' ORDER BY raw";
const ALL = "SELECT * FROM events ORDER BY raw LIMIT 1";

Deno.test({
  name: "a compactor gives what statements keep asking for a column that they do not see",
  async fn() {
    await using stack = await Stack.start({
      rollAgeSecs: 2,
      env: { SVC_PROMOTE_HOT_ATTRIBUTES: "3", SVC_COMMIT_MAX_AGE_SECS: "1" },
    });
    await sendRows(stack, 0);
    const before = { hot: await stack.sql(SQL), all: await stack.sql(ALL) };
    assert.equal(before.hot.rows.length, 20);
    for (let at = 0; at < ASKED; at += 1) await stack.sql(SQL);
    await until(
      async () => {
        const { rows: [[n] = []] } = await stack.sql("SELECT count(*) FROM query_audit");
        return Number(n) >= ASKED;
      },
      "the audit has today's statements",
    );
    await stack.kill("compactor");
    await auditEarlierDays(stack.dataDir);
    await stack.ensure("compactor");
    await until(async () => (await columnsOf(stack)).length === 9, "the attribute has a column");
    assert.match(
      (await columnsOf(stack)).at(-1) ?? "",
      /attributes:status.*attribute status, promoted as it was hot/,
    );

    await sendRows(stack, 100);
    const { rows } = await stack.sql(SQL);
    assert.deepEqual(rows.slice(0, 20), before.hot.rows);
    assert.equal(rows.length, 40);
    assert.deepEqual((await stack.sql(ALL)).columns, before.all.columns);
    await until(
      async () =>
        /attributes:status\s*\|\s*string\s*\|\s*100\b/.test((await columnsOf(stack)).at(-1) ?? ""),
      "new rows fill it",
    );
    const explained = await fetch(`${stack.queryUrl}/api/v1/sql/explain`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query: SQL }),
    });
    assert.match(await explained.text(), /attributes:status/);
    assert.match(
      await stack.stop("compactor"),
      /promoted attribute .*status.* of table .*svc\.events/,
    );
  },
});

/** A hundred rows; the attribute `status` of each fifth is 500. */
async function sendRows(stack: Stack, first: number): Promise<void> {
  const lines = Array.from({ length: 100 }, (_, at) => [
    { index: { _index: "events" } },
    {
      "@timestamp": new Date().toISOString(),
      message: `row ${String(first + at).padStart(4, "0")}`,
      status: at % 5 === 0 ? 500 : 200 + at % 3,
    },
  ]).flat();
  const response = await fetch(`${stack.ingestUrl}/api/v1/_compat/_bulk?commit=force`, {
    method: "POST",
    headers: { "content-type": "application/x-ndjson" },
    body: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
  });
  const body = await response.text();
  assert.equal(response.status, 200, body);
  assert.equal(JSON.parse(body).errors, false, body);
}

/** Puts the audited statements on the two days before, as a query server would have left them. */
async function auditEarlierDays(dataDir: string): Promise<void> {
  const warehouse = `${dataDir}/warehouse`;
  await using catalog = await openSqliteCatalog({ path: `${warehouse}/catalog.db` });
  const deps = {
    store: openLocalStore(new DenoFileSystem(), warehouse),
    catalog,
    clock: new SystemClock(),
    random: new SystemRandom(),
    encoder: INLINE_PARQUET_ENCODER,
  };
  const change = { ident: AUDIT, schema: QUERY_AUDIT_SCHEMA };
  const table = await ensureTable(deps, change);
  const writer = new DataFileWriter(deps, table);
  for (const daysAgo of [1, 2]) {
    const ms = BigInt(Date.now() - daysAgo * 86_400_000);
    const row = {
      timestamp: ms * 1_000n,
      timestamp_ns: ms * 1_000_000n,
      tenant: "default",
      endpoint: "sql",
      query: SQL,
      priority: "interactive",
      duration_ms: 1,
      status: 200,
      truncated: 0,
    };
    await writer.add(batchOfRows(QUERY_AUDIT_SCHEMA, Array.from({ length: ASKED }, () => row)));
  }
  await commitAppend(deps, { ...change, files: await writer.finish(), consumed: [] });
}

/** Lines of `svc table-info --columns`. */
async function columnsOf({ dataDir }: Stack): Promise<string[]> {
  const { output } = await runRecorded(dataDir, "table-info", ["--table", "events", "--columns"]);
  return output.trimEnd().split("\n").slice(2);
}

async function until(isTrue: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + WAIT_MS_MAX;
  while (!await isTrue()) {
    assert.ok(Date.now() < deadline, what);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}
