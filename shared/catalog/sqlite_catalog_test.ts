import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { isOperatingError } from "../base/errors.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { CATALOG_CASES } from "../testing/catalog_conformance.ts";
import { segmentNames } from "../testing/segment_names.ts";
import type { TableCommit } from "./catalog.ts";
import { openSqliteCatalog } from "./sqlite_catalog.ts";

const EVENTS = { namespace: "svc", name: "events" };

for (const { name, run } of CATALOG_CASES) {
  Deno.test({
    name: `SqliteCatalog ${name}`,
    fn: () =>
      inFolder(async (root) => {
        const path = `${root}/catalog.db`;
        await using catalog = await openSqliteCatalog({ path });
        await using other = await openSqliteCatalog({ path });
        await run({ catalog, other });
      }),
  });
}

Deno.test({
  name:
    "SqliteCatalog tells clients no path of a file that is none of SQLite, and its log where it is",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/catalog.db`;
      await Deno.writeTextFile(
        path,
        "this is no database, and longer than a header of one ".repeat(9),
      );
      await assert.rejects(
        openSqliteCatalog({ path }),
        (error) =>
          isOperatingError(error, "corrupt") && error.place === path &&
          error.message ===
            "Cannot open the catalog: file is not a database; restore it from a backup",
      );
    }),
});

Deno.test({
  name: "openSqliteCatalog makes exactly the tables of the JDBC catalog, and ours beside them",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/new/folder/catalog.db`;
      await using _ = await openSqliteCatalog({ path, files: new DenoFileSystem() });
      using db = new DatabaseSync(path, { readOnly: true });
      // Name, type, not null, place in the primary key: org.apache.iceberg.jdbc.JdbcUtil, schema
      // V1.
      assert.deepEqual(columnsOf(db, "iceberg_tables"), [
        ["catalog_name", "VARCHAR(255)", 1, 1],
        ["table_namespace", "VARCHAR(255)", 1, 2],
        ["table_name", "VARCHAR(255)", 1, 3],
        ["metadata_location", "VARCHAR(1000)", 0, 0],
        ["previous_metadata_location", "VARCHAR(1000)", 0, 0],
        ["iceberg_type", "VARCHAR(5)", 0, 0],
      ]);
      assert.deepEqual(columnsOf(db, "iceberg_namespace_properties"), [
        ["catalog_name", "VARCHAR(255)", 1, 1],
        ["namespace", "VARCHAR(255)", 1, 2],
        ["property_key", "VARCHAR(255)", 0, 3],
        ["property_value", "VARCHAR(1000)", 0, 0],
      ]);
      const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1");
      const names = tables.all().map((row) => String(row.name));
      const copies = names.filter((name) => name.startsWith("svc_copy_of_"));
      const own = names.filter((name) => !copies.includes(name));
      // All but those of the version and the commits, which have no key.
      const keyless = ["svc_catalog_version", "svc_commits"];
      const copied = own.filter((name) => !keyless.includes(name));
      assert.deepEqual(copies, copied.map((name) => `svc_copy_of_${name}`).sort());
      assert.deepEqual(own, [
        "iceberg_namespace_properties",
        "iceberg_tables",
        "svc_catalog_version",
        "svc_commits",
        "svc_damaged_files",
        "svc_delete_tasks",
        "svc_dropped_tables",
        "svc_index_epochs",
        "svc_index_templates",
        "svc_indexes",
        "svc_leases",
        "svc_long_reads",
        "svc_removals",
        "svc_scrubs",
        "svc_table_schemas",
        "svc_wal_claims",
        "svc_wal_consumed",
        "svc_wal_consumed_runs",
      ]);
    }),
});

Deno.test({
  name: "SqliteCatalog.commit writes the rows that other Iceberg catalogs look for",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/catalog.db`;
      await using catalog = await openSqliteCatalog({ path });
      await catalog.commit(change(undefined, "m1"));
      await catalog.commit(change("m1", "m2"));
      using db = new DatabaseSync(path, { readOnly: true });
      assert.deepEqual(rowsOf(db, "SELECT * FROM iceberg_tables"), [
        ["svc", "svc", "events", "m2", "m1", "TABLE"],
      ]);
      assert.deepEqual(rowsOf(db, "SELECT * FROM iceberg_namespace_properties"), [
        ["svc", "svc", "exists", "true"],
      ]);
    }),
});

Deno.test({
  name: "openSqliteCatalog takes over a file of an older SQL catalog, which has no iceberg_type",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/catalog.db`;
      const db = new DatabaseSync(path);
      db.exec(
        "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, " +
          "table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), " +
          "PRIMARY KEY (catalog_name, table_namespace, table_name));" +
          "INSERT INTO iceberg_tables VALUES ('svc', 'svc', 'events', 'm1', NULL), ('theirs', 'x', 'y', 'z', NULL)",
      );
      db.close();
      await using catalog = await openSqliteCatalog({ path });
      assert.deepEqual(await catalog.namespaces(), ["svc"]);
      assert.deepEqual(await catalog.tables("svc"), ["events"]);
      assert.equal(await catalog.commit(change("m1", "m2")), "committed");
    }),
});

