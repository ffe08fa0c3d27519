import { strict as assert } from "node:assert";
import { OperatingError } from "../../shared/base/errors.ts";
import { until } from "../../shared/testing/until.ts";
import {
  FAKE_COST,
  FAKE_STATS,
  type FakeEngineOptions,
  onlyAborted,
} from "../../tests/doubles/fake_engine.ts";
import { startTestServer } from "../../tests/doubles/query_server.ts";

const SQL = "/api/v1/sql";

Deno.test({
  name: "POST /api/v1/sql answers records in the order and with the members of the API",
  async fn() {
    await using server = await startTestServer({ rows: [1, 2, 3] });
    for (const path of [SQL, "/api/v1/sql/local"]) {
      const response = await server.post(path, { query: "SELECT n FROM t" });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("content-type"), "application/json");
      assert.match(response.headers.get("x-svc-server-micros") ?? "", /^\d+$/);
      assert.equal(
        await response.text(),
        `{"columns":["n"],"row_count":3,"rows":[[1],[2],[3]],"cost":${JSON.stringify(FAKE_COST)},` +
          `"stats":${JSON.stringify(FAKE_STATS)}}`,
      );
    }
    assert.equal(server.engine.open, 0);
  },
});

Deno.test({
  name: "POST /api/v1/sql hands the engine its namespace, tenant and defaults",
  async fn() {
    await using server = await startTestServer({}, ["--tenant-namespace", "acme"]);
    await (await server.post(SQL, { query: " SELECT 1 ", unknown: 1, limits: null })).text();
    const [request] = server.engine.requests;
    assert.deepEqual({ ...request, signal: undefined }, {
      sql: " SELECT 1 ",
      namespace: "acme",
      tenant: "acme",
      defaultOrder: true,
      fastPaths: true,
      isBegunAnew: false,
      isExact: true,
      planOnly: false,
      rowsMax: 10_000,
      rowsScannedMax: 1_000_000_000,
      deadlineMs: 60_000,
      waitMs: { light: 2_000, dear: 10_000 },
      signal: undefined,
    });
  },
});

Deno.test({
  name: "POST /api/v1/sql lets an answer be approximate only where the request says so",
  async fn() {
    await using server = await startTestServer();
    for (const [exact, expected] of [[undefined, true], [true, true], [false, false]] as const) {
      await (await server.post(SQL, { query: "SELECT 1", exact })).text();
      assert.equal(server.engine.requests.at(-1)?.isExact, expected, String(exact));
    }
  },
});

Deno.test({
  name: "POST /api/v1/sql lets summaries answer records, and reads the rows of a stream",
  async fn() {
    await using server = await startTestServer();
    for (const format of ["records", "ndjson"]) {
      await (await server.post(SQL, { query: "SELECT 1", format })).text();
    }
    assert.deepEqual(server.engine.requests.map(({ fastPaths }) => fastPaths), [true, false]);
    assert.equal(await server.metric('svc_query_served_total{served_by="scan"}'), 2);
  },
});

const NULLS = {
  format: null,
  priority: null,
  default_order: null,
  exact: null,
  dry_run: null,
  snapshot: null,
  shard: null,
};

Deno.test({
  name: "POST /api/v1/sql clamps known limits and takes null for absent",
  async fn() {
    const cases: [Record<string, unknown>, string[], { rowsMax: number; deadlineMs: number }][] = [
      [{}, [], { rowsMax: 10_000, deadlineMs: 60_000 }],
      [{ max_rows_returned: 5 }, [], { rowsMax: 5, deadlineMs: 60_000 }],
      [{ max_rows_returned: 5_000_000 }, [], { rowsMax: 1_000_000, deadlineMs: 60_000 }],
      [{ max_rows_returned: 2 ** 64 }, [], { rowsMax: 1_000_000, deadlineMs: 60_000 }],
      [{ max_rows_returned: null }, [], { rowsMax: 10_000, deadlineMs: 60_000 }],
      [{ max_rows_returned: 50 }, ["--max-rows", "20"], { rowsMax: 20, deadlineMs: 60_000 }],
      [{}, ["--max-rows", "20"], { rowsMax: 20, deadlineMs: 60_000 }],
      [{ timeout_seconds: 1.5 }, [], { rowsMax: 10_000, deadlineMs: 1_500 }],
      [{ timeout_seconds: 9_999 }, [], { rowsMax: 10_000, deadlineMs: 300_000 }],
    ];
    for (const [limits, flags, expected] of cases) {
      await using server = await startTestServer({}, flags);
      const response = await server.post(SQL, { query: "SELECT 1", limits, ...NULLS });
      assert.equal(response.status, 200, await response.text());
      const { rowsMax, deadlineMs } = server.engine.requests[0] ?? {};
      assert.deepEqual({ rowsMax, deadlineMs }, expected);
    }
  },
});

