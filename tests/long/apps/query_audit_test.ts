/**
 * The audit of a query server that runs as a process under its own permission set. The tests show
 * what each kind of statement leaves in `query_audit`, read by SQL, after a `kill -9`, and by
 * another Iceberg reader.
 */

import assert from "node:assert/strict";
import { readForeign } from "../../equivalence/foreign_reader.ts";
import { Stack } from "../../apps/stack.ts";

const SECRET = "hunter2-in-a-literal";
const FLUSHED_MS_MAX = 40_000;

interface Case {
  readonly body: Readonly<Record<string, unknown>> & { readonly query: string };
  readonly path?: string;
  readonly status: number;
  readonly rows: number | null;
  readonly complexity: string | null;
  readonly error?: RegExp;
}

const CASES: readonly Case[] = [
  {
    body: { query: `SELECT '${SECRET}' AS ok` },
    status: 200,
    rows: 1,
    complexity: "small",
  },
  {
    body: { query: "SELECT i FROM range(9) t(i)", limits: { max_rows_returned: 2 } },
    status: 413,
    rows: 2,
    complexity: "small",
  },
  {
    body: { query: `SELECT '${SECRET}' FROM nothing_here` },
    status: 400,
    rows: null,
    complexity: null,
    error: /nothing_here/,
  },
  {
    body: { query: `SELECT '${SECRET}' FROM events WHERE (` },
    status: 400,
    rows: null,
    complexity: null,
    error: /syntax/i,
  },
  {
    body: {
      query: "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT max(x) FROM r",
      // It is planned by then, whatever the machine does: its row has what it costs.
      limits: { timeout_seconds: 1.2 },
    },
    status: 504,
    rows: null,
    complexity: "small",
    error: /1\.2 s of wall clock/,
  },
  {
    body: { query: "SELECT i FROM range(3) t(i)", format: "ndjson" },
    status: 200,
    rows: 3,
    complexity: "small",
  },
  {
    body: { query: "SELECT 'dry' AS run", dry_run: true },
    status: 200,
    rows: null,
    complexity: "small",
  },
  {
    body: { query: "SELECT 'explained' AS way" },
    path: "/api/v1/sql/explain",
    status: 200,
    rows: null,
    complexity: "small",
  },
];

type AuditRow = Readonly<Record<string, unknown>>;

Deno.test({
  name: "query_audit has each statement of a query process, also after kill -9, for any reader",
  async fn() {
    await using stack = await Stack.start({ audit: true, queryArgs: ["--log-level", "debug"] });
    const tookMs = new Map<string, number>();
    for (const { body, path, status } of CASES) {
      const startMs = performance.now();
      const response = await post(stack, body, path);
      await response.text();
      tookMs.set(body.query, performance.now() - startMs);
      assert.equal(response.status, status, body.query);
    }
    const rows = await auditRows(stack);
    for (const one of CASES) assertRow(rows.get(one.body.query), one, tookMs);

    const said = await stack.kill("query");
    assert.match(said, /listens on/);
    assert.ok(!said.includes(SECRET), "a literal is in the log");
    await stack.ensure("query");
    const again = await auditRows(stack);
    for (const { body } of CASES) assert.deepEqual(again.get(body.query), rows.get(body.query));

    const foreign = await readForeign(`${stack.dataDir}/warehouse/catalog.db`, {
      namespace: "svc",
      name: "query_audit",
    });
    for (const { body, status, rows } of CASES) {
      const [row, ...more] = foreign.rows.filter(({ query }) => query === body.query);
      assert.deepEqual(more, [], "no statement is there twice");
      assert.equal(row?.["status"], status);
      assert.equal(row?.["rows_returned"] ?? null, rows === null ? null : BigInt(rows));
    }
    assert.ok(!(await stack.stop("query")).includes(SECRET), "a literal is in the log");
  },
});

Deno.test({
  name: "query that may not make its audit's folder answers all the same, and counts what it drops",
  async fn() {
    // The harness makes the folder of the default namespace alone.
    await using stack = await Stack.start({
      audit: true,
      queryArgs: ["--tenant-namespace", "acme"],
    });
    const query = `SELECT '${SECRET}' AS answered`;
    for (const rows of [1, 2]) {
      const response = await post(stack, { query });
      assert.deepEqual(JSON.parse(await response.text()).rows, [[SECRET]]);
      await untilMetric(stack, `svc_query_audit_dropped_total{reason="append"} ${rows}`);
      await untilMetric(stack, `svc_query_audit_failures_total{reason="append"} ${rows}`);
    }
    const said = await stack.stop("query");
    assert.match(said, /abandoned 1 row of query_audit \(append\): .*acme/);
    assert.ok(!said.includes(SECRET), "a literal is in the log");
  },
});

async function untilMetric(stack: Stack, line: string): Promise<void> {
  const deadlineMs = performance.now() + FLUSHED_MS_MAX;
  for (;;) {
    const text = await (await fetch(stack.queryMetricsUrl)).text();
    if (text.split("\n").includes(line)) return;
    assert.ok(performance.now() < deadlineMs, line);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function assertRow(row: AuditRow | undefined, one: Case, tookMs: ReadonlyMap<string, number>) {
  const { body, path = "/api/v1/sql" } = one;
  assert.ok(row !== undefined, body.query);
  assert.deepEqual(
    {
      status: row["status"],
      rows: row["rows_returned"],
      complexity: row["complexity"],
      truncated: row["truncated"],
      format: row["format"],
      endpoint: row["endpoint"],
      priority: row["priority"],
      tenant: row["tenant"],
      subject: row["subject"],
    },
    {
      status: one.status,
      rows: one.rows,
      complexity: one.complexity,
      truncated: one.status === 413,
      format: body["format"] ?? "records",
      endpoint: path.slice("/api/v1/".length).replace("/", "_"),
      priority: "interactive",
      tenant: "default",
      subject: null,
    },
    body.query,
  );
  const duration = Number(row["duration_ms"]);
  assert.ok(duration > 0 && duration <= (tookMs.get(body.query) ?? 0), `${duration} ms`);
  if (one.status === 504) assert.ok(duration >= 1_200, `${duration} ms`);
  if (one.error === undefined) assert.equal(row["error"], null);
  else assert.match(String(row["error"]), one.error);
}

/** Rows by statement, once all of CASES are there. */
async function auditRows(stack: Stack): Promise<ReadonlyMap<string, AuditRow>> {
  const deadlineMs = performance.now() + FLUSHED_MS_MAX;
  for (;;) {
    const response = await post(stack, { query: "SELECT * FROM query_audit" });
    const answer = JSON.parse(await response.text());
    const columns: string[] = answer.columns ?? [];
    const rows = (answer.rows ?? []).map((cells: unknown[]) =>
      Object.fromEntries(cells.map((cell, at) => [columns[at], cell]))
    );
    const byQuery = new Map<string, AuditRow>(rows.map((row: AuditRow) => [row["query"], row]));
    if (CASES.every(({ body }) => byQuery.has(body.query))) return byQuery;
    assert.ok(performance.now() < deadlineMs, `only ${[...byQuery.keys()].join("; ")}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function post(stack: Stack, body: unknown, path = "/api/v1/sql"): Promise<Response> {
  return fetch(`${stack.queryUrl}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}
