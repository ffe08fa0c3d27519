/**
 * What a tenant may be called, and the tenant that verified claims name:
 * docs/api/README.md#tenants-on-ingest, rule 3. Names become folders, namespaces and labels: they
 * are validated, never repaired.
 */

import { UsageError } from "../base/errors.ts";

const TENANT_CHARS_MAX = 128;

/** What else stands where a tenant's folder or namespace would, and what it is. */
const TAKEN_NAMES: ReadonlyMap<string, string> = new Map([
  ["svc", "the namespace of the default tenant"],
  ["LOCK", "a file of the WAL"],
  ["drain_bell", "a file of the WAL"],
  ["_active", "a folder of the WAL's mirror"],
  // Also where there is no mirror yet: the tenant's tables would be in it on the day that there is
  // one.
  ["wal-mirror", "the folder of the WAL's mirror (--wal-mirror-prefix)"],
]);

export interface TenantNames {
  /**
   * Where `--wal-mirror-prefix` has the WAL's mirror lie among the tenants' namespaces in the
   * warehouse.
   */
  readonly mirrorFolder?: string | undefined;
}

/**
 * Why nobody may be called `name`, to follow "is"; undefined for a good name. Writers and readers
 * share this one rule.
 */
export function tenantNameFault(
  name: string,
  { mirrorFolder }: TenantNames = {},
): string | undefined {
  const taken = TAKEN_NAMES.get(name === mirrorFolder ? "wal-mirror" : name);
  if (taken !== undefined) return taken;
  if (name.length <= TENANT_CHARS_MAX && /^[A-Za-z0-9_-]+$/.test(name)) return undefined;
  return `not 1 to ${TENANT_CHARS_MAX} characters of A-Z a-z 0-9 _ -`;
}

/**
 * The names of `--allowed-tenants`. Errors: `invalid_argument` for one that nobody can be called.
 */
export function allowedTenantsOf(
  names: readonly string[],
  rules: TenantNames = {},
): ReadonlySet<string> {
  for (const name of names) {
    const fault = tenantNameFault(name, rules);
    if (fault === undefined) continue;
    throw new UsageError(
      `cannot allow tenant ${
        JSON.stringify(name)
      } of --allowed-tenants: it is ${fault}; give it another name`,
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
  rules: TenantNames = {},
): TenantClaim {
  if (!Object.hasOwn(claims, name)) return refused("claim_missing", `does not have claim ${name}`);
  const value = claims[name];
  const fault = typeof value === "string" ? tenantNameFault(value, rules) : "no text";
  if (typeof value === "string" && fault === undefined) return { tenant: value };
  return refused("claim_invalid", `has no tenant's name in claim ${name}, which is ${fault}`);
}

function refused(refused: ClaimRefusal, fault: string): TenantClaim {
  return { refused, why: `the token ${fault}: have the issuer set it` };
}
