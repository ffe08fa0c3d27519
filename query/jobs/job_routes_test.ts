/** Batch jobs over HTTP, with the real engine. */

import assert from "node:assert/strict";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { OPTIONS, startQuery } from "../mod.ts";
import type { CallerGate } from "../query_caller.ts";
import type { QueryRecord } from "../query_record.ts";
import { IN_THIS_PROCESS } from "../../shared/testing/in_this_process.ts";

const START_NS = 1_790_000_000_000_000_000n;
/** How many rows the WHERE leaves nobody can tell before. */
const ENDLESS = "SELECT count(*) FROM range(900000000) a, range(900) b WHERE a.range + b.range < 0";
const NO_JOB = "01a1fd28-6c3a-7235-b977-7cd770e934b0";

interface Answer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any -- bodies of many shapes.
  readonly body: any;
  readonly headers: Headers;
}

interface Jobs extends AsyncDisposable {
  readonly lab: WarehouseLab;
  readonly records: QueryRecord[];
  ask(method: string, path: string, body?: unknown, token?: string): Promise<Answer>;
  /** Submits a statement; its id. */
  submit(query: string, fields?: Record<string, unknown>, token?: string): Promise<string>;
  metric(series: string): Promise<number>;
  stop(): Promise<void>;
}

/** Callers are the tenants that their tokens name. */
const TENANTS: CallerGate = {
  admit(request) {
    const tenant = request.headers.get("authorization")?.slice("Bearer ".length) ?? "svc";
    return Promise.resolve({ tenant, namespace: tenant, subject: `${tenant}'s clerk` });
  },
};

async function open(args: readonly string[] = []): Promise<Jobs> {
  const lab = await WarehouseLab.open();
  const rows = Array.from(
    { length: 5_000 },
    (_, n) => ({ ns: START_NS + BigInt(n), raw: `r${n}` }),
  );
  await lab.commit(rows);
  const records: QueryRecord[] = [];
  const server = await startQuery(
    parseOptions(OPTIONS, [
      ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--threads", "2"],
      ...["--data-dir", lab.dir, "--memory-pool-bytes", String(256 * 2 ** 20), ...args],
    ]),
    {
      ...IN_THIS_PROCESS,
      callers: TENANTS,
      observer: { completed: (record) => void records.push(record) },
    },
  );
  const url = `http://127.0.0.1:${server.address.port}`;
  const ask: Jobs["ask"] = async (method, path, body, token) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
    });
    const { status, headers } = response;
    const isJson = headers.get("content-type") === "application/json";
    return { status, headers, body: await (isJson ? response.json() : response.text()) };
  };
  return {
    lab,
    records,
    ask,
    async submit(query, fields, token) {
      const { status, body } = await ask(
        "POST",
        "/sql",
        { query, priority: "batch", ...fields },
        token,
      );
      assert.equal(status, 202, JSON.stringify(body));
      return body.job_id;
    },
    async metric(series) {
      const text = await (await fetch(`http://127.0.0.1:${server.metricsAddress.port}/metrics`))
        .text();
      const line = text.split("\n").find((line) => line.startsWith(`${series} `));
      return Number(line?.slice(series.length + 1));
    },
    stop: () => server.stop(),
    async [Symbol.asyncDispose]() {
      await server.stop();
      await lab[Symbol.asyncDispose]();
    },
  };
}

Deno.test({
  name: "a batch job whose statement cannot be planned is refused, and there is no job",
  async fn() {
    await using jobs = await open();
    const cases: [query: string, reason: string][] = [
      ["SELEC 1", "syntax_error"],
      ["SELECT nope FROM events", "statement_failed"],
      ["SELECT * FROM nowhere", "unknown_table"],
      ["SELECT getenv('HOME')", "refused_function"],
      ["SELECT 1; SELECT 2", "not_one_select"],
      ["SELECT count(*) FROM range(100000000000)", "max_rows_scanned"],
    ];
    for (const [query, reason] of cases) {
      const { status, body } = await jobs.ask("POST", "/sql", { query, priority: "batch" });
      assert.deepEqual([status, body.reason], [400, reason], query);
      const record = jobs.records.at(-1);
      assert.deepEqual([record?.query, record?.status, record?.priority], [query, 400, "batch"]);
    }
    assert.deepEqual((await jobs.ask("GET", "/jobs")).body, []);
    assert.equal(jobs.records.length, cases.length);
  },
});

