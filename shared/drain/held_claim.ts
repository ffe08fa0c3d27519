/**
 * The claim of one drain on the segments of one commit, renewed while it works. Who is stopped for
 * longer than the lease has lost it: `lost` says so as soon as a renewal finds out, and the commit
 * is refused in any case.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf } from "../base/errors.ts";
import type { ClaimState, WalClaims } from "../catalog/wal_claims.ts";
import { type LaneId, laneName } from "../tenant/tenant.ts";
import type { Clock } from "../os/clock.ts";
import { type Random, uuidV4 } from "../os/random.ts";
import type { DrainPlan } from "./plan_drain.ts";

export interface ClaimPolicy {
  readonly claims: WalClaims;
  /** The claimant for people to read: host and process. */
  readonly claimant: string;
  readonly leaseMs: number;
  /** A segment whose claims failed or ran out this often is quarantined. */
  readonly attemptsMax: number;
}

/** A lease is renewed this often in its time: two renewals may be late or fail. */
const RENEWALS_PER_LEASE = 3;

/**
 * Restricts a plan to segments that can share a fate: one that failed before is tried alone, so
 * that it alone fails.
 */
export function planClaim(
  plan: DrainPlan,
  states: ReadonlyMap<string, ClaimState>,
): DrainPlan {
  const failed = plan.commit.findIndex((name) => (states.get(name)?.attempts ?? 0) > 0);
  if (failed < 0) return plan;
  const commit = plan.commit.slice(0, Math.max(1, failed));
  return { ...plan, commit, more: plan.more || commit.length < plan.commit.length };
}

export interface ClaimDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly policy: ClaimPolicy;
}

export interface ClaimResult {
  readonly claim: HeldClaim;
  /** Segments that failed too often: set aside by this call. */
  readonly quarantined: readonly string[];
}

/** Claims what nobody has of `names`; it may be nothing. Errors: the catalog's. */
export async function claimSegments(
  deps: ClaimDeps,
  lane: LaneId,
  names: readonly string[],
): Promise<ClaimResult> {
  const { claims, claimant, leaseMs, attemptsMax } = deps.policy;
  const token = uuidV4(deps.random);
  try {
    const request = { lane, claimant, token, segments: names, leaseMs, attemptsMax };
    const { granted, quarantined } = await claims.claim(request);
    return { claim: new HeldClaim(deps, { lane, token, names: granted }), quarantined };
  } catch (error) {
    // The answer may be lost and the claim made: it must not keep the segments for a lease.
    await claims.release(token, { attemptsMax }).catch(() => {});
    throw error;
  }
}

export class HeldClaim {
  readonly #deps: ClaimDeps;
  readonly #lane: LaneId;
  readonly token: string;
  /** In order of name. */
  readonly names: readonly string[];
  readonly #lost = new AbortController();
  readonly #ended = new AbortController();
  #renewing: Promise<void> | undefined;

  constructor(
    deps: ClaimDeps,
    claim: { readonly lane: LaneId; readonly token: string; readonly names: readonly string[] },
  ) {
    this.#deps = deps;
    this.#lane = claim.lane;
    this.token = claim.token;
    this.names = claim.names;
  }

  /** Aborted when another may have the segments. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /**
   * Renews from now on, until the claim ends or `signal` aborts: work that is abandoned shall lose
   * it.
   */
  keep(signal: AbortSignal | undefined): void {
    const until = signal === undefined
      ? this.#ended.signal
      : AbortSignal.any([signal, this.#ended.signal]);
    this.#renewing = this.#renew(until);
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { clock, policy } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(policy.leaseMs / RENEWALS_PER_LEASE, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        const held = await policy.claims.renew(this.token, policy.leaseMs);
        if (held.length === this.names.length || signal.aborted) continue;
        this.#lost.abort(new Error(`the claim on ${this.names.length} WAL segments ran out`));
        return;
      } catch (error) {
        getLogger(["svc", "drain"]).warning("cannot renew a claim of lane {lane}: {error}", {
          lane: laneName(this.#lane),
          error: messageOf(error),
        });
      }
    }
  }

  /** Ends the claim after its commit, which ended it in the catalog. */
  async end(): Promise<void> {
    this.#ended.abort();
    await this.#renewing;
  }

  /**
   * Gives back what is still held; the segments that were quarantined. Never throws: what cannot be
   * given back is free when the lease runs out, and counts as an attempt.
   */
  async release(failure?: unknown): Promise<readonly string[]> {
    await this.end();
    const { claims, attemptsMax } = this.#deps.policy;
    const reason = failure === undefined || mayPass(failure) ? {} : { reason: messageOf(failure) };
    try {
      return await claims.release(this.token, { ...reason, attemptsMax });
    } catch (error) {
      getLogger(["svc", "drain"]).warning(
        "cannot give a claim of lane {lane} back, it is free in {leaseMs} ms: {error}",
        {
          lane: laneName(this.#lane),
          leaseMs: this.#deps.policy.leaseMs,
          error: messageOf(error),
        },
      );
      return [];
    }
  }
}

/** Whether the failure is one of the catalog, the store or the process, and not of the segments. */
function mayPass(failure: unknown): boolean {
  return isOperatingError(failure);
}
