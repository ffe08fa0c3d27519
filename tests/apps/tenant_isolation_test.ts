/**
 * Two tenants and two more behind one query server with its real engine. Nobody sees a row, a
 * table's name, a count or an error's detail of another, whatever the statement names.
 *
 * Each answer is held to two things. It holds no mark of another tenant's data. It is the same,
 * letter for letter, as the answer about a namespace that does not exist, so it cannot even tell
 * that the other one is there.
 */

import assert from "node:assert/strict";
import { OPTIONS, startQuery } from "../../query/mod.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import type { TableSchema } from "../../shared/schema/schema.ts";
import { namespaceOf } from "../../shared/tenant/tenant.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { AUDIENCE, FakeIssuer } from "../../shared/testing/fake_issuer.ts";
import { IN_THIS_PROCESS } from "../../shared/testing/in_this_process.ts";

const DAY_START = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z

const SECOND = 1_000_000_000n;

/**
 * Rows in the table and in the WAL; no two tenants have the same sum. `ZEBRA` is `zebra` where case
 * is ignored.
 */
const TENANTS = {
  quokka: { stored: 3, waiting: 2 },
  zebra: { stored: 40, waiting: 4 },
  ZEBRA: { stored: 6, waiting: 1 },
  default: { stored: 8, waiting: 1 },
} as const;
type Tenant = keyof typeof TENANTS;
const NAMES = Object.keys(TENANTS) as Tenant[];

/**
 * What only this tenant's answers may hold: part of each of its rows, and the name of a table that
 * no statement names.
 */
const MARKS: Readonly<Record<Tenant, string>> = {
  quokka: "mark4711",
  zebra: "mark4712",
  ZEBRA: "mark4713",
  default: "mark4714",
};

/** A table that all have under one name, with a column of each one's own. */
function ledgerSchema(tenant: Tenant): TableSchema {
  const own = { id: 9, name: `c_${MARKS[tenant]}`, type: "string", required: false } as const;
  return { ...EVENTS_SCHEMA, columns: [...EVENTS_SCHEMA.columns, own] };
}

async function fill(lab: WarehouseLab, tenant: Tenant): Promise<void> {
  const { stored, waiting } = TENANTS[tenant];
  const mark = MARKS[tenant];
  const namespace = namespaceOf(tenant);
  const rows = (count: number, first: bigint) =>
    Array.from({ length: count }, (_, n) => {
      const ns = DAY_START + (first + BigInt(n)) * SECOND;
      return {
        timestamp: ns / 1_000n,
        timestamp_ns: ns,
        host: `h-${mark}`,
        source: "s",
        sourcetype: "t",
        index: "main",
        raw: `r-${mark}-${first + BigInt(n)}`,
        attributes: null,
      };
    });
  const events = { namespace, name: "events" };
  await lab.commitRows(rows(stored, 0n), { ident: events, schema: EVENTS_SCHEMA });
  const fields = rows(waiting, BigInt(stored)).map(({ timestamp_ns: ns, host, raw }) => ({
    ns,
    host,
    raw,
  }));
  await lab.append(fields, { tenant, index: "events" });
  const ledger = rows(2, 0n).map((row) => ({ ...row, [`c_${mark}`]: `v-${mark}` }));
  const schema = ledgerSchema(tenant);
  for (const name of ["ledger", `hidden_${mark}`]) {
    await lab.commitRows(ledger, { ident: { namespace, name }, schema });
  }
  await lab.append(fields, { tenant, index: `lane_${mark}` });
}

interface Answer {
  readonly status: number;
  readonly whole: string;
  /** Without what differs from one run to the next: times, and the ids of snapshots. */
  readonly text: string;
}

interface Stage {
  readonly lab: WarehouseLab;
  ask(tenant: Tenant, body: Record<string, unknown>, path?: string): Promise<Answer>;
}

