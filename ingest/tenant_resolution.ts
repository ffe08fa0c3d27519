/**
 * Which tenant a request writes for: rules 1 to 5 of docs/api/README.md#tenants-on-ingest as one
 * pure function. Rule 6, that a refused request leaves no trace, is its caller's: `tenant_gate.ts`.
 */

import { tenantNameFault, type TenantNames, tenantOfClaim } from "../shared/auth/tenant_claim.ts";
import { DEFAULT_TENANT } from "../shared/tenant/tenant.ts";

/** Values of the label `reason`. */
export const TENANT_REFUSALS = [
  "header_not_trusted",
  "claim_missing",
  "claim_invalid",
  "header_mismatch",
  "not_allowed",
  "at_capacity",
] as const;
export type TenantRefusal = typeof TENANT_REFUSALS[number];

export interface TenantSettings extends TenantNames {
  readonly trustScopeHeader: boolean;
  /** Wins over a trusted header, which must agree with it then. */
  readonly tenantClaim: string | undefined;
  /** Empty: any. */
  readonly allowedTenants: ReadonlySet<string>;
  /** 0: any number. */
  readonly maxTenants: number;
}

export interface TenantRequest {
  /** `X-Scope-OrgID`; null when absent. */
  readonly header: string | null;
  /** Verified claims; undefined when the caller was not identified by a token of the issuer. */
  readonly claims: Readonly<Record<string, unknown>> | undefined;
  readonly settings: TenantSettings;
  /** Tenants that this process has taken rows for. */
  readonly admitted: ReadonlySetLike<string>;
}

export type TenantDecision =
  | { readonly kind: "tenant"; readonly tenant: string }
  | { readonly kind: "denied"; readonly reason: TenantRefusal; readonly why: string }
  /** A trusted header that can be no tenant's name: the request is wrong, whoever sends it. */
  | { readonly kind: "malformed"; readonly why: string };

/** The tenant of a request, or why it has none. */
export function resolveTenant(request: TenantRequest): TenantDecision {
  const named = namedTenant(request);
  if (named.kind !== "tenant") return named;
  const { settings, admitted } = request;
  const { tenant } = named;
  if (settings.allowedTenants.size > 0 && !settings.allowedTenants.has(tenant)) {
    return denied(
      "not_allowed",
      `tenant ${tenant} is not one of this server's (--allowed-tenants)`,
    );
  }
  return capacityRefusal(tenant, settings, admitted) ?? named;
}

/** Rule 5 alone. */
export function capacityRefusal(
  tenant: string,
  { maxTenants }: Pick<TenantSettings, "maxTenants">,
  admitted: ReadonlySetLike<string>,
): TenantDecision | undefined {
  if (maxTenants === 0 || admitted.has(tenant) || admitted.size < maxTenants) return undefined;
  return denied(
    "at_capacity",
    `this server has its ${maxTenants} tenants (--max-tenants), ${tenant} is a new one`,
  );
}

/** Rules 1 to 3: whom the request names, whether or not that tenant may write here. */
function namedTenant({ header, claims, settings }: TenantRequest): TenantDecision {
  if (settings.tenantClaim !== undefined) return claimedTenant(header, claims ?? {}, settings);
  if (header === null || header === DEFAULT_TENANT) {
    return { kind: "tenant", tenant: DEFAULT_TENANT };
  }
  if (!settings.trustScopeHeader) {
    return denied(
      "header_not_trusted",
      `this server is single-tenant and does not trust X-Scope-OrgID ${shown(header)}: ` +
        `drop the header or send ${DEFAULT_TENANT}`,
    );
  }
  const fault = tenantNameFault(header, settings);
  if (fault === undefined) return { kind: "tenant", tenant: header };
  return { kind: "malformed", why: `X-Scope-OrgID ${shown(header)} is ${fault}` };
}

function claimedTenant(
  header: string | null,
  claims: Readonly<Record<string, unknown>>,
  settings: TenantSettings,
): TenantDecision {
  const claim = tenantOfClaim(claims, settings.tenantClaim ?? "", settings);
  if ("refused" in claim) return denied(claim.refused, claim.why);
  if (header !== null && header !== claim.tenant) {
    return denied(
      "header_mismatch",
      `X-Scope-OrgID ${shown(header)} is not the tenant of the token: drop the header`,
    );
  }
  return { kind: "tenant", tenant: claim.tenant };
}

function denied(reason: TenantRefusal, why: string): TenantDecision {
  return { kind: "denied", reason, why };
}

const SHOWN_CHARS_MAX = 64;

/** A client's text in an error: quoted and cut. */
function shown(text: string): string {
  return text.length <= SHOWN_CHARS_MAX
    ? JSON.stringify(text)
    : `${JSON.stringify(text.slice(0, SHOWN_CHARS_MAX))}… (${text.length} characters)`;
}
