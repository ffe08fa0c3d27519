/**
 * The door of every ingest route, whatever its protocol: who sends, how fast, and for which tenant.
 * Looks at a request's head only, in this order, so that a stranger learns nothing of tenants and
 * uses nobody's budget.
 */

import type { Authenticator } from "../shared/auth/authenticator.ts";
import type { RateLimiter } from "./rate_limit.ts";
import type { TenantGate } from "./tenant_gate.ts";

/** A request's head: `Headers` is one, gRPC metadata becomes one. Names are lower-case. */
export interface RequestHead {
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

export class Admission {
  readonly #deps: AdmissionDeps;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  /**
   * The tenant that the request may write for. Errors: `unauthenticated`, `unavailable` (issuer
   * away), `rate_limited`, `permission_denied`, `invalid_argument` (tenant name).
   */
  async admit(head: RequestHead, peer: Peer): Promise<string> {
    const { authenticator, limiter, tenants } = this.#deps;
    const caller = await authenticator.authenticate(head.get("authorization"));
    if (limiter !== undefined) {
      const { tokenDigest } = caller;
      await limiter.admit({
        ...(tokenDigest === undefined ? {} : { tokenDigest }),
        forwardedFor: head.get("x-forwarded-for"),
        peer: peer(),
      });
    }
    return tenants.resolve({
      header: head.get("x-scope-orgid"),
      claims: caller.identity?.claims,
    });
  }
}
