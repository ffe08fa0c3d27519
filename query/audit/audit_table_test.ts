import assert from "node:assert/strict";
import { ensureTable } from "../../shared/iceberg/commit_append.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { QUERY_AUDIT_SCHEMA } from "../../shared/schema/query_audit.ts";
import { TableLab } from "../../shared/testing/table_lab.ts";
import { auditRow } from "./audit_row.ts";
import { AuditTable } from "./audit_table.ts";

const COMMITS = 120;
const AUDIT = { namespace: "acme", name: "query_audit" };

Deno.test({
  name: "AuditTable.append commits each batch below the table's folder and bounds snapshots",
  async fn() {
    await using lab = await TableLab.open();
    const table = new AuditTable({ ...lab.deps, encoder: INLINE_PARQUET_ENCODER }, "acme");
    for (let n = 0; n < COMMITS; n += 1) {
      const record = {
        startedMs: lab.clock.nowMs(),
        durationMs: 1,
        caller: { tenant: "acme", namespace: "acme" },
        endpoint: "sql",
        query: `SELECT ${n}`,
        format: "records",
        priority: "interactive",
        status: 200,
        truncated: false,
      } as const;
      await table.append([auditRow(record)], new AbortController().signal);
      lab.clock.shift(5_000);
    }
    assert.equal((await lab.liveKeys(AUDIT))?.length, COMMITS);
    const keys = await lab.keys();
    assert.ok(keys.every((key) => key.startsWith("acme/query_audit/")), keys[0]);
    const snapshots = (await lab.load(AUDIT))?.metadata.snapshots.length ?? Infinity;
    assert.ok(snapshots <= 40, `${snapshots} snapshots`);
    const metadata = keys.filter((key) => key.includes("/metadata/")).length;
    assert.ok(metadata <= 130, `${metadata} metadata files`);
  },
});

Deno.test({
  name: "AuditTable.append gives a table of an older program the columns that came since",
  async fn() {
    await using lab = await TableLab.open();
    const columns = QUERY_AUDIT_SCHEMA.columns.filter(({ name }) => name !== "application_name");
    await ensureTable(lab.deps, { ident: AUDIT, schema: { ...QUERY_AUDIT_SCHEMA, columns } });
    const table = new AuditTable({ ...lab.deps, encoder: INLINE_PARQUET_ENCODER }, "acme");
    const record = {
      startedMs: lab.clock.nowMs(),
      durationMs: 1,
      caller: { tenant: "acme", namespace: "acme" },
      endpoint: "pg",
      query: "SELECT 1",
      format: "pg",
      priority: "interactive",
      status: 200,
      truncated: false,
      application: "psql",
    } as const;
    for (let n = 0; n < 2; n += 1) {
      await table.append([auditRow(record)], new AbortController().signal);
    }
    assert.equal((await lab.liveKeys(AUDIT))?.length, 2);
    const loaded = await lab.load(AUDIT);
    assert.deepEqual(loaded?.schema.columns.at(-1)?.name, "application_name");
  },
});