async function onStage(test: (stage: Stage) => Promise<void>): Promise<void> {
  await using lab = await WarehouseLab.open({ wal: true });
  for (const tenant of NAMES) await fill(lab, tenant);
  await using issuer = await FakeIssuer.start();
  const settings = parseOptions(OPTIONS, [
    ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0"],
    ...["--data-dir", lab.dir, "--query-wal-buffer-dir", `${lab.dir}/wal`],
    ...["--cache-dir", `${lab.dir}/server-cache`, "--admission-wait-ms", "60000"],
    ...["--threads", "2", "--memory-pool-bytes", String(256 * 2 ** 20), "--query-hot-caches"],
    ...["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE, "--oidc-tenant-claim", "org"],
  ]);
  await using server = await startQuery(settings, IN_THIS_PROCESS);
  const tokens = new Map<Tenant, string>();
  for (const tenant of NAMES) tokens.set(tenant, await issuer.token({ org: tenant }));
  await test({
    lab,
    async ask(tenant, body, path = "/api/v1/sql") {
      const response = await fetch(`http://127.0.0.1:${server.address.port}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${tokens.get(tenant)}`,
          "content-type": "application/json",
          "x-scope-orgid": tenant === "zebra" ? "quokka" : "zebra",
        },
        body: JSON.stringify(body),
      });
      const whole = await response.text();
      return { status: response.status, whole, text: steady(whole) };
    },
  });
}

function steady(text: string): string {
  return text
    .replaceAll(/"(\w+_micros|estimated_runtime_seconds)":[\d.]+/g, '"$1":0')
    .replaceAll(/"(snapshot_id|snapshot)":"[^"]*"/g, '"$1":""');
}

/** Marks of others than `tenant` in a text, and the place of the data. */
function leaks(text: string, tenant: Tenant, lab: WarehouseLab): string[] {
  const others = NAMES.filter((name) => name !== tenant).map((name) => MARKS[name]);
  return [...others, lab.dir].filter((mark) => text.includes(mark));
}

