/**
 * Work under a lease of the catalog, renewed while it lasts: several compactors keep off each
 * other's pieces.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../base/errors.ts";
import type { Leases } from "../catalog/leases.ts";
import type { Clock } from "../os/clock.ts";
import { type Random, uuidV4 } from "../os/random.ts";

export interface LeaseDeps {
  readonly leases: Leases;
  readonly clock: Clock;
  readonly random: Random;
}

/** Free again so long after its holder was stopped. */
const LEASE_MS = 15_000;
/** Renewals in that time: two may be late or fail. */
const RENEWALS_PER_LEASE = 3;

/**
 * Does `work` while this process holds the lease called `name`; `taken` when another one does. The
 * signal that `work` gets aborts with `signal`, and when the lease is lost: then another process
 * may be doing the same, and the second to commit finds out. Errors: those of `work`, and the
 * catalog's.
 */
export async function underLease<T>(
  deps: LeaseDeps,
  name: string,
  { signal, work }: {
    readonly signal: AbortSignal;
    readonly work: (signal: AbortSignal) => Promise<T>;
  },
): Promise<T | "taken"> {
  const token = uuidV4(deps.random);
  if (!await deps.leases.take(name, token, LEASE_MS)) return "taken";
  const lost = new AbortController();
  const ended = new AbortController();
  const renewing = renew(deps, { name, token, lost, ended: ended.signal });
  try {
    return await work(AbortSignal.any([signal, lost.signal]));
  } finally {
    ended.abort();
    await renewing;
    // One that cannot be given back runs out.
    await deps.leases.release(name, token).catch(() => {});
  }
}

async function renew(
  { leases, clock }: LeaseDeps,
  lease: { name: string; token: string; lost: AbortController; ended: AbortSignal },
): Promise<void> {
  const { name, token, lost, ended } = lease;
  while (!ended.aborted) {
    await clock.sleep(LEASE_MS / RENEWALS_PER_LEASE, { signal: ended }).catch(() => {});
    if (ended.aborted) return;
    try {
      if (await leases.take(name, token, LEASE_MS)) continue;
      lost.abort(new Error(`the lease ${name} ran out, and another took it`));
      return;
    } catch (error) {
      getLogger(["svc", "maintenance"]).warning("cannot renew the lease {name}: {error}", {
        name,
        error: messageOf(error),
      });
    }
  }
}
