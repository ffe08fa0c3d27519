/**
 * The three roles as processes over a warehouse in S3 and a catalog in PostgreSQL, also while the
 * store is away.
 */

import assert from "node:assert/strict";
import { POSTGRES, PostgresProcess } from "../../../shared/testing/postgres_process.ts";
import { S3Process } from "../../../shared/testing/s3_process.ts";
import { until } from "../../../shared/testing/until.ts";
import { Stack } from "../../apps/stack.ts";

const COUNT = "SELECT count(*), count(DISTINCT raw) FROM events";

Deno.test({
  name:
    "A stack on S3 and PostgreSQL commits and answers, and comes through an outage of the store",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn() {
    await using s3 = await S3Process.start();
    await using postgres = await PostgresProcess.start();
    await using stack = await Stack.start({
      catalogUri: await postgres.newDatabase(),
      warehouseUrl: "s3://warehouse/lake",
      env: { ...s3.environment, SVC_DELETE_GRACE_SECS: "3" },
      rollAgeSecs: 1,
    });

    assert.equal(await stack.sendLogs(["first", "second"], { commit: "force" }), true);
    assert.deepEqual((await stack.sql(COUNT)).rows, [[2, 2]]);
    const { rows } = await stack.sql("SELECT raw FROM events ORDER BY raw");
    assert.deepEqual(rows, [["first"], ["second"]]);
    const files = s3.requests.filter(({ method, path }) =>
      method === "PUT" && path.includes("/lake/svc/events-") && path.endsWith(".parquet")
    );
    assert.equal(files.length, 1, "one data file of one commit");

    const job = await runJob(
      stack,
      "SELECT n, repeat('é', 20) AS pad FROM events, range(20000) t(n)",
    );
    assert.equal(job.status, "succeeded", JSON.stringify(job));
    const kept = s3.requests.filter(({ method, path }) =>
      method === "PUT" && path.includes(`/lake/svc/job_results/${job.job_id}-`)
    );
    assert.equal(kept.length, 1, "its result is too large for the catalog");
    assert.equal((await resultOf(stack, job)).row_count, 40_000);
    await stack.stop("query");
    await stack.ensure("query");
    assert.equal((await resultOf(stack, job)).row_count, 40_000, "by another server");
    assert.deepEqual((await stack.sql("SELECT raw FROM events ORDER BY raw")).rows, rows);

    s3.faultOf = () => ({ status: 503, code: "SlowDown" });
    assert.match(JSON.stringify(await resultOf(stack, job)), /svc\/job_results.*"code":503/s);
    // Rows are acknowledged by the WAL alone: the store is not on that path.
    assert.equal(await stack.sendLogs(["third"], { commit: "wait_for" }), true);
    const known = await stack.sql("SELECT raw FROM events ORDER BY raw");
    assert.deepEqual(known.rows, [["first"], ["second"], ["third"]], "from the cache and the WAL");

    s3.faultOf = () => undefined;
    assert.equal(await stack.sendLogs(["fourth"], { commit: "force" }), true);
    assert.deepEqual((await stack.sql(COUNT)).rows, [[4, 4]]);
    await stack.kill("query");
    await stack.ensure("query");
    assert.deepEqual((await stack.sql(COUNT)).rows, [[4, 4]], "with an empty cache");
    const task = await deleteRows(stack, "raw IN ('second', 'fourth')");
    assert.deepEqual([task.status, task.rows_deleted], ["done", 2], JSON.stringify(task));
    assert.deepEqual((await stack.sql("SELECT raw FROM events ORDER BY raw")).rows, [
      ["first"],
      ["third"],
    ]);
    s3.faultOf = () => ({ status: 500, code: "InternalError" });
    await stack.kill("query");

    for (const role of ["compactor", "ingest"] as const) {
      assert.doesNotMatch(await stack.stop(role), /NotCapable|S3RVER/);
    }
  },
});

const JSON_HEADERS = { "content-type": "application/json" };

