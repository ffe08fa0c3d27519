/** The delete-task routes over a real engine and catalog: bodies, refusals, and who sees what. */

import assert from "node:assert/strict";
import type { DeleteLedger } from "../../shared/catalog/delete_ledger.ts";
import { openDeleteLedger, openIndexCatalog } from "../../shared/catalog/open_catalog_parts.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { queryApp } from "../routes.ts";
import { testService } from "../../tests/doubles/query_server.ts";
import { DeleteTasks } from "./delete_tasks.ts";

const NS = 1_763_700_000_000_000_000n;
const BODY = { index_id: "events", predicate_sql: "host = 'a'" };

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- bodies of many shapes, each asserted
  readonly body: any;
}

class Lab implements AsyncDisposable {
  private constructor(
    readonly engine: EngineLab,
    readonly ledger: DeleteLedger,
    readonly ask: (method: string, path: string, body?: unknown, tenant?: string) => Promise<Reply>,
  ) {}

  static async open(): Promise<Lab> {
    const engine = await EngineLab.open();
    const place = `${engine.dir}/warehouse/catalog.db`;
    const ledger = await openDeleteLedger(place, { files: engine.files });
    const app = queryApp(testService(engine.engine, {
      callers: {
        admit: (request) => {
          const tenant = request.headers.get("x-test-tenant") ?? "default";
          return Promise.resolve({ tenant, namespace: tenant === "default" ? "svc" : tenant });
        },
      },
      deleteTasks: new DeleteTasks({
        engine: engine.engine,
        catalog: engine.catalog,
        ledger: () => Promise.resolve(ledger),
        random: engine.random,
      }),
    }));
    return new Lab(engine, ledger, async (method, path, body, tenant = "default") => {
      const request = new Request(`http://query/api/v1/${path}`, {
        method,
        headers: { "x-test-tenant": tenant, "content-type": "application/json" },
        ...(body === undefined
          ? {}
          : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const response = await app.fetch(request, { remoteAddr: { hostname: "::1" } });
      return {
        status: response.status,
        headers: response.headers,
        body: await response.json(),
      };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ledger[Symbol.asyncDispose]();
    await this.engine[Symbol.asyncDispose]();
  }
}

Deno.test({
  name: "delete tasks are taken in, shown and listed",
  async fn() {
    await using lab = await Lab.open();
    await lab.engine.commit([{ ns: NS }]);
    const made = await lab.ask("POST", "delete-tasks", {
      ...BODY,
      start_ts: "2026-11-20T01:00:00+01:00",
      end_ts: "2026-11-21T00:00:00.000000001Z",
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { task_id, created_at, table_uuid, ...rest } = made.body;
    assert.equal(made.headers.get("location"), `/api/v1/delete-tasks/${task_id}`);
    assert.match(task_id, /^[0-9a-f-]{36}$/);
    assert.match(table_uuid, /^[0-9a-f-]{36}$/);
    assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000, created_at);
    assert.deepEqual(rest, {
      index_id: "events",
      predicate_sql: "host = 'a'",
      start_ts: "2026-11-20T00:00:00.000000Z",
      end_ts: "2026-11-21T00:00:00.000000001Z",
      status: "pending",
      rows_deleted: 0,
      files_rewritten: 0,
      attempts: 0,
      claim: { present: false },
    });
    const second = await lab.ask("POST", "delete-tasks", { ...BODY, start_ts: null });
    const shown = await lab.ask("GET", `delete-tasks/${task_id}`);
    assert.deepEqual([shown.status, shown.body], [200, made.body]);
    const listed = await lab.ask("GET", "delete-tasks");
    assert.deepEqual(
      new Set(listed.body.map((task: { task_id: string }) => task.task_id)),
      new Set([task_id, second.body.task_id]),
    );
  },
});

Deno.test({
  name:
    "a running task shows its claim and progress, one that is done what it did and where copies remain",
  async fn() {
    await using lab = await Lab.open();
    await lab.engine.commit([{ ns: NS }]);
    const { task_id } = (await lab.ask("POST", "delete-tasks", BODY)).body;
    const leaseMs = 3_600_000;
    await lab.ledger.claim({
      taskId: task_id,
      claimant: "compactor 7",
      token: "t",
      leaseMs,
      attemptsMax: 5,
    });
    await lab.ledger.renew("t", {
      leaseMs,
      progress: { filesTotal: 4, filesDone: 1, rowsMatched: 12 },
    });
    const { body } = await lab.ask("GET", `delete-tasks/${task_id}`);
    assert.equal(body.status, "running");
    assert.equal(body.attempts, 1);
    assert.deepEqual(body.progress, { files_total: 4, files_done: 1, rows_matched: 12 });
    const { claimed_at, expires_at, age_seconds, ...claim } = body.claim;
    assert.deepEqual(claim, { present: true, claimant: "compactor 7" });
    assert.ok(Date.parse(expires_at) > Date.parse(claimed_at) + leaseMs - 60_000);
    assert.ok(age_seconds >= 0 && age_seconds < 60);

    const ident = { namespace: "svc", name: "events" };
    const expected = await lab.engine.catalog.metadataLocation(ident);
    const outcome = await lab.engine.catalog.commit({
      ident,
      expected,
      next: `${expected}-next`,
      tableUuid: body.table_uuid,
      snapshotId: 1n,
      consumed: [],
      deletes: { taskId: task_id, token: "t", rowsDeleted: 12, filesRewritten: 2 },
    });
    assert.equal(outcome, "committed");
    const { body: done } = await lab.ask("GET", `delete-tasks/${task_id}`);
    assert.deepEqual([done.status, done.rows_deleted, done.files_rewritten], ["done", 12, 2]);
    assert.equal(done.claim, undefined);
    const places = done.copies.map(({ place }: { place: string }) => place);
    assert.deepEqual(places, [
      "snapshots",
      "wal_volume",
      "wal_mirror",
      "query_caches",
      "replica_buckets",
      "catalog_backups",
      "records",
    ]);
  },
});

Deno.test({
  name: "what is no delete request is refused with 400 and recorded nowhere",
  async fn(t) {
    await using lab = await Lab.open();
    await lab.engine.commit([{ ns: NS }]);
    const cases: readonly (readonly [unknown, RegExp])[] = [
      ["{", /JSON/],
      [[], /body/],
      [{ predicate_sql: "true" }, /index_id/],
      [{ index_id: "events" }, /predicate_sql/],
      [{ ...BODY, predicate_sql: 7 }, /predicate_sql, which is 7: expected string/],
      [{ ...BODY, predicate_sql: " " }, /empty/],
      [{ ...BODY, predicate_sql: "host = 'a' OR" }, /line 1/],
      [{ ...BODY, predicate_sql: "nosuch = 1" }, /nosuch/],
      [{ ...BODY, predicate_sql: "true; DROP TABLE events" }, /;/],
      [{ ...BODY, predicate_sql: "host IN (SELECT host FROM traces)" }, /subquery/],
      [{ ...BODY, index_id: "../events" }, /index_id/],
      [{ ...BODY, where: "x" }, /where/],
      [{ ...BODY, start_ts: "yesterday" }, /start_ts.*yesterday/],
      [{ ...BODY, end_ts: 1 }, /end_ts, which is 1/],
      [{ ...BODY, start_ts: "2026-11-20T00:00:00Z", end_ts: "2026-11-20T00:00:00Z" }, /before/],
    ];
    for (const [body, message] of cases) {
      await t.step(JSON.stringify(body).slice(0, 70), async () => {
        const reply = await lab.ask("POST", "delete-tasks", body);
        assert.equal(reply.status, 400, JSON.stringify(reply.body));
        assert.match(reply.body.error, message);
        assert.match(reply.body.reason, /^[a-z_]+$/);
      });
    }
    assert.deepEqual((await lab.ask("GET", "delete-tasks")).body, []);
  },
});

Deno.test({
  name: "a delete task of the audit is refused with 403, whoever asks, and recorded nowhere",
  async fn() {
    await using lab = await Lab.open();
    for (const index_id of ["query_audit", "Query_Audit"]) {
      for (const tenant of ["default", "acme"]) {
        const body = { ...BODY, index_id, predicate_sql: "true" };
        const reply = await lab.ask("POST", "delete-tasks", body, tenant);
        assert.deepEqual([reply.status, reply.body.reason], [403, "audit_table"], index_id);
        assert.match(reply.body.error, /audit-rotate/);
        assert.deepEqual((await lab.ask("GET", "delete-tasks", undefined, tenant)).body, []);
      }
    }
  },
});

Deno.test({
  name: "an unknown index and an unknown task are 404",
  async fn() {
    await using lab = await Lab.open();
    const index = await lab.ask("POST", "delete-tasks", { ...BODY, index_id: "nosuch" });
    assert.deepEqual([index.status, index.body.reason], [404, "unknown_index"]);
    for (const id of ["nosuch", "00000000-0000-4000-8000-000000000000", "%27%20OR%201=1"]) {
      const task = await lab.ask("GET", `delete-tasks/${id}`);
      assert.deepEqual([task.status, task.body.reason], [404, "unknown_delete_task"]);
    }
    const method = await lab.ask("DELETE", "delete-tasks");
    assert.equal(method.status, 405);
  },
});

Deno.test({
  name: "tasks are their tenant's alone",
  async fn() {
    await using lab = await Lab.open();
    await lab.engine.commit([{ ns: NS }]);
    const { body } = await lab.ask("POST", "delete-tasks", BODY);
    assert.deepEqual((await lab.ask("GET", "delete-tasks", undefined, "acme")).body, []);
    const path = `delete-tasks/${body.task_id}`;
    assert.equal((await lab.ask("GET", path, undefined, "acme")).status, 404);
    assert.equal((await lab.ask("GET", path)).status, 200);
    // The built-in table of the other tenant is another table.
    const theirs = await lab.ask("POST", "delete-tasks", BODY, "acme");
    assert.equal(theirs.status, 201);
    assert.equal(theirs.body.table_uuid, null);
    const { tableUuid, ident } = (await lab.ledger.list("acme", 10))[0] ?? {};
    assert.deepEqual([tableUuid, ident], [undefined, { namespace: "acme", name: "events" }]);
  },
});

Deno.test({
  name: "a task is bound to the incarnation of its index",
  async fn() {
    await using lab = await Lab.open();
    const place = `${lab.engine.dir}/warehouse/catalog.db`;
    await using indexes = await openIndexCatalog(place, { files: lab.engine.files });
    const ident = { namespace: "svc", name: "orders" };
    const config = {
      index_id: "orders",
      doc_mapping: {
        mode: "dynamic" as const,
        timestamp_field: "timestamp",
        field_mappings: [{ name: "timestamp", type: "datetime" as const, required: true }],
        tag_fields: [],
        default_search_fields: [],
      },
      index_at_flush: true,
    };
    for (const epoch of [0, 1]) {
      await indexes.create("svc", { config, etag: `e${epoch}` });
      const made = await lab.ask("POST", "delete-tasks", { ...BODY, index_id: "orders" });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      assert.equal((await lab.ledger.find("svc", made.body.task_id))?.epoch, epoch);
      await indexes.drop(ident, { nowMs: Date.now() });
    }
  },
});
