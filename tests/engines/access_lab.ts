/**
 * A stack of two tenants behind OpenID Connect, and the identity provider that engines ask for
 * tokens: who may read what through the REST catalog.
 */

import assert from "node:assert/strict";
import { AUDIENCE, FakeIssuer } from "../../shared/testing/fake_issuer.ts";
import { type EngineStack, record, START_NS, startEngineStack, until } from "./lab.ts";

export const TENANTS = ["acme", "zebra"] as const;
export type Tenant = typeof TENANTS[number];

/** What a client of the identity provider is called, and its secret. */
const CLIENT = { id: "engine", secret: "s3cret" };

export interface AccessStack extends EngineStack {
  /** A JSON Web Token of a tenant, for an hour. */
  token(tenant: Tenant): Promise<string>;
  /** For engines that fetch tokens themselves: a client of tenant acme. */
  readonly credential: string;
  readonly tokenUrl: string;
  /** Tokens that the provider gave to clients so far. */
  readonly given: () => number;
}

/** The texts of a tenant's rows, in their order. */
export function textsOf(tenant: Tenant): readonly string[] {
  return [`${tenant} 0`, `${tenant} 1`];
}

export async function startAccessStack(): Promise<AccessStack> {
  await using starting = new AsyncDisposableStack();
  const issuer = starting.use(await FakeIssuer.start());
  let given = 0;
  const token = (tenant: Tenant) => issuer.token({ org: tenant });
  const provider = starting.use(Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      if (!isClient(request.headers, new URLSearchParams(await request.text()))) {
        return Response.json({ error: "invalid_client" }, { status: 401 });
      }
      given += 1;
      const access_token = await token("acme");
      return Response.json({ access_token, token_type: "bearer", expires_in: 3_600 });
    },
  ));
  const { stack, address } = starting.use(
    await startEngineStack({
      SVC_OIDC_ISSUER: issuer.url,
      SVC_OIDC_AUDIENCE: AUDIENCE,
      SVC_OIDC_TENANT_CLAIM: "org",
    }),
  );
  for (const tenant of TENANTS) {
    const authorization = `Bearer ${await token(tenant)}`;
    for (const [at, text] of textsOf(tenant).entries()) {
      const response = await fetch(`${stack.ingestUrl}/v1/logs?commit=force`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization },
        body: record(START_NS + BigInt(at), text),
      });
      assert.equal(response.status, 200, await response.text());
    }
    await until(async () => {
      const url = `${stack.queryUrl}/api/v1/tables/events`;
      const answer = await fetch(url, { headers: { authorization } });
      return (await answer.json()).rows === textsOf(tenant).length;
    }, `rows of ${tenant} are committed`);
  }
  const all = starting.move();
  return {
    ...{ stack, address, token, credential: `${CLIENT.id}:${CLIENT.secret}` },
    tokenUrl: `http://127.0.0.1:${provider.addr.port}/token`,
    given: () => given,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Clients send their names as HTTP's own way, or in the form. */
function isClient(headers: Headers, form: URLSearchParams): boolean {
  if (form.get("grant_type") !== "client_credentials") return false;
  const basic = `Basic ${btoa(`${CLIENT.id}:${CLIENT.secret}`)}`;
  return headers.get("authorization") === basic ||
    form.get("client_id") === CLIENT.id && form.get("client_secret") === CLIENT.secret;
}
