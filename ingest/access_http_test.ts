/**
 * Who may write and how fast, asked of a whole server over HTTP: every refusal, and that it leaves
 * no trace.
 */

import assert from "node:assert/strict";
import { configureLogging, resetLogging } from "../shared/logging/logging.ts";
import { AUDIENCE, BAD_MOODS, FakeIssuer, makeKey } from "../shared/testing/fake_issuer.ts";
import { selfSigned } from "../shared/testing/self_signed.ts";
import { RunningIngest } from "../tests/clients/running_ingest.ts";
import { TENANT_REFUSALS } from "./tenant_resolution.ts";

const BODY = JSON.stringify({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "row" } }] }] }],
});

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly authenticate: string | null;
  readonly text: string;
}

async function send(
  ingest: RunningIngest,
  headers: Record<string, string> = {},
  body: BodyInit = BODY,
): Promise<Answer> {
  const response = await ingest.post(body, {
    headers: { "content-type": "application/json", ...headers },
  });
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    authenticate: response.headers.get("www-authenticate"),
    text: await response.text(),
  };
}

async function lanes(ingest: RunningIngest): Promise<string[]> {
  const rows = await ingest.rows();
  const folders = [...Deno.readDirSync(`${ingest.dataDir}/wal`)]
    .filter((entry) => entry.isDirectory).map((entry) => entry.name);
  return [...new Set([...rows.map((row) => row.lane.replace("/events", "")), ...folders])].sort();
}

interface RefusalCase {
  readonly args: string;
  /** Written first, and taken. */
  readonly first?: { header?: string; claims?: Record<string, unknown> };
  readonly header?: string;
  readonly claims?: Record<string, unknown>;
  readonly reason: typeof TENANT_REFUSALS[number];
}

const TRUST = "--trust-scope-header";
const CLAIM = "--oidc-tenant-claim=org";

const REFUSALS: RefusalCase[] = [
  { args: "", header: "acme", reason: "header_not_trusted" },
  { args: CLAIM, claims: {}, reason: "claim_missing" },
  { args: CLAIM, claims: { org: "../up" }, reason: "claim_invalid" },
  { args: CLAIM, claims: { org: "svc" }, reason: "claim_invalid" },
  { args: CLAIM, claims: { org: "acme" }, header: "other", reason: "header_mismatch" },
  { args: `${TRUST} --allowed-tenants=acme`, header: "other", reason: "not_allowed" },
  { args: `${CLAIM} --allowed-tenants=a`, claims: { org: "b" }, reason: "not_allowed" },
  {
    args: `${TRUST} --max-tenants=1`,
    first: { header: "first" },
    header: "second",
    reason: "at_capacity",
  },
  {
    args: `${CLAIM} --max-tenants=1`,
    first: { claims: { org: "first" } },
    claims: { org: "second" },
    reason: "at_capacity",
  },
];

