import assert from "node:assert/strict";
import { parseOptions } from "../shared/config/parse_options.ts";
import { ACCESS_OPTIONS } from "./access_flags.ts";
import { createIngestMetrics } from "./metrics.ts";
import { tenantSettingsOf } from "./tenant_gate.ts";
import { resolveTenant, TENANT_REFUSALS } from "./tenant_resolution.ts";
import { openGate } from "../tests/doubles/tenant_gate.ts";

interface Case {
  readonly args?: string;
  readonly header?: string;
  readonly claims?: Record<string, unknown>;
  readonly admitted?: string[];
  /** A tenant's name, or why there is none. */
  readonly is: string;
}

const TRUST = "--trust-scope-header";
const CLAIM = "--oidc-tenant-claim=org";
const LONG = "x".repeat(129);

const CASES: Case[] = [
  { is: "default" },
  { header: "default", is: "default" },
  { header: "acme", is: "header_not_trusted" },
  { header: "Default", is: "header_not_trusted" },
  { header: "", is: "header_not_trusted" },
  { header: "default, acme", is: "header_not_trusted" },
  { header: "svc", is: "header_not_trusted" },
  { claims: { org: "acme" }, is: "default" },
  { args: TRUST, is: "default" },
  { args: TRUST, header: "default", is: "default" },
  { args: TRUST, header: "acme", is: "acme" },
  { args: TRUST, header: "Acme_1-x", is: "Acme_1-x" },
  { args: TRUST, header: "", is: "malformed" },
  { args: TRUST, header: "..", is: "malformed" },
  { args: TRUST, header: "a/b", is: "malformed" },
  { args: TRUST, header: "a%2fb", is: "malformed" },
  { args: TRUST, header: "acme, acme", is: "malformed" },
  { args: TRUST, header: LONG, is: "malformed" },
  { args: TRUST, header: "svc", is: "malformed" },
  { args: CLAIM, claims: { org: "acme" }, is: "acme" },
  { args: CLAIM, claims: { org: "default" }, is: "default" },
  { args: CLAIM, claims: { org: "acme" }, header: "acme", is: "acme" },
  { args: CLAIM, claims: { org: "acme" }, header: "default", is: "header_mismatch" },
  { args: CLAIM, claims: { org: "acme" }, header: "ACME", is: "header_mismatch" },
  { args: CLAIM, claims: { org: "acme" }, header: "", is: "header_mismatch" },
  { args: CLAIM, claims: {}, is: "claim_missing" },
  { args: CLAIM, claims: {}, header: "acme", is: "claim_missing" },
  { args: CLAIM, is: "claim_missing" },
  { args: CLAIM, claims: { org: "" }, is: "claim_invalid" },
  { args: CLAIM, claims: { org: " " }, is: "claim_invalid" },
  { args: CLAIM, claims: { org: ["acme"] }, is: "claim_invalid" },
  { args: CLAIM, claims: { org: 7 }, is: "claim_invalid" },
  { args: CLAIM, claims: { org: null }, is: "claim_invalid" },
  { args: CLAIM, claims: { org: "a.b" }, is: "claim_invalid" },
  { args: CLAIM, claims: { org: LONG }, is: "claim_invalid" },
  { args: CLAIM, claims: { org: "svc" }, is: "claim_invalid" },
  { args: `${CLAIM} ${TRUST}`, claims: { org: "acme" }, header: "b", is: "header_mismatch" },
  { args: `${CLAIM} ${TRUST}`, claims: {}, header: "b", is: "claim_missing" },
  { args: "--allowed-tenants=acme", is: "not_allowed" },
  { args: `${TRUST} --allowed-tenants=`, header: "b", is: "b" },
  { args: `${TRUST} --allowed-tenants=acme,b`, header: "b", is: "b" },
  { args: `${TRUST} --allowed-tenants=acme`, header: "Acme", is: "not_allowed" },
  { args: `${TRUST} --allowed-tenants=acme`, header: "b", is: "not_allowed" },
  { args: `${CLAIM} --allowed-tenants=acme`, claims: { org: "b" }, is: "not_allowed" },
  { args: `${TRUST} --max-tenants=1`, header: "b", is: "b" },
  { args: `${TRUST} --max-tenants=1`, header: "b", admitted: ["a"], is: "at_capacity" },
  { args: `${TRUST} --max-tenants=1`, header: "a", admitted: ["a"], is: "a" },
  { args: `${TRUST} --max-tenants=2`, header: "b", admitted: ["a"], is: "b" },
  { args: `${TRUST} --max-tenants=1`, admitted: ["a"], is: "at_capacity" },
  { args: `${CLAIM} --max-tenants=1`, claims: { org: "b" }, admitted: ["a"], is: "at_capacity" },
  {
    args: `${TRUST} --max-tenants=1 --allowed-tenants=a`,
    header: "b",
    admitted: ["a"],
    is: "not_allowed",
  },
];

