/**
 * The ingest server as a process under exactly its own permission set, with all access control
 * switched on: TLS, an OIDC issuer, tenants, and a rate shared through Redis.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { makeDataFolders } from "../../cli/data_folders.ts";
import { processArguments } from "../../cli/permissions.ts";
import { AUDIENCE, FakeIssuer } from "../../shared/testing/fake_issuer.ts";
import { freePort } from "../../shared/testing/free_ports.ts";
import { overBudget } from "../../shared/testing/rate_budget.ts";
import { REDIS_SERVER, RedisProcess } from "../../shared/testing/redis_process.ts";
import { selfSigned } from "../../shared/testing/self_signed.ts";

const START_MS_MAX = 90_000;

const BODY = JSON.stringify({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "row" } }] }] }],
});

async function portOf(child: Deno.ChildProcess): Promise<number> {
  const timer = setTimeout(() => child.kill("SIGKILL"), START_MS_MAX);
  let text = "";
  try {
    for await (const part of child.stderr.pipeThrough(new TextDecoderStream())) {
      text += part;
      const match = /listens on 127\.0\.0\.1:(\d+)/.exec(text);
      if (match !== null) return Number(match[1]);
    }
  } finally {
    clearTimeout(timer);
  }
  throw new Error(`it ended instead of listening:\n${text}`);
}

/** What a test asks of the process. */
interface Reached {
  /** Sends a row; gives the status. */
  post(token: string): Promise<number>;
  /** How many requests it let pass unchecked. */
  unchecked(): Promise<number>;
  readonly issuer: FakeIssuer;
}

async function reach(use: (reached: Reached) => Promise<void>): Promise<void> {
  await using redis = await RedisProcess.start();
  await using issuer = await FakeIssuer.start();
  const dataDir = await Deno.makeTempDir({ prefix: "svc-access-" });
  const { cert, key } = await selfSigned();
  const [certFile, keyFile] = [join(dataDir, "cert.pem"), join(dataDir, "key.pem")];
  await Deno.writeTextFile(certFile, cert);
  await Deno.writeTextFile(keyFile, key);
  await makeDataFolders(dataDir);
  const listeners = ["--bind", "--otlp-grpc-listen"];
  const metrics = `127.0.0.1:${freePort()}`;
  const child = new Deno.Command(Deno.execPath(), {
    args: processArguments("ingest", dataDir, [
      ...listeners.map((flag) => `${flag}=127.0.0.1:0`),
      ...["--metrics-bind", metrics],
      ...["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE, "--oidc-tenant-claim", "org"],
      ...["--tls-cert", certFile, "--tls-key", keyFile],
      ...["--ingest-rate-redis-url", redis.url, "--ingest-rate-per-sec", "1"],
      ...["--ingest-rate-burst", "3"],
    ]),
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  try {
    using client = Deno.createHttpClient({ caCerts: [cert] });
    const url = `https://127.0.0.1:${await portOf(child)}/v1/logs`;
    await use({
      issuer,
      async post(token) {
        const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
        const response = await fetch(url, { client, method: "POST", headers, body: BODY });
        await response.body?.cancel();
        return response.status;
      },
      async unchecked() {
        const page = await (await fetch(`http://${metrics}/metrics`)).text();
        return Number(/^svc_ingest_rate_limit_unchecked_total (\d+)$/m.exec(page)?.[1]);
      },
    });
    const keys = await redis.command("KEYS *");
    assert.match(keys, /svc:rb:[0-9a-f]{64}/, "the budget is in Redis");
  } finally {
    child.kill("SIGTERM");
    await child.status;
    await Deno.remove(dataDir, { recursive: true });
  }
}

const NAME = "ingest under its own permissions serves TLS, asks its issuer and its Redis";

Deno.test({
  name: REDIS_SERVER === undefined ? `${NAME} (redis-server is not installed)` : NAME,
  ignore: REDIS_SERVER === undefined,
  fn: () =>
    reach(async ({ post, unchecked, issuer }) => {
      const token = await issuer.token({ org: "acme" });
      assert.equal(await post(token), 200);
      assert.equal(await post("forged"), 401);
      assert.equal(await post(await issuer.token()), 403);
      const fresh = await issuer.token({ org: "acme", sub: "of its own budget" });
      const tooMany = await overBudget({
        burst: 3,
        send: async () => {
          const statuses = await Promise.all(Array.from({ length: 10 }, () => post(fresh)));
          const taken = statuses.filter((status) => status === 200).length;
          assert.ok(taken >= 3, `${taken} of 10 taken`);
          assert.equal(statuses.filter((status) => status === 429).length, 10 - taken);
          return statuses;
        },
        unchecked,
      });
      assert.ok(tooMany <= 0, `${tooMany} of 10 taken that are not in the budget`);
    }),
});