/** Statements of quokka; `zebra` is the other tenant's namespace wherever it stands. */
function nosyStatements(zebraFile: string): string[] {
  const relations = [
    "zebra.events",
    '"zebra"."events"',
    '"ZEBRA".events',
    "Zebra.ledger",
    "zebra.ledger",
    "zebra.no_such_table",
    "svc.events",
    '"default".events',
    "main.events",
    "temp.events",
    "temp.main.events",
    "memory.main.events",
    "zebra.main.events",
    "system.zebra.events",
    '"zebra.events"',
    '"zebra/events"',
    '"../zebra/events"',
    '"events/../../zebra/events"',
    '"..\\zebra\\events"',
    '"../../warehouse/zebra"',
    "hidden",
    "zebra",
    "information_schema.tables",
    "information_schema.schemata",
    "information_schema.columns",
    "pg_catalog.pg_tables",
    "pg_class",
    "sqlite_master",
    "duckdb_tables()",
    "duckdb_views()",
    "duckdb_columns()",
    "duckdb_schemas()",
    "duckdb_secrets()",
    "duckdb_temporary_files()",
    "pragma_table_info('zebra.events')",
    "pragma_storage_info('events')",
    "query('SELECT * FROM zebra.events')",
    "query_table('zebra.events')",
    "query_table(['events', 'zebra.events'])",
    "glob('**')",
    `'${zebraFile}'`,
    `"${zebraFile}"`,
    `read_parquet('${zebraFile}')`,
    `parquet_metadata('${zebraFile}')`,
    `parquet_scan(['${zebraFile}'])`,
    "read_text('catalog.db')",
    "last_values()",
    "distinct_values('host')",
    "distinct_values('host', 'zebra.events')",
    "distinct_values('host', '../zebra/events')",
    "last_values(zebra.events)",
    "last_values('zebra/events')",
    "query_audit",
  ];
  return [
    ...relations.map((relation) => `SELECT * FROM ${relation}`),
    "SELECT count(*) FROM zebra.events",
    "SELECT zebra.events.raw FROM events",
    "SELECT events.raw FROM events, zebra.events AS other",
    "SELECT (SELECT max(raw) FROM zebra.events) FROM events",
    "SELECT raw FROM events WHERE raw IN (SELECT raw FROM zebra.events)",
    "SELECT raw FROM events UNION ALL SELECT raw FROM zebra.events",
    "WITH zebra AS (SELECT 1 AS n) SELECT * FROM zebra.events",
    "WITH events AS (SELECT * FROM zebra.events) SELECT * FROM events",
    'WITH "zebra.events" AS (SELECT 1 AS n) SELECT * FROM zebra.events',
    "WITH RECURSIVE r AS (SELECT raw FROM zebra.events UNION SELECT raw FROM r) SELECT * FROM r",
    "SELECT * FROM events AS zebra JOIN zebra.ledger USING (raw)",
    "FROM zebra.events",
    "TABLE zebra.events",
    "SELECT * FROM events AT (VERSION => 1)",
    "SELECT no_such_column FROM events",
    "SELECT c_mark FROM ledger",
    "SELECT CAST(raw AS INTEGER) FROM events",
    "SELECT error(raw) FROM events",
    "SELECT current_schema(), current_schemas(true), current_database(), current_catalog",
    "SELECT current_setting('search_path')",
    "SELECT getvariable('zebra')",
    "SELECT * FROM (DESCRIBE zebra.events)",
    "SELECT * FROM (SHOW ALL TABLES)",
    "SHOW TABLES",
    "SHOW ALL TABLES",
    "DESCRIBE zebra.events",
    "SUMMARIZE zebra.events",
    "EXPLAIN SELECT * FROM zebra.events",
    "EXPLAIN SELECT * FROM events",
    "SELECT 1; SELECT * FROM zebra.events",
    "USE zebra",
    "SET search_path = 'zebra'",
    "SET SESSION zebra = 1",
    "ATTACH 'catalog.db' AS zebra (TYPE sqlite)",
    "CREATE TABLE zebra.mine AS SELECT 1",
    "CREATE TEMP VIEW zebra AS SELECT 1",
    "INSERT INTO zebra.events SELECT * FROM events",
    "DELETE FROM zebra.events",
    "DROP TABLE zebra.events",
    "COPY zebra.events TO '/tmp/zebra.csv'",
    "COPY (SELECT * FROM zebra.events) TO '/dev/stdout'",
    "CALL duckdb_tables()",
    "PRAGMA show_tables",
    "EXECUTE zebra",
  ];
}

/** How a statement can be asked. */
const WAYS: readonly (readonly [path: string, fields: Record<string, unknown>])[] = [
  ["/api/v1/sql", {}],
  ["/api/v1/sql", { format: "ndjson" }],
  ["/api/v1/sql", { dry_run: true }],
  ["/api/v1/sql", { default_order: false }],
  ["/api/v1/sql/local", {}],
  ["/api/v1/sql/explain", {}],
];

/** A name as long as the other one, sorted like it, and nobody's. */
const NOBODY = "yaffa";

Deno.test({
  name: "a tenant's statement answers the same whether it names another's namespace or nobody's",
  fn: () =>
    onStage(async ({ lab, ask }) => {
      const [zebraFile] = await dataFilesOf(lab, "zebra");
      assert.ok(zebraFile !== undefined);
      const wrong: string[] = [];
      let refused = 0;
      for (const query of nosyStatements(zebraFile)) {
        for (const [path, fields] of WAYS) {
          const about = `${path} ${JSON.stringify(fields)} ${query}`;
          const answer = await ask("quokka", { query, ...fields }, path);
          for (const mark of leaks(answer.text.replaceAll(zebraFile, ""), "quokka", lab)) {
            wrong.push(`${about}: ${mark} in ${answer.text}`);
          }
          if (answer.status === 500) wrong.push(`${about}: ${answer.text}`);
          // Not even taken for the caller's own table of that name.
          const refuses = query.includes("zebra.events");
          if (refuses && answer.status < 400) wrong.push(`${about}: ${answer.text}`);
          if (answer.status >= 400) refused++;
          const same = await ask("quokka", { query: asNobody(query), ...fields }, path);
          if (
            same.status !== answer.status || anyRow(same.text) !== asNobody(anyRow(answer.text))
          ) {
            wrong.push(`${about}: ${answer.text} against ${same.text}`);
          }
        }
      }
      assert.deepEqual(wrong, []);
      assert.ok(refused > 400, `only ${refused} were refused`);
    }),
});

