/**
 * The access check of every ingest route, whatever its protocol: caller, rate and tenant, in this
 * order. It looks at a request's head only. So a stranger learns nothing of tenants and uses
 * nobody's budget.
 */

import { Authenticator, type AuthMode, type Caller } from "../shared/auth/authenticator.ts";
import { oidcSettingsOf } from "../shared/auth/oidc_settings.ts";
import type { RateLimiter } from "../shared/auth/rate_limit.ts";
import type { Clock } from "../shared/os/clock.ts";
import type { IngestSettings } from "./flags.ts";
import type { IngestMetrics } from "./metrics.ts";
import { mirrorPrefixOf } from "./mirror_prefix.ts";
import { createRateLimiter } from "./rate_limit/rate_limit.ts";
import { TenantGate, tenantSettingsOf } from "./tenant_gate.ts";

/** A request's head: `Headers` is one, gRPC metadata becomes one. Names are lower-case. */
export interface RequestFields {
  get(name: string): string | null;
}

export interface AdmissionDeps {
  readonly authenticator: Authenticator;
  /** Undefined: no limit. */
  readonly limiter: RateLimiter | undefined;
  readonly tenants: TenantGate;
}

/** Address of the connection's other end; asked for only where it is needed. */
export type Peer = () => string;

export class Admission implements AsyncDisposable {
  readonly #deps: AdmissionDeps;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  get mode(): AuthMode {
    return this.#deps.authenticator.mode;
  }

  /** The gate that takes a tenant in once its rows are about to be stored. */
  get tenants(): TenantGate {
    return this.#deps.tenants;
  }

  /**
   * The tenant that the request may write for. Errors: `unauthenticated`, `unavailable` (issuer
   * away), `rate_limited`, `permission_denied`, `invalid_argument` (tenant name).
   */
  async admit(head: RequestFields, peer: Peer): Promise<string> {
    const { limiter } = this.#deps;
    const caller = await this.#caller(head);
    if (limiter !== undefined) {
      const { tokenDigest } = caller;
      await limiter.admit({
        ...(tokenDigest === undefined ? {} : { tokenDigest }),
        forwardedFor: head.get("x-forwarded-for"),
        peer: peer(),
      });
    }
    return this.#tenant(head, caller);
  }

  /**
   * Admits as `admit` does without taking from the caller's rate, for what senders ask before and
   * beside their rows. A sender whose health check is told to slow down takes the server for dead.
   */
  async identify(head: RequestFields): Promise<string> {
    return this.#tenant(head, await this.#caller(head));
  }

  #caller(head: RequestFields): Promise<Caller> {
    return this.#deps.authenticator.authenticate(head.get("authorization"));
  }

  #tenant(head: RequestFields, caller: Caller): string {
    return this.#deps.tenants.resolve({
      header: head.get("x-scope-orgid"),
      claims: caller.identity?.claims,
    });
  }

  /** Resolves when requests may come: budgets in Redis are reached, or were not in some seconds. */
  async started(): Promise<void> {
    await this.#deps.limiter?.started();
  }

  /** Ends what goes on in the background: fetching the issuer's keys, the connection to Redis. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#deps.authenticator[Symbol.asyncDispose]();
    await this.#deps.limiter?.[Symbol.asyncDispose]();
  }
}

/**
 * The access check that the options describe. Errors: `invalid_argument` for options that do not go
 * together. Does not wait for the issuer or for Redis: see `started`.
 */
export function openAdmission(
  settings: IngestSettings,
  { clock, metrics }: { clock: Clock; metrics: IngestMetrics },
): Admission {
  const mirrorPrefix = mirrorPrefixOf(settings);
  const tenants = new TenantGate(tenantSettingsOf(settings, mirrorPrefix), metrics);
  const oidc = oidcSettingsOf(settings);
  const limiter = createRateLimiter(settings, { clock, metrics });
  const authenticator = new Authenticator({ tokens: settings.authTokens, oidc }, { clock });
  return new Admission({ authenticator, limiter, tenants });
}
