/**
 * Engines read a table of a running stack, by its catalogs. After drains, a delete and while rows
 * come they have the very rows that our SQL has.
 */

import assert from "node:assert/strict";
import {
  committed,
  DAY_NS,
  EXTREMES,
  record,
  remove,
  rowsByEngine,
  rowsBySql,
  send,
  START_NS,
  startEngineStack,
} from "./lab.ts";
import { hasPackages, runPython } from "./python.ts";

interface EngineRow {
  readonly name: string;
  readonly packages: readonly string[];
  /** Whether it tells how many data files it reads. */
  readonly tellsFiles?: boolean;
}

const ENGINES: readonly EngineRow[] = [
  { name: "pyiceberg", packages: ["pyiceberg"], tellsFiles: true },
  { name: "pyiceberg_sql", packages: ["pyiceberg", "sqlalchemy"], tellsFiles: true },
  { name: "duckdb", packages: ["duckdb", "duckdb_extension_iceberg"], tellsFiles: true },
  { name: "polars", packages: ["polars", "pyiceberg"], tellsFiles: true },
  { name: "datafusion", packages: ["datafusion", "pyiceberg_core"] },
  { name: "daft", packages: ["daft", "pyiceberg"], tellsFiles: true },
  { name: "clickhouse", packages: ["chdb"] },
];

const THERE = new Map<string, boolean>();
for (const { name, packages } of ENGINES) THERE.set(name, await hasPackages(packages));
const MISSING = ENGINES.filter(({ name }) => !THERE.get(name)).map(({ name }) => name);

/** How long engines read while rows come, at least; `deno task engines` gives 60. */
const SECS = Number(Deno.env.get("SVC_TEST_INGEST_SECS") ?? 0);

const NEXT_NS = START_NS + DAY_NS;
/** Conditions, the rows that they leave, and the data files where pruning leaves one. */
const CONDITIONS: readonly (readonly [where: string, rows: number, files?: number])[] = [
  ["source = 'shop'", EXTREMES.length + 3],
  [`timestamp_ns >= ${NEXT_NS} AND timestamp_ns < ${NEXT_NS + DAY_NS}`, 1, 1],
];

Deno.test({
  name: "engines read by the catalogs what SQL answers" +
    (MISSING.length === 0 ? "" : ` (ignored, as not installed: ${MISSING.join(", ")})`),
  ignore: MISSING.length === ENGINES.length,
  async fn(t) {
    await using lab = await startEngineStack();
    const { stack, address } = lab;
    await send(
      stack,
      EXTREMES.map(([text, value], at) =>
        record(START_NS + BigInt(at), text, { "user.id": value })
      ),
    );
    await send(stack, [
      record(NEXT_NS, "the next day", { other: "1" }),
      record(NEXT_NS + 1n, "to be deleted"),
      record(9_223_372_036_854_775_807n, "the last instant of 64 bits"),
      record(9_183_110_400_000_000_000n, "the year 2261"),
    ]);
    await remove(stack, "raw = 'to be deleted'");
    await committed(stack);
    for (const { name, tellsFiles = false } of ENGINES.filter((one) => THERE.get(one.name))) {
      await t.step(name, async () => {
        const read = await rowsByEngine(name, address, CONDITIONS.map(([where]) => where));
        for (const [at, [where, count, files]] of CONDITIONS.entries()) {
          assert.equal(read[at]?.rows.length, count);
          assert.deepEqual(read[at]?.rows, await rowsBySql(stack, where));
          if (tellsFiles && files !== undefined) assert.equal(read[at]?.files, files);
        }
      });
    }
    await t.step("a day is a partition for an engine's own conditions of time", async () => {
      if (!THERE.get("pyiceberg") || !THERE.get("duckdb")) return;
      const where = "timestamp >= '2026-11-21T00:00:00+00:00' AND " +
        "timestamp < '2026-11-22T00:00:00+00:00'";
      for (const engine of ["pyiceberg", "duckdb"]) {
        const [read] = await rowsByEngine(engine, address, [where]);
        assert.deepEqual(read, { files: 1, rows: await rowsBySql(stack, where) }, engine);
      }
    });
    await t.step("while rows come, each engine has some first rows of them", async () => {
      const end = Date.now() + 1_000 * SECS;
      let isOver = false;
      const ingest = async () => {
        for (let at = 0; !isOver; at += 1) {
          await send(stack, [record(START_NS + 100n * DAY_NS + BigInt(at), `more ${at}`)]);
        }
      };
      const sending = ingest();
      try {
        const where = `timestamp_ns >= ${START_NS + 100n * DAY_NS} AND timestamp_ns < ${
          START_NS + 101n * DAY_NS
        }`;
        const names = ENGINES.map(({ name }) => name).filter((name) => THERE.get(name));
        let seen = 0;
        // Each engine at least once, one after the other.
        for (let at = 0; at < names.length || Date.now() < end; at += 1) {
          const name = names[at % names.length] ?? "";
          const [read] = await rowsByEngine(name, address, [where]);
          const numbers = (read?.rows ?? []).map((row) => Number(JSON.parse(row)[3].split(" ")[1]));
          const expected = Array.from(numbers, (_, at) => at);
          assert.deepEqual(numbers.toSorted((a, b) => a - b), expected, name);
          assert.ok(numbers.length >= seen, `${name}: ${numbers.length} rows, ${seen} before`);
          seen = numbers.length;
        }
      } finally {
        isOver = true;
        await sending;
      }
    });
    await t.step("snapshots by id and by time, and metadata tables", async () => {
      if (!THERE.get("pyiceberg") || !THERE.get("duckdb")) return;
      await committed(stack);
      const look = async (engine: string, ...snapshot: string[]) =>
        JSON.parse(await runPython("look_back.py", [engine, address, ...snapshot]));
      const then = await look("pyiceberg");
      assert.equal(then.rows_of_files, then.rows);
      assert.deepEqual([then.is_listed, then.by_time, then.main], [true, true, [then.snapshot]]);
      await send(stack, [record(START_NS + 5n * DAY_NS, "one more")]);
      await committed(stack);
      for (const engine of ["pyiceberg", "duckdb"]) {
        const now = await look(engine, then.snapshot);
        assert.deepEqual([now.rows, now.rows_then], [then.rows + 1, then.rows], engine);
      }
    });
  },
});
