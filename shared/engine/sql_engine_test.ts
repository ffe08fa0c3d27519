import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { isOperatingError, OperatingError } from "../base/errors.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { until } from "../testing/until.ts";
import type { EngineDriver } from "./duckdb/driver.ts";
import { nativeDriver } from "./duckdb/native_driver.ts";
import type { ResultChunk } from "./types.ts";
import { EngineLab } from "../testing/engine_lab.ts";
import { leastOf } from "../testing/least_of.ts";
import { UNLIMITED_ROWS_MIN } from "./limits.ts";

const START_NS = 1_790_000_000_000_000_000n;
const ENDLESS = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) " +
  "SELECT max(x) FROM r";

async function errorOf(work: Promise<unknown>): Promise<OperatingError> {
  try {
    await work;
  } catch (error) {
    if (isOperatingError(error)) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

Deno.test({
  name: "Engine deadline ends an endless statement within 200 ms of it",
  fn: async () => {
    await using lab = await EngineLab.open();
    const lateMs = await leastOf(200, async () => {
      const startMs = performance.now();
      const error = await errorOf(lab.query(ENDLESS, { deadlineMs: 150 }));
      deepStrictEqual([error.code, error.reason], ["deadline_exceeded", "timeout"]);
      return performance.now() - startMs - 150;
    });
    ok(lateMs < 200, `${lateMs} ms late`);
    deepStrictEqual((await lab.query("SELECT 1")).rows, [[1]]);
  },
});

Deno.test({
  name: "Engine abort ends the statement of a caller that went away",
  fn: async () => {
    await using lab = await EngineLab.open();
    const tookMs = await leastOf(300, async () => {
      const caller = new AbortController();
      setTimeout(() => caller.abort(), 100);
      const startMs = performance.now();
      const error = await errorOf(lab.query(ENDLESS, { signal: caller.signal }));
      strictEqual(error.code, "cancelled");
      return performance.now() - startMs;
    });
    ok(tookMs < 300, `${tookMs} ms`);
  },
});

Deno.test({
  name: "RunningQuery a stream cut by the deadline fails instead of ending early",
  fn: async () => {
    await using lab = await EngineLab.open();
    await using prepared = await lab.prepare("SELECT i FROM range(10000000) t(i)", {
      rowsMax: 10_000_000,
      // Little of it passes before the first rows, also on a busy machine.
      deadlineMs: 1_000,
    });
    await using running = await prepared.run();
    const error = await errorOf((async () => {
      for await (const _ of running.chunks("arrays")) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })());
    strictEqual(error.code, "deadline_exceeded");
  },
});

Deno.test({
  name: "RunningQuery produces no faster than it is read",
  fn: async () => {
    await using lab = await EngineLab.open();
    await using prepared = await lab.prepare("SELECT repeat('x', 1000) FROM range(1000000)", {
      rowsMax: 1_000_000,
    });
    await using running = await prepared.run();
    const chunks = running.chunks("arrays")[Symbol.asyncIterator]();
    const first: IteratorResult<ResultChunk> = await chunks.next();
    ok(first.done !== true && first.value.rowCount <= 2048);
    await chunks.return?.();
    // The 1 GB that nobody asked for is not in the way of the next statement (pool: 512 MiB).
    deepStrictEqual((await lab.query("SELECT 1")).rows, [[1]]);
  },
});

Deno.test({
  name: "RunningQuery a long stream keeps the order of rows and ends where its reader stops",
  fn: async () => {
    await using lab = await EngineLab.open();
    const rowsMax = UNLIMITED_ROWS_MIN;
    for (let round = 0; round < 3; round += 1) {
      await using prepared = await lab.prepare(
        "SELECT i, repeat('x', 500) AS x FROM range(100000000) t(i)",
        { rowsMax, deadlineMs: 20_000 },
      );
      await using running = await prepared.run();
      let next = 0;
      for await (const chunk of running.chunks("objects")) {
        const text = new TextDecoder().decode(chunk.bytes());
        ok(text.startsWith(`{"i":${next},"x":"xxx`), text.slice(0, 20));
        next += chunk.rowCount;
        strictEqual(text.split("\n").length - 1, chunk.rowCount);
        if (next > rowsMax) break;
      }
      ok(next > rowsMax && next < rowsMax + 10_000, `${next} rows`);
    }
    deepStrictEqual((await lab.query("SELECT 1")).rows, [[1]]);
  },
});

Deno.test({
  name: "Engine memory pool and spill cap exhausted is unavailable with a wait",
  fn: async () => {
    await using lab = await EngineLab.open({
      engine: { memoryBytesMax: 64 * 2 ** 20, spillBytesMax: 2 ** 20 },
    });
    const error = await errorOf(
      lab.query("SELECT list(repeat(i::VARCHAR, 100)) FROM range(3000000) t(i)"),
    );
    deepStrictEqual(
      [error.code, error.reason, error.retryAfterSecs],
      ["unavailable", "pool_exhausted", 5],
    );
    deepStrictEqual((await lab.query("SELECT 1")).rows, [[1]]);
  },
});

Deno.test({
  name: "Engine messages of a statement's own mistakes name its text and no file of ours",
  fn: async (t) => {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: START_NS, host: "a", attributes: "not json" }]);
    const cases: readonly (readonly [expected: RegExp, sql: string])[] = [
      [/"nope" not found[^]*LINE 1: SELECT nope/, "SELECT nope FROM events"],
      [/LINE 2: +nope/, "SELECT\n  nope FROM events"],
      [/LINE 3: SELECT nope FROM events\n {15}\^/, "EXPLAIN\n\nSELECT nope FROM events"],
      [/LINE 1: {9}SELECT nope FROM events\n {23}\^/, "EXPLAIN SELECT nope FROM events"],
      [/LINE 2: {9}SELECT nope FROM events\n/, "/* a */ -- b\nEXPLAIN SELECT nope FROM events"],
      [/Could not convert string 'a' to INT32/, "SELECT host::INT FROM events"],
      [/Malformed JSON/, "SELECT attributes->>'$.x' FROM events"],
      [/boo/, "SELECT error('boo')"],
      [/No function matches[^]*sum/, "SELECT sum(host) FROM events"],
    ];
    for (const [expected, sql] of cases) {
      await t.step(sql, async () => {
        const error = await errorOf(lab.query(sql));
        deepStrictEqual([error.code, error.reason], ["invalid_argument", "statement_failed"]);
        ok(expected.test(error.message), error.message);
        ok(!error.message.includes(lab.dir) && !error.message.includes(".parquet"), error.message);
      });
    }
    await using prepared = await lab.prepare("SELECT host FROM events");
    const plan = await prepared.explain();
    ok(plan.includes("READ_PARQUET") && !plan.includes(lab.dir), plan);
  },
});