for (const { args = "", header, claims, admitted = [], is } of CASES) {
  const given = JSON.stringify({ args, header, claims, admitted });
  Deno.test({
    name: `resolveTenant ${given.slice(0, 120)} is ${is}`,
    fn: () => {
      const options = parseOptions(ACCESS_OPTIONS, args.split(" ").filter((word) => word !== ""));
      const decision = resolveTenant({
        header: header ?? null,
        claims,
        settings: tenantSettingsOf(options),
        admitted: new Set(admitted),
      });
      const outcome = decision.kind === "tenant"
        ? decision.tenant
        : decision.kind === "denied"
        ? decision.reason
        : decision.kind;
      assert.equal(outcome, is);
    },
  });
}

Deno.test({
  name: "resolveTenant has a case for every reason",
  fn: () => {
    for (const reason of TENANT_REFUSALS) assert.ok(CASES.some(({ is }) => is === reason), reason);
  },
});

Deno.test({
  name: "tenantSettingsOf refuses allowed tenants that nobody can be called",
  fn: () => {
    for (const name of ["a.b", "svc", LONG]) {
      const options = parseOptions(ACCESS_OPTIONS, [`--allowed-tenants=ok,${name}`]);
      assert.throws(() => tenantSettingsOf(options), { code: "invalid_argument" });
    }
    assert.throws(() => parseOptions(ACCESS_OPTIONS, ["--auth-tokens", " , "]), /at least one/);
  },
});

Deno.test({
  name: "TenantGate takes nobody in at resolving, and the last place goes to one of two",
  fn: () => {
    const metrics = createIngestMetrics({ version: "1", role: "ingest" });
    const gate = openGate(metrics, ["--trust-scope-header", "--max-tenants=2"]);
    const named = ["a", "b", "c", "d"];
    for (const header of named) assert.equal(gate.resolve({ header, claims: undefined }), header);
    gate.admit("a");
    gate.admit("b");
    gate.admit("a");
    assert.throws(() => gate.admit("c"), { code: "permission_denied", reason: "at_capacity" });
    assert.throws(() => gate.resolve({ header: "d", claims: undefined }), {
      reason: "at_capacity",
    });
    assert.equal(gate.resolve({ header: "b", claims: undefined }), "b");
    assert.equal(metrics.tenantDenied.at({ reason: "at_capacity" }).value, 2);
  },
});

Deno.test({
  name:
    "resolveTenant takes nobody whose tables would lie in the mirror's folder, and the default tenant always",
  fn: () => {
    const cases: [prefix: string, args: string, named: string | undefined, is: string][] = [
      ["wal-mirror", TRUST, "wal-mirror", "malformed"],
      ["wal-mirror", TRUST, "acme", "tenant"],
      ["acme/wal", TRUST, "acme", "malformed"],
      ["", TRUST, "wal-mirror", "malformed"],
      ["default", TRUST, undefined, "tenant"],
      ["default", CLAIM, "default", "tenant"],
      ["acme", CLAIM, "acme", "claim_invalid"],
      ["other", CLAIM, "acme", "tenant"],
    ];
    for (const [prefix, args, named, is] of cases) {
      const decision = resolveTenant({
        header: args === TRUST ? named ?? null : null,
        claims: { org: named },
        settings: tenantSettingsOf(parseOptions(ACCESS_OPTIONS, args.split(" ")), prefix),
        admitted: new Set(),
      });
      const outcome = decision.kind === "denied" ? decision.reason : decision.kind;
      assert.equal(outcome, is, `${named} beside ${prefix}`);
      if (decision.kind !== "tenant") assert.match(decision.why, /--wal-mirror-prefix/);
    }
    const listed = parseOptions(ACCESS_OPTIONS, ["--allowed-tenants=acme"]);
    assert.throws(() => tenantSettingsOf(listed, "acme/wal"), {
      message: /tenant "acme" of --allowed-tenants: .*--wal-mirror-prefix/,
    });
  },
});
