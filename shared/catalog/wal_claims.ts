/**
 * Claims on WAL segments: who of several drains works on a segment now. A drain that has no WAL
 * volume takes its work from the mirror, and this keeps two of them off the same segments.
 *
 * A claim is a lease of some segments under a token of its own, and runs out by the catalog's
 * clock. It saves work; that no row is added twice does not rest on it but on `svc_wal_consumed`. A
 * commit under a claim (`TableCommit.claim`) takes effect only while the claim holds, and ends it
 * in the same transaction.
 *
 * Each claim of a segment counts as an attempt until it is released without a reason. After too
 * many the segment is quarantined: nobody gets it until it is requeued.
 */

import type { LaneId } from "../tenant/tenant.ts";

/** Segments that a drain wants to work on, and for how long. */
export interface ClaimRequest {
  readonly lane: LaneId;
  /** Who asks, for people. */
  readonly claimant: string;
  /** Names this claim alone; never used again. */
  readonly token: string;
  readonly segments: readonly string[];
  readonly leaseMs: number;
  /** A segment whose claims ran out or failed this often is quarantined instead. */
  readonly attemptsMax: number;
}

/** What a drain got of the segments that it asked for. */
export interface ClaimGrant {
  /**
   * Segments that are the token's now, in order of name. The others are consumed, held by another
   * or quarantined.
   */
  readonly granted: readonly string[];
  /** Segments that this request quarantined. */
  readonly quarantined: readonly string[];
}

/** What is known of a segment that somebody claimed. */
export interface ClaimState {
  readonly attempts: number;
  /** Its lease has not run out. */
  readonly isHeld: boolean;
  readonly isQuarantined: boolean;
}

/** A segment that no drain gets any more, and why. */
export interface QuarantinedSegment {
  /** `tenant/index`. */
  readonly lane: string;
  readonly segment: string;
  readonly reason: string;
  readonly attempts: number;
  /** By the catalog's clock. */
  readonly quarantinedMs: number;
}

export interface ReleaseOptions {
  /** What went wrong with these very segments; without it the attempt does not count. */
  readonly reason?: string;
  readonly attemptsMax: number;
}

/** Errors of all: `unavailable`, `permission_denied`, `corrupt`. */
export interface WalClaims extends AsyncDisposable {
  /** Takes those of `segments` that nobody holds. When the answer is lost, release the token. */
  claim(request: ClaimRequest): Promise<ClaimGrant>;
  /**
   * Makes what the token still holds last `leaseMs` from now; the segments it holds. A lease that
   * ran out stays so.
   */
  renew(token: string, leaseMs: number): Promise<readonly string[]>;
  /** Ends the claim; the segments that were quarantined by it. */
  release(token: string, options: ReleaseOptions): Promise<readonly string[]>;
  /**
   * Sets one segment of the claim aside, whatever its attempts. False when the token no longer
   * holds it.
   */
  quarantine(token: string, segment: string, reason: string): Promise<boolean>;
  /**
   * Records segments of the claim as consumed without rows: their table was dropped. All or none;
   * false: none.
   */
  discard(token: string, segments: readonly string[]): Promise<boolean>;
  /** The states of the segments that have a claim or had one that failed, by name. */
  states(segments: readonly string[]): Promise<ReadonlyMap<string, ClaimState>>;
  /** How many there are, and the `max` oldest. */
  quarantined(max: number): Promise<{ count: number; segments: readonly QuarantinedSegment[] }>;
  /**
   * Hands quarantined segments out again, with no attempts counted: those named, or all. Returns
   * their names.
   */
  requeue(segments?: readonly string[]): Promise<readonly string[]>;
}
