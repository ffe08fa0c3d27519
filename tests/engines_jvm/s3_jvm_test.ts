/** Spark and Trino read a table in S3 with credentials that the catalog gives them. */

import assert from "node:assert/strict";
import { startS3EngineStack } from "../engines/s3_lab.ts";
import { HAS_SPARK, isChosen, NO_JVM, TRINO_JAVA } from "./places.ts";
import { Spark } from "./spark.ts";
import { Trino } from "./trino.ts";

const NAME = "Spark and Trino read tables in S3 with credentials of the catalog";
const hasSpark = HAS_SPARK && isChosen("1.10.1");
const hasTrino = TRINO_JAVA !== undefined && isChosen("trino");
const isThere = hasSpark || hasTrino;

Deno.test({
  name: isThere ? NAME : `${NAME} (${NO_JVM})`,
  ignore: !isThere,
  async fn(t) {
    await using lab = await startS3EngineStack();
    const { rows } = await lab.stack.sql("SELECT timestamp_ns::VARCHAR, raw FROM events");
    const expected = rows.map((row) => JSON.stringify(row)).toSorted();
    const checked = async (ask: () => Promise<readonly (readonly unknown[])[]>) => {
      const read = await ask();
      assert.deepEqual(read.map((row) => JSON.stringify(row)).toSorted(), expected);
    };
    if (hasSpark) {
      await t.step("Spark", async () => {
        await using spark = await Spark.start(lab, {
          iceberg: "1.10.1",
          jars: ["iceberg-aws-bundle-1.10.1.jar"],
          properties: { "header.X-Iceberg-Access-Delegation": "vended-credentials" },
        });
        const list = "CAST(timestamp_ns AS STRING), raw";
        await checked(() => spark.sql(`SELECT ${list} FROM svc.svc.events`));
      });
    }
    if (hasTrino) {
      await t.step("Trino", async () => {
        await using trino = await Trino.start(lab, {
          "fs.native-s3.enabled": "true",
          "iceberg.rest-catalog.vended-credentials-enabled": "true",
          "s3.region": "us-east-1",
          "s3.endpoint": lab.environment["AWS_ENDPOINT_URL"] ?? "",
          "s3.path-style-access": "true",
        });
        await checked(() => trino.sql("SELECT CAST(timestamp_ns AS varchar), raw FROM events"));
      });
    }
    assert.ok(lab.asked.length > 0, "credentials were asked for");
  },
});