Deno.test({
  name:
    "the audit, which has statements of all tenants, is no table for a tenant whose claim routes it",
  fn: () =>
    onStage(async ({ lab, ask }) => {
      const ident = { namespace: namespaceOf("default"), name: "query_audit" };
      const row = { timestamp: 0n, timestamp_ns: 0n, host: "h", source: "s", sourcetype: "t" };
      const rows = [{ ...row, index: "main", raw: "SELECT 'of another'", attributes: null }];
      await lab.commitRows(rows, { ident, schema: EVENTS_SCHEMA });
      for (const [path, fields] of WAYS) {
        for (const name of ["query_audit", "QUERY_AUDIT", "svc.query_audit"]) {
          const about = `${path} ${JSON.stringify(fields)} ${name}`;
          const answer = await ask("default", { query: `SELECT * FROM ${name}`, ...fields }, path);
          const nothing = name.replace(/audit/i, "other");
          const none = await ask("default", { query: `SELECT * FROM ${nothing}`, ...fields }, path);
          assert.equal(answer.status, 400, about);
          assert.match(answer.text, /there is no such table; there are: /, about);
          assert.equal(answer.text.replace("query_audit", "query_other"), none.text, about);
        }
      }
    }),
});

function asNobody(text: string): string {
  return text.replaceAll("zebra", NOBODY).replaceAll("ZEBRA", NOBODY.toUpperCase())
    .replaceAll("Zebra", "Yaffa");
}

/** Which of the caller's own rows an error tells of is a matter of threads. */
function anyRow(text: string): string {
  return text.replaceAll(/(r-mark\d+)-\d+/g, "$1");
}

async function dataFilesOf(lab: WarehouseLab, namespace: string): Promise<string[]> {
  const files: string[] = [];
  const visit = async (directory: string) => {
    for await (const { name, isDirectory } of Deno.readDir(directory)) {
      if (isDirectory) await visit(`${directory}/${name}`);
      else if (name.endsWith(".parquet")) files.push(`${directory}/${name}`);
    }
  };
  await visit(`${lab.dir}/warehouse/${namespace}`);
  return files;
}

/** Statements that everybody may ask, each with what one tenant must be told. */
const SHARED: readonly (readonly [query: string, rows: (tenant: Tenant) => unknown[][]])[] = [
  ["SELECT count(*) AS n FROM events", (tenant) => [[rowsOf(tenant)]]],
  ["SELECT DISTINCT host FROM events", (tenant) => [[`h-${MARKS[tenant]}`]]],
  [
    "SELECT raw FROM events ORDER BY timestamp_ns LIMIT 2",
    (tenant) => [0, 1].map((n) => [`r-${MARKS[tenant]}-${n}`]),
  ],
  [
    "SELECT raw FROM events LIMIT 1",
    (tenant) => [[`r-${MARKS[tenant]}-${rowsOf(tenant) - 1}`]],
  ],
  [
    "SELECT COLUMNS('c_.*') FROM ledger LIMIT 1",
    (tenant) => [[`v-${MARKS[tenant]}`]],
  ],
  [
    "SELECT count(*) FROM events WHERE raw LIKE 'r-%' AND host = 'h-mark4712'",
    (tenant) => [[tenant === "zebra" ? rowsOf("zebra") : 0]],
  ],
  [
    "SELECT value, rows FROM distinct_values('host')",
    (tenant) => [[`h-${MARKS[tenant]}`, TENANTS[tenant].waiting]],
  ],
  ["SELECT host FROM last_values()", (tenant) => [[`h-${MARKS[tenant]}`]]],
];

