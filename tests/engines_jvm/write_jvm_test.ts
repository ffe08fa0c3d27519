/**
 * Spark and Trino write to a table of a running stack: what they commit is exact on our side, or
 * refused with a reason. Expected texts are written out.
 */

import assert from "node:assert/strict";
import {
  committed,
  type EngineStack,
  record,
  rowsByEngine,
  rowsBySql,
  send,
  START_NS,
  startEngineStack,
  until,
} from "../engines/lab.ts";
import { hasPackages } from "../engines/python.ts";
import { HAS_SPARK, isChosen, NO_JVM, TRINO_JAVA } from "./places.ts";
import { Spark } from "./spark.ts";
import { LOCAL_FILES, Trino } from "./trino.ts";

interface Step {
  readonly name: string;
  readonly sql: string;
  /** The texts of all rows afterwards. */
  readonly texts?: readonly string[];
  /** What it says when it is refused; the rows are as before. */
  readonly refused?: RegExp;
}

const OURS = ["ours 0", "ours 1", "ours 2"];
const COLUMNS = `timestamp, timestamp_ns, host, source, sourcetype, "index", raw`;
const EVENTS = "svc.svc.events";
const CALL = "CALL svc.system";

const BY_SPARK: readonly Step[] = [
  {
    name: "append",
    sql: `INSERT INTO ${EVENTS} (${
      COLUMNS.replaceAll('"', "`")
    }, attributes, \`attributes:severity_text\`)
      SELECT TIMESTAMP '2026-11-20 14:00:00Z', 1795183200000000000 + id, 'spark', 'shop', 't', 'main',
      concat('spark ', id), NULL, NULL FROM range(4)`,
    texts: [...OURS, "spark 0", "spark 1", "spark 2", "spark 3"],
  },
  {
    name: "delete, copy on write",
    sql: `DELETE FROM ${EVENTS} WHERE raw = 'spark 0'`,
    texts: [...OURS, "spark 1", "spark 2", "spark 3"],
  },
  {
    name: "ask for merge on read",
    sql: `ALTER TABLE ${EVENTS} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read',
      'write.update.mode' = 'merge-on-read', 'commit.retry.num-retries' = '20')`,
    texts: [...OURS, "spark 1", "spark 2", "spark 3"],
  },
  {
    name: "delete by positions",
    sql: `DELETE FROM ${EVENTS} WHERE raw IN ('spark 1', 'ours 1')`,
    texts: ["ours 0", "ours 2", "spark 2", "spark 3"],
  },
  {
    name: "update by positions",
    sql: `UPDATE ${EVENTS} SET raw = 'updated by spark' WHERE raw = 'spark 2'`,
    texts: ["ours 0", "ours 2", "spark 3", "updated by spark"],
  },
  {
    name: "add column",
    sql: `ALTER TABLE ${EVENTS} ADD COLUMN team STRING`,
    texts: ["ours 0", "ours 2", "spark 3", "updated by spark"],
  },
  {
    name: "rewrite_data_files",
    sql: `${CALL}.rewrite_data_files(table => '${EVENTS}', options => map('rewrite-all', 'true'))`,
    texts: ["ours 0", "ours 2", "spark 3", "updated by spark"],
  },
  {
    name: "rewrite_manifests",
    sql: `${CALL}.rewrite_manifests(table => '${EVENTS}', use_caching => false)`,
    texts: ["ours 0", "ours 2", "spark 3", "updated by spark"],
  },
  {
    name: "expire_snapshots",
    sql:
      `${CALL}.expire_snapshots(table => '${EVENTS}', older_than => TIMESTAMP '2100-01-01 00:00:00')`,
    refused: /the compactor expires snapshots/,
  },
  {
    name: "drop column",
    sql: `ALTER TABLE ${EVENTS} DROP COLUMN attributes`,
    refused: /column "attributes" \(id 8\) would go or change/,
  },
  {
    name: "another partitioning",
    sql: `ALTER TABLE ${EVENTS} ADD PARTITION FIELD host`,
    refused: /partitioned by day\(timestamp\) alone/,
  },
  { name: "drop table", sql: `DROP TABLE ${EVENTS}`, refused: /DELETE/ },
];

const TRINO_ROWS = [0, 1, 2].map((at) =>
  `(TIMESTAMP '2026-11-20 15:00:00.000000 UTC', ${1795186800000000000n + BigInt(at)}, 'trino',
    'shop', 't', 'main', 'trino ${at}')`
);

