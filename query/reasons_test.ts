/**
 * The table of reasons in README.md: each row reached through HTTP, and none reached that is not a
 * row.
 */

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { parseOptions } from "../shared/config/parse_options.ts";
import { WarehouseLab } from "../shared/testing/warehouse_lab.ts";
import { OPTIONS, startQuery } from "./mod.ts";
import { startTestServer } from "../tests/doubles/query_server.ts";

const SQL = "/api/v1/sql";
const START_NS = 1_790_000_000_000_000_000n;

interface Attempt {
  readonly reason: string;
  readonly body?: Record<string, unknown> | string | Uint8Array<ArrayBuffer>;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** Done to what the server reads, first. */
  readonly before?: (lab: WarehouseLab) => Promise<void>;
}

const query = (sql: string, fields: Record<string, unknown> = {}) => ({ query: sql, ...fields });

/** In this order: the last ones damage what the server reads. */
const ATTEMPTS: readonly Attempt[] = [
  { reason: "invalid_body", body: "{" },
  { reason: "invalid_body", body: query("SELECT 1", { limits: { max_rows_returned: 0 } }) },
  { reason: "invalid_body", body: query("SELECT 1", { snapshot: 5 }) },
  { reason: "invalid_body", body: query("SELECT $1", { parameters: [{}] }) },
  { reason: "bad_parameters", body: query("SELECT $1, $2", { parameters: ["a"] }) },
  {
    reason: "unsupported_content_type",
    body: query("SELECT 1"),
    headers: { "content-type": "text/plain" },
  },
  { reason: "body_too_large", body: query("x".repeat(4 * 2 ** 20)) },
  {
    reason: "unsupported_content_encoding",
    body: query("SELECT 1"),
    headers: { "content-encoding": "compress" },
  },
  {
    reason: "bad_content_encoding",
    body: new Uint8Array(gzipSync('{"query":"SELECT 1"}').subarray(0, 12)),
    headers: { "content-encoding": "gzip" },
  },
  { reason: "no_peers", body: query("SELECT 1", { shard: { index: 0, count: 2 } }) },
  { reason: "no_peers", body: query("SELECT 1"), path: "/api/v1/sql/distributed" },
  { reason: "no_peers", body: query("SELECT 1"), path: "/api/v1/sql/shard" },
  { reason: "invalid_body", body: query(" "), path: "/api/v1/sql/distributed" },
  { reason: "unknown_route", path: "/api/v1/nothing", body: query("SELECT 1") },
  { reason: "method_not_allowed", method: "PUT", body: query("SELECT 1") },
  { reason: "syntax_error", body: query("SELEC 1") },
  { reason: "not_one_select", body: query("DROP TABLE events") },
  { reason: "refused_syntax", body: query("FROM (DESCRIBE events)") },
  { reason: "refused_function", body: query("SELECT getenv('HOME')") },
  { reason: "unknown_table", body: query("SELECT * FROM nothing") },
  { reason: "hot_caches_off", body: query("SELECT * FROM last_values()") },
  { reason: "bad_hot_call", body: query("SELECT * FROM distinct_values()") },
  { reason: "statement_too_large", body: query(`SELECT '${"x".repeat(300_000)}'`) },
  { reason: "refused_pattern", body: query("SELECT raw GLOB '*a*[bc]*d*e' FROM events") },
  {
    reason: "value_too_large",
    body: query(`SELECT ${"hex(".repeat(12)}raw${")".repeat(12)} FROM events`),
  },
  { reason: "statement_failed", body: query("SELECT no_such_column FROM events") },
  {
    reason: "max_rows_scanned",
    body: query("SELECT raw FROM events", { limits: { max_rows_scanned: 3 } }),
  },
  {
    reason: "max_bytes_scanned",
    body: query("SELECT raw FROM events", { limits: { max_bytes_scanned: 3 } }),
  },
  { reason: "pin_malformed", body: query("SELECT 1", { snapshot: "yesterday" }) },
  {
    reason: "pin_expired",
    body: query("SELECT raw FROM events", { snapshot: `p1.${btoa('[["events","u","1"]]')}` }),
  },
  {
    reason: "timeout",
    body: query(
      "SELECT count(*) FROM range(900000000) a, range(900) b WHERE a.range + b.range < 0",
      {
        // It is planned by then, whatever the machine does: the refusal has its cost.
        limits: { timeout_seconds: 1.2 },
      },
    ),
  },
  { reason: "pool_exhausted", body: query("SELECT len(list(range)) FROM range(900000000)") },
  {
    reason: "cache_not_writable",
    before: async (lab) => {
      await Deno.remove(`${lab.dir}/query-cache/engine/wal`, { recursive: true });
      await lab.append([{ ns: START_NS + 11n, raw: "w" }]);
    },
    body: query("SELECT raw FROM events"),
  },
  {
    reason: "storage_unavailable",
    before: (lab) => removeDataFiles(lab.dir),
    body: query("SELECT raw FROM events", { snapshot: "latest", default_order: false }),
  },
];

