/**
 * Answers of the real engine, member by member: docs/api/query.md#records-answer and
 * docs/api/query.md#ndjson-answer. What was not measured or does not apply is absent.
 */

import assert from "node:assert/strict";
import { parseOptions } from "../shared/config/parse_options.ts";
import { WarehouseLab } from "../shared/testing/warehouse_lab.ts";
import { ONE_DUCKDB } from "../shared/testing/one_duckdb.ts";
import { OPTIONS, startQuery } from "./mod.ts";
import { IN_THIS_PROCESS } from "../shared/testing/in_this_process.ts";

const DAY_NS = 86_400_000_000_000n;
const FIRST_DAY_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const ROWS_A_DAY = 20;

const COST = [
  "files_to_scan",
  "files_considered",
  "estimated_bytes_scanned",
  "estimated_rows_processed",
  "estimated_runtime_seconds",
  "complexity_class",
  "exact",
  "warnings",
];
const STATS = ["rows_scanned", "bytes_scanned", "spill_bytes", "phases", "served_by"];
const PHASES = ["plan_micros", "buffer_delta_micros", "collect_micros", "render_micros"];
const SCAN = [
  "files_planned",
  "files_read",
  "planned_bytes",
  "planned_rows",
  "row_groups_considered",
  "ordering",
];
/** Only the ordered scan chooses row groups itself. */
const SCAN_ORDERED = [
  ...SCAN,
  "row_groups_pruned_stats",
  "row_groups_read",
  "rows_pruned_selection",
];

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // deno-lint-ignore no-explicit-any -- the shape is what is tested
  readonly body: any;
}

type Ask = (body: Record<string, unknown>, path?: string) => Promise<Answer>;

