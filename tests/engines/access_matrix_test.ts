/**
 * Engines show the REST catalog who they are: a token of OpenID Connect, or a client's secret that
 * the identity provider changes for one. A tenant finds its own namespace and no other.
 */

import assert from "node:assert/strict";
import { startAccessStack, textsOf } from "./access_lab.ts";
import { rowsByEngine } from "./lab.ts";
import { hasPackages } from "./python.ts";

/** Polars, Daft and DataFusion ask by PyIceberg's catalog. What each says to who may not read. */
const ENGINES: readonly (readonly [name: string, packages: readonly string[], refused: RegExp])[] =
  [
    ["pyiceberg", ["pyiceberg"], /NoSuchTableError/],
    ["duckdb", ["duckdb", "duckdb_extension_iceberg"], /does not exist/],
    ["clickhouse", ["chdb"], /UNKNOWN_TABLE/],
  ];
const THERE: (typeof ENGINES[number])[] = [];
for (const engine of ENGINES) if (await hasPackages(engine[1])) THERE.push(engine);
const MISSING = ENGINES.filter((engine) => !THERE.includes(engine)).map(([name]) => name);

Deno.test({
  name: "engines read a tenant's own namespace with its tokens" +
    (MISSING.length === 0 ? "" : ` (ignored, as not installed: ${MISSING.join(", ")})`),
  ignore: THERE.length === 0,
  async fn(t) {
    await using lab = await startAccessStack();
    const { address, credential, tokenUrl } = lab;
    const token = await lab.token("acme");
    for (const [engine, , refused] of THERE) {
      const read = (namespace: string, env: Readonly<Record<string, string>>) =>
        rowsByEngine(engine, address, ["source = 'shop'"], {
          SVC_TEST_NAMESPACE: namespace,
          ...env,
        });
      const hasOwn = async (env: Readonly<Record<string, string>>) => {
        const [own] = await read("acme", env);
        assert.deepEqual(own?.rows.map((row) => JSON.parse(row)[3]), textsOf("acme"));
      };
      await t.step(`${engine} by a token`, async () => await hasOwn({ SVC_TEST_TOKEN: token }));
      await t.step(`${engine} by a client's secret`, async () => {
        const before = lab.given();
        await hasOwn({ SVC_TEST_CREDENTIAL: credential, SVC_TEST_TOKEN_URL: tokenUrl });
        assert.ok(lab.given() > before, "the provider gave a token");
      });
      await t.step(`${engine} finds no other tenant's table`, async () => {
        await assert.rejects(read("zebra", { SVC_TEST_TOKEN: token }), refused);
      });
    }
    await t.step("without a token nobody reads", async () => {
      const read = rowsByEngine("pyiceberg", address, ["true"], { SVC_TEST_NAMESPACE: "acme" });
      await assert.rejects(read, /UnauthorizedError|NotAuthorizedException/);
    });
  },
});
