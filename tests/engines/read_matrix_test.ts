/**
 * Engines read a table of a running stack, by its catalogs. After drains, a delete and while rows
 * come they have the very rows that our SQL has, and they leave out files that a condition does.
 */

import assert from "node:assert/strict";
import { eachOf } from "../../shared/base/each_of.ts";
import {
  committed,
  DAY_NS,
  type EngineStack,
  EXTREMES,
  record,
  remove,
  rowsBySql,
  send,
  START_NS,
  startEngineStack,
  TableReader,
} from "./lab.ts";
import { hasPackages } from "./python.ts";

interface EngineRow {
  readonly name: string;
  readonly packages: readonly string[];
  /** How it takes an instant of UTC, `2026-11-21 00:00:00`. */
  readonly instant: (text: string) => string;
  /** Whether it leaves out files, and tells how many it reads. */
  readonly prunes: boolean;
}

const iso = (text: string) => `'${text.replace(" ", "T")}+00:00'`;
const ENGINES: readonly EngineRow[] = [
  { name: "pyiceberg", packages: ["pyiceberg"], instant: iso, prunes: true },
  { name: "pyiceberg_sql", packages: ["pyiceberg", "sqlalchemy"], instant: iso, prunes: true },
  {
    ...{ name: "duckdb", packages: ["duckdb", "duckdb_extension_iceberg"] },
    ...{ instant: iso, prunes: true },
  },
  { name: "polars", packages: ["polars", "pyiceberg"], instant: iso, prunes: true },
  // It plans each scan without its condition: docs/engines.md.
  { name: "datafusion", packages: ["datafusion", "pyiceberg_core"], instant: iso, prunes: false },
  {
    ...{ name: "daft", packages: ["daft", "pyiceberg"], prunes: true },
    instant: (text) => `TIMESTAMP '${text} +0000'`,
  },
  {
    ...{ name: "clickhouse", packages: ["chdb"], prunes: true },
    instant: (text) => `'${text}'`,
  },
];

const THERE: EngineRow[] = [];
for (const engine of ENGINES) if (await hasPackages(engine.packages)) THERE.push(engine);
const MISSING = ENGINES.filter((engine) => !THERE.includes(engine)).map(({ name }) => name);

/** How long each engine reads while rows come, at least; `deno task engines` gives 60. */
const SECS = Number(Deno.env.get("SVC_TEST_INGEST_SECS") ?? 0);

const NEXT_NS = START_NS + DAY_NS;

interface Condition {
  /** In an engine's own words. */
  readonly where: string;
  readonly rows: number;
  /** Data files that pruning leaves. */
  readonly files?: number;
}

/** All rows; then one row of one file, by the partition of days, and by bounds of two columns. */
function conditionsOf(instant: EngineRow["instant"]): readonly Condition[] {
  const day = ["2026-11-21 00:00:00", "2026-11-22 00:00:00"].map(instant);
  return [
    { where: "source = 'shop'", rows: EXTREMES.length + 3 },
    { where: `timestamp >= ${day[0]} AND timestamp < ${day[1]}`, rows: 1, files: 1 },
    {
      where: `timestamp_ns >= ${NEXT_NS} AND timestamp_ns < ${NEXT_NS + DAY_NS}`,
      ...{ rows: 1, files: 1 },
    },
    { where: "raw = 'the year 2261'", rows: 1, files: 1 },
  ];
}

/** What our SQL takes for each of `conditionsOf`, in the same order. */
const BY_SQL = conditionsOf(iso);

Deno.test({
  name: "engines read by the catalogs what SQL answers" +
    (MISSING.length === 0 ? "" : ` (ignored, as not installed: ${MISSING.join(", ")})`),
  ignore: THERE.length === 0,
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
    // Each starts once.
    await using readers = new AsyncDisposableStack();
    const engines = THERE.map((engine) => {
      const reader = readers.use(new TableReader(engine.name, address));
      return { ...engine, reader };
    });
    for (const { name, instant, prunes, reader } of engines) {
      await t.step(name, async () => {
        for (const [at, { where, rows, files }] of conditionsOf(instant).entries()) {
          const read = await reader.read(where);
          assert.equal(read.rows.length, rows, where);
          assert.deepEqual(read.rows, await rowsBySql(stack, BY_SQL[at]?.where ?? ""), where);
          if (files !== undefined) assert.equal(read.files, prunes ? files : null, where);
        }
      });
    }
    await sendMany(lab);
    for (const { name, reader } of engines) {
      await t.step(`${name}: files with a column that no table has`, async () => {
        const where = `timestamp_ns >= ${MANY_NS} AND timestamp_ns < ${MANY_NS + DAY_NS}`;
        assert.deepEqual((await reader.read(where)).rows, await rowsBySql(stack, where));
      });
    }
    await t.step("while rows come, each engine has some first rows of them", async () => {
      let isOver = false;
      const from = START_NS + 100n * DAY_NS;
      const more = async (at: number) =>
        await send(stack, [record(from + BigInt(at), `more ${at}`)]);
      await more(0);
      await committed(stack);
      const sending = (async () => {
        for (let at = 1; !isOver; at += 1) await more(at);
      })();
      try {
        const where = `timestamp_ns >= ${from} AND timestamp_ns < ${from + DAY_NS}`;
        // They are many programs: only where they are to read for long do all at once.
        const atOnce = SECS === 0 ? 1 : engines.length;
        await eachOf(engines, { atOnce, signal: undefined }, async ({ name, reader }) => {
          await checkFirstRows(name, async () => (await reader.read(where)).rows);
        });
      } finally {
        isOver = true;
        await sending;
      }
    });
  },
});

const MANY_NS = START_NS + 50n * DAY_NS;
const MANY = 2_100;

/** Sends so many rows in one request that their file tells which words each has. */
async function sendMany({ stack }: EngineStack): Promise<void> {
  const bodies = Array.from(
    { length: MANY },
    (_, at) => record(MANY_NS + BigInt(at), `order ${at} is ${["paid", "sent", "lost"][at % 3]}`),
  );
  await send(stack, [
    JSON.stringify({ resourceLogs: bodies.flatMap((body) => JSON.parse(body).resourceLogs) }),
  ]);
  await committed(stack);
  const text = new TextDecoder("latin1");
  let told = 0;
  for await (const path of filesBelow(`${stack.dataDir}/warehouse/svc/`)) {
    if (path.endsWith(".parquet") && text.decode(await Deno.readFile(path)).includes("words:raw")) {
      told += 1;
    }
  }
  assert.ok(told > 0, "a data file has the column");
}

async function* filesBelow(folder: string): AsyncIterable<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* filesBelow(`${folder}${name}/`);
    else yield `${folder}${name}`;
  }
}

/** Each read has the first rows that were sent, never fewer than before. */
async function checkFirstRows(name: string, read: () => Promise<readonly string[]>): Promise<void> {
  let seen = 1;
  const endMs = performance.now() + 1_000 * SECS;
  do {
    const texts = (await read()).map((row): string => JSON.parse(row)[TEXT_AT]);
    const numbers = texts.map((text) => Number(text.split(" ")[1])).toSorted((a, b) => a - b);
    assert.deepEqual(numbers, Array.from(numbers, (_, at) => at), name);
    assert.ok(numbers.length >= seen, `${name}: ${numbers.length} rows, ${seen} before`);
    seen = numbers.length;
  } while (performance.now() < endMs);
  if (SECS > 0) assert.ok(seen > 1, `${name} saw that rows came`);
}

/** Where a row that is read has its text. */
const TEXT_AT = 3;
