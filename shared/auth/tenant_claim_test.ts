import assert from "node:assert/strict";
import { DEFAULT_NAMESPACE } from "../event/tenant.ts";
import { tenantOfClaim } from "./tenant_claim.ts";

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
  1,
  null,
  true,
  ["acme"],
  { name: "acme" },
];

for (const value of BAD) {
  Deno.test({
    name: `tenantOfClaim refuses ${JSON.stringify(value).slice(0, 30)}`,
    fn: () => assert.deepEqual(tenantOfClaim({ org: value }, "org"), { refused: "claim_invalid" }),
  });
}

for (const name of ["org", "toString", "__proto__"]) {
  Deno.test({
    name: `tenantOfClaim finds no claim ${name} where there is none`,
    fn: () => assert.deepEqual(tenantOfClaim({ other: "x" }, name), { refused: "claim_missing" }),
  });
}