function rowsOf(tenant: Tenant): number {
  return TENANTS[tenant].stored + TENANTS[tenant].waiting;
}

/** A statement that fails and says so in the words of the caller's own data. */
const FAILS = "SELECT CAST(host AS INTEGER) FROM events";

async function checkShared({ ask, lab }: Stage, tenant: Tenant, at: number): Promise<void> {
  const [query, rows] = SHARED[at % SHARED.length] ?? ["", () => []];
  const answer = await ask(tenant, { query });
  assert.equal(answer.status, 200, `${tenant} ${query}: ${answer.text}`);
  assert.deepEqual(JSON.parse(answer.text).rows, rows(tenant), `${tenant} ${query}`);
  assert.deepEqual(leaks(answer.text, tenant, lab), [], `${tenant} ${query}: ${answer.text}`);
}

Deno.test({
  name: "tenants that ask the same statements in turn on the same connections get their own rows",
  fn: () =>
    onStage(async (stage) => {
      for (let at = 0; at < 100; at++) {
        const tenant = at % 2 === 0 ? "quokka" : "zebra";
        await checkShared(stage, tenant, at >> 1);
        if (at % 10 < 2) {
          const failed = await stage.ask(tenant, { query: FAILS });
          assert.equal(failed.status, 400, failed.text);
          assert.deepEqual(leaks(failed.text, tenant, stage.lab), []);
          assert.ok(failed.text.includes(MARKS[tenant]), failed.text);
        }
      }
    }),
});

Deno.test({
  name:
    "tenants that ask all at once get their own rows, also one whose name differs in case alone",
  fn: () =>
    onStage(async (stage) => {
      const asked = Array.from({ length: 160 }, (_, at) => {
        const tenant = NAMES[at % NAMES.length] ?? "default";
        return checkShared(stage, tenant, at >> 2);
      });
      await Promise.all(asked);
    }),
});

Deno.test({
  name: "what a statement would cost counts the caller's own files alone, and lists its own tables",
  fn: () =>
    onStage(async ({ ask, lab }) => {
      for (const tenant of NAMES) {
        const { text } = await ask(tenant, { query: "SELECT * FROM events", dry_run: true });
        const { cost, tables } = JSON.parse(text);
        const counted = [cost.files_considered, cost.estimated_rows_processed];
        assert.deepEqual(counted, [1, rowsOf(tenant)], text);
        assert.deepEqual(tables.map(({ table }: { table: string }) => table), ["events"]);
        const unknown = await ask(tenant, { query: "SELECT * FROM ledgers" });
        assert.equal(unknown.status, 400);
        assert.match(unknown.text, new RegExp(`hidden_${MARKS[tenant]}`));
        assert.deepEqual(leaks(text + unknown.text, tenant, lab), []);
      }
    }),
});

Deno.test({
  name: "a pin of one tenant's snapshot shows another nothing of that one",
  fn: () =>
    onStage(async ({ ask, lab }) => {
      const query = "SELECT * FROM events";
      const own = await ask("zebra", { query, snapshot: "latest" });
      assert.equal(own.status, 200, own.text);
      const { stats, row_count } = JSON.parse(own.whole);
      assert.equal(row_count, TENANTS.zebra.stored, "a pin reads what is committed");
      assert.equal(typeof stats.snapshot, "string");
      for (const tenant of NAMES.filter((name) => name !== "zebra")) {
        const answer = await ask(tenant, { query, snapshot: stats.snapshot });
        assert.ok([200, 400, 404, 409].includes(answer.status), answer.text);
        assert.deepEqual(leaks(answer.whole, tenant, lab), [], answer.text);
      }
    }),
});
