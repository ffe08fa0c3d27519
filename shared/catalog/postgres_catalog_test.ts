import assert from "node:assert/strict";
// @ts-types="@types/pg"
import pg from "pg";
import { isOperatingError } from "../base/errors.ts";
import { CATALOG_CASES } from "../testing/catalog_conformance.ts";
import { segmentNames } from "../testing/segment_names.ts";
import { POSTGRES, PostgresProcess } from "../testing/postgres_process.ts";
import { openJobStore } from "./open_job_store.ts";
import { openPostgresCatalog } from "./postgres_catalog.ts";
import { PostgresPool } from "./postgres_pool.ts";
import { requireCatalogTables } from "./require_catalog.ts";

const EVENTS = { namespace: "svc", name: "events" };

Deno.test({
  name: "PostgresCatalog keeps the promises of a catalog",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn(t) {
    await using postgres = await PostgresProcess.start();
    for (const { name, run } of CATALOG_CASES) {
      await t.step(name, async () => {
        const uri = await postgres.newDatabase();
        await using catalog = await openPostgresCatalog({ uri });
        await using other = await openPostgresCatalog({ uri });
        await run({ catalog, other });
      });
    }

    await t.step("has exactly the tables of the JDBC catalog, and ours beside them", async () => {
      const uri = await postgres.newDatabase();
      await using _ = await openPostgresCatalog({ uri });
      // Name, type, length, nullable: org.apache.iceberg.jdbc.JdbcUtil, schema V1.
      assert.deepEqual(await columnsOf(uri, "iceberg_tables"), [
        ["catalog_name", "character varying", 255, "NO"],
        ["table_namespace", "character varying", 255, "NO"],
        ["table_name", "character varying", 255, "NO"],
        ["metadata_location", "character varying", 1000, "YES"],
        ["previous_metadata_location", "character varying", 1000, "YES"],
        ["iceberg_type", "character varying", 5, "YES"],
      ]);
    });

    await t.step(
      "a reader of tables without runs of consumed segments finds ids, a writer makes the runs",
      async () => {
        const uri = await postgres.newDatabase();
        const [one = "", two = ""] = segmentNames(2);
        const older = await openPostgresCatalog({ uri });
        await older.commit(commit({ next: "m1", consumed: [one] }));
        await older.close();
        await ask(uri, "DROP TABLE svc_wal_consumed_runs");
        await using reader = await openPostgresCatalog({ uri, readOnly: true });
        const found = { metadataLocation: "m1", consumed: new Set([one]) };
        assert.deepEqual(await reader.readView(EVENTS, [one, two]), found);
        await using catalog = await openPostgresCatalog({ uri });
        await catalog.foldConsumed([one]);
        assert.deepEqual(await reader.readView(EVENTS, [one, two]), found);
        assert.deepEqual(await reader.consumedOf([one, two]), new Set([one]));
      },
    );

    await t.step("makes its tables once, however many open it at a time", async () => {
      const uri = await postgres.newDatabase();
      const opened = await Promise.all(
        Array.from({ length: 6 }, () => openPostgresCatalog({ uri })),
      );
      const { rows } = await ask(uri, "SELECT version FROM svc_catalog_version");
      assert.deepEqual(rows, [{ version: 1 }]);
      await Promise.all(opened.map((catalog) => catalog.close()));
    });

    await t.step(
      "adds what an older JDBC catalog lacks and refuses a newer one of ours",
      async () => {
        const uri = await postgres.newDatabase();
        await ask(
          uri,
          "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, " +
            "table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL, " +
            "metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), " +
            "PRIMARY KEY (catalog_name, table_namespace, table_name))",
        );
        await using catalog = await openPostgresCatalog({ uri });
        assert.equal(await catalog.commit(commit({ next: "m1" })), "committed");
        await ask(uri, "UPDATE svc_catalog_version SET version = 99");
        await assert.rejects(
          openPostgresCatalog({ uri }),
          (error) => isOperatingError(error, "corrupt") && /version 99/.test(error.message),
        );
      },
    );

    await t.step(
      "a user with rights on the tables alone opens them, also while another reads them for long",
      async () => {
        const uri = await postgres.newDatabase();
        const jobs = await openJobStore(uri);
        await jobs[Symbol.asyncDispose]();
        const owner = await openPostgresCatalog({ uri });
        await owner.close();
        await ask(
          uri,
          "CREATE USER app; REVOKE CREATE ON SCHEMA public FROM PUBLIC; " +
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app",
        );
        const backup = new pg.Client({ connectionString: uri });
        await backup.connect();
        await backup.query("BEGIN; LOCK TABLE iceberg_tables IN ACCESS SHARE MODE");
        const asApp = uri.replace("svc@", "app@");
        await using catalog = await openPostgresCatalog({ uri: asApp });
        assert.equal(await catalog.commit(commit({ next: "m1" })), "committed");
        await using _jobs = await openJobStore(asApp);
        await backup.end();
      },
    );

    await t.step(
      "a reader sees an empty catalog before there is one, and cannot write",
      async () => {
        const uri = await postgres.newDatabase();
        await using reader = await openPostgresCatalog({ uri, readOnly: true });
        assert.deepEqual(await reader.namespaces(), []);
        assert.equal(await reader.metadataLocation(EVENTS), undefined);
        await assert.rejects(requireCatalogTables(uri, "--catalog"), {
          code: "not_found",
          message: /--catalog postgres:\/\/127\.0\.0\.1.*no server has made its tables there/,
        });
        await using catalog = await openPostgresCatalog({ uri });
        await requireCatalogTables(uri, "--catalog");
        await catalog.commit(commit({ next: "m1" }));
        assert.equal(await reader.metadataLocation(EVENTS), "m1");
        const writer = reader as unknown as typeof catalog;
        assert.equal(writer.commit, undefined);
      },
    );

    await t.step("commits that race for one segment or one pointer: one takes effect", async () => {
      const uri = await postgres.newDatabase();
      const writers = await Promise.all(
        Array.from({ length: 4 }, () => openPostgresCatalog({ uri })),
      );
      for (let round = 0; round < 25; round++) {
        // Different tables, so that only the segment stands between them.
        const outcomes = await Promise.all(writers.map((writer, at) =>
          writer.commit(commit({
            next: `r${round}w${at}`,
            name: `t${round}_${at}`,
            consumed: [`s${round}`],
          }))
        ));
        const counts = (outcome: string) => outcomes.filter((one) => one === outcome).length;
        assert.deepEqual([counts("committed"), counts("consumed")], [1, 3], `segment ${round}`);
        const expected = round === 0 ? {} : { expected: `p${round - 1}` };
        const moved = await Promise.all(
          writers.map((writer) => writer.commit(commit({ ...expected, next: `p${round}` }))),
        );
        assert.equal(moved.filter((one) => one === "committed").length, 1, `pointer ${round}`);
      }
      await Promise.all(writers.map((writer) => writer.close()));
    });

    await t.step(
      "a server that dies is unavailable, and the same handle goes on after it",
      async () => {
        const uri = await postgres.newDatabase();
        await using catalog = await openPostgresCatalog({ uri });
        await catalog.commit(commit({ next: "m1", consumed: ["s1"] }));
        await postgres.kill();
        await assert.rejects(
          catalog.metadataLocation(EVENTS),
          (error) =>
            isOperatingError(error, "unavailable") && error.retryAfterSecs === 1 &&
            error.place?.startsWith(`postgres://127.0.0.1:${postgres.port}/`) === true &&
            !/127\.0\.0\.1|svc@/.test(error.message) && !error.place.includes("svc@"),
        );
        await postgres.resume();
        assert.equal(await catalog.metadataLocation(EVENTS), "m1");
        assert.deepEqual(await catalog.consumedOf(["s1", "s2"]), new Set(["s1"]));
      },
    );

    await t.step("a connection that ends between two statements ends nothing else", async () => {
      const uri = await postgres.newDatabase();
      await using pool = new PostgresPool({ uri, readOnly: false });
      const broken = pool.withClient("try", async (client) => {
        const { rows: [own] } = await client.query("SELECT pg_backend_pid() AS pid");
        const ended = new Promise((resolve) => client.once("end", resolve));
        await ask(uri, `SELECT pg_terminate_backend(${own.pid})`);
        // Unheard, its end would be this process's.
        await ended;
        await client.query("SELECT 1");
      });
      await assert.rejects(broken, { code: "unavailable" });
      assert.deepEqual(await pool.query("try", "SELECT 1 AS one"), [{ one: 1 }]);
    });

    await t.step("each refusal of the server has its code and its remedy", async () => {
      const missing = postgres.uri("nowhere");
      await assert.rejects(
        openPostgresCatalog({ uri: missing }),
        (error) =>
          isOperatingError(error, "unavailable") && /create the database/.test(error.message),
      );
      const stranger = postgres.uri().replace("svc@", "stranger@");
      await assert.rejects(
        openPostgresCatalog({ uri: stranger }),
        (error) => isOperatingError(error, "permission_denied") && /check user/.test(error.message),
      );
      await assert.rejects(
        openPostgresCatalog({ uri: "not a uri:secret" }),
        (error) => isOperatingError(error, "invalid_argument") && !/secret/.test(error.message),
      );
    });
  },
});

function commit(
  change: {
    readonly next: string;
    readonly expected?: string;
    readonly name?: string;
    readonly consumed?: readonly string[];
  },
) {
  const { next, expected, name = EVENTS.name, consumed = [] } = change;
  return {
    ident: { namespace: EVENTS.namespace, name },
    expected,
    next,
    tableUuid: "uuid",
    snapshotId: 7n,
    consumed,
  };
}

async function columnsOf(uri: string, table: string) {
  const { rows } = await ask(
    uri,
    "SELECT column_name, data_type, character_maximum_length, is_nullable " +
      `FROM information_schema.columns WHERE table_name = '${table}' ORDER BY ordinal_position`,
  );
  return rows.map((row) => Object.values(row));
}

async function ask(uri: string, sql: string) {
  const client = new pg.Client({ connectionString: uri });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}