Deno.test({
  name: "Engine HAVING takes functions of this dialect, by the names of columns and of their own",
  fn: async (t) => {
    await using lab = await EngineLab.open();
    const attributes = ["a", "b"].map((x) => JSON.stringify({ x }));
    await lab.commit(attributes.map((own, i) => ({ ns: START_NS + BigInt(i), attributes: own })));
    const grouped = "SELECT attr_get(attributes, 'x') AS x, max(attributes) AS m FROM events";
    for (
      const having of [
        "GROUP BY x HAVING x = 'a'",
        "GROUP BY attr_get(attributes, 'x') HAVING attr_get(attributes, 'x') = 'a'",
        "GROUP BY attr_get(attributes, 'x') HAVING upper(x) = 'A'",
        "GROUP BY 1 HAVING match_terms(x, 'a')",
        "GROUP BY x HAVING attr_get(m, 'x') = 'a'",
        "GROUP BY ALL HAVING attr_get(max(attributes), 'x') = 'a' AND repeat(x, 2) = 'aa'",
      ]
    ) {
      await t.step(having, async () => {
        deepStrictEqual((await lab.query(`${grouped} ${having}`)).rows, [["a", attributes[0]]]);
      });
    }
  },
});

Deno.test({
  name:
    "Engine columns are called after the statement as it was sent, and after no schema of the engine's own",
  fn: async () => {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: START_NS }]);
    for (
      const [sql, name] of [
        [
          "SELECT coalesce(*COLUMNS(['host', 'raw'])) FROM events",
          "COALESCE(events.host, events.raw)",
        ],
        [
          "SELECT timestamp - INTERVAL 1 HOUR FROM events",
          '("timestamp" - to_hours(CAST(trunc(CAST(1 AS DOUBLE)) AS BIGINT)))',
        ],
        [
          "SELECT match(raw, 'x') AND 1::DOUBLE > 0 FROM events",
          `("match"(raw, 'x') AND (CAST(1 AS "DOUBLE") > 0))`,
        ],
      ] as const
    ) {
      deepStrictEqual((await lab.query(sql, { defaultOrder: true })).columns, [name]);
    }
  },
});

