/**
 * The query server with its real engine, in this process, over a table and a WAL in a temporary
 * directory, spoken to over HTTP. What it may and may not touch as a process:
 * `tests/workspace/permissions_test.ts`.
 */

import assert from "node:assert/strict";
import { OPTIONS, startQuery } from "../../query/mod.ts";
import { isOperatingError } from "../../shared/base/errors.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";

const DAY_START = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const SECOND = 1_000_000_000n;

interface Client {
  readonly url: string;
  ask(body: Record<string, unknown>, path?: string): Promise<{ status: number; text: string }>;
  /** Rows of a records answer that must be 200. */
  rows(query: string, fields?: Record<string, unknown>): Promise<unknown[][]>;
}

function settingsFor(dir: string) {
  return parseOptions(OPTIONS, [
    ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0"],
    ...["--data-dir", dir, "--query-wal-buffer-dir", `${dir}/wal`],
    ...["--threads", "2", "--memory-pool-bytes", String(512 * 2 ** 20), "--audit-disabled"],
  ]);
}

async function withServer(dir: string, test: (client: Client) => Promise<void>): Promise<void> {
  await using server = await startQuery(settingsFor(dir));
  const url = `http://127.0.0.1:${server.address.port}`;
  const ask: Client["ask"] = async (body, path = "/api/v1/sql") => {
    const response = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  await test({
    url,
    ask,
    async rows(query, fields = {}) {
      const { status, text } = await ask({ query, ...fields });
      assert.equal(status, 200, text);
      return JSON.parse(text).rows;
    },
  });
}

/** Three rows in the table, two in the WAL; `raw` counts them in time order from 0. */
async function fiveRows(lab: WarehouseLab): Promise<void> {
  const row = (n: number, host: string) => ({
    ns: DAY_START + BigInt(n) * SECOND + 7n,
    host,
    raw: `row ${n}`,
    attributes: n % 2 === 0 ? `{"user":"u${n}"}` : null,
  });
  await lab.commit([row(0, "a"), row(1, "b"), row(2, "a")]);
  await lab.append([row(3, "b"), row(4, "a")]);
}

Deno.test({
  name: "query server answers SQL over table and WAL together",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await fiveRows(lab);
    await withServer(lab.dir, async ({ rows, ask }) => {
      const cases: [string, Record<string, unknown>, unknown[][]][] = [
        ["SELECT count(*) FROM events", {}, [[5]]],
        ["SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY host", {}, [["a", 3], [
          "b",
          2,
        ]]],
        ["SELECT raw FROM events", {}, [4, 3, 2, 1, 0].map((n) => [`row ${n}`])],
        ["SELECT raw FROM events LIMIT 2", {}, [["row 4"], ["row 3"]]],
        ["SELECT raw FROM events WHERE raw LIKE '%3'", {}, [["row 3"]]],
        [
          "SELECT attr_get(attributes, 'user') AS u FROM events ORDER BY timestamp_ns",
          {},
          [["u0"], [null], ["u2"], [null], ["u4"]],
        ],
        [
          "SELECT timestamp FROM events ORDER BY timestamp LIMIT 1",
          {},
          [["2026-11-20T00:00:00.000000Z"]],
        ],
      ];
      for (const [query, fields, expected] of cases) {
        assert.deepEqual(await rows(query, fields), expected, query);
      }
      const exact = await ask({ query: "SELECT max(timestamp_ns) FROM events" });
      assert.match(exact.text, /"rows":\[\[1795132804000000007\]\]/);
    });
  },
});

Deno.test({
  name: "query server cuts at the row cap: 413 with the rows, or the stream's trailer",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await fiveRows(lab);
    await withServer(lab.dir, async ({ ask }) => {
      const query = "SELECT raw FROM events";
      const limits = { max_rows_returned: 2 };
      const records = await ask({ query, limits });
      assert.equal(records.status, 413);
      const body = JSON.parse(records.text);
      assert.deepEqual([body.rows, body.row_count, body.truncated, body.max_rows], [
        [["row 4"], ["row 3"]],
        2,
        true,
        2,
      ]);
      const stream = await ask({ query, limits, format: "ndjson" });
      assert.equal(stream.status, 200);
      assert.equal(
        stream.text,
        '{"raw":"row 4"}\n{"raw":"row 3"}\n{"_meta":"truncated","row_count":2,"max_rows":2}\n',
      );
    });
  },
});

Deno.test({
  name: "query server streams no row that could be taken for a trailer",
  async fn() {
    await using lab = await WarehouseLab.open();
    await withServer(lab.dir, async ({ ask }) => {
      const { text } = await ask({ query: "SELECT 1 AS _meta, 2 AS a, 3 AS a", format: "ndjson" });
      assert.equal(text, '{"_meta_1":1,"a":2,"a_1":3}\n');
    });
  },
});