Deno.test({
  name: "POST /api/v1/sql refuses a bad body before the engine sees it",
  async fn() {
    const good = { query: "SELECT 1" };
    const cases: [unknown, number, RegExp][] = [
      [{ ...good, limits: { max_rows: 5 } }, 422, /`max_rows`/],
      [{ ...good, limits: { max_rows_returned: 5, offset: 1 } }, 422, /`offset`/],
      [{ limits: { max_rows: 5 } }, 422, /`max_rows`/],
      [{ ...good, priority: "batch", limits: { max_rows: 5 } }, 422, /`max_rows`/],
      [{ ...good, limits: { max_rows_returned: "5", max_rows: 5 } }, 422, /`max_rows`/],
      [
        { ...good, limits: { max_rows_returned: "5" } },
        400,
        /limits\.max_rows_returned.*is \\"5\\": expected number/,
      ],
      [{ ...good, limits: { max_rows_returned: 1.5 } }, 400, /limits\.max_rows_returned/],
      [{ ...good, limits: { max_rows_returned: 0 } }, 400, /limits\.max_rows_returned/],
      [{ ...good, limits: { timeout_seconds: -1 } }, 400, /limits\.timeout_seconds/],
      [{ ...good, limits: [] }, 400, /limits/],
      [{}, 400, /without query: send an object such as/],
      [{ query: 7 }, 400, /query of the request, which is 7: expected string/],
      [{ query: ["x".repeat(99)] }, 400, /which is \[\\"x{58}…: expected string/],
      [{ query: "  " }, 400, /query.*statement/],
      [{ ...good, format: "xml" }, 400, /format.* is \\"xml\\": expected one of \\"records\\"/],
      [{ ...good, default_order: "no" }, 400, /default_order.* is \\"no\\": expected boolean/],
      [{ ...good, dry_run: 1 }, 400, /dry_run/],
      [{ ...good, exact: "no" }, 400, /exact/],
      [[], 400, /the body/],
      ["", 400, /JSON/],
      ['{"query":', 400, /JSON/],
      [{ ...good, shard: { index: 0, count: 2 } }, 400, /shard/],
      [{ query: "x".repeat(4 * 1024 * 1024) }, 413, /./],
    ];
    await using server = await startTestServer();
    for (const path of [SQL, "/api/v1/sql/local", "/api/v1/sql/explain"]) {
      for (const [body, status, text] of cases) {
        const response = await server.post(path, body);
        const answer = await response.text();
        assert.equal(response.status, status, `${path} ${JSON.stringify(body).slice(0, 99)}`);
        assert.match(answer, text);
        assert.notEqual(response.headers.get("x-svc-server-micros"), null);
        if (status === 422) {
          assert.match(response.headers.get("content-type") ?? "", /^text\/plain/);
          assert.throws(() => JSON.parse(answer), SyntaxError);
        } else {
          assert.equal(JSON.parse(answer).code, status);
        }
      }
    }
    assert.equal(server.engine.requests.length, 0);
  },
});

Deno.test({
  name: "a records answer is 413 with its rows exactly when there was one row more",
  async fn() {
    const limits = { max_rows_returned: 3 };
    for (const [rows, status] of [[2, 200], [3, 200], [4, 413], [9, 413]] as const) {
      await using server = await startTestServer({
        rows: Array.from({ length: rows }, (_, n) => n),
      });
      const response = await server.post(SQL, { query: "SELECT n FROM t", limits });
      const body = await response.json();
      assert.equal(response.status, status, `${rows} rows`);
      assert.deepEqual(body.rows, [[0], [1], [2]].slice(0, rows));
      assert.equal(body.row_count, body.rows.length);
      assert.deepEqual(
        [body.truncated, body.max_rows],
        status === 413 ? [true, 3] : [undefined, undefined],
      );
      const outcome = status === 413 ? "truncated" : "ok";
      assert.equal(
        await server.metric(`svc_query_requests_total{endpoint="sql",outcome="${outcome}"}`),
        1,
      );
    }
  },
});

Deno.test({
  name: "an ndjson answer stops at the cap with the truncated trailer, and has none below it",
  async fn() {
    const limits = { max_rows_returned: 3 };
    const cases: [number, string[]][] = [
      [0, []],
      [3, ['{"n":0}', '{"n":1}', '{"n":2}']],
      [4, ['{"n":0}', '{"n":1}', '{"n":2}', '{"_meta":"truncated","row_count":3,"max_rows":3}']],
      [5, ['{"n":0}', '{"n":1}', '{"n":2}', '{"_meta":"truncated","row_count":3,"max_rows":3}']],
    ];
    for (const [rows, lines] of cases) {
      await using server = await startTestServer({
        rows: Array.from({ length: rows }, (_, n) => n),
      });
      const response = await server.post(SQL, { query: "SELECT n", format: "ndjson", limits });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("content-type"), "application/x-ndjson");
      assert.match(response.headers.get("x-svc-server-micros") ?? "", /^\d+$/);
      assert.equal(await response.text(), lines.map((line) => `${line}\n`).join(""));
      await until(() => server.engine.open === 0);
    }
  },
});

Deno.test({
  name: "a csv answer is a file with a header, and whole unless its connection is cut",
  async fn() {
    const rows = [0, 1, 2, 3];
    const request = { query: "SELECT n", format: "csv" };
    await using server = await startTestServer({ rows });
    const response = await server.post(SQL, request);
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", /^text\/csv; charset=utf-8/);
    assert.match(response.headers.get("content-disposition") ?? "", /^attachment; filename="/);
    assert.equal(await response.text(), '"n"\r\n0\r\n1\r\n2\r\n3\r\n');
    assert.equal(server.engine.requests[0]?.rowsMax, 1_000_000, "a file is not cut at 10,000 rows");
    const cut = await server.post(SQL, { ...request, limits: { max_rows_returned: 3 } });
    assert.equal(cut.status, 200);
    await assert.rejects(cut.text());
    await until(() => server.engine.open === 0);
    const outcome = 'svc_query_requests_total{endpoint="sql",outcome="truncated"}';
    assert.equal(await server.metric(outcome), 1);
  },
});

Deno.test({
  name: "a csv failure keeps its status before the first rows and cuts the connection after them",
  async fn() {
    const error = new OperatingError("unavailable", "no disk", { retryAfterSecs: 1 });
    for (const failsAt of [0, 1]) {
      await using server = await startTestServer({
        rows: [0, 1, 2, 3],
        onChunk(at) {
          if (at === failsAt) throw error;
        },
      });
      const response = await server.post(SQL, { query: "SELECT n", format: "csv" });
      assert.equal(response.status, failsAt === 0 ? 503 : 200);
      if (failsAt === 0) assert.equal((await response.json()).error, "no disk");
      else await assert.rejects(response.text());
      await until(() => server.engine.open === 0);
    }
  },
});

Deno.test({
  name: "an ndjson failure keeps its status before the first rows and is a trailer after them",
  async fn() {
    const pool = new OperatingError("unavailable", "no memory", { reason: "pool_exhausted" });
    const other = new OperatingError("invalid_argument", "cannot cast");
    const away = new OperatingError("unavailable", "no disk", { retryAfterSecs: 1 });
    const cases: [Error, string, number][] = [
      [pool, '{"_meta":"error","code":503,"error":"no memory","retry_after_secs":5}\n', 503],
      [other, '{"_meta":"error","code":400,"error":"cannot cast"}\n', 400],
      [away, '{"_meta":"error","code":503,"error":"no disk","retry_after_secs":1}\n', 503],
    ];
    for (const [error, lastLine, status] of cases) {
      for (const failsAt of [0, 1]) {
        await using server = await startTestServer({
          rows: [0, 1, 2, 3],
          onChunk(at) {
            if (at === failsAt) throw error;
          },
        });
        const response = await server.post(SQL, { query: "SELECT n", format: "ndjson" });
        const text = await response.text();
        if (failsAt === 0) {
          assert.equal(response.status, status);
          assert.equal(JSON.parse(text).error, error.message);
        } else {
          assert.equal(response.status, 200);
          assert.equal(text, `{"n":0}\n{"n":1}\n${lastLine}`);
        }
        await until(() => server.engine.open === 0);
        const series = 'svc_query_breaker_trips_total{breaker="pool_exhausted"}';
        assert.equal(await server.metric(series), error === pool ? 1 : 0);
      }
    }
  },
});

Deno.test({
  name: "a failing query answers its code, with cost where a plan existed",
  async fn() {
    const fail = (...args: ConstructorParameters<typeof OperatingError>) => () => {
      throw new OperatingError(...args);
    };
    const cases: [FakeEngineOptions, number, Record<string, unknown>, string | null][] = [
      [{ onPrepare: fail("invalid_argument", "no", { reason: "unknown_table" }) }, 400, {
        error: "no",
        code: 400,
        reason: "unknown_table",
      }, null],
      [{ onChunk: fail("unavailable", "full", { reason: "pool_exhausted" }) }, 503, {
        error: "full",
        code: 503,
        reason: "pool_exhausted",
        cost: FAKE_COST,
      }, "5"],
      [{ onChunk: fail("deadline_exceeded", "late") }, 504, {
        error:
          "Cannot finish the query within 60 s of wall clock: narrow it, or raise limits.timeout_seconds",
        code: 504,
        reason: "timeout",
        cost: FAKE_COST,
      }, null],
      [{ cost: { estimated_rows_processed: 1_000_000_001 } }, 400, {
        error: "Cannot run the query: it would scan about 1000000001 rows and " +
          "limits.max_rows_scanned allows 1000000000; narrow the time range or the columns",
        code: 400,
        reason: "max_rows_scanned",
        cost: { ...FAKE_COST, estimated_rows_processed: 1_000_000_001 },
      }, null],
      [{ cost: { estimated_bytes_scanned: 2 ** 40 } }, 400, {
        error: "Cannot run the query: it would scan about 1099511627776 bytes and " +
          "limits.max_bytes_scanned allows 107374182400; narrow the time range or the columns",
        code: 400,
        reason: "max_bytes_scanned",
        cost: { ...FAKE_COST, estimated_bytes_scanned: 2 ** 40 },
      }, null],
    ];
    for (const [options, status, expected, retryAfter] of cases) {
      await using server = await startTestServer({ rows: [1], ...options });
      const response = await server.post(SQL, { query: "SELECT 1" });
      assert.deepEqual(await response.json(), expected);
      assert.equal(response.status, status);
      assert.equal(response.headers.get("retry-after"), retryAfter);
      assert.equal(server.engine.open, 0);
    }
  },
});

Deno.test({
  name: "a bug in the engine is 500 without its text",
  async fn() {
    await using server = await startTestServer({
      onPrepare() {
        throw new TypeError("secret detail");
      },
    });
    const response = await server.post(SQL, { query: "SELECT 1" });
    assert.equal(response.status, 500);
    assert.doesNotMatch(await response.text(), /secret/);
  },
});

Deno.test({
  name: "dry_run and /sql/explain price the query and run nothing",
  async fn() {
    await using server = await startTestServer({ rows: [1], cost: { files_to_scan: 7 } });
    const report = {
      cost: { ...FAKE_COST, files_to_scan: 7 },
      tables: [{ table: "events", snapshot_id: "9007199254740993", files: 1 }],
      served_by: "scan",
    };
    const dry = await server.post(SQL, { query: "SELECT 1", dry_run: true, format: "ndjson" });
    assert.deepEqual(await dry.json(), report);
    const explained = await server.post("/api/v1/sql/explain", { query: "SELECT 1" });
    assert.deepEqual(await explained.json(), { ...report, plan: "SEQ_SCAN" });
    assert.deepEqual([server.engine.chunksTaken, server.engine.open], [0, 0]);
    assert.deepEqual(server.engine.requests.map(({ planOnly }) => planOnly), [true, true]);
  },
});

Deno.test({
  name: "a client that leaves stops its query, before the answer and during it",
  async fn() {
    for (const format of ["records", "ndjson"]) {
      for (const hangsAt of ["prepare", 0, 1] as const) {
        const reached = Promise.withResolvers<void>();
        let aborted = false;
        const hang = async (at: typeof hangsAt, request: Parameters<typeof onlyAborted>[0]) => {
          if (at !== hangsAt) return;
          reached.resolve();
          await onlyAborted(request).finally(() => aborted = true);
        };
        await using server = await startTestServer({
          rows: [0, 1, 2, 3],
          onPrepare: (request) => hang("prepare", request),
          onChunk: (at, request) => hang(at as 0 | 1, request),
        });
        const leaving = new AbortController();
        const asked = server.post(SQL, { query: "SELECT n", format }, { signal: leaving.signal })
          .then((response) => response.text());
        await reached.promise;
        leaving.abort();
        await assert.rejects(asked, { name: "AbortError" });
        await until(() => aborted);
        await until(() => server.engine.open === 0);
        await until(async () =>
          await server.metric(
            'svc_query_requests_total{endpoint="sql",outcome="cancelled"}',
          ) === 1
        );
        assert.equal(await server.metric("svc_query_in_flight"), 0);
      }
    }
  },
});

Deno.test({
  name: "the wall clock ends a query whose engine misses its own deadline: 504 or trailer",
  async fn() {
    // Long enough for the first rows to be sent, whatever the machine does.
    const limits = { timeout_seconds: 1 };
    await Promise.all(["records", "ndjson"].map(async (format) => {
      await using server = await startTestServer({
        rows: [0, 1, 2, 3],
        onChunk: (at, request) => at === 1 ? onlyAborted(request) : undefined,
      });
      const response = await server.post(SQL, { query: "SELECT n", format, limits });
      const text = await response.text();
      const last = JSON.parse(text.trim().split("\n").at(-1) ?? "");
      assert.match(last.error, /within 1 s/);
      assert.equal(last.code, 504);
      assert.deepEqual(last.cost, format === "records" ? FAKE_COST : undefined);
      assert.equal(response.status, format === "records" ? 504 : 200);
      assert.equal(
        await server.metric('svc_query_requests_total{endpoint="sql",outcome="timeout"}'),
        1,
      );
    }));
  },
});

Deno.test({
  name: "an ndjson answer that nobody reads takes no more rows and ends at the wall clock",
  async fn() {
    await using server = await startTestServer({
      rows: Array.from({ length: 5_000 }, () => "x".repeat(100_000)),
      chunkRows: 1,
    });
    const body = { query: "SELECT n", format: "ndjson", limits: { timeout_seconds: 2 } };
    // Such rows would all fit into the sockets' buffers in gzip.
    const response = await server.post(SQL, body, { headers: { "accept-encoding": "identity" } });
    await until(async () => {
      const before = server.engine.chunksTaken;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return server.engine.chunksTaken === before;
    });
    assert.ok(server.engine.chunksTaken < 500, `${server.engine.chunksTaken} chunks taken`);
    assert.equal(server.engine.open, 2);
    await until(() => server.engine.open === 0);
    // Its reader has not come back, and yet it is over.
    assert.equal(await server.metric("svc_query_in_flight"), 0);
    const timeouts = 'svc_query_requests_total{endpoint="sql",outcome="timeout"}';
    assert.equal(await server.metric(timeouts), 1);
    await response.body?.cancel();
  },
});

Deno.test({
  name: "svc_query_default_order_applied_total counts rewritten queries that ran",
  async fn() {
    await using server = await startTestServer({ rows: [1], defaultOrderApplied: true });
    await (await server.post(SQL, { query: "SELECT 1", dry_run: true })).text();
    assert.equal(await server.metric("svc_query_default_order_applied_total"), 0);
    await (await server.post(SQL, { query: "SELECT 1" })).text();
    assert.equal(await server.metric("svc_query_default_order_applied_total"), 1);
  },
});

Deno.test({
  name: "a records answer keeps the place of approximation, and has none where the answer is exact",
  async fn() {
    const approximation = { error_max: 3 };
    await using server = await startTestServer({ rows: [1], approximation });
    const answer = await (await server.post(SQL, { query: "SELECT n FROM t" })).json();
    assert.deepEqual(answer.approximation, approximation);
    await using exact = await startTestServer({ rows: [1] });
    const other = await (await exact.post(SQL, { query: "SELECT n FROM t" })).json();
    assert.equal("approximation" in other, false);
  },
});
