/**
 * Spark and Trino show the REST catalog who they are. They have a bearer token of `--tokens`, a
 * JSON Web Token of OpenID Connect, or a client's secret that the identity provider changes for
 * one. A tenant finds its own namespace and no other.
 */

import assert from "node:assert/strict";
import { type AccessStack, startAccessStack, textsOf } from "../engines/access_lab.ts";
import {
  type EngineStack,
  record,
  rowsByEngine,
  send,
  START_NS,
  startEngineStack,
  until,
} from "../engines/lab.ts";
import { hasPackages } from "../engines/python.ts";
import { HAS_SPARK, type IcebergVersion, isChosen, NO_JVM, TRINO_JAVA } from "./places.ts";
import { Spark } from "./spark.ts";
import { LOCAL_FILES, Trino } from "./trino.ts";

const STATIC_TOKEN = "a-static-token";
const hasSpark = HAS_SPARK && isChosen("1.12.0");
const hasTrino = TRINO_JAVA !== undefined && isChosen("trino");
const hasAny = hasSpark || hasTrino;

type Ask = (sql: string) => Promise<readonly (readonly unknown[])[]>;
type Properties = Readonly<Record<string, string>>;

async function bySpark(
  lab: EngineStack,
  { iceberg = "1.12.0", properties }: {
    readonly iceberg?: IcebergVersion;
    readonly properties: Properties;
  },
  check: (ask: Ask) => Promise<void>,
): Promise<void> {
  await using spark = await Spark.start(lab, { iceberg, properties });
  await check((sql) => spark.sql(sql));
}

async function byTrino(
  lab: EngineStack,
  properties: Properties,
  check: (ask: Ask) => Promise<void>,
): Promise<void> {
  await using trino = await Trino.start(lab, {
    ...LOCAL_FILES,
    "iceberg.rest-catalog.security": "OAUTH2",
    ...Object.fromEntries(
      Object.entries(properties).map((
        [name, text],
      ) => [`iceberg.rest-catalog.oauth2.${name}`, text]),
    ),
  });
  await check((sql) => trino.sql(sql));
}

async function texts(ask: Ask, table: string): Promise<readonly string[]> {
  return (await ask(`SELECT raw FROM ${table}`)).flat().map(String).toSorted();
}

const STATIC_NAME = "engines read with a bearer token of --tokens";
Deno.test({
  name: hasAny ? STATIC_NAME : `${STATIC_NAME} (${NO_JVM})`,
  ignore: !hasAny,
  async fn(t) {
    await using lab = await startEngineStack({ SVC_QUERY_TOKENS: STATIC_TOKEN });
    const { stack, address } = lab;
    await send(stack, ["one", "two"].map((text, at) => record(START_NS + BigInt(at), text)));
    const authorization = `Bearer ${STATIC_TOKEN}`;
    await until(async () => {
      const url = `${stack.queryUrl}/api/v1/tables/events`;
      const answer = await fetch(url, { headers: { authorization } });
      return (await answer.json()).rows === 2;
    }, "both rows are committed");
    if (await hasPackages(["pyiceberg"])) {
      await t.step("PyIceberg", async () => {
        const read = (env: Properties) =>
          rowsByEngine("pyiceberg", address, ["source = 'shop'"], env);
        assert.equal((await read({ SVC_TEST_TOKEN: STATIC_TOKEN }))[0]?.rows.length, 2);
        await assert.rejects(read({ SVC_TEST_TOKEN: "another" }), /UnauthorizedError/);
      });
    }
    const check = async (ask: Ask) =>
      assert.deepEqual(await texts(ask, "svc.events"), ["one", "two"]);
    const properties = { token: STATIC_TOKEN };
    if (hasSpark) {
      await t.step("Spark with Iceberg 1.6.1", async () => {
        await bySpark(lab, { iceberg: "1.6.1", properties }, async (ask) => {
          assert.deepEqual(await texts(ask, "svc.svc.events"), ["one", "two"]);
        });
      });
      await t.step("Spark with another token", async () => {
        await bySpark(lab, { properties: { token: "another" } }, async (ask) => {
          await assert.rejects(ask("SELECT raw FROM svc.svc.events"), /[Nn]ot authorized/);
        });
      });
    }
    if (hasTrino) await t.step("Trino", async () => await byTrino(lab, properties, check));
  },
});

/** Tenant acme has its own rows and no others. `at`: what stands before a namespace. */
async function checkTenant(ask: Ask, at: string): Promise<void> {
  assert.deepEqual(await texts(ask, `${at}acme.events`), textsOf("acme"));
  await assert.rejects(ask(`SELECT raw FROM ${at}zebra.events`), /cannot be found|does not exist/i);
}

async function checkSpark(ask: Ask): Promise<void> {
  await checkTenant(ask, "svc.");
  assert.deepEqual(await ask("SHOW NAMESPACES IN svc"), [["acme"]]);
}

async function checkTrino(ask: Ask): Promise<void> {
  await checkTenant(ask, "");
  const schemas = (await ask("SHOW SCHEMAS")).flat();
  assert.ok(schemas.includes("acme") && !schemas.includes("zebra"), schemas.join(" "));
}

/** The provider's token endpoint, asked with a client's secret. */
async function askingProvider(lab: AccessStack, read: () => Promise<void>): Promise<void> {
  const before = lab.given();
  await read();
  assert.ok(lab.given() > before, "the provider gave a token");
}

const TENANT_NAME = "engines of the JVM read a tenant's own namespace with its tokens";
Deno.test({
  name: hasAny ? TENANT_NAME : `${TENANT_NAME} (${NO_JVM})`,
  ignore: !hasAny,
  async fn(t) {
    await using lab = await startAccessStack();
    const { credential, tokenUrl } = lab;
    const token = { token: await lab.token("acme"), "token-refresh-enabled": "false" };
    if (hasSpark) {
      await t.step("Spark by a token", async () => {
        await bySpark(lab, { properties: token }, checkSpark);
      });
      await t.step("Spark by a client's secret", async () => {
        const properties = { credential, "oauth2-server-uri": tokenUrl };
        await askingProvider(lab, async () => await bySpark(lab, { properties }, checkSpark));
      });
    }
    if (hasTrino) {
      await t.step("Trino by a token", async () => await byTrino(lab, token, checkTrino));
      await t.step("Trino by a client's secret", async () => {
        const properties = { credential, "server-uri": tokenUrl };
        await askingProvider(lab, async () => await byTrino(lab, properties, checkTrino));
      });
    }
  },
});
