import assert from "node:assert/strict";
import { parseOptions } from "../shared/config/parse_options.ts";
import { SystemClock } from "../shared/os/clock.ts";
import { AUDIENCE, FakeIssuer } from "../shared/testing/fake_issuer.ts";
import { openAccess } from "./access_gate.ts";
import { OPTIONS } from "./flags.ts";
import { createQueryMetrics } from "./metrics/metrics.ts";
import type { QueryCaller } from "./query_caller.ts";

async function admitted(flags: readonly string[], token: string): Promise<QueryCaller> {
  await using access = openAccess(parseOptions(OPTIONS, flags), {
    clock: new SystemClock(),
    metrics: createQueryMetrics({ version: "1", role: "query" }),
  });
  const headers = new Headers({ authorization: `Bearer ${token}` });
  return await access.admit({ headers }, () => "127.0.0.1");
}

const PEOPLE: [claims: Record<string, unknown>, who: Partial<QueryCaller>][] = [
  [{ sub: "ann", email: "ann@example.com" }, { subject: "ann", email: "ann@example.com" }],
  [{ sub: "bot" }, { subject: "bot" }],
  [{ sub: "odd", email: ["a@example.com"] }, { subject: "odd" }],
];

for (const [claims, who] of PEOPLE) {
  Deno.test({
    name: `AccessGate.admit tells who a token with ${JSON.stringify(claims)} speaks for`,
    fn: async () => {
      await using issuer = await FakeIssuer.start();
      const oidc = ["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE];
      const expiresSecs = Math.floor(Date.now() / 1_000) + 600;
      const token = await issuer.token({ ...claims, exp: expiresSecs });
      assert.deepEqual(await admitted(oidc, token), {
        namespace: "svc",
        tenant: "default",
        ...who,
        expiresMs: 1_000 * expiresSecs,
      });
    },
  });
}

for (const flags of [[], ["--tokens=t"]]) {
  Deno.test({
    name: `AccessGate.admit knows nobody's name with ${flags.join(" ") || "open doors"}`,
    fn: async () =>
      assert.deepEqual(await admitted(flags, "t"), { namespace: "svc", tenant: "default" }),
  });
}

Deno.test({
  name: "AccessGate.admit knows a tenant whom a claim named for one of many",
  fn: async () => {
    await using issuer = await FakeIssuer.start();
    const oidc = ["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE];
    const expiresSecs = Math.floor(Date.now() / 1_000) + 600;
    const token = await issuer.token({ sub: "ann", org: "acme", exp: expiresSecs });
    assert.deepEqual(await admitted([...oidc, "--oidc-tenant-claim", "org"], token), {
      namespace: "acme",
      tenant: "acme",
      isOneOfMany: true,
      subject: "ann",
      expiresMs: 1_000 * expiresSecs,
    });
  },
});
