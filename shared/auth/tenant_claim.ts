/**
 * What a tenant may be called, and the tenant that verified claims name: SPEC.md section 5, rule 3.
 * Names become folders, namespaces and labels: they are validated, never repaired.
 */

import { UsageError } from "../base/errors.ts";

export const TENANT_CHARS_MAX = 128;

/** What else stands where a tenant's folder or namespace would, and what it is. */
const TAKEN_NAMES: ReadonlyMap<string, string> = new Map([
  ["svc", "the namespace of the default tenant"],
  ["LOCK", "a file of the WAL"],
  ["drain_bell", "a file of the WAL"],
  ["_active", "a folder of the WAL's mirror"],
]);

/** Why nobody may be called `name`, to follow "is"; undefined for a good name. */
export function tenantNameFault(name: string): string | undefined {
  const taken = TAKEN_NAMES.get(name);
  if (taken !== undefined) return taken;
  if (name.length <= TENANT_CHARS_MAX && /^[A-Za-z0-9_-]+$/.test(name)) return undefined;
  return `not 1 to ${TENANT_CHARS_MAX} characters of A-Z a-z 0-9 _ -`;
}

/** The names of `--allowed-tenants`. Errors: `invalid_argument` for one that nobody can be called. */
export function allowedTenantsOf(names: readonly string[]): ReadonlySet<string> {
  for (const name of names) {
    const fault = tenantNameFault(name);
    if (fault === undefined) continue;
    throw new UsageError(
      `cannot allow tenant ${JSON.stringify(name)} of --allowed-tenants: it is ${fault}`,
    );
  }
  return new Set(names);
}

export type ClaimRefusal = "claim_missing" | "claim_invalid";

export type TenantClaim =
  | { readonly tenant: string }
  /** `why` names the claim, never its value. */
  | { readonly refused: ClaimRefusal; readonly why: string };

/**
 * The tenant in claim `name` of verified claims. A claim that is null counts as invalid, not as
 * missing.
 */
export function tenantOfClaim(
  claims: Readonly<Record<string, unknown>>,
  name: string,
): TenantClaim {
  if (!Object.hasOwn(claims, name)) return refused("claim_missing", "does not have", name);
  const value = claims[name];
  if (typeof value !== "string" || tenantNameFault(value) !== undefined) {
    return refused("claim_invalid", "has no tenant's name in", name);
  }
  return { tenant: value };
}

function refused(refused: ClaimRefusal, fault: string, name: string): TenantClaim {
  return { refused, why: `the token ${fault} claim ${name}: have the issuer set it` };
}
