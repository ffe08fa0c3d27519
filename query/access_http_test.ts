/**
 * Who may read, over real sockets: docs/api/README.md#tenants-on-query. The engine is a fake that
 * tells what it was asked and for whom.
 */

import assert from "node:assert/strict";
import { configureLogging, resetLogging } from "../shared/logging/logging.ts";
import { AUDIENCE, BAD_MOODS, FakeIssuer, makeKey } from "../shared/testing/fake_issuer.ts";
import { selfSigned } from "../shared/testing/self_signed.ts";
import { startTestServer, type TestServer } from "../tests/doubles/query_server.ts";

const ROUTES = ["/api/v1/sql", "/api/v1/sql/local", "/api/v1/sql/explain"];

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function ask(
  server: TestServer,
  headers: Record<string, string> = {},
  { path = "/api/v1/sql", body = '{"query":"SELECT 1"}' as BodyInit } = {},
): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

function oidcFlags(issuer: FakeIssuer, ...more: string[]): string[] {
  return ["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE, ...more];
}

/** `series` of every value of `label` that is not 0. */
async function counts(server: TestServer, name: string): Promise<Record<string, number>> {
  const text = await (await fetch(server.metricsUrl)).text();
  const lines = text.matchAll(new RegExp(`^${name}\\{reason="(\\w+)"\\} (\\d+)$`, "gm"));
  return Object.fromEntries([...lines].map(([, reason, value]) => [reason, Number(value)]));
}

const TOKENS: [authorization: string | undefined, status: number, reason?: string][] = [
  ["Bearer first-secret", 200],
  ["bearer second-secret", 200],
  [undefined, 401, "token_missing"],
  ["Bearer", 401, "token_malformed"],
  ["Bearer first", 401, "token_unknown"],
  ["Bearer first-secret,second-secret", 401, "token_malformed"],
  ["Basic first-secret", 401, "token_malformed"],
  ["first-secret", 401, "token_malformed"],
];

Deno.test({
  name: "query server with tokens answers those alone, names the scheme, logs none, lets probes in",
  fn: async () => {
    const lines: string[] = [];
    await configureLogging({ level: "debug", writeLine: (line) => lines.push(line) });
    try {
      await using server = await startTestServer({}, ["--tokens=first-secret,second-secret"]);
      for (const [authorization, status, reason] of TOKENS) {
        for (const path of ROUTES) {
          const headers = authorization === undefined ? {} : { authorization };
          const answer = await ask(server, headers, { path });
          assert.equal(answer.status, status, `${path} ${authorization}: ${answer.text}`);
          assert.equal(answer.text.includes("secret"), false);
          if (reason === undefined) continue;
          assert.equal(answer.headers.get("www-authenticate"), "Bearer");
          assert.equal(answer.headers.get("content-type"), "application/json");
          const body = JSON.parse(answer.text);
          assert.deepEqual([body.code, body.reason], [401, reason]);
          assert.match(body.error, /Authorization: Bearer/);
        }
      }
      assert.equal(server.engine.requests.length, 2 * ROUTES.length);
      for (const url of [`${server.url}/healthz`, `${server.url}/readyz`, server.metricsUrl]) {
        const probe = await fetch(url);
        await probe.body?.cancel();
        assert.equal(probe.status, 200, url);
      }
      const failures = await counts(server, "svc_query_auth_failures_total");
      assert.equal(failures["token_missing"], 3);
      assert.equal(failures["token_malformed"], 12);
      assert.equal(failures["token_unknown"], 3);
      assert.equal(failures["issuer_unavailable"], 0);
    } finally {
      await resetLogging();
    }
    assert.ok(lines.length > 0);
    assert.equal(lines.join("\n").includes("secret"), false);
    assert.equal(lines.join("\n").includes("no authentication"), false);
  },
});

Deno.test({
  name:
    "query server reads a refused body to its end: the sender sees 401, and its connection serves on",
  fn: async () => {
    await using server = await startTestServer({}, ["--tokens=t"]);
    const large = new Uint8Array(8 * 1024 * 1024);
    for (const path of [...ROUTES, "/api/v1/nothing", "/healthz"]) {
      const answer = await ask(server, {}, { path, body: large });
      const expected = ROUTES.includes(path) ? 401 : path === "/healthz" ? 405 : 404;
      assert.equal(answer.status, expected, path);
    }
    assert.equal((await ask(server, bearer("t"))).status, 200);
  },
});

Deno.test({
  name: "query server with OIDC lets in nobody that it should not, whatever the issuer does",
  fn: async () => {
    await using issuer = await FakeIssuer.start();
    await using server = await startTestServer({}, [...oidcFlags(issuer), "--tokens=static"]);
    assert.equal((await ask(server, bearer(await issuer.token()))).status, 200);
    assert.equal((await ask(server, bearer("static"))).status, 401, "OIDC wins");
    const foreign = await makeKey("key-1");
    for (const mood of BAD_MOODS.filter((mood) => mood !== "silent" && mood !== "trickling")) {
      issuer.mood = mood;
      assert.equal((await ask(server, bearer(await issuer.token()))).status, 200, mood);
      const forged = await issuer.token({}, { privateKey: foreign.privateKey });
      assert.equal((await ask(server, bearer(forged))).status, 401, mood);
    }
    for (const claims of [{ aud: "other" }, { iss: "https://other" }, { exp: 1 }, { sub: "" }]) {
      assert.equal((await ask(server, bearer(await issuer.token(claims)))).status, 401);
    }
    await issuer.leave();
    assert.equal((await ask(server, bearer(await issuer.token({ sub: "late" })))).status, 200);
  },
});

Deno.test({
  name: "query server answers 503 with Retry-After before it has seen a key of the issuer",
  fn: async () => {
    await using issuer = await FakeIssuer.start();
    issuer.mood = "failing";
    await using server = await startTestServer({}, oidcFlags(issuer));
    const answer = await ask(server, bearer(await issuer.token()));
    assert.deepEqual([answer.status, answer.headers.get("retry-after")], [503, "2"]);
    assert.equal(JSON.parse(answer.text).reason, "issuer_unavailable");
    const failures = await counts(server, "svc_query_auth_failures_total");
    assert.equal(failures["issuer_unavailable"], 1);
    assert.equal(server.engine.requests.length, 0);
  },
});

/**
 * The claim's value, or undefined for a token without it, and whose tables it reads or why none.
 */
const CLAIMS: [claim: unknown, outcome: { namespace: string; tenant: string } | string][] = [
  ["acme", { namespace: "acme", tenant: "acme" }],
  ["ACME-1_x", { namespace: "ACME-1_x", tenant: "ACME-1_x" }],
  ["default", { namespace: "svc", tenant: "default" }],
  ["x".repeat(128), { namespace: "x".repeat(128), tenant: "x".repeat(128) }],
  [undefined, "claim_missing"],
  [null, "claim_invalid"],
  ["", "claim_invalid"],
  [" ", "claim_invalid"],
  ["x".repeat(129), "claim_invalid"],
  ["a.b", "claim_invalid"],
  ["../acme", "claim_invalid"],
  ["svc", "claim_invalid"],
  ["wal-mirror", "claim_invalid"],
  ["copies", "claim_invalid"],
  [7, "claim_invalid"],
  [["acme"], "claim_invalid"],
];

Deno.test({
  name:
    "query server reads the namespace that the claim names, whatever X-Scope-OrgID says, or none",
  fn: async () => {
    await using issuer = await FakeIssuer.start();
    const flags = oidcFlags(issuer, "--oidc-tenant-claim=org", "--tenant-namespace=unused");
    await using server = await startTestServer({}, [...flags, "--wal-mirror-prefix=copies/wal"]);
    const expected = { claim_missing: 0, claim_invalid: 0, not_allowed: 0 };
    assert.deepEqual(await counts(server, "svc_query_tenant_denied_total"), expected);
    for (const [org, outcome] of CLAIMS) {
      const seen = server.engine.requests.length;
      const headers = { ...bearer(await issuer.token({ org })), "x-scope-orgid": "other" };
      const answer = await ask(server, headers);
      const [request] = server.engine.requests.slice(seen);
      if (typeof outcome === "string") {
        assert.equal(answer.status, 403, JSON.stringify(org));
        const body = JSON.parse(answer.text);
        assert.deepEqual([body.code, body.reason], [403, outcome]);
        assert.match(body.error, /claim org/);
        assert.equal(request, undefined);
        expected[outcome as keyof typeof expected]++;
      } else {
        assert.equal(answer.status, 200, answer.text);
        const { namespace, tenant } = request ?? {};
        assert.deepEqual({ namespace, tenant }, outcome);
      }
    }
    assert.deepEqual(await counts(server, "svc_query_tenant_denied_total"), expected);
  },
});

Deno.test({
  name: "query server with --allowed-tenants answers those alone",
  fn: async () => {
    await using issuer = await FakeIssuer.start();
    const flags = ["--oidc-tenant-claim=org", "--allowed-tenants=acme,default"];
    await using server = await startTestServer({}, oidcFlags(issuer, ...flags));
    for (const [org, status] of [["acme", 200], ["default", 200], ["beta", 403], ["ACME", 403]]) {
      const answer = await ask(server, bearer(await issuer.token({ org })));
      assert.equal(answer.status, status, `${org}`);
      if (status === 403) assert.equal(JSON.parse(answer.text).reason, "not_allowed");
    }
    assert.equal(
      await server.metric('svc_query_tenant_denied_total{reason="not_allowed"}'),
      2,
    );
  },
});

Deno.test({
  name: "query server without a claim reads --tenant-namespace for every caller",
  fn: async () => {
    await using issuer = await FakeIssuer.start();
    const modes = [[], ["--tokens=t"], oidcFlags(issuer)];
    const tokens = ["ignored", "t", await issuer.token({ org: "beta" })];
    for (const [at, flags] of modes.entries()) {
      await using server = await startTestServer({}, [...flags, "--tenant-namespace=acme"]);
      const headers = { ...bearer(tokens[at] ?? ""), "x-scope-orgid": "beta" };
      assert.equal((await ask(server, headers)).status, 200);
      const { namespace, tenant } = server.engine.requests[0] ?? {};
      assert.deepEqual([namespace, tenant], ["acme", "acme"], flags.join(" "));
    }
  },
});

Deno.test({
  name: "query server limits each token by itself and names a wait of 1 to 5 s",
  fn: async () => {
    await using server = await startTestServer({}, [
      "--tokens=a,b",
      "--query-rate-per-sec=1",
      "--query-rate-burst=2",
    ]);
    const series = "svc_query_rate_limit_rejected_total";
    assert.equal(await server.metric(series), 0);
    const begunMs = performance.now();
    const answers = [];
    for (let at = 0; at < 12; at++) answers.push(await ask(server, bearer("a")));
    const refused = answers.filter((answer) => answer.status === 429);
    // Two at once, and one for each second that the loop may have taken.
    const most = 2 + Math.ceil((performance.now() - begunMs) / 1_000);
    assert.ok(refused.length >= 12 - most, `${refused.length} refused`);
    for (const answer of refused) {
      assert.equal(answer.headers.get("retry-after"), "1");
      assert.equal(JSON.parse(answer.text).reason, "rate_limited");
    }
    assert.equal(await server.metric(series), refused.length);
    assert.equal((await ask(server, bearer("b"))).status, 200);
    assert.equal((await ask(server, bearer("c"))).status, 401);
    for (let at = 0; at < 5; at++) {
      const probe = await fetch(`${server.url}/healthz`, { headers: bearer("a") });
      await probe.body?.cancel();
      assert.equal(probe.status, 200);
    }
  },
});

Deno.test({
  name: "query server in open mode limits each address that its proxy names",
  fn: async () => {
    await using server = await startTestServer({}, ["--query-rate-per-sec=1"]);
    const from = (address: string) => ask(server, { "x-forwarded-for": address });
    const statuses = await Promise.all(["192.0.2.1", "192.0.2.2", "192.0.2.1"].map(from));
    assert.deepEqual(statuses.map(({ status }) => status).sort(), [200, 200, 429]);
    assert.equal((await ask(server)).status, 200, "the connection's own address");
    assert.equal((await from("nonsense")).status, 429, "the connection's own address, again");
  },
});

Deno.test({
  name: "query server with --tls-cert and --tls-key serves HTTPS alone",
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "svc-tls-" });
    try {
      const { cert, key } = await selfSigned();
      await Deno.writeTextFile(`${folder}/cert`, cert);
      await Deno.writeTextFile(`${folder}/key`, key);
      const flags = [`--tls-cert=${folder}/cert`, `--tls-key=${folder}/key`];
      await using server = await startTestServer({ rows: [7] }, flags);
      using client = Deno.createHttpClient({ caCerts: [cert] });
      const response = await fetch(`${server.url.replace("http:", "https:")}/api/v1/sql`, {
        client,
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"query":"SELECT 7 AS n"}',
      });
      assert.deepEqual((await response.json()).rows, [[7]]);
      await assert.rejects(ask(server));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

const NOT_STARTED: [flags: string, message: RegExp][] = [
  ["--oidc-tenant-claim=org", /with --oidc-tenant-claim alone/],
  ["--oidc-issuer=https://i.example", /with --oidc-issuer alone/],
  ["--oidc-audience=a", /with --oidc-audience alone/],
  ["--oidc-issuer=https://i.example --oidc-tenant-claim=org", /give --oidc-issuer and --oidc-aud/],
  ["--tls-cert=/c", /with --tls-cert alone: give --tls-key/],
  ["--tls-key=/k", /with --tls-key alone: give --tls-cert/],
  ["--tls-cert=/none --tls-key=/none", /cannot use \/none of --tls-cert/],
  ["--allowed-tenants=a/b", /cannot allow tenant "a\/b"/],
  ["--tokens=", /--tokens/],
  ["--tenant-namespace=a/b", /Cannot read namespace "a\/b"/],
  ["--tenant-namespace=wal-mirror", /Cannot read namespace "wal-mirror".*mirror/],
  ["--tenant-namespace=m --wal-mirror-prefix=m/", /Cannot read namespace "m".*mirror/],
  ["--allowed-tenants=wal-mirror", /cannot allow tenant "wal-mirror".*mirror/],
  ["--wal-mirror-prefix=../x", /--wal-mirror-prefix/],
  ["--cors-origins=*", /origin "\*" of --cors-origins/],
  ["--allowed-hosts=http://x", /"http:\/\/x" of --allowed-hosts/],
  ["--tenant-namespace=default", /Cannot read namespace "default".*svc/],
];

for (const [flags, message] of NOT_STARTED) {
  Deno.test({
    name: `query server does not start with ${flags}`,
    fn: async () => {
      const starting = (async () => await startTestServer({}, flags.split(" ")))();
      await assert.rejects(starting, { message });
    },
  });
}

Deno.test({
  name: "query server warns of tenants that nobody is checked against",
  fn: async () => {
    const lines: string[] = [];
    await configureLogging({ level: "warning", writeLine: (line) => lines.push(line) });
    try {
      await using _ = await startTestServer({}, ["--tokens=t", "--allowed-tenants=acme"]);
    } finally {
      await resetLogging();
    }
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /--allowed-tenants restricts nobody.*reads svc/);
  },
});