interface JobRecord {
  readonly job_id: string;
  readonly status: string;
}

async function runJob(stack: Stack, query: string): Promise<JobRecord> {
  const body = JSON.stringify({ query, priority: "batch" });
  const init = { method: "POST", headers: JSON_HEADERS, body };
  const asked = await fetch(`${stack.queryUrl}/api/v1/sql`, init);
  const { job_id }: JobRecord = await asked.json();
  return await (await fetch(`${stack.queryUrl}/api/v1/jobs/${job_id}?wait_secs=30`)).json();
}

async function resultOf(stack: Stack, { job_id }: JobRecord): Promise<{ row_count?: number }> {
  return await (await fetch(`${stack.queryUrl}/api/v1/jobs/${job_id}/result`)).json();
}

interface TaskRecord {
  readonly task_id: string;
  readonly status: string;
  readonly rows_deleted: number;
  readonly ended_at?: string;
}

/** Submits a delete task and waits for its end; the record then. */
async function deleteRows(stack: Stack, predicate: string): Promise<TaskRecord> {
  const url = `${stack.queryUrl}/api/v1/delete-tasks`;
  const body = JSON.stringify({ index_id: "events", predicate_sql: predicate });
  const asked = await fetch(url, { method: "POST", headers: JSON_HEADERS, body });
  let task: TaskRecord = await asked.json();
  const deadline = Date.now() + 60_000;
  while (task.ended_at === undefined && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    task = await (await fetch(`${url}/${task.task_id}`)).json();
  }
  return task;
}

Deno.test({
  name: "A role says what is wrong with its object store, and ends or answers 503",
  async fn() {
    await using s3 = await S3Process.start();
    const env = { ...s3.environment, AWS_SECRET_ACCESS_KEY: "" };
    await assert.rejects(
      Stack.start({ warehouseUrl: "s3://warehouse/x", env }),
      /Cannot use an S3 warehouse without AWS_SECRET_ACCESS_KEY/,
    );
    await using stack = await Stack.start({
      warehouseUrl: "s3://no-such-bucket/x",
      env: s3.environment,
      rollAgeSecs: 1,
    });
    const forced = stack.sendLogs(["kept"], { commit: "force" });
    const why = /NoSuchBucket.*create the bucket, or correct --warehouse-url/;
    await until(() => why.test(stack.said("compactor")));
    await until(async () => (await stack.sql("SELECT raw FROM events")).rows.length > 0);
    await stack.stop("compactor");
    assert.deepEqual((await stack.sql("SELECT raw FROM events")).rows, [["kept"]]);
    await stack.kill("ingest");
    assert.equal(await forced, false, "not committed, and not acknowledged as if it were");
  },
});

Deno.test({
  name: "A role with the wrong credentials says which object was denied, and never what they are",
  async fn() {
    await using s3 = await S3Process.start();
    const secret = "not-the-secret-of-this-store";
    await using stack = await Stack.start({
      warehouseUrl: "s3://warehouse/x",
      env: { ...s3.environment, AWS_ACCESS_KEY_ID: "NOBODY", AWS_SECRET_ACCESS_KEY: secret },
      rollAgeSecs: 1,
    });
    const forced = stack.sendLogs(["kept"], { commit: "force" });
    const why = /InvalidAccessKeyId; check AWS_ACCESS_KEY_ID.*s3:\/\/warehouse\/x/;
    await until(() => why.test(stack.said("compactor")));
    await until(async () => (await stack.sql("SELECT raw FROM events")).rows.length > 0);
    assert.deepEqual((await stack.sql("SELECT raw FROM events")).rows, [["kept"]], "of the WAL");
    const said = await stack.stop("compactor");
    const ingestSaid = await stack.kill("ingest");
    assert.equal(await forced, false, "not committed, and not acknowledged as if it were");
    for (const text of [said, ingestSaid, await stack.stop("query")]) {
      assert.ok(!text.includes(secret) && !text.includes("NotCapable"), text);
    }
  },
});