Deno.test({
  name: "Engine a data file that is gone is unavailable",
  fn: async () => {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: START_NS }]);
    for await (const { key } of lab.store.list("")) {
      if (key.endsWith(".parquet")) await lab.store.delete([key]);
    }
    const error = await errorOf(lab.query("SELECT count(host) FROM events"));
    deepStrictEqual([error.code, error.reason], ["unavailable", "storage_unavailable"]);
  },
});

Deno.test({
  name: "Engine statements beyond the connections wait their turn",
  fn: async () => {
    await using lab = await EngineLab.open();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => lab.query(`SELECT ${i}`)),
    );
    deepStrictEqual(
      answers.map(({ rows }) => rows[0]?.[0]),
      Array.from({ length: 40 }, (_, i) => i),
    );
  },
});

Deno.test({
  name: "Engine a connection keeps nothing of the statement before",
  fn: async () => {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: START_NS }]);
    for (let i = 0; i < 20; i += 1) {
      strictEqual((await lab.query("SELECT count(*) FROM events")).rows[0]?.[0], 1);
      await rejects(lab.query("SELECT * FROM temp.events"));
    }
  },
});

Deno.test({
  name: "Engine stats and cost say what was read",
  fn: async () => {
    await using lab = await EngineLab.open();
    await lab.commit(Array.from({ length: 1000 }, (_, i) => ({ ns: START_NS + BigInt(i) })));
    const day = 86_400_000_000_000n;
    await lab.commit([{ ns: START_NS + day }]);
    await using prepared = await lab.prepare(
      "SELECT host FROM events WHERE timestamp < '2026-09-22' AND host = 'h'",
    );
    const { cost, tables } = prepared;
    deepStrictEqual(
      [cost.files_to_scan, cost.files_considered, cost.estimated_rows_processed, cost.exact],
      [1, 2, 1000, true],
    );
    strictEqual(cost.complexity_class, "small");
    strictEqual(tables[0]?.files, 1);
    ok(/^\d+$/.test(tables[0]?.snapshot_id ?? ""));
    await using running = await prepared.run();
    let rows = 0;
    for await (const chunk of running.chunks("objects")) rows += chunk.rowCount;
    const stats = await running.stats();
    strictEqual(rows, 1000);
    strictEqual(stats.rows_scanned, 1000);
    strictEqual(stats.scan?.files_read, 1);
    strictEqual(stats.bytes_scanned, cost.estimated_bytes_scanned);
    strictEqual((await lab.query("SELECT 1")).stats.scan, undefined);
  },
});

