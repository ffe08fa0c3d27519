/**
 * `svc audit-rotate` and `svc migrate-schema` on a data directory: previews change nothing, and
 * both can be repeated.
 */

import assert from "node:assert/strict";
import type { Catalog } from "../../shared/catalog/catalog.ts";
import { openSqliteCatalog } from "../../shared/catalog/sqlite_catalog.ts";
import { batchOfRows } from "../../shared/columns/rows.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { QUERY_AUDIT_SCHEMA, QUERY_AUDIT_TABLE } from "../../shared/schema/query_audit.ts";
import { commitAppend, ensureTable } from "../../shared/iceberg/commit_append.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { DataFileWriter } from "../../shared/tables/data_file_writer.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { openLocalStore } from "../../shared/storage/local_store.ts";
import { runRecorded } from "../recorded_run.ts";

const IDENT = { namespace: "svc", name: QUERY_AUDIT_TABLE };
const BATCHES = 4;

class DataDir implements AsyncDisposable {
  private constructor(readonly path: string, readonly catalog: Catalog) {}

  static async make(): Promise<DataDir> {
    const path = await Deno.makeTempDir({ prefix: "svc-operator-" });
    await Deno.mkdir(`${path}/warehouse`);
    return new DataDir(path, await openSqliteCatalog({ path: `${path}/warehouse/catalog.db` }));
  }

  get deps() {
    const files = new DenoFileSystem();
    return {
      store: openLocalStore(files, `${this.path}/warehouse`),
      catalog: this.catalog,
      clock: new SystemClock(),
      random: new SystemRandom(),
      encoder: INLINE_PARQUET_ENCODER,
    };
  }

  /** Rows of the audit, one commit each. */
  async audit(): Promise<void> {
    const { deps } = this;
    for (let at = 0; at < BATCHES; at += 1) {
      const schema = QUERY_AUDIT_SCHEMA;
      const table = await ensureTable(deps, { ident: IDENT, schema });
      const ns = 1_763_700_000_000_000_000n + BigInt(at) * 1_000_000_000n;
      const row = Object.fromEntries(schema.columns.map(({ name, type, required }) => {
        if (name === "timestamp") return [name, ns / 1_000n];
        if (name === "timestamp_ns") return [name, ns];
        if (!required) return [name, null];
        return [name, type === "string" ? "x" : type === "bool" ? false : 1];
      }));
      const writer = new DataFileWriter(deps, table);
      await writer.add(batchOfRows(schema, [row]));
      const files = await writer.finish();
      await commitAppend(deps, { ident: IDENT, schema, files, consumed: [] });
    }
  }

  async run(name: string, ...args: string[]) {
    const { status, output, notes } = await runRecorded(this.path, name, args);
    const rows = output.trimEnd().split("\n").slice(2)
      .map((line) => line.split("|").map((cell) => cell.trim()));
    return { status, rows, notes };
  }

  async count(table: string): Promise<number> {
    const sql = `SELECT count(*) AS n FROM ${table}`;
    const args = ["--format", "ndjson", "--query", sql];
    const { output } = await runRecorded(this.path, "sql-direct", args);
    return JSON.parse(output).n;
  }

  async load(name: string) {
    const ident = { namespace: "svc", name };
    const location = await this.catalog.metadataLocation(ident);
    assert.ok(location !== undefined, name);
    return await new IcebergReader(this.deps.store).loadTable(ident, location);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.catalog.close();
    await Deno.remove(this.path, { recursive: true });
  }
}

Deno.test({
  name: "audit-rotate drops the table and makes it again; --dry-run only says what would go",
  async fn() {
    await using data = await DataDir.make();
    const none = await data.run("audit-rotate");
    assert.equal(none.status, 1);
    assert.match(none.notes, /there is none/);
    await data.audit();
    const before = await data.load(QUERY_AUDIT_TABLE);
    const dry = await data.run("audit-rotate", "--dry-run");
    const [table, action, rows, files, bytes, snapshots] = dry.rows[0] ?? [];
    assert.deepEqual(
      [table, action, rows, files, snapshots],
      ["svc.query_audit", "drop and make again", String(BATCHES), String(BATCHES), String(BATCHES)],
    );
    assert.ok(Number(bytes) > 1_000);
    assert.equal(await data.count(QUERY_AUDIT_TABLE), BATCHES);
    const done = await data.run("audit-rotate");
    assert.equal(done.status, 0, done.notes);
    assert.equal(await data.count(QUERY_AUDIT_TABLE), 0);
    assert.notEqual((await data.load(QUERY_AUDIT_TABLE)).uuid, before.uuid);
    await data.audit();
    assert.equal(await data.count(QUERY_AUDIT_TABLE), BATCHES);
    const again = await data.run("audit-rotate");
    assert.equal(again.status, 0);
    assert.equal(await data.count(QUERY_AUDIT_TABLE), 0);
  },
});

