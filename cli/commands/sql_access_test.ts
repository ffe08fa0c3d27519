/**
 * What `svc sql` says when a query server does not let it in, or cannot be trusted: each time with
 * the remedy.
 */

import assert from "node:assert/strict";
import { startTestServer } from "../../tests/doubles/query_server.ts";
import { AUDIENCE, FakeIssuer } from "../../shared/testing/fake_issuer.ts";
import { selfSigned } from "../../shared/testing/self_signed.ts";
import { COMMANDS } from "../commands.ts";
import { RecordingConsole } from "../recording_console.ts";
import { runCommand } from "../run_command.ts";

async function svcSql(url: string, ...args: string[]): Promise<{ status: number; notes: string }> {
  const console = new RecordingConsole();
  const words = ["sql", "--quiet", "--endpoint", url, ...args, "SELECT 1"];
  const status = await runCommand(words, { commands: COMMANDS, console, env: () => undefined });
  return { status, notes: console.notesText };
}

const REFUSED: [what: string, args: string[], notes: RegExp][] = [
  ["without a token", [], /needs a token.*\(HTTP 401; give a token with --token or SVC_TOKEN\)/],
  ["with a wrong token", ["--token", "x"], /not one of .*\(HTTP 401; give a token with --token/],
];

for (const [what, args, notes] of REFUSED) {
  Deno.test({
    name: `svc sql ${what} says how to give one`,
    async fn() {
      await using server = await startTestServer({}, ["--tokens=t"]);
      const ran = await svcSql(server.url, ...args);
      assert.equal(ran.status, 1);
      assert.match(ran.notes, notes);
      assert.deepEqual(await svcSql(server.url, "--token", "t"), { status: 0, notes: "" });
    },
  });
}

Deno.test({
  name: "svc sql with the token of a tenant that may not read says whose token is needed",
  async fn() {
    await using issuer = await FakeIssuer.start();
    await using server = await startTestServer({}, [
      ...["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE],
      ...["--oidc-tenant-claim=org", "--allowed-tenants=acme"],
    ]);
    const ran = await svcSql(server.url, "--token", await issuer.token({ org: "beta" }));
    assert.equal(ran.status, 1);
    assert.match(ran.notes, /tenant beta is not one of .*\(HTTP 403; give the token of a tenant/);
  },
});

Deno.test({
  name: "svc sql that asks too often says when to ask again",
  async fn() {
    await using server = await startTestServer({}, ["--query-rate-per-sec=1"]);
    const runs = await Promise.all(Array.from({ length: 4 }, () => svcSql(server.url)));
    const refused = runs.filter(({ status }) => status === 1);
    assert.ok(refused.length >= 2, `${refused.length} refused`);
    for (const { notes } of refused) {
      assert.match(notes, /ask less often.*\(HTTP 429; try again in 1 s\)/);
    }
  },
});

Deno.test({
  name: "svc sql that does not know the server's certificate says how to trust it",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc-sql-tls-" });
    try {
      const { cert, key } = await selfSigned();
      await Deno.writeTextFile(`${folder}/cert`, cert);
      await Deno.writeTextFile(`${folder}/key`, key);
      const flags = [`--tls-cert=${folder}/cert`, `--tls-key=${folder}/key`];
      await using server = await startTestServer({}, flags);
      const ran = await svcSql(server.url.replace("http:", "https:"));
      assert.equal(ran.status, 1);
      assert.match(ran.notes, /invalid peer certificate.*DENO_CERT/);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
