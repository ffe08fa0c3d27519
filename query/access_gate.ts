/**
 * The access check of every route but the probes: who asks, how often, and whose tables that caller
 * may read. It looks at a request's head only, in this order, so that a stranger learns nothing of
 * tenants and uses nobody's budget.
 *
 * Invariants: the namespace comes from the settings or from a verified claim, never from what else
 * a request says: `X-Scope-OrgID` is not read. A claim is validated, never repaired, and never
 * falls back to the default.
 */

import { Authenticator, type AuthMode, type Caller } from "../shared/auth/authenticator.ts";
import { oidcSettingsOf } from "../shared/auth/oidc_settings.ts";
import { RateLimiter, rateOf } from "../shared/auth/rate_limit.ts";
import { MemoryBuckets } from "../shared/auth/rate_limit_memory.ts";
import {
  allowedTenantsOf,
  tenantNameFault,
  type TenantNames,
  tenantOfClaim,
} from "../shared/auth/tenant_claim.ts";
import { isOperatingError, OperatingError, UsageError } from "../shared/base/errors.ts";
import type { Settings } from "../shared/config/options.ts";
import { namespaceOf, tenantOf } from "../shared/tenant/tenant.ts";
import type { Clock } from "../shared/os/clock.ts";
import { mirrorFolderOf, parseMirrorPrefix } from "../shared/wal/mirror/mirror_layout.ts";
import type { ACCESS_OPTIONS } from "./access_flags.ts";
import { AUTH_FAILURES, type QueryMetrics, type TenantRefusal } from "./metrics/metrics.ts";
import type { CallerGate, Peer, QueryCaller } from "./query_caller.ts";

/** Options of access, and the places that decide which tenant names are nobody's. */
export interface AccessSettings extends Settings<typeof ACCESS_OPTIONS> {
  readonly tenantNamespace: string;
  readonly warehouseUrl?: string | undefined;
}

/** What the access check needs besides its settings. */
export interface AccessDeps {
  readonly clock: Clock;
  readonly metrics: Pick<QueryMetrics, "authFailures" | "rateLimitRejected" | "tenantDenied">;
}

interface AccessParts extends Pick<AccessDeps, "metrics"> {
  readonly authenticator: Authenticator;
  /** Undefined: there is no limit. */
  readonly limiter: RateLimiter | undefined;
  readonly claim: string | undefined;
  readonly names: TenantNames;
  /** Empty: the claim may name any tenant. */
  readonly allowedTenants: ReadonlySet<string>;
  /** The namespace of every caller when there is no claim. */
  readonly namespace: string;
}

/**
 * Resolves requests to callers, in the order of the file's header. Errors: those of `CallerGate`.
 */
class AccessGate implements CallerGate, AsyncDisposable {
  readonly #parts: AccessParts;

  constructor(parts: AccessParts) {
    this.#parts = parts;
  }

  get mode(): AuthMode {
    return this.#parts.authenticator.mode;
  }

  async admit({ headers }: Pick<Request, "headers">, peer: Peer): Promise<QueryCaller> {
    const caller = await this.#authenticate(headers.get("authorization"));
    await this.#parts.limiter?.admit({
      ...(caller.tokenDigest === undefined ? {} : { tokenDigest: caller.tokenDigest }),
      forwardedFor: headers.get("x-forwarded-for"),
      peer: peer(),
    });
    const namespace = this.#namespaceOf(caller);
    const { identity } = caller;
    return {
      namespace,
      tenant: tenantOf(namespace),
      ...(this.#parts.claim === undefined ? {} : { isOneOfMany: true }),
      ...(identity === undefined ? {} : { subject: identity.subject }),
      ...(identity?.email === undefined ? {} : { email: identity.email }),
      ...expiryOf(identity?.claims["exp"]),
    };
  }

  /** Ends what goes on in the background: fetching the issuer's keys. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.authenticator[Symbol.asyncDispose]();
    await this.#parts.limiter?.[Symbol.asyncDispose]();
  }

  async #authenticate(authorization: string | null): Promise<Caller> {
    try {
      return await this.#parts.authenticator.authenticate(authorization);
    } catch (error) {
      const reason = isOperatingError(error)
        ? AUTH_FAILURES.find((known) => known === error.reason)
        : undefined;
      if (reason !== undefined) this.#parts.metrics.authFailures.add(1, { reason });
      throw error;
    }
  }

  #namespaceOf({ identity }: Caller): string {
    const { claim, names, allowedTenants, namespace } = this.#parts;
    if (claim === undefined) return namespace;
    const named = tenantOfClaim(identity?.claims ?? {}, claim, names);
    if ("refused" in named) throw this.#denied(named.refused, named.why);
    const { tenant } = named;
    if (allowedTenants.size > 0 && !allowedTenants.has(tenant)) {
      throw this.#denied(
        "not_allowed",
        `tenant ${tenant} is not one of this server's (--allowed-tenants)`,
      );
    }
    return namespaceOf(tenant);
  }

  #denied(reason: TenantRefusal, why: string): OperatingError {
    this.#parts.metrics.tenantDenied.add(1, { reason });
    return new OperatingError("permission_denied", `Cannot read: ${why}`, { reason });
  }
}

/** A verified token says its end in Unix seconds. */
function expiryOf(exp: unknown): Pick<QueryCaller, "expiresMs"> {
  return typeof exp === "number" ? { expiresMs: 1_000 * exp } : {};
}

/**
 * Makes the access check that the options describe. Errors: `invalid_argument` for options that do
 * not go together. Does not wait for the issuer.
 */
export function openAccess(settings: AccessSettings, { clock, metrics }: AccessDeps): AccessGate {
  const names = tenantNamesOf(settings);
  const allowedTenants = allowedTenantsOf(settings.allowedTenants, names);
  const oidc = oidcSettingsOf(settings);
  const namespace = requireNamespace(settings.tenantNamespace, names);
  const rate = rateOf(settings.queryRatePerSec, settings.queryRateBurst);
  const rejected = metrics.rateLimitRejected.at({});
  const limiter = rate && new RateLimiter({
    buckets: new MemoryBuckets(rate, { clock }),
    onRejected: () => rejected.add(1),
    advice: "ask less often",
  });
  const authenticator = new Authenticator({ tokens: settings.tokens, oidc }, { clock });
  const { oidcTenantClaim: claim } = settings;
  const parts = { authenticator, limiter, claim, names, allowedTenants, namespace, metrics };
  return new AccessGate(parts);
}

/** The rules for tenant names are the ingest server's, which has the same options. */
function tenantNamesOf({ walMirrorPrefix, warehouseUrl }: AccessSettings): TenantNames {
  const hasWarehouseUrl = warehouseUrl !== undefined;
  return { mirrorFolder: mirrorFolderOf(parseMirrorPrefix(walMirrorPrefix, { hasWarehouseUrl })) };
}

/**
 * `default` is a tenant: its namespace is `svc`, and one of that name would mix two tenants' rows.
 */
function requireNamespace(namespace: string, names: TenantNames): string {
  const fault = namespaceOf(tenantOf(namespace)) === namespace
    ? tenantNameFault(tenantOf(namespace), names)
    : "the name of a tenant, whose namespace is svc";
  if (fault === undefined) return namespace;
  throw new UsageError(
    `Cannot read namespace ${JSON.stringify(namespace)} of --tenant-namespace: it is ${fault}`,
  );
}