Deno.test({
  name: "audit-rotate --max-age-secs keeps every row and expires what is older",
  async fn() {
    await using data = await DataDir.make();
    await data.audit();
    const young = await data.run("audit-rotate", "--max-age-secs", "3600");
    assert.equal(young.rows[0]?.[5], "0");
    assert.equal((await data.load(QUERY_AUDIT_TABLE)).metadata.snapshots.length, BATCHES);
    const dry = await data.run("audit-rotate", "--max-age-secs", "0", "--dry-run");
    assert.deepEqual([dry.rows[0]?.[2], dry.rows[0]?.[5]], ["0", String(BATCHES - 1)]);
    assert.equal((await data.load(QUERY_AUDIT_TABLE)).metadata.snapshots.length, BATCHES);
    const done = await data.run("audit-rotate", "--max-age-secs", "0");
    assert.equal(done.status, 0, done.notes);
    assert.equal((await data.load(QUERY_AUDIT_TABLE)).metadata.snapshots.length, 1);
    assert.equal(await data.count(QUERY_AUDIT_TABLE), BATCHES);
    const again = await data.run("audit-rotate", "--max-age-secs", "0");
    assert.deepEqual([again.status, again.rows[0]?.[5]], [0, "0"]);
  },
});

Deno.test({
  name: "migrate-schema promotes, previews, can be repeated, and names what it cannot",
  async fn() {
    await using data = await DataDir.make();
    const { deps } = data;
    await data.audit();
    for (const namespace of ["svc", "acme"]) {
      await ensureTable(deps, { ident: { namespace, name: "events" }, schema: EVENTS_SCHEMA });
    }
    const which = await data.run("migrate-schema");
    assert.equal(which.status, 2);
    assert.match(which.notes, /--table <name> or --all-tables/);
    const unknown = await data.run("migrate-schema", "--table", "nosuch");
    assert.match(unknown.notes, /svc\.nosuch: there is none/);
    const nowhere = await data.run("migrate-schema", "--all-tables", "--namespace", "acmee");
    assert.equal(nowhere.status, 1);
    assert.match(
      nowhere.notes,
      /namespace acmee: the catalog has none; it has tables in acme, svc/,
    );
    const all = await data.run("migrate-schema", "--all-tables", "--all-namespaces");
    assert.deepEqual(
      all.rows.map(([namespace, table, , , , action]) => [namespace, table, action]),
      [
        ["acme", "events", "up to date"],
        ["svc", "events", "up to date"],
        ["svc", "query_audit", "up to date"],
      ],
    );
    const promote = ["--table", "events", "--promote-attr", "http.status:int,user.id:string"];
    const dry = await data.run("migrate-schema", ...promote, "--dry-run");
    assert.deepEqual(dry.rows[0]?.slice(3), [
      "http.status:int, user.id:string",
      "http.status, user.id",
      "change",
    ]);
    assert.equal((await data.load("events")).schema.promoted, undefined);
    assert.equal((await data.run("migrate-schema", ...promote)).status, 0);
    const { schema, metadataLocation } = await data.load("events");
    assert.deepEqual(schema.promoted, ["http.status", "user.id"]);
    assert.match((await data.run("migrate-schema", ...promote)).notes, /^0 of 1 table changed/);
    assert.equal((await data.load("events")).metadataLocation, metadataLocation);
    // The audit has no attributes: asked for by name it is refused, among all it is passed over.
    const named = ["--table", "query_audit", "--promote-attr", "a:string"];
    const refused = await data.run("migrate-schema", ...named);
    assert.equal(refused.status, 1);
    assert.match(refused.notes, /svc\.query_audit: it has no column attributes/);
    // One that cannot have it, and none is changed.
    const whole = ["--all-tables", "--all-namespaces", "--promote-attr", "http.status:long"];
    assert.equal((await data.run("migrate-schema", ...whole)).status, 1);
    assert.equal((await data.load("events")).metadataLocation, metadataLocation);
    const fitting = [...whole.slice(0, 3), "a:string"];
    assert.match((await data.run("migrate-schema", ...fitting)).notes, /^2 of 3 tables changed/);
    const other = await data.run(
      "migrate-schema",
      "--table",
      "events",
      "--promote-attr",
      "http.status:long",
    );
    assert.match(other.notes, /http\.status of type int/);
  },
});
