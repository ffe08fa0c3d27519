/** PyIceberg and DuckDB read a table in S3 with credentials that the catalog gives them. */

import assert from "node:assert/strict";
import { EXTREMES, rowsByEngine, rowsBySql } from "./lab.ts";
import { hasPackages, NO_PYTHON } from "./python.ts";
import { startS3EngineStack } from "./s3_lab.ts";

const NAME = "PyIceberg and DuckDB read tables in S3 with credentials of the catalog";
const HAS_READERS = await hasPackages(["duckdb", "duckdb_extension_iceberg", "pyiceberg"]);
const WHERE = "source = 'shop'";

Deno.test({
  name: HAS_READERS ? NAME : `${NAME} (${NO_PYTHON})`,
  ignore: !HAS_READERS,
  async fn(t) {
    await using lab = await startS3EngineStack();
    const rows = await rowsBySql(lab.stack, WHERE);
    assert.equal(rows.length, EXTREMES.length + 1);
    for (const engine of ["pyiceberg", "duckdb"]) {
      await t.step(engine, async () => {
        const [read] = await rowsByEngine(engine, lab.address, [WHERE]);
        assert.deepEqual(read?.rows, rows);
      });
    }
    await t.step("the credentials are for the table's folder, and asked for once", () => {
      assert.equal(lab.asked.length, 1);
      const policy = lab.asked[0]?.get("Policy") ?? "";
      assert.match(policy, /"arn:aws:s3:::warehouse\/lake\/svc\/events-[^/]*\/\*"/);
      assert.doesNotMatch(policy, /Put|Delete/);
    });
    await t.step("who does not ask for credentials is told none", async () => {
      const answer = await fetch(`${lab.address}/v1/namespaces/svc/tables/events`);
      const { config, ...rest } = await answer.json();
      assert.equal(config["s3.endpoint"], lab.environment["AWS_ENDPOINT_URL"]);
      assert.deepEqual(Object.keys(config).filter((name) => /key|token|secret/.test(name)), []);
      assert.equal(rest["storage-credentials"], undefined);
    });
  },
});
