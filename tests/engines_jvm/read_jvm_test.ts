/**
 * Spark with four of Iceberg's runtimes, and Trino, read a table through its life. Each state is
 * read by its snapshot or its time, the current one by both catalogs. Metadata tables and how many
 * files a condition leaves are looked at, too. Expected rows are those of our SQL at that time.
 */

import assert from "node:assert/strict";
import {
  DAY_NS,
  type EngineStack,
  record,
  send,
  START_NS,
  startEngineStack,
} from "../engines/lab.ts";
import { expire, live, rowText, type TableState } from "../engines/table_life.ts";
import {
  HAS_SPARK,
  ICEBERG_VERSIONS,
  type IcebergVersion,
  isChosen,
  NO_JVM,
  TRINO_JAVA,
} from "./places.ts";
import { type AskSpark, Spark } from "./spark.ts";
import { Trino } from "./trino.ts";

/** From here on Iceberg's vectorized reader takes our encodings. */
const VECTORIZED_FROM: IcebergVersion = "1.12.0";
const SECS = Number(Deno.env.get("SVC_TEST_INGEST_SECS") ?? 10);

/** An engine's SQL for a table: what differs between the two. */
interface Dialect {
  readonly table: string;
  at(version: string): string;
  atTime(ms: number): string;
  column(name: string): string;
  /** An expression as text: numbers of an answer lose digits. */
  text(expression: string): string;
  name(column: string): string;
  metadata(name: string): string;
}

const SPARK: Dialect = {
  table: "svc.svc.events",
  at: (version) => ` VERSION AS OF ${version}`,
  atTime: (ms) => ` TIMESTAMP AS OF timestamp_millis(${ms})`,
  column: (name) =>
    SPARK.text(name === "timestamp" ? "unix_micros(`timestamp`)" : SPARK.name(name)),
  text: (expression) => `CAST(${expression} AS STRING)`,
  name: (column) => `\`${column}\``,
  metadata: (name) => `svc.svc.events.${name}`,
};

/** Microseconds exactly: Trino has no function that tells them. */
const MICROS = `CAST(to_unixtime(date_trunc('second', "timestamp")) AS bigint) * 1000000 +
  CAST(substr(CAST("timestamp" AS varchar), 21, 6) AS bigint)`;
const TRINO: Dialect = {
  table: "events",
  at: (version) => ` FOR VERSION AS OF ${version}`,
  atTime: (ms) => ` FOR TIMESTAMP AS OF TIMESTAMP '${timeText(ms)} UTC'`,
  column: (name) =>
    TRINO.text(
      name === "timestamp" ? MICROS : TRINO.name(name),
    ),
  text: (expression) => `CAST(${expression} AS varchar)`,
  name: (column) => `"${column}"`,
  metadata: (name) => `"events$${name}"`,
};

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").replace("Z", "");
}

type Ask = (sql: string) => Promise<readonly (readonly unknown[])[]>;

async function rowsOf(
  ask: Ask,
  dialect: Dialect,
  { columns, at = "" }: { readonly columns: readonly string[]; readonly at?: string },
): Promise<readonly string[]> {
  const list = columns.map(dialect.column).join(", ");
  const rows = await ask(`SELECT ${list} FROM ${dialect.table}${at}`);
  return rows.map((row) => rowText(columns, row)).toSorted();
}

async function checkStates(
  ask: Ask,
  dialect: Dialect,
  states: readonly TableState[],
): Promise<void> {
  for (const { label, snapshot, columns, rows } of states) {
    const at = dialect.at(snapshot);
    assert.deepEqual(await rowsOf(ask, dialect, { columns, at }), rows, `${label}${at}`);
  }
  const [state] = states;
  assert.ok(state !== undefined);
  const at = dialect.atTime(state.committedMs);
  assert.deepEqual(await rowsOf(ask, dialect, { columns: state.columns, at }), state.rows, at);
}

const METADATA: Readonly<Record<"spark" | "trino", readonly string[]>> = {
  spark: [
    ...["snapshots", "history", "manifests", "partitions", "refs", "metadata_log_entries"],
    ...["entries", "data_files", "delete_files", "position_deletes", "all_data_files"],
    ...["all_delete_files", "all_entries", "all_files", "all_manifests"],
  ],
  trino: [
    ...["snapshots", "history", "manifests", "partitions", "refs", "metadata_log_entries"],
    ...["entries", "all_entries", "properties"],
  ],
};

