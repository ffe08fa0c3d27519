/** Engines of Python read a table in S3 with credentials of the catalog, or with their own. */

import assert from "node:assert/strict";
import { EXTREMES, rowsByEngine, rowsBySql } from "./lab.ts";
import { hasPackages } from "./python.ts";
import { startS3EngineStack } from "./s3_lab.ts";

const ENGINES: readonly (readonly [name: string, packages: readonly string[]])[] = [
  ["pyiceberg", ["pyiceberg"]],
  ["duckdb", ["duckdb", "duckdb_extension_iceberg"]],
  ["polars", ["polars", "pyiceberg"]],
  ["daft", ["daft", "pyiceberg"]],
  ["datafusion", ["datafusion", "pyiceberg_core"]],
];
const THERE: string[] = [];
for (const [name, packages] of ENGINES) if (await hasPackages(packages)) THERE.push(name);
const HAS_CLICKHOUSE = await hasPackages(["chdb"]);
const MISSING = [
  ...ENGINES.map(([name]) => name).filter((name) => !THERE.includes(name)),
  ...HAS_CLICKHOUSE ? [] : ["clickhouse"],
];
const WHERE = "source = 'shop'";

Deno.test({
  name: "engines read tables in S3" +
    (MISSING.length === 0 ? "" : ` (ignored, as not installed: ${MISSING.join(", ")})`),
  ignore: THERE.length === 0,
  async fn(t) {
    await using lab = await startS3EngineStack();
    const rows = await rowsBySql(lab.stack, WHERE);
    assert.equal(rows.length, EXTREMES.length + 1);
    for (const engine of THERE) {
      await t.step(`${engine} with credentials of the catalog`, async () => {
        const [read] = await rowsByEngine(engine, lab.address, [WHERE]);
        assert.deepEqual(read?.rows, rows);
      });
    }
    if (HAS_CLICKHOUSE) {
      const byClickHouse = (env: Readonly<Record<string, string>>) =>
        rowsByEngine("clickhouse", lab.address, [WHERE], { ...lab.environment, ...env });
      await t.step("clickhouse with its own credentials", async () => {
        const [read] = await byClickHouse({});
        assert.deepEqual(read?.rows, rows);
      });
      // ClickHouse/ClickHouse#93283: it takes the table's path twice where a catalog gives both.
      await t.step("clickhouse cannot with an endpoint of the catalog", async () => {
        await assert.rejects(byClickHouse({ SVC_TEST_VENDED: "1" }), /response code: 404/);
      });
    }
    await t.step("the credentials are for a table's folder, and asked for once", () => {
      const policies = lab.asked.map((form) => form.get("Policy") ?? "");
      // ClickHouse asks for those of the audit's table, too.
      assert.equal(new Set(policies).size, policies.length);
      assert.match(policies[0] ?? "", /"arn:aws:s3:::warehouse\/lake\/svc\/events-[^/]*\/\*"/);
      for (const policy of policies) assert.doesNotMatch(policy, /Put|Delete/);
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
