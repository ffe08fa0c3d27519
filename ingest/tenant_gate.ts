/**
 * Applies tenant resolution to requests: counts refusals, and remembers which tenants have been
 * admitted.
 *
 * Invariant: only `admit` takes a tenant in, and only for rows that are about to be stored, so that
 * refused requests of many names cannot use up `--max-tenants`.
 */

import { allowedTenantsOf } from "../shared/auth/tenant_claim.ts";
import { OperatingError } from "../shared/base/errors.ts";
import { mirrorFolderOf } from "../shared/wal/mirror/mirror_layout.ts";
import type { IngestMetrics } from "./metrics.ts";
import {
  capacityRefusal,
  resolveTenant,
  type TenantDecision,
  type TenantRefusal,
  type TenantRequest,
  type TenantSettings,
} from "./tenant_resolution.ts";

export interface TenantOptions {
  readonly trustScopeHeader: boolean;
  readonly oidcTenantClaim: string | undefined;
  readonly allowedTenants: readonly string[];
  readonly maxTenants: number;
}

/**
 * `mirrorPrefix` is empty without a mirror. Errors: `invalid_argument` for an allowed tenant that
 * nobody can be called.
 */
export function tenantSettingsOf(options: TenantOptions, mirrorPrefix = ""): TenantSettings {
  const mirrorFolder = mirrorFolderOf(mirrorPrefix);
  return {
    trustScopeHeader: options.trustScopeHeader,
    tenantClaim: options.oidcTenantClaim,
    allowedTenants: allowedTenantsOf(options.allowedTenants, { mirrorFolder }),
    maxTenants: options.maxTenants,
    mirrorFolder,
  };
}

export class TenantGate {
  readonly #settings: TenantSettings;
  readonly #metrics: Pick<IngestMetrics, "tenantDenied">;
  /** With the lanes that each is in for. */
  readonly #admitted = new Map<string, number>();

  constructor(settings: TenantSettings, metrics: Pick<IngestMetrics, "tenantDenied">) {
    this.#settings = settings;
    this.#metrics = metrics;
  }

  /**
   * The tenant of a request. Errors: `permission_denied`, counted; `invalid_argument` for a
   * malformed header.
   */
  resolve(request: Pick<TenantRequest, "header" | "claims">): string {
    return this.#tenantOf(
      resolveTenant({ ...request, settings: this.#settings, admitted: this.#admitted }),
    );
  }

  /**
   * Takes a resolved tenant in, for one lane of it. Errors: `permission_denied` when others took
   * the last places since.
   */
  admit(tenant: string): void {
    const refused = capacityRefusal(tenant, this.#settings, this.#admitted);
    if (refused !== undefined) this.#tenantOf(refused);
    this.#admitted.set(tenant, (this.#admitted.get(tenant) ?? 0) + 1);
  }

  /** One lane of the tenant could not be opened; without any the tenant's place is free again. */
  leave(tenant: string): void {
    const lanes = (this.#admitted.get(tenant) ?? 0) - 1;
    if (lanes > 0) this.#admitted.set(tenant, lanes);
    else this.#admitted.delete(tenant);
  }

  #tenantOf(decision: TenantDecision): string {
    switch (decision.kind) {
      case "tenant":
        return decision.tenant;
      case "denied":
        throw this.#denied(decision.reason, decision.why);
      case "malformed":
        throw new OperatingError("invalid_argument", `cannot write: ${decision.why}`, {
          reason: "bad_tenant_name",
        });
    }
  }

  #denied(reason: TenantRefusal, why: string): OperatingError {
    this.#metrics.tenantDenied.add(1, { reason });
    return new OperatingError("permission_denied", `cannot write: ${why}`, { reason });
  }
}