/** Reached where the fixture for it is. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  bad_parameter: "jobs/job_routes_test.ts",
  unknown_job: "jobs/job_routes_test.ts",
  job_not_ended: "jobs/job_routes_test.ts",
  job_not_succeeded: "jobs/job_routes_test.ts",
  job_ended: "jobs/job_routes_test.ts",
  result_lost: "jobs/job_routes_test.ts",
  job_store_unavailable: "jobs/guarded_store_test.ts",
  job_store_failed: "jobs/guarded_store_test.ts",
  search_syntax: "../tests/apps/fields_test.ts",
  bad_position: "../shared/engine/follow/follow_position_test.ts",
  tails_in_use: "../tests/apps/tail_test.ts",
  unknown_field: "../tests/apps/fields_test.ts",
  unknown_dimension: "../shared/engine/hot_caches/hot_caches_test.ts",
  hot_cache_full: "../shared/engine/hot_caches/hot_caches_test.ts",
  result_cut_short: "../shared/engine/duckdb/native_driver_test.ts",
  answers_in_flight: "sql/sql_records_test.ts",
  server_stopping: "start_query_test.ts",
  admission_full: "sql/sql_admission_test.ts",
  midflight_rows_scanned_exceeded: "midflight_test.ts",
  not_a_coordinator: "distributed/shard_route_test.ts",
  shard_pin_unresolved: "distributed/shard_route_test.ts",
  other_version: "distributed/shard_route_test.ts",
  shard_bytes: "../shared/engine/shards/received_rows_test.ts",
  parquet_busy: "../tests/equivalence/arrow_answer_test.ts",
  answer_bytes: "reasons_test.ts",
  disk_failure: "../shared/http/error_response_test.ts",
  engine_replaced: "../shared/engine/duckdb/fault_error_test.ts",
  object_cache_in_use: "object_cache_test.ts",
  object_cache_too_small: "object_cache_test.ts",
  object_cut_short: "object_cache_test.ts",
};

Deno.test({
  name: "README reasons are reached with their status, and no others are",
  fn: async (t) => {
    const documented = await documentedReasons();
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.commit(Array.from({ length: 9 }, (_, n) => ({ ns: START_NS + BigInt(n), raw: "r" })));
    await lab.append([{ ns: START_NS + 10n, raw: "w" }]);
    await using server = await startQuery(parseOptions(OPTIONS, [
      ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--threads", "2"],
      ...["--data-dir", lab.dir, "--query-wal-buffer-dir", `${lab.dir}/wal`],
      ...["--memory-pool-bytes", String(96 * 2 ** 20), "--spill-max-bytes", String(2 ** 20)],
      "--audit-disabled",
    ]));
    for (const attempt of ATTEMPTS) {
      await t.step(
        `${attempt.reason} ${JSON.stringify(attempt.body ?? "").slice(0, 60)}`,
        async () => {
          await attempt.before?.(lab);
          const { body = "", method = "POST", path = SQL, headers = {} } = attempt;
          const response = await fetch(`http://127.0.0.1:${server.address.port}${path}`, {
            method,
            headers: { "content-type": "application/json", ...headers },
            body: typeof body === "string" || body instanceof Uint8Array
              ? body
              : JSON.stringify(body),
          });
          const answer = await response.json();
          assert.equal(answer.reason, attempt.reason, JSON.stringify(answer));
          assert.equal(response.status, documented.get(attempt.reason));
          assert.equal(answer.code, response.status);
          assert.equal(response.headers.has("retry-after"), response.status === 503);
          assert.equal("cost" in answer, WITH_COST.has(attempt.reason));
        },
      );
    }
    const reached = new Set([...ATTEMPTS.map(({ reason }) => reason), ...Object.keys(ELSEWHERE)]);
    assert.deepEqual([...documented.keys()].sort(), [...reached].sort());
    for (const [reason, file] of Object.entries(ELSEWHERE)) {
      assert((await Deno.readTextFile(new URL(file, import.meta.url))).includes(`"${reason}"`));
    }
  },
});

const WITH_COST: ReadonlySet<string> = new Set([
  "max_rows_scanned",
  "max_bytes_scanned",
  "pool_exhausted",
  "timeout",
]);

Deno.test({
  name: "a records answer past its bytes is answer_bytes, 413, and tells of NDJSON",
  fn: async () => {
    const rows = Array.from({ length: 300 }, () => "x".repeat(2 ** 20));
    await using server = await startTestServer({ rows, chunkRows: 10 });
    const response = await server.post(SQL, { query: "SELECT n FROM t" });
    const answer = await response.json();
    assert.deepEqual([response.status, answer.reason], [413, "answer_bytes"]);
    assert.match(answer.error, /ndjson/);
  },
});

async function documentedReasons(): Promise<Map<string, number>> {
  const text = await Deno.readTextFile(new URL("README.md", import.meta.url));
  const table = text.slice(text.indexOf("## Reasons"));
  return new Map(
    [...table.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)].map(([, reason = "", status]) => [
      reason,
      Number(status),
    ]),
  );
}

async function removeDataFiles(dir: string): Promise<void> {
  for await (const path of filesBelow(`${dir}/warehouse`)) {
    if (path.endsWith(".parquet")) await Deno.remove(path);
  }
}

async function* filesBelow(dir: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(dir)) {
    const path = `${dir}/${entry.name}`;
    if (entry.isDirectory) yield* filesBelow(path);
    else yield path;
  }
}
