/**
 * What a tenant may be called, and the tenant that verified claims name: SPEC.md section 5, rule 3.
 * Names become folders, namespaces and labels: they are validated, never repaired.
 */

export const TENANT_CHARS_MAX = 128;

/** Namespaces that belong to a tenant of another name: `svc` holds the tables of `default`. */
const TAKEN_NAMES: ReadonlySet<string> = new Set(["svc"]);

/** Why nobody may be called `name`, to follow "is"; undefined for a good name. */
export function tenantNameFault(name: string): string | undefined {
  if (TAKEN_NAMES.has(name)) return "the namespace of the default tenant";
  if (name.length <= TENANT_CHARS_MAX && /^[A-Za-z0-9_-]+$/.test(name)) return undefined;
  return `not 1 to ${TENANT_CHARS_MAX} characters of A-Z a-z 0-9 _ -`;
}

export type TenantClaim =
  | { readonly tenant: string }
  | { readonly refused: "claim_missing" | "claim_invalid" };

/**
 * The tenant in claim `name` of verified claims. A claim that is null counts as invalid, not as
 * missing.
 */
export function tenantOfClaim(
  claims: Readonly<Record<string, unknown>>,
  name: string,
): TenantClaim {
  if (!Object.hasOwn(claims, name)) return { refused: "claim_missing" };
  const value = claims[name];
  if (typeof value !== "string" || tenantNameFault(value) !== undefined) {
    return { refused: "claim_invalid" };
  }
  return { tenant: value };
}