for (const { args, first, header, claims, reason } of REFUSALS) {
  Deno.test({
    name: `ingest ${args} refuses ${JSON.stringify({ header, claims })} as ${reason}, traceless`,
    fn: async () => {
      await using issuer = await FakeIssuer.start();
      const oidc = args.includes(CLAIM)
        ? ["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE]
        : [];
      await using ingest = await RunningIngest.start([
        ...args.split(" ").filter((word) => word !== ""),
        ...oidc,
      ]);
      const headersOf = async (of: Pick<RefusalCase, "header" | "claims">) => ({
        ...(of.header === undefined ? {} : { "x-scope-orgid": of.header }),
        ...(of.claims === undefined
          ? {}
          : { authorization: `Bearer ${await issuer.token(of.claims)}` }),
      });
      const series = (name: string) => `svc_ingest_tenant_denied_total{reason="${name}"}`;
      for (const name of TENANT_REFUSALS) assert.equal(await ingest.metric(series(name)), 0);
      if (first !== undefined) {
        assert.equal((await send(ingest, await headersOf(first))).status, 200);
      }
      const before = await lanes(ingest);

      const refused = await send(
        ingest,
        await headersOf({
          ...(header === undefined ? {} : { header }),
          ...(claims === undefined ? {} : { claims }),
        }),
      );
      assert.equal(refused.status, 403);
      assert.equal(JSON.parse(refused.text).code, 7, "PERMISSION_DENIED");
      for (const name of TENANT_REFUSALS) {
        assert.equal(await ingest.metric(series(name)), name === reason ? 1 : 0, name);
      }
      assert.deepEqual(await lanes(ingest), before);
      if (first !== undefined) {
        assert.equal((await send(ingest, await headersOf(first))).status, 200);
      }
    },
  });
}

Deno.test({
  name: "ingest writes for the tenant of the trusted header or of the claim",
  fn: async () => {
    await using issuer = await FakeIssuer.start();
    await using trusting = await RunningIngest.start([TRUST]);
    for (const tenant of ["acme", "Beta_2"]) {
      assert.equal((await send(trusting, { "x-scope-orgid": tenant })).status, 200);
    }
    assert.equal((await send(trusting)).status, 200);
    assert.equal((await send(trusting, { "x-scope-orgid": "svc" })).status, 400);
    assert.deepEqual(await lanes(trusting), ["Beta_2", "acme", "default"]);

    const oidc = ["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE, CLAIM];
    await using claiming = await RunningIngest.start(oidc);
    const authorization = `Bearer ${await issuer.token({ org: "acme" })}`;
    assert.equal((await send(claiming, { authorization })).status, 200);
    assert.equal((await send(claiming, { authorization, "x-scope-orgid": "acme" })).status, 200);
    assert.deepEqual(await lanes(claiming), ["acme"]);
  },
});

Deno.test({
  name: "ingest does not let malformed rows of many tenants use up --max-tenants",
  fn: async () => {
    await using ingest = await RunningIngest.start([TRUST, "--max-tenants=1"]);
    for (const tenant of ["a", "b", "c"]) {
      assert.equal((await send(ingest, { "x-scope-orgid": tenant }, "{")).status, 400);
    }
    assert.equal((await send(ingest, { "x-scope-orgid": "d" })).status, 200);
    assert.equal((await send(ingest, { "x-scope-orgid": "a" })).status, 403);
    assert.deepEqual(await lanes(ingest), ["d"]);
  },
});

const TOKENS: [authorization: string | undefined, status: number][] = [
  ["Bearer first-secret", 200],
  ["bearer second-secret", 200],
  [undefined, 401],
  ["Bearer", 401],
  ["Bearer first", 401],
  ["Bearer first-secret,second-secret", 401],
  ["Basic first-secret", 401],
  ["first-secret", 401],
];

Deno.test({
  name: "ingest with tokens takes those alone, names the scheme, logs none, and lets probes in",
  fn: async () => {
    const lines: string[] = [];
    await configureLogging({ level: "debug", writeLine: (line) => lines.push(line) });
    try {
      await using ingest = await RunningIngest.start(["--auth-tokens=first-secret,second-secret"]);
      for (const [authorization, status] of TOKENS) {
        const answer = await send(ingest, authorization === undefined ? {} : { authorization });
        assert.equal(answer.status, status, authorization);
        assert.equal(answer.authenticate, status === 401 ? "Bearer" : null);
        assert.equal(answer.text.includes("secret"), false);
      }
      assert.equal((await ingest.rows()).length, 2);
      for (const path of ["/healthz", "/readyz"]) {
        const probe = await fetch(`${ingest.url}${path}`);
        await probe.body?.cancel();
        assert.equal(probe.status, 200, path);
      }
      const series = 'svc_ingest_requests_total{endpoint="logs",status="401"}';
      assert.equal(await ingest.metric(series), 6);
    } finally {
      await resetLogging();
    }
    assert.ok(lines.length > 0);
    assert.equal(lines.join("\n").includes("secret"), false);
  },
});

Deno.test({
  name: "ingest with OIDC lets in nobody that it should not, whatever the issuer does",
  fn: async () => {
    await using issuer = await FakeIssuer.start();
    const oidc = ["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE];
    await using ingest = await RunningIngest.start([...oidc, "--auth-tokens=static"]);
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    assert.equal((await send(ingest, bearer(await issuer.token()))).status, 200);
    assert.equal((await send(ingest, bearer("static"))).status, 401, "OIDC wins");
    const foreign = await makeKey("key-1");
    for (const mood of BAD_MOODS.filter((mood) => mood !== "silent" && mood !== "trickling")) {
      issuer.mood = mood;
      assert.equal((await send(ingest, bearer(await issuer.token()))).status, 200, mood);
      const forged = await issuer.token({}, { privateKey: foreign.privateKey });
      assert.equal((await send(ingest, bearer(forged))).status, 401, mood);
    }
    await issuer.leave();
    assert.equal((await send(ingest, bearer(await issuer.token({ sub: "late" })))).status, 200);
  },
});

Deno.test({
  name: "ingest answers 503 with Retry-After before it has seen a key of the issuer",
  fn: async () => {
    await using issuer = await FakeIssuer.start();
    issuer.mood = "failing";
    const oidc = ["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE];
    await using ingest = await RunningIngest.start(oidc);
    const answer = await send(ingest, { authorization: `Bearer ${await issuer.token()}` });
    assert.deepEqual([answer.status, answer.retryAfter], [503, "2"]);
    assert.deepEqual(await lanes(ingest), []);
  },
});

Deno.test({
  name: "ingest limits each token by itself, drains what it refuses, and names a wait of 1 to 5 s",
  fn: async () => {
    await using ingest = await RunningIngest.start([
      "--auth-tokens=a,b",
      "--ingest-rate-per-sec=1",
      "--ingest-rate-burst=2",
    ]);
    const large = new Uint8Array(4 * 1024 * 1024);
    const series = "svc_ingest_rate_limit_rejected_total";
    assert.equal(await ingest.metric(series), 0);
    const begunMs = performance.now();
    const answers = [];
    for (let at = 0; at < 12; at++) {
      answers.push(await send(ingest, { authorization: "Bearer a" }, at < 2 ? BODY : large));
    }
    const refused = answers.filter((answer) => answer.status === 429);
    // Two at once, and one for each second that the loop may have taken.
    const most = 2 + Math.ceil((performance.now() - begunMs) / 1_000);
    assert.ok(refused.length >= 12 - most, `${refused.length} refused`);
    assert.ok(refused.every((answer) => answer.retryAfter === "1"));
    assert.equal(JSON.parse(refused[0]?.text ?? "{}").code, 14, "UNAVAILABLE: send again");
    assert.equal(await ingest.metric(series), refused.length);
    assert.equal((await send(ingest, { authorization: "Bearer b" })).status, 200);
    assert.equal((await send(ingest, { authorization: "Bearer c" })).status, 401);
  },
});

Deno.test({
  name: "ingest in open mode limits each address that its proxy names",
  fn: async () => {
    await using ingest = await RunningIngest.start([
      "--ingest-rate-per-sec=1",
      "--ingest-rate-burst=1",
    ]);
    const from = (address: string) => send(ingest, { "x-forwarded-for": address });
    const statuses = await Promise.all(["192.0.2.1", "192.0.2.2", "192.0.2.1"].map(from));
    assert.deepEqual(statuses.map(({ status }) => status).sort(), [200, 200, 429]);
    assert.equal((await send(ingest)).status, 200, "the connection's own address");
    assert.equal((await from("nonsense")).status, 429, "the connection's own address, again");
  },
});

Deno.test({
  name: "ingest with --tls-cert and --tls-key serves HTTPS",
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "svc-tls-" });
    try {
      const { cert, key } = await selfSigned();
      await Deno.writeTextFile(`${folder}/cert`, cert);
      await Deno.writeTextFile(`${folder}/key`, key);
      const args = [`--tls-cert=${folder}/cert`, `--tls-key=${folder}/key`];
      await using ingest = await RunningIngest.start(args);
      using client = Deno.createHttpClient({ caCerts: [cert] });
      const response = await fetch(`${ingest.url.replace("http:", "https:")}/v1/logs`, {
        client,
        method: "POST",
        headers: { "content-type": "application/json" },
        body: BODY,
      });
      assert.equal(response.status, 200);
      await response.body?.cancel();
      assert.equal((await ingest.rows()).length, 1);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

const NOT_STARTED: [args: string, message: RegExp][] = [
  ["--oidc-tenant-claim=org", /with --oidc-tenant-claim alone/],
  ["--oidc-issuer=https://i.example", /with --oidc-issuer alone/],
  ["--tls-cert=/c", /with --tls-cert alone/],
  ["--tls-key=/k", /with --tls-key alone/],
  ["--trust-scope-header --allowed-tenants=a/b", /cannot allow tenant "a\/b"/],
  [
    "--ingest-rate-per-sec=1 --ingest-rate-redis-url=http://u:secret@h",
    /^(?!.*secret).*cannot use --ingest-rate-redis-url/,
  ],
];

for (const [args, message] of NOT_STARTED) {
  Deno.test({
    name: `ingest does not start with ${args}`,
    fn: () =>
      assert.rejects(RunningIngest.start(args.split(" ")), { code: "invalid_argument", message }),
  });
}