Deno.test({
  name: "a reader of a file without runs of consumed segments finds ids, a writer makes the runs",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/catalog.db`;
      const [one = "", two = ""] = segmentNames(2);
      {
        await using catalog = await openSqliteCatalog({ path });
        await catalog.commit({ ...change(undefined, "m1"), consumed: [one] });
        using db = new DatabaseSync(path);
        db.exec("DROP TABLE svc_wal_consumed_runs; DROP TABLE svc_copy_of_svc_wal_consumed_runs");
      }
      await using reader = await openSqliteCatalog({ path, readOnly: true });
      assert.deepEqual(await reader.consumedOf([one, two]), new Set([one]));
      await using catalog = await openSqliteCatalog({ path });
      await catalog.foldConsumed([one]);
      assert.deepEqual(await reader.consumedOf([one, two]), new Set([one]));
    }),
});

Deno.test({
  name: "openSqliteCatalog readOnly: a missing file is empty, and is found once it is there",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/warehouse/catalog.db`;
      await using reader = await openSqliteCatalog({ path, readOnly: true });
      assert.equal(await reader.metadataLocation(EVENTS), undefined);
      assert.deepEqual(await reader.namespaces(), []);
      await reader.ping();
      await using writer = await openSqliteCatalog({ path, files: new DenoFileSystem() });
      await writer.commit(change(undefined, "m1"));
      assert.equal(await reader.metadataLocation(EVENTS), "m1");
      await writer.commit(change("m1", "m2"));
      assert.equal(await reader.metadataLocation(EVENTS), "m2");
    }),
});

Deno.test({
  name: "openSqliteCatalog readOnly follows its path when the file is removed and made again",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/warehouse/catalog.db`;
      await using reader = await openSqliteCatalog({ path, readOnly: true });
      for (const location of ["first", "second"]) {
        await using writer = await openSqliteCatalog({ path, files: new DenoFileSystem() });
        await writer.commit(change(undefined, location));
        assert.equal(await reader.metadataLocation(EVENTS), location);
        await Deno.remove(`${root}/warehouse`, { recursive: true });
        assert.equal(await reader.metadataLocation(EVENTS), undefined);
      }
    }),
});

Deno.test({
  name: "openSqliteCatalog readOnly answers while a writer holds its transaction open",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/catalog.db`;
      await using writer = await openSqliteCatalog({ path });
      await writer.commit(change(undefined, "m1"));
      await using reader = await openSqliteCatalog({ path, readOnly: true });
      using lock = new DatabaseSync(path);
      lock.exec("BEGIN IMMEDIATE; UPDATE iceberg_tables SET metadata_location = 'unseen'");
      assert.equal(await reader.metadataLocation(EVENTS), "m1");
    }),
});

Deno.test({
  name: "SqliteCatalog failures have codes",
  fn: () =>
    inFolder(async (root) => {
      await Deno.writeTextFile(`${root}/junk.db`, "this is no database. ".repeat(100));
      await rejects(openSqliteCatalog({ path: `${root}/junk.db` }), "corrupt");
      await rejects(openSqliteCatalog({ path: `${root}/none/x.db` }), "unavailable");
      await using junk = await openSqliteCatalog({ path: `${root}/junk.db`, readOnly: true });
      await rejects(junk.ping(), "corrupt");

      const path = `${root}/catalog.db`;
      await using catalog = await openSqliteCatalog({ path, busyTimeoutMs: 5 });
      using lock = new DatabaseSync(path);
      lock.exec("BEGIN IMMEDIATE");
      await rejects(catalog.commit(change(undefined, "m1")), "unavailable");
      lock.exec("ROLLBACK");
      assert.equal(await catalog.commit(change(undefined, "m1")), "committed");

      lock.exec("UPDATE svc_catalog_version SET version = 99");
      await rejects(openSqliteCatalog({ path }), "corrupt");
    }),
});

async function inFolder(body: (root: string) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "svc-catalog-" });
  try {
    await body(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

function change(expected: string | undefined, next: string): TableCommit {
  return { ident: EVENTS, expected, next, tableUuid: "u", snapshotId: 0n, consumed: [] };
}

function columnsOf(db: DatabaseSync, table: string): unknown[][] {
  return rowsOf(db, `SELECT name, type, "notnull", pk FROM pragma_table_info('${table}')`);
}

function rowsOf(db: DatabaseSync, sql: string): unknown[][] {
  return db.prepare(sql).all().map((row) => Object.values(row));
}

async function rejects(attempt: Promise<unknown>, code: "corrupt" | "unavailable"): Promise<void> {
  await assert.rejects(attempt, (error) => isOperatingError(error, code));
}

Deno.test({
  name:
    "openSqliteCatalog adds the table of schemas to a file from before it; a reader finds none there",
  fn: () =>
    inFolder(async (folder) => {
      const path = `${folder}/catalog.db`;
      await (await openSqliteCatalog({ path })).close();
      const db = new DatabaseSync(path);
      db.exec("DROP TABLE svc_table_schemas; DROP TABLE svc_copy_of_svc_table_schemas");
      db.close();
      await using reader = await openSqliteCatalog({ path, readOnly: true });
      assert.deepEqual(await reader.tableSchemas("svc"), new Map());
      await using writer = await openSqliteCatalog({ path });
      await writer.commit({
        ident: { namespace: "svc", name: "events" },
        expected: undefined,
        next: "m1",
        tableUuid: "u",
        snapshotId: 0n,
        consumed: [],
        schema: EVENTS_SCHEMA,
      });
      assert.deepEqual(await reader.tableSchemas("svc"), new Map([["events", EVENTS_SCHEMA]]));
    }),
});