Deno.test({
  name: "a batch job is accepted, waited for and fetched; its result is the interactive answer",
  async fn() {
    await using jobs = await open();
    const query =
      "SELECT raw, timestamp_ns, sum(1) OVER () AS n, INTERVAL 1 MONTH AS i FROM events " +
      "ORDER BY timestamp_ns LIMIT 3";
    const accepted = await jobs.ask("POST", "/sql", { query, priority: "batch" });
    const { job_id } = accepted.body;
    assert.equal(accepted.status, 202);
    assert.match(job_id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.deepEqual(accepted.body, {
      job_id,
      status: "pending",
      status_url: `/api/v1/jobs/${job_id}`,
      result_url: `/api/v1/jobs/${job_id}/result`,
    });
    assert.equal(accepted.headers.get("location"), `/api/v1/jobs/${job_id}`);
    const { body: job } = await jobs.ask("GET", `/jobs/${job_id}?wait_secs=30`);
    assert.deepEqual([job.status, job.query, job.priority], ["succeeded", query, "batch"]);
    const times = [job.submitted_at, job.started_at, job.ended_at];
    assert.deepEqual(times, [...times].sort());
    for (const time of times) assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(job.cost.estimated_rows_processed, 5_000);
    assert.deepEqual(job.progress, { rows: 5_000, percent: 100 });
    const result = await jobs.ask("GET", `/jobs/${job_id}/result`);
    const asked = await jobs.ask("POST", "/sql", { query });
    assert.equal(result.status, 200);
    assert.ok(result.headers.has("x-svc-server-micros"));
    assert.deepEqual({ ...result.body, stats: undefined }, { ...asked.body, stats: undefined });
    assert.equal(result.body.stats.rows_scanned, 5_000);
    const [record] = jobs.records;
    assert.deepEqual(
      [record?.query, record?.priority, record?.endpoint, record?.status, record?.rowsReturned],
      [query, "batch", "sql", 200, 3],
    );
    assert.equal(record?.caller.subject, "svc's clerk");
  },
});

Deno.test({
  name: "a large result is kept in the warehouse and comes back whole, its cap never 413",
  async fn() {
    await using jobs = await open();
    const query =
      "SELECT range AS n, 'é\n\"' || range AS t, [range::HUGEINT * 10000000000000000000] AS l " +
      "FROM range(150000)";
    const limits = { max_rows_returned: 120_000 };
    const id = await jobs.submit(query, { limits });
    const { body: job } = await jobs.ask("GET", `/jobs/${id}?wait_secs=30`);
    assert.equal(job.status, "succeeded", job.error);
    const response = await jobs.ask("GET", `/jobs/${id}/result`);
    assert.equal(response.status, 200);
    const { rows, row_count, truncated, max_rows } = response.body;
    assert.deepEqual([rows.length, row_count, truncated, max_rows], [
      120_000,
      120_000,
      true,
      120_000,
    ]);
    assert.deepEqual(rows[119_999].slice(0, 2), [119_999, 'é\n"119999']);
    rows.forEach(([n]: [number], at: number) => assert.equal(n, at));
    const files = await Array.fromAsync(Deno.readDir(`${jobs.lab.dir}/warehouse/svc/job_results`));
    assert.ok(files.filter(({ isFile }) => isFile).length >= 1);
    assert.ok(await jobs.metric('svc_query_job_result_bytes_total{place="warehouse"}') > 2 ** 20);
    assert.equal(await jobs.metric("svc_query_admission_reserved_bytes"), 0);
    for (const { name, isFile } of files) {
      if (isFile) await Deno.remove(`${jobs.lab.dir}/warehouse/svc/job_results/${name}`);
    }
    const gone = await jobs.ask("GET", `/jobs/${id}/result`);
    assert.deepEqual([gone.status, gone.body.reason], [500, "result_lost"]);
  },
});

Deno.test({
  name: "a job runs as written, in the batch tier's limits, whatever --max-rows",
  async fn() {
    await using jobs = await open(["--max-rows", "10"]);
    const id = await jobs.submit("SELECT raw FROM events");
    assert.equal((await jobs.ask("GET", `/jobs/${id}?wait_secs=30`)).body.status, "succeeded");
    const { body } = await jobs.ask("GET", `/jobs/${id}/result`);
    assert.deepEqual([body.row_count, body.truncated, body.rows[0]], [5_000, undefined, ["r0"]]);
    assert.equal(await jobs.metric("svc_query_default_order_applied_total"), 0);
    const priced = await jobs.ask("POST", "/sql", {
      query: "SELECT raw FROM events",
      priority: "batch",
      dry_run: true,
    });
    assert.deepEqual([priced.status, priced.body.cost.estimated_rows_processed], [200, 5_000]);
    assert.equal((await jobs.ask("GET", "/jobs")).body.length, 1, "a dry run is no job");
  },
});

Deno.test({
  name: "a job that fails tells the statement's error, and has no result",
  async fn() {
    await using jobs = await open();
    const cases: [string, Record<string, unknown>, string, RegExp][] = [
      ["SELECT raw::INT FROM events", {}, "failed", /Could not convert string 'r/],
      [
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 900) " +
        "SELECT count(*) FROM r a, r b, r c WHERE a.n + b.n + c.n < 0",
        { limits: { timeout_seconds: 1 } },
        "timeout",
        /the timeout of 1 s/,
      ],
      [ENDLESS, { limits: { timeout_seconds: 1 } }, "timeout", /the timeout of 1 s/],
    ];
    for (const [query, fields, status, error] of cases) {
      const id = await jobs.submit(query, fields);
      const { body } = await jobs.ask("GET", `/jobs/${id}?wait_secs=30`);
      assert.equal(body.status, status);
      assert.match(body.error, error);
      const result = await jobs.ask("GET", `/jobs/${id}/result`);
      assert.deepEqual([result.status, result.body.reason], [409, "job_not_succeeded"]);
      assert.ok(result.body.error.includes(body.error));
    }
    assert.deepEqual(jobs.records.map(({ status }) => status), [400, 504, 504]);
  },
});

Deno.test({
  name: "a running job has no result yet, tells progress, and is cancelled at once",
  async fn() {
    await using jobs = await open();
    const id = await jobs.submit(ENDLESS);
    const look = () => jobs.ask("GET", `/jobs/${id}?wait_secs=1`);
    let running = await look();
    // On a busy machine there may be none to tell after the first.
    for (let looks = 1; looks < 10 && running.body.progress === undefined; looks += 1) {
      running = await look();
    }
    assert.deepEqual([running.status, running.body.status], [200, "running"]);
    assert.equal(typeof running.body.progress.rows, "number");
    assert.ok(running.body.cost.estimated_rows_processed > 0);
    assert.ok(await jobs.metric("svc_query_admission_reserved_bytes") === 64 * 2 ** 20);
    const early = await jobs.ask("GET", `/jobs/${id}/result`);
    assert.deepEqual([early.status, early.body.reason], [404, "job_not_ended"]);
    const waiting = jobs.ask("GET", `/jobs/${id}?wait_secs=30`);
    const cancelled = await jobs.ask("DELETE", `/jobs/${id}`);
    assert.deepEqual([cancelled.status, cancelled.body], [202, {
      job_id: id,
      status: "cancelled",
    }]);
    assert.equal((await waiting).body.status, "cancelled");
    const again = await jobs.ask("DELETE", `/jobs/${id}`);
    assert.deepEqual([again.status, again.body.reason], [409, "job_ended"]);
    const startedMs = performance.now();
    while (await jobs.metric("svc_query_admission_reserved_bytes") > 0) {
      assert.ok(performance.now() - startedMs < 20_000, "the share is given back");
    }
    assert.equal(await jobs.metric('svc_query_job_runs_total{verdict="stopped"}'), 1);
  },
});

Deno.test({
  name: "jobs are their tenant's alone, and unknown ids are 404 whatever they look like",
  async fn() {
    await using jobs = await open();
    const id = await jobs.submit("SELECT 1", {}, "acme");
    await jobs.ask("GET", `/jobs/${id}?wait_secs=30`, undefined, "acme");
    assert.equal((await jobs.ask("GET", `/jobs/${id}/result`, undefined, "acme")).status, 200);
    for (
      const [path, token] of [[id, "rival"], [NO_JOB, "acme"], ["x'; --", "acme"], ["%00", "acme"]]
    ) {
      for (const [method, rest] of [["GET", ""], ["GET", "/result"], ["DELETE", ""]] as const) {
        const answer = await jobs.ask(method, `/jobs/${path}${rest}`, undefined, token);
        assert.deepEqual(
          [answer.status, answer.body.reason],
          [404, "unknown_job"],
          `${method} ${path}`,
        );
      }
    }
    assert.deepEqual((await jobs.ask("GET", "/jobs", undefined, "rival")).body, []);
  },
});

Deno.test({
  name: "GET /api/v1/jobs lists the newest first, page by page, and refuses bad parameters",
  async fn() {
    await using jobs = await open();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      ids.unshift(await jobs.submit(`SELECT ${n} -- ${"x".repeat(2_000)}`));
    }
    const idsOf = ({ body }: Answer) => body.map((job: { job_id: string }) => job.job_id);
    assert.deepEqual(idsOf(await jobs.ask("GET", "/jobs")), ids);
    const page = await jobs.ask("GET", "/jobs?limit=2");
    assert.deepEqual(idsOf(page), ids.slice(0, 2));
    assert.equal(page.body[0].query.length, 1_001, "a long statement is cut");
    assert.deepEqual(
      idsOf(await jobs.ask("GET", `/jobs?limit=2&before=${ids[1]}`)),
      ids.slice(2, 4),
    );
    const bad = ["limit=0", "limit=1001", "limit=x", "before=x", `before=${NO_JOB}x`];
    for (const path of [...bad.map((text) => `/jobs?${text}`), `/jobs/${ids[0]}?wait_secs=31`]) {
      const { status, body } = await jobs.ask("GET", path);
      assert.deepEqual([status, body.reason], [400, "bad_parameter"], path);
    }
  },
});