Deno.test({
  name: "Engine.close ends running statements first",
  fn: async () => {
    await using lab = await EngineLab.open();
    // Two have their expensive turns; who waits for one is turned away.
    const running = Array.from({ length: 3 }, () => errorOf(lab.query(ENDLESS)));
    while (lab.engine.waiting().dear < 1) await lab.query("SELECT 1");
    await lab.engine.close();
    const errors = await Promise.all(running);
    const codes = errors.map(({ code }) => code).toSorted();
    deepStrictEqual(codes, ["cancelled", "cancelled", "unavailable"]);
  },
});

Deno.test({
  name: "PreparedQuery disposed under a running statement ends it",
  fn: async () => {
    await using lab = await EngineLab.open();
    const tookMs = await leastOf(500, async () => {
      const prepared = await lab.prepare(ENDLESS);
      const running = await prepared.run();
      const failed = errorOf(Array.fromAsync(running.chunks("arrays")));
      await new Promise((resolve) => setTimeout(resolve, 50));
      const startMs = performance.now();
      await prepared[Symbol.asyncDispose]();
      strictEqual((await failed).code, "cancelled");
      return performance.now() - startMs;
    });
    ok(tookMs < 500, `${tookMs} ms`);
  },
});

Deno.test({
  name: "Engine.ping answers while every connection is busy",
  fn: async () => {
    await using lab = await EngineLab.open();
    const busy = Array.from({ length: 16 }, () => errorOf(lab.query(ENDLESS, { deadlineMs: 400 })));
    await lab.engine.ping();
    strictEqual((await Promise.all(busy)).length, 16);
  },
});

Deno.test({
  name: "Engine.ping answers while open",
  fn: async () => {
    const lab = await EngineLab.open();
    await lab.engine.ping();
    await lab.engine.close();
    await rejects(lab.engine.ping());
    await lab[Symbol.asyncDispose]();
  },
});

Deno.test({
  name: "openEngine empties its cache directory and leaves no statement's files in it",
  fn: async () => {
    const cacheDir = `${await Deno.makeTempDir()}/cache`;
    await Deno.mkdir(`${cacheDir}/engine/spill`, { recursive: true });
    await Deno.writeTextFile(`${cacheDir}/engine/spill/left`, "by an earlier process");
    await using lab = await EngineLab.open({ engine: { cacheDir } });
    await rejects(Deno.stat(`${cacheDir}/engine/spill/left`));
    await lab.query("SELECT count(*) FROM events");
  },
});

/** DuckDB whose connections fail to be given back, though they are, while `fails` says so. */
function reluctantDriver(fails: () => boolean): EngineDriver {
  const files = new DenoFileSystem();
  const inner = nativeDriver({ readFile: (path) => files.readFile(path) });
  return {
    async open(options) {
      const database = await inner.open(options);
      return {
        async connect(signal, wanted) {
          const connection = await database.connect(signal, wanted);
          const release = async () => {
            delete (connection as { release?: unknown }).release;
            await connection.release();
            if (fails()) throw new Error("no way back");
          };
          return Object.assign(connection, { release });
        },
        close: () => database.close(),
      };
    },
  };
}

Deno.test({
  name: "Engine.prepare that cannot give its connection back holds no file of the statement",
  fn: async () => {
    let fails = false;
    await using lab = await EngineLab.open({
      wal: true,
      engine: { hotCaches: true, driver: reluctantDriver(() => fails) },
    });
    await lab.append([{ ns: START_NS }]);
    const count = async () => (await Array.fromAsync(Deno.readDir(`${lab.dir}/cache/wal`))).length;
    const sql = "SELECT value FROM distinct_values('host')";
    {
      await using _held = await lab.prepare(sql, { batch: true });
      strictEqual(await count(), 1);
    }
    await until(async () => await count() === 0);
    fails = true;
    await rejects(lab.prepare(sql, { batch: true }), /no way back/);
    fails = false;
    await until(async () => await count() === 0);
  },
});