/** What the metadata tables say of the newest state, and a column of attributes. */
async function checkMetadata(
  ask: Ask,
  dialect: Dialect,
  { state, tables }: { readonly state: TableState; readonly tables: readonly string[] },
): Promise<void> {
  const text = async (expression: string, from: string) =>
    (await ask(`SELECT ${dialect.text(expression)} FROM ${from}`))[0]?.[0];
  for (const name of tables) await ask(`SELECT count(*) FROM ${dialect.metadata(name)}`);
  const rows = String(state.rows.length);
  assert.equal(await text("sum(record_count)", dialect.metadata("files")), rows);
  assert.equal(await text("count(*)", dialect.table), rows);
  const main = `${dialect.metadata("refs")} WHERE name = 'main'`;
  assert.equal(await text("snapshot_id", main), state.snapshot);
  const severity = dialect.name("attributes:severity_text");
  assert.equal(await text("count(*)", `${dialect.table} WHERE ${severity} = 'INFO'`), rows);
}

/** Conditions of which a plan leaves one data file: by the day, and by bounds of a column. */
const PRUNING: readonly Readonly<Record<"spark" | "trino", string>>[] = [
  {
    spark: "timestamp >= TIMESTAMP '2261-01-01 00:00:00Z' AND timestamp < " +
      "TIMESTAMP '2261-12-31 00:00:00Z'",
    trino: "timestamp >= TIMESTAMP '2261-01-01 00:00:00 UTC' AND timestamp < " +
      "TIMESTAMP '2261-12-31 00:00:00 UTC'",
  },
  { spark: "timestamp_ns > 9220000000000000000", trino: "timestamp_ns > 9220000000000000000" },
  { spark: "raw = 'the year 2261'", trino: "raw = 'the year 2261'" },
];

/** While rows come, a read has the first so many of them, and never fewer than the one before. */
async function checkWhileRowsCome(
  { stack }: EngineStack,
  dialect: Dialect,
  { ask, fromNs: from }: { readonly ask: Ask; readonly fromNs: bigint },
): Promise<void> {
  let [isOver, sent] = [false, 0];
  const sending = (async () => {
    for (; !isOver; sent += 1) await send(stack, [record(from + BigInt(sent), `more ${sent}`)]);
  })();
  const where = `timestamp_ns >= ${from} AND timestamp_ns < ${from + DAY_NS}`;
  let [seen, reads] = [0, 0];
  try {
    for (const end = Date.now() + 1_000 * SECS; Date.now() < end; reads += 1) {
      const rows = await ask(`SELECT raw FROM ${dialect.table} WHERE ${where}`);
      const numbers = rows.map(([raw]) => Number(String(raw).split(" ")[1])).sort((a, b) => a - b);
      assert.deepEqual(numbers, Array.from(numbers, (_, at) => at));
      assert.ok(numbers.length >= seen, `${numbers.length} rows, ${seen} before`);
      seen = numbers.length;
    }
  } finally {
    isOver = true;
    await sending;
  }
  assert.ok(reads > 1 && seen > 0 && sent >= seen, `${reads} reads, ${seen} of ${sent} rows`);
}

const NAME = "Engines of the JVM read a table through its life";
const hasTrino = TRINO_JAVA !== undefined && isChosen("trino");
const hasAny = HAS_SPARK || hasTrino;

