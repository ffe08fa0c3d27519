/**
 * Trace routes let in whom SQL lets in, for the tenant that SQL reads, and refuse with its
 * statuses: over real sockets.
 */

import assert from "node:assert/strict";
import { AUDIENCE, FakeIssuer } from "../../shared/testing/fake_issuer.ts";
import { V1_ERROR, V3_ERROR } from "../../tests/tracing/jaeger_schemas.ts";
import { startTestServer } from "../../tests/doubles/query_server.ts";

const ROUTES = [
  { path: "/services", failure: V1_ERROR },
  { path: "/traces/1", failure: V1_ERROR },
  { path: "/v3/services", failure: V3_ERROR },
  { path: "/v3/traces/1", failure: V3_ERROR },
];

Deno.test({
  name: "trace routes and SQL answer each caller alike: same tenant, same refusals, same headers",
  async fn() {
    await using issuer = await FakeIssuer.start();
    const flags = ["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE];
    await using server = await startTestServer({}, [
      ...flags,
      ...["--oidc-tenant-claim=org", "--allowed-tenants=acme,default"],
    ]);
    const bearer = async (claims: Record<string, unknown>) => ({
      authorization: `Bearer ${await issuer.token(claims)}`,
      "x-scope-orgid": "other",
    });
    const callers: readonly (readonly [Record<string, string>, number])[] = [
      [await bearer({ org: "acme" }), 200],
      [await bearer({ org: "default" }), 200],
      [await bearer({ org: "beta" }), 403],
      [await bearer({ org: "no blanks" }), 403],
      [await bearer({}), 403],
      [await bearer({ org: "acme", aud: "elsewhere" }), 401],
      [{}, 401],
      [{ authorization: "Basic acme" }, 401],
    ];
    const { requests } = server.engine;
    for (const [headers, status] of callers) {
      const seen = requests.length;
      const sql = await server.post("/api/v1/sql", { query: "SELECT 1" }, { headers });
      const { error } = await sql.json();
      assert.equal(sql.status, status);
      for (const { path, failure } of ROUTES) {
        const url = `${server.url}/api/v1/tracing/traces/api${path}`;
        const response = await fetch(url, { headers });
        const text = await response.text();
        const told = response.headers.get("www-authenticate");
        assert.equal(told, sql.headers.get("www-authenticate"), path);
        // The engine of this server knows no trace.
        const expected = status === 200 && path.includes("/traces/") ? [200, 404] : [status];
        assert.ok(expected.includes(response.status), `${path} ${response.status} ${text}`);
        if (status === 200) continue;
        const body = failure.parse(JSON.parse(text));
        const message = "error" in body ? body.error.message : body.errors?.[0]?.msg;
        assert.equal(message, error, "told in the same words");
      }
      const asked = requests.slice(seen).map(({ namespace, tenant }) => `${namespace} ${tenant}`);
      assert.equal(asked.length > 0, status === 200);
      assert.equal(new Set(asked).size, status === 200 ? 1 : 0, "one tenant's tables, and its WAL");
    }
  },
});