Deno.test({
  name: "a submission that is refused creates no job: 422, 400, 429",
  async fn() {
    await using jobs = await open(["--admission-wait-ms", "50"]);
    const submission = { query: ENDLESS, priority: "batch" };
    const cases: [Record<string, unknown>, number][] = [
      [{ ...submission, limits: { max_rows: 3 } }, 422],
      [{ ...submission, shard: { index: 0, count: 2 } }, 400],
      [{ ...submission, query: "SELECT '\0'" }, 400],
      [{ ...submission, query: "" }, 400],
    ];
    for (const [body, status] of cases) {
      assert.equal((await jobs.ask("POST", "/sql", body)).status, status);
    }
    assert.deepEqual((await jobs.ask("GET", "/jobs")).body, []);
    for (let n = 0; n < 4; n += 1) await jobs.submit(ENDLESS);
    const full = await jobs.ask("POST", "/sql/local", submission);
    assert.deepEqual([full.status, full.body.reason], [429, "admission_full"]);
    assert.ok(full.headers.has("retry-after"));
    assert.equal(await jobs.metric('svc_query_admission_rejected_total{resource="memory"}'), 1);
    assert.equal(
      await jobs.metric('svc_query_admission_rejected_total{resource="connections"}'),
      0,
    );
    assert.equal((await jobs.ask("GET", "/jobs")).body.length, 4);
  },
});

Deno.test({
  name: "a server that stops answers who waits, ends its jobs, and another one tells of them",
  async fn() {
    await using jobs = await open();
    const id = await jobs.submit(ENDLESS);
    const done = await jobs.submit("SELECT 42");
    assert.equal((await jobs.ask("GET", `/jobs/${done}?wait_secs=30`)).body.status, "succeeded");
    const waiting = jobs.ask("GET", `/jobs/${id}?wait_secs=30`);
    while (await jobs.metric("svc_query_jobs_running") !== 1) continue;
    const startedMs = performance.now();
    await jobs.stop();
    assert.equal((await waiting).status, 200);
    assert.ok(performance.now() - startedMs < 20_000);
    await using server = await startQuery(
      parseOptions(OPTIONS, [
        ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--data-dir", jobs.lab.dir],
      ]),
      { callers: TENANTS, observer: { completed() {} } },
    );
    const get = async (path: string) =>
      await (await fetch(`http://127.0.0.1:${server.address.port}/api/v1/jobs/${path}`)).json();
    const job = await get(id);
    assert.equal(job.status, "failed");
    assert.match(job.error, /^batch executor gone: its server was stopped/);
    assert.deepEqual((await get(`${done}/result`)).rows, [[42]]);
  },
});
