import assert from "node:assert/strict";
import { DEFAULT_NAMESPACE } from "../tenant/tenant.ts";
import { allowedTenantsOf, tenantOfClaim } from "./tenant_claim.ts";

const GOOD = ["a", "default", "ACME-1_x", "0", "-", "_", "SVC", "x".repeat(128)];

for (const tenant of GOOD) {
  Deno.test({
    name: `tenantOfClaim takes ${tenant.slice(0, 20)}`,
    fn: () => assert.deepEqual(tenantOfClaim({ org: tenant }, "org"), { tenant }),
  });
}

const BAD: unknown[] = [
  "",
  " ",
  " acme",
  "acme\n",
  "a.b",
  "..",
  "a/b",
  "a\\b",
  "a\0",
  "%2e%2e",
  "münchen",
  "x".repeat(129),
  DEFAULT_NAMESPACE,
  "LOCK",
  "drain_bell",
  "_active",
  "wal-mirror",
  1,
  null,
  true,
  ["acme"],
  { name: "acme" },
];

for (const value of BAD) {
  Deno.test({
    name: `tenantOfClaim refuses ${JSON.stringify(value).slice(0, 30)}`,
    fn: () => {
      const found = tenantOfClaim({ org: value }, "org");
      assert.ok("refused" in found);
      assert.equal(found.refused, "claim_invalid");
      const why =
        /^the token has no tenant's name in claim org, which is .+: have the issuer set it$/;
      assert.match(found.why, why);
    },
  });
}

for (const name of ["org", "toString", "__proto__"]) {
  Deno.test({
    name: `tenantOfClaim finds no claim ${name} where there is none`,
    fn: () =>
      assert.deepEqual(tenantOfClaim({ other: "x" }, name), {
        refused: "claim_missing",
        why: `the token does not have claim ${name}: have the issuer set it`,
      }),
  });
}

Deno.test({
  name: "tenantOfClaim refuses the folder of the WAL's mirror, wherever that is",
  fn() {
    const rules = { mirrorFolder: "copies" };
    assert.ok("refused" in tenantOfClaim({ org: "copies" }, "org", rules));
    assert.ok("refused" in tenantOfClaim({ org: "wal-mirror" }, "org", rules));
    assert.deepEqual(tenantOfClaim({ org: "acme" }, "org", rules), { tenant: "acme" });
  },
});

Deno.test({
  name: "allowedTenantsOf refuses a name that nobody can be called, and keeps the others",
  fn() {
    assert.deepEqual(allowedTenantsOf(["a", "default", "a"]), new Set(["a", "default"]));
    for (const name of ["a/b", DEFAULT_NAMESPACE, "wal-mirror", "copies"]) {
      assert.throws(() => allowedTenantsOf(["a", name], { mirrorFolder: "copies" }), {
        code: "invalid_argument",
        message: new RegExp(`cannot allow tenant "${name}" of --allowed-tenants`),
      });
    }
  },
});