const BY_TRINO: readonly Step[] = [
  {
    name: "append",
    sql: `INSERT INTO events (${COLUMNS}) VALUES ${TRINO_ROWS.join(", ")}`,
    texts: [...OURS, "trino 0", "trino 1", "trino 2"],
  },
  {
    name: "delete by positions",
    sql: "DELETE FROM events WHERE raw IN ('trino 1', 'ours 1')",
    texts: ["ours 0", "ours 2", "trino 0", "trino 2"],
  },
  {
    name: "update by positions",
    sql: "UPDATE events SET raw = 'updated by trino' WHERE raw = 'trino 2'",
    texts: ["ours 0", "ours 2", "trino 0", "updated by trino"],
  },
  {
    name: "add column",
    sql: "ALTER TABLE events ADD COLUMN squad varchar",
    texts: ["ours 0", "ours 2", "trino 0", "updated by trino"],
  },
  {
    name: "optimize",
    sql: "ALTER TABLE events EXECUTE optimize",
    texts: ["ours 0", "ours 2", "trino 0", "updated by trino"],
  },
  {
    name: "expire_snapshots",
    sql: "ALTER TABLE events EXECUTE expire_snapshots(retention_threshold => '0s')",
    refused: /the compactor expires snapshots/,
  },
  {
    name: "drop column",
    sql: "ALTER TABLE events DROP COLUMN attributes",
    refused: /column "attributes" \(id 8\) would go or change/,
  },
];

async function textsOf({ stack }: EngineStack): Promise<string[]> {
  const { rows } = await stack.sql("SELECT raw FROM events");
  assert.deepEqual((await stack.sql("SELECT count(*) FROM events")).rows, [[rows.length]]);
  return rows.flat().map(String).toSorted();
}

/** Waits until the compactor has applied the delete files: the data files have these rows alone. */
async function applied({ stack }: EngineStack, rows: number): Promise<void> {
  await until(async () => {
    const details = await (await fetch(`${stack.queryUrl}/api/v1/tables/events`)).json();
    return details.rows === rows;
  }, "the data files have no deleted rows");
}

async function run(
  t: Deno.TestContext,
  lab: EngineStack,
  { engine, steps, ask }: {
    readonly engine: string;
    readonly steps: readonly Step[];
    readonly ask: (sql: string) => Promise<readonly (readonly unknown[])[]>;
  },
): Promise<void> {
  let before: readonly string[] = OURS;
  for (const { name, sql, texts = before, refused } of steps) {
    await t.step(`${engine}: ${name}${refused ? " is refused" : ""}`, async () => {
      if (refused === undefined) await ask(sql);
      else await assert.rejects(ask(sql), refused);
      assert.deepEqual(await textsOf(lab), texts.toSorted());
      const seen = await ask(`SELECT raw FROM ${engine === "Trino" ? "events" : EVENTS}`);
      assert.deepEqual(seen.flat().map(String).toSorted(), texts.toSorted());
      // Until then another statement may find that the compactor took a data file from under it.
      await applied(lab, texts.length);
      assert.deepEqual(await textsOf(lab), texts.toSorted());
    });
    before = texts;
  }
  await t.step(`${engine}: rows go on to come`, async () => {
    await send(lab.stack, [record(START_NS + 900n, "after it")]);
    await applied(lab, before.length + 1);
    assert.deepEqual(await textsOf(lab), [...before, "after it"].toSorted());
    if (!await hasPackages(["pyiceberg"])) return;
    const where = "source = 'shop'";
    const [read] = await rowsByEngine("pyiceberg", lab.address, [where]);
    assert.deepEqual(read?.rows, await rowsBySql(lab.stack, where));
  });
}

async function startOurs(): Promise<EngineStack> {
  const lab = await startEngineStack({ SVC_ICEBERG_WRITES: "1" });
  await send(lab.stack, OURS.map((text, at) => record(START_NS + BigInt(at), text)));
  await committed(lab.stack);
  return lab;
}

const SPARK_NAME = "Spark writes by the REST catalog, and our side stays exact";
for (const iceberg of ["1.10.1", "1.12.0"] as const) {
  const isThere = HAS_SPARK && isChosen(iceberg);
  Deno.test({
    name: `${SPARK_NAME}: Iceberg ${iceberg}${isThere ? "" : ` (${NO_JVM})`}`,
    ignore: !isThere,
    async fn(t) {
      await using lab = await startOurs();
      await using spark = await Spark.start(lab, { iceberg });
      await run(t, lab, { engine: "Spark", steps: BY_SPARK, ask: (sql) => spark.sql(sql) });
      if (iceberg !== "1.12.0") return;
      await t.step("Iceberg's writer of equality deletes, which Flink has", async () => {
        let left = await textsOf(lab);
        for (const text of ["ours 2", "updated by spark"]) {
          await spark.deleteByValue(text);
          left = left.filter((one) => one !== text);
          assert.deepEqual(await textsOf(lab), left);
          await applied(lab, left.length);
          assert.deepEqual(await textsOf(lab), left);
        }
        assert.deepEqual(left, ["after it", "ours 0", "spark 3"]);
      });
    },
  });
}

const TRINO_NAME = "Trino writes by the REST catalog, and our side stays exact";
const hasTrino = TRINO_JAVA !== undefined && isChosen("trino");
Deno.test({
  name: hasTrino ? TRINO_NAME : `${TRINO_NAME} (${NO_JVM})`,
  ignore: !hasTrino,
  async fn(t) {
    await using lab = await startOurs();
    await using trino = await Trino.start(lab, {
      ...LOCAL_FILES,
      "iceberg.expire-snapshots.min-retention": "0s",
    });
    await run(t, lab, { engine: "Trino", steps: BY_TRINO, ask: (sql) => trino.sql(sql) });
  },
});