Deno.test({
  name: "query server refuses what is not one SELECT of the caller's tables",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await fiveRows(lab);
    await withServer(lab.dir, async ({ ask, rows }) => {
      const statements = [
        "SELEC 1",
        "SELECT 1; SELECT 2",
        "DROP TABLE events",
        "SET threads = 1",
        "COPY events TO '/tmp/x'",
        "SELECT * FROM nothing_here",
        "SELECT * FROM other.events",
        "SELECT * FROM '/etc/passwd'",
        'SELECT * FROM "../../warehouse/svc"',
        "SELECT * FROM read_parquet('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM duckdb_settings()",
        "SELECT raw, no_such_column FROM events",
        "SELECT CAST('x' AS INTEGER)",
      ];
      for (const query of statements) {
        const { status, text } = await ask({ query });
        assert.equal(status, 400, `${query}: ${text}`);
        const body = JSON.parse(text);
        assert.equal(body.code, 400);
        assert.match(body.reason, /^[a-z_]+$/, query);
        assert.ok(!text.includes(lab.dir), `${query}: ${text}`);
      }
      assert.deepEqual(await rows("SELECT count(*) FROM events"), [[5]]);
      // Settings are those of a PostgreSQL session, never DuckDB's.
      assert.deepEqual(await rows("SELECT current_setting('memory_limit')"), [[null]]);
    });
  },
});

Deno.test({
  name: "query server explains: cost, plan and the tables read",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await fiveRows(lab);
    await withServer(lab.dir, async ({ ask }) => {
      const query = "SELECT host FROM events";
      const explained = JSON.parse((await ask({ query }, "/api/v1/sql/explain")).text);
      assert.deepEqual(
        [explained.cost.files_to_scan >= 1, explained.cost.complexity_class, explained.served_by],
        [true, "small", "scan"],
      );
      assert.match(explained.plan, /PROJECTION|SCAN|READ_PARQUET/i);
      assert.ok(!explained.plan.includes(lab.dir));
      const [table] = explained.tables;
      assert.deepEqual([table.table, table.files], ["events", 1]);
      assert.match(table.snapshot_id, /^\d+$/);
      const dry = JSON.parse((await ask({ query, dry_run: true })).text);
      assert.deepEqual(dry.cost, explained.cost);
    });
  },
});

/** It would take days: this is much of that for a busy machine alone. */
const BUSY_MS_MAX = 20_000;
const HEAVY = "SELECT count(*) FROM events a, events b, events c, events d, events e, events f " +
  "WHERE a.raw || b.raw || c.raw || d.raw || e.raw || f.raw LIKE '%nothing%'";

Deno.test({
  name: "query server ends a heavy statement at its wall clock, and when its client leaves",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    const rows = Array.from(
      { length: 200 },
      (_, n) => ({ ns: DAY_START + BigInt(n), raw: `${n}` }),
    );
    await lab.commit(rows);
    await withServer(lab.dir, async ({ ask, url, rows }) => {
      const startedMs = performance.now();
      // It is planned by then, whatever the machine does: the refusal has its cost.
      const late = await ask({ query: HEAVY, limits: { timeout_seconds: 2.5 } });
      assert.equal(late.status, 504, late.text);
      assert.equal(typeof JSON.parse(late.text).cost.estimated_rows_processed, "number");
      assert.ok(performance.now() - startedMs < BUSY_MS_MAX, "the engine was interrupted");

      const body = JSON.stringify({ query: HEAVY });
      const left = fetch(`${url}/api/v1/sql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        signal: AbortSignal.timeout(300),
      });
      await assert.rejects(left, { name: "TimeoutError" });
      const afterMs = performance.now();
      assert.deepEqual(await rows("SELECT count(*) FROM events"), [[200]]);
      assert.ok(performance.now() - afterMs < BUSY_MS_MAX, "the engine is free again");
    });
  },
});

Deno.test({
  name: "query server streams more rows than it holds, in order",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.commit(
      Array.from({ length: 300 }, (_, n) => ({ ns: DAY_START + BigInt(n), raw: `${n}` })),
    );
    await withServer(lab.dir, async ({ url }) => {
      const query = "SELECT a.timestamp_ns % 1000 AS a, b.timestamp_ns % 1000 AS b " +
        "FROM events a, events b ORDER BY 1, 2";
      const response = await fetch(`${url}/api/v1/sql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query, format: "ndjson", limits: { max_rows_returned: 100_000 } }),
      });
      const lines = (await response.text()).trimEnd().split("\n");
      assert.equal(lines.length, 90_000);
      const wrong = lines.findIndex((line, n) =>
        line !== `{"a":${Math.floor(n / 300)},"b":${n % 300}}`
      );
      assert.equal(wrong, -1, lines[wrong]);
    });
  },
});

Deno.test({
  name: "query server starts over nothing at all, becomes ready, and sees what comes",
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "query-server-" });
    try {
      await withServer(dir, async ({ url, ask }) => {
        let status = 0;
        for (let tries = 0; tries < 100 && status !== 200; tries++) {
          const response = await fetch(`${url}/readyz`);
          await response.body?.cancel();
          status = response.status;
          if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
        }
        assert.equal(status, 200);
        assert.equal((await ask({ query: "SELECT 1" })).status, 200);
      });
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

Deno.test({
  name: "query server refuses to share its cache folder with another one",
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "query-server-" });
    try {
      await withServer(dir, async ({ ask }) => {
        await assert.rejects(startQuery(settingsFor(dir)), (error) => {
          assert.ok(isOperatingError(error, "unavailable"));
          assert.match(error.message, /another query server has it.*--cache-dir/);
          return true;
        });
        assert.equal((await ask({ query: "SELECT 1" })).status, 200);
      });
      await withServer(dir, async ({ ask }) => {
        assert.equal((await ask({ query: "SELECT 1" })).status, 200);
      });
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
