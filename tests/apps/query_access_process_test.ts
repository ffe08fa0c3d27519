/**
 * The query server as a process under exactly its own permission set, with TLS and an issuer that
 * rotates its keys, hangs and goes away. `svc sql` runs against it and trusts its certificate by
 * `DENO_CERT`.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { makeDataFolders } from "../../cli/data_folders.ts";
import { processArguments, workspacePath } from "../../cli/permissions.ts";
import { AUDIENCE, FakeIssuer, makeKey } from "../../shared/testing/fake_issuer.ts";
import { ONE_DUCKDB } from "../../shared/testing/one_duckdb.ts";
import { selfSigned } from "../../shared/testing/self_signed.ts";

const START_MS_MAX = 90_000;
/** A fetch of keys may take 5 s; what a loaded machine may add. */
const ANSWER_MS_MAX = 5_000 + 5_000;

interface Door {
  readonly issuer: FakeIssuer;
  /** Status of a statement asked with this token. */
  ask(token: string): Promise<number>;
  svcSql(token: string): Promise<{ code: number; output: string; notes: string }>;
}

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

async function atTheDoor(test: (door: Door) => Promise<void>): Promise<void> {
  await using issuer = await FakeIssuer.start();
  const dataDir = await Deno.makeTempDir({ prefix: "svc-query-access-" });
  const { cert, key } = await selfSigned();
  const [certFile, keyFile] = [join(dataDir, "cert.pem"), join(dataDir, "key.pem")];
  await Deno.writeTextFile(certFile, cert);
  await Deno.writeTextFile(keyFile, key);
  await makeDataFolders(dataDir);
  const child = new Deno.Command(Deno.execPath(), {
    args: processArguments("query", dataDir, [
      ...["--bind=127.0.0.1:0", "--metrics-bind=127.0.0.1:0"],
      ...ONE_DUCKDB,
      ...["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE, "--oidc-tenant-claim", "org"],
      ...["--tls-cert", certFile, "--tls-key", keyFile],
    ]),
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  try {
    const url = `https://127.0.0.1:${await portOf(child)}`;
    using client = Deno.createHttpClient({ caCerts: [cert] });
    await test({
      issuer,
      async ask(token) {
        const response = await fetch(`${url}/api/v1/sql`, {
          client,
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: '{"query":"SELECT 1"}',
          signal: AbortSignal.timeout(ANSWER_MS_MAX),
        });
        await response.body?.cancel();
        return response.status;
      },
      async svcSql(token) {
        const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
          args: [
            ...["run", "-A", "--quiet", workspacePath("cli/main.ts"), "sql", "--quiet"],
            ...["--endpoint", url, "--token", token, "SELECT count(*) AS n FROM events"],
          ],
          env: { DENO_CERT: certFile },
        }).output();
        const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
        return { code, output: text(stdout), notes: text(stderr) };
      },
    });
  } finally {
    child.kill("SIGTERM");
    await child.status;
    await Deno.remove(dataDir, { recursive: true });
  }
}

Deno.test({
  name: "query under its own permissions serves TLS and asks its issuer; svc sql tells of refusals",
  fn: () =>
    atTheDoor(async ({ issuer, ask, svcSql }) => {
      const token = await issuer.token({ org: "acme" });
      assert.equal(await ask(token), 200);
      assert.equal(await ask("forged"), 401);
      assert.equal(await ask(await issuer.token()), 403);
      assert.deepEqual(await svcSql(token), { code: 0, output: "n\n-\n0\n", notes: "" });
      const stranger = await svcSql("forged");
      assert.equal(stranger.code, 1);
      assert.match(stranger.notes, /HTTP 401; .*--token or SVC_TOKEN/);
      const nobodys = await svcSql(await issuer.token());
      assert.equal(nobodys.code, 1);
      assert.match(nobodys.notes, /does not have claim org.*HTTP 403; .*--token or SVC_TOKEN/);
    }),
});

Deno.test({
  name:
    "query lets nobody in and keeps nobody waiting while its issuer rotates keys, hangs, is gone",
  fn: () =>
    atTheDoor(async ({ issuer, ask }) => {
      const claims = { org: "acme" };
      const first = await issuer.token(claims);
      assert.equal(await ask(first), 200);
      await issuer.rotate("key-2");
      const second = await issuer.token(claims);
      const deadlineMs = performance.now() + 2 * ANSWER_MS_MAX;
      while (await ask(second) !== 200) {
        assert.ok(performance.now() < deadlineMs, "the new key is never taken");
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
      assert.equal(await ask(first), 401, "the old key was withdrawn");

      const foreign = await makeKey("key-2");
      issuer.mood = "silent";
      const unseen = await issuer.token(claims, await makeKey("key-3"));
      const forged = await issuer.token(claims, { privateKey: foreign.privateKey });
      const statuses = await Promise.all([unseen, forged, second, first].map(ask));
      assert.ok([401, 503].includes(statuses[0] ?? 0), `${statuses[0]}`);
      assert.deepEqual([statuses[1], statuses[2]], [401, 200]);
      assert.ok([401, 503].includes(statuses[3] ?? 0), `${statuses[3]}`);
      await issuer.leave();
      assert.equal(await ask(second), 200, "known keys stay in use");
      assert.ok([401, 503].includes(await ask(unseen)));
    }),
});