Deno.test({
  name: !hasAny ? `${NAME} (${NO_JVM})` : `${NAME}${TRINO_JAVA ? "" : " (no Trino: needs JDK 25)"}`,
  ignore: !hasAny,
  async fn(t) {
    await using lab = await startEngineStack({
      SVC_ICEBERG_WRITES: "1",
      SVC_SNAPSHOT_RETAIN_SECS: "3600",
    });
    const states = await live(lab);
    const last = states.at(-1);
    assert.ok(last !== undefined);
    if (HAS_SPARK) {
      const versions = ICEBERG_VERSIONS.filter(isChosen);
      for (const iceberg of versions) await readBySpark(t, lab, { iceberg, states, last });
    }
    if (hasTrino) await readByTrino(t, lab, { states, last });
    await expire(lab);
    const gone = states[0]?.snapshot ?? "";
    const checkExpired = async (dialect: Dialect, ask: Ask) => {
      const { columns, rows } = last;
      assert.deepEqual(await rowsOf(ask, dialect, { columns }), rows);
      const read = rowsOf(ask, dialect, { columns, at: dialect.at(gone) });
      await assert.rejects(read, /snapshot/i);
    };
    await using engines = new AsyncDisposableStack();
    const asks: (readonly [name: string, dialect: Dialect, ask: Ask])[] = [];
    if (HAS_SPARK && isChosen(VECTORIZED_FROM)) {
      const spark = engines.use(await Spark.start(lab));
      let asked = 0;
      const byTurns: Ask = (sql) =>
        spark.sql(sql, { catalog: asked++ % 2 === 0 ? "rest" : "jdbc" });
      asks.push(["Spark by both catalogs", SPARK, byTurns]);
    }
    if (hasTrino) {
      const trino = engines.use(await Trino.start(lab));
      asks.push(["Trino", TRINO, (sql) => trino.sql(sql)]);
    }
    for (const [name, dialect, ask] of asks) {
      await t.step(`${name} after expiry`, async () => await checkExpired(dialect, ask));
    }
    for (const [at, [name, dialect, ask]] of asks.entries()) {
      await t.step(`${name} while rows come for ${SECS} s`, async () => {
        const fromNs = START_NS + BigInt(100 * (at + 1)) * DAY_NS;
        await checkWhileRowsCome(lab, dialect, { ask, fromNs });
      });
    }
  },
});

interface Life {
  readonly states: readonly TableState[];
  readonly last: TableState;
}

async function readBySpark(
  t: Deno.TestContext,
  lab: EngineStack,
  { iceberg, states, last }: Life & { readonly iceberg: IcebergVersion },
): Promise<void> {
  await using spark = await Spark.start(lab, { iceberg });
  const name = `Spark 3.5 with Iceberg ${iceberg}`;
  const asks = (options: AskSpark): Ask => (sql) => spark.sql(sql, options);
  await t.step(`${name}: each state`, async () => await checkStates(asks({}), SPARK, states));
  for (const catalog of ["rest", "jdbc"] as const) {
    for (const vectorized of [undefined, false, true]) {
      await t.step(`${name} by ${catalog}, vectorized: ${vectorized ?? "as told"}`, async () => {
        const options = { catalog, ...vectorized === undefined ? {} : { vectorized } };
        const read = rowsOf(asks(options), SPARK, last);
        if (!vectorized || iceberg === VECTORIZED_FROM) assert.deepEqual(await read, last.rows);
        else await assert.rejects(read, /Cannot support vectorized reads/);
      });
    }
  }
  await t.step(`${name}: metadata tables`, async () => {
    await checkMetadata(asks({}), SPARK, { state: last, tables: METADATA.spark });
  });
  await t.step(`${name}: names of tables, and no views`, async () => {
    const tables = (await spark.sql("SHOW TABLES IN svc.svc")).map((row) => row[1]);
    assert.ok(tables.includes("events"));
    assert.deepEqual(await spark.sql("SHOW VIEWS IN svc.svc"), []);
  });
  for (const { spark: where } of PRUNING) {
    await t.step(`${name}: one file where ${where}`, async () => {
      const all = "SELECT raw FROM svc.svc.events";
      assert.equal(await spark.files(`${all} WHERE ${where}`), 1);
      assert.ok(await spark.files(all) > 3);
    });
  }
}

async function readByTrino(
  t: Deno.TestContext,
  lab: EngineStack,
  { states, last }: Life,
): Promise<void> {
  await using trino = await Trino.start(lab);
  const ask: Ask = (sql) => trino.sql(sql);
  await t.step("Trino: each state", async () => await checkStates(ask, TRINO, states));
  await t.step("Trino: metadata tables", async () => {
    await checkMetadata(ask, TRINO, { state: last, tables: METADATA.trino });
  });
  for (const { trino: where } of PRUNING) {
    await t.step(`Trino: one file where ${where}`, async () => {
      assert.equal(await trino.splits(`SELECT raw FROM events WHERE ${where}`), 1);
      assert.ok(await trino.splits("SELECT raw FROM events") > 3);
    });
  }
}