/** Three days with a file each, the last of them with two rows more in the WAL. */
async function withServer(
  test: (ask: Ask) => Promise<void>,
  flags: readonly string[] = [],
): Promise<void> {
  await using lab = await WarehouseLab.open({ wal: true });
  for (const day of [0n, 1n, 2n]) {
    await lab.commit(
      Array.from({ length: ROWS_A_DAY }, (_, n) => ({
        ns: FIRST_DAY_NS + day * DAY_NS + BigInt(n) * 1_000_000_000n,
        host: `h${n % 2}`,
        raw: `row ${n}`,
      })),
      { rowGroupRowsMax: 5 },
    );
  }
  await lab.append([1n, 2n].map((n) => ({ ns: FIRST_DAY_NS + 2n * DAY_NS + n, raw: "w" })));
  await using server = await startQuery(
    parseOptions(OPTIONS, [
      ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--threads", "2"],
      ...[...ONE_DUCKDB, "--audit-disabled"],
      ...["--data-dir", lab.dir, "--query-wal-buffer-dir", `${lab.dir}/wal`],
      ...flags,
    ]),
    IN_THIS_PROCESS,
  );
  await test(async (body, path = "/api/v1/sql") => {
    const response = await fetch(`http://127.0.0.1:${server.address.port}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type") === "application/json";
    const { status, headers } = response;
    return { status, headers, text, body: isJson ? JSON.parse(text) : undefined };
  });
}

function assertMembers(value: Record<string, unknown>, names: readonly string[]): void {
  assert.deepEqual(Object.keys(value).sort(), [...names].sort());
}

Deno.test({
  name: "a records answer has the types of its columns where the request asks for them",
  fn: () =>
    withServer(async (ask) => {
      const query = "SELECT timestamp, count(*) AS n, [1.5] AS l FROM events GROUP BY ALL LIMIT 1";
      const { body } = await ask({ query, types: true });
      assertMembers(body, ["columns", "types", "row_count", "rows", "cost", "stats"]);
      assert.deepEqual(body.types, ["TIMESTAMP WITH TIME ZONE", "BIGINT", "DECIMAL(2,1)[]"]);
      const { body: summed } = await ask({
        query: "SELECT count(*) AS n FROM events",
        types: true,
      });
      assert.deepEqual(summed.types, ["BIGINT"]);
    }),
});

Deno.test({
  name: "a records answer has the members of the API and measured figures",
  fn: () =>
    withServer(async (ask) => {
      const { status, body } = await ask({ query: "SELECT count(*) AS n, min(raw) FROM events" });
      assert.equal(status, 200);
      assertMembers(body, ["columns", "row_count", "rows", "cost", "stats"]);
      assert.deepEqual([body.columns, body.row_count, body.rows], [
        ["n", "min(raw)"],
        1,
        [[62, "row 0"]],
      ]);
      assertMembers(body.cost, COST);
      assertMembers(body.stats, [...STATS, "scan"]);
      assertMembers(body.stats.phases, PHASES);
      assertMembers(body.stats.scan, SCAN);
      const { cost, stats } = body;
      assert.deepEqual(
        [cost.files_to_scan, cost.files_considered, cost.estimated_rows_processed, cost.exact],
        [3, 3, 62, true],
      );
      assert.deepEqual([stats.rows_scanned, stats.served_by, stats.spill_bytes], [62, "scan", 0]);
      assert.equal(stats.bytes_scanned, cost.estimated_bytes_scanned);
      assert.deepEqual(
        [stats.scan.files_planned, stats.scan.planned_rows, stats.scan.ordering],
        [4, 62, "not_projected"],
      );
      for (const micros of Object.values(stats.phases)) {
        assert(Number.isInteger(micros) && (micros as number) >= 0);
      }
      assert(stats.phases.plan_micros > 0 && stats.phases.collect_micros > 0);
    }),
});

Deno.test({
  name: "cost and stats follow what a time bound and an ordered LIMIT leave",
  fn: () =>
    withServer(async (ask) => {
      const bounded = await ask({
        query: "SELECT count(raw) FROM events WHERE timestamp < '2026-11-21'",
      });
      const { cost, stats } = bounded.body;
      assert.deepEqual(bounded.body.rows, [[ROWS_A_DAY]]);
      assert.deepEqual([cost.files_to_scan, cost.files_considered], [1, 3]);
      assert.deepEqual([stats.scan.files_planned, stats.rows_scanned], [1, ROWS_A_DAY]);
      const newest = await ask({ query: "SELECT raw FROM events LIMIT 3" });
      const { scan } = newest.body.stats;
      assertMembers(scan, SCAN_ORDERED);
      assert.deepEqual([scan.ordering, newest.body.rows], [
        "advertised",
        [["row 19"], ["row 18"], ["row 17"]],
      ]);
      // Files have four row groups of five rows, the WAL piece one.
      assert.equal(scan.row_groups_considered, 13);
      assert.equal(scan.row_groups_read + scan.row_groups_pruned_stats, 13);
      assert.equal(scan.planned_rows, 3);
      // DuckDB may scan the rows that it needs a second time, for the columns it left out
      // at first.
      assert([3, 6].includes(newest.body.stats.rows_scanned), newest.text);
      assert.equal(scan.planned_rows + scan.rows_pruned_selection, 62);
      assert.equal(newest.body.cost.exact, false);
    }),
});

Deno.test({
  name: "--ordered-merge-max-fanin and --ordered-merge-global-fanin bound the ordered scan",
  fn: async () => {
    // There is one file for each of three days.
    const query = "SELECT raw FROM events LIMIT 50";
    const cases = [
      [[], "advertised"],
      [["--ordered-merge-global-fanin", "3"], "advertised"],
      [["--ordered-merge-global-fanin", "2"], "global_fan_in"],
      [["--ordered-merge-max-fanin", "1"], "advertised"],
    ] as const;
    for (const [flags, ordering] of cases) {
      await withServer(async (ask) => {
        const { body } = await ask({ query });
        assert.deepEqual([body.row_count, body.stats.scan.ordering], [50, ordering], flags.join());
      }, flags);
    }
  },
});

Deno.test({
  name: "stats.scan is absent where no data file was scanned",
  fn: () =>
    withServer(async (ask) => {
      for (const query of ["SELECT 1", "SELECT * FROM traces", "EXPLAIN SELECT * FROM events"]) {
        const { body } = await ask({ query });
        assertMembers(body.stats, STATS);
        assert.deepEqual([body.stats.rows_scanned, body.stats.bytes_scanned], [0, 0], query);
      }
    }),
});

Deno.test({
  name: "a truncated records answer is 413 with a complete prefix, its cap, cost and stats",
  fn: () =>
    withServer(async (ask) => {
      const limits = { max_rows_returned: 4 };
      const { status, body } = await ask({ query: "SELECT raw FROM events", limits });
      assert.equal(status, 413);
      assertMembers(body, [
        ...["columns", "row_count", "rows", "truncated", "max_rows", "cost", "stats"],
      ]);
      assert.deepEqual([body.row_count, body.truncated, body.max_rows], [4, true, 4]);
      assert.deepEqual(body.rows, [["row 19"], ["row 18"], ["row 17"], ["row 16"]]);
      const exact = await ask({ query: "SELECT raw FROM events LIMIT 4", limits });
      assert.equal(exact.status, 200);
    }),
});

Deno.test({
  name: "an ndjson stream has rows by name and the trailer only where it is due",
  fn: () =>
    withServer(async (ask) => {
      const query = "SELECT raw, 1 AS _meta FROM events LIMIT 2";
      const whole = await ask({ query, format: "ndjson" });
      assert.equal(whole.text, '{"raw":"row 19","_meta_1":1}\n{"raw":"row 18","_meta_1":1}\n');
      const cut = await ask({ query, format: "ndjson", limits: { max_rows_returned: 1 } });
      assert.equal(
        cut.text,
        '{"raw":"row 19","_meta_1":1}\n{"_meta":"truncated","row_count":1,"max_rows":1}\n',
      );
    }),
});

Deno.test({
  name: "a name of a download stays within its header, whatever characters it has",
  fn: () =>
    withServer(async (ask) => {
      const names = ["\ud800", 'a"; b="', "a\r\nset-cookie: b=1", "\u0000", "ü/../x"];
      for (const download of names) {
        const query = "SELECT 1 AS n";
        const { status, headers } = await ask({ query, format: "csv", download });
        assert.equal(status, 200, JSON.stringify(download));
        assert.match(
          headers.get("content-disposition") ?? "",
          /^attachment; filename="[A-Za-z0-9 ._-]+\.csv"; filename\*=UTF-8''[A-Za-z0-9%._~!-]+$/,
        );
        assert.equal(headers.get("set-cookie"), null);
      }
    }),
});

Deno.test({
  name: "dry_run and explain tell cost, tables and who would answer",
  fn: () =>
    withServer(async (ask) => {
      const query = "SELECT * FROM events";
      const dry = (await ask({ query, dry_run: true })).body;
      assertMembers(dry, ["cost", "tables", "served_by"]);
      assertMembers(dry.cost, COST);
      assert.equal(dry.served_by, "scan");
      assert.equal(dry.tables[0].table, "events");
      assert.match(dry.tables[0].snapshot_id, /^\d+$/);
      const explained = (await ask({ query }, "/api/v1/sql/explain")).body;
      assertMembers(explained, ["cost", "plan", "tables", "served_by"]);
      assert.match(explained.plan, /PARQUET_SCAN|READ_PARQUET/i);
    }),
});
