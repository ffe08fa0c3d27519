/**
 * Keeps the files of every snapshot in their place while a backup copies them. The backup is
 * entered in the catalog as a statement that may read for long (`shared/catalog/long_reads.ts`).
 */

import { messageOf, OperatingError } from "../base/errors.ts";
import type { LongReads } from "../catalog/long_reads.ts";
import type { Clock } from "../os/clock.ts";
import { type Random, uuidV4 } from "../os/random.ts";

export interface HoldDeps {
  readonly longReads: LongReads;
  readonly clock: Clock;
  readonly random: Random;
}

/** A backup that ended without a word holds files for so long. */
const HOLD_MS = 600_000;
const RENEW_MS = 120_000;

/**
 * Does `work`, which chooses its snapshots after it was begun. Its signal aborts when the hold may
 * have run out. Errors: those of `work`, and the catalog's for the first entry.
 */
export async function holdingFiles<T>(
  deps: HoldDeps,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const id = uuidV4(deps.random);
  await deps.longReads.hold(id, HOLD_MS);
  const [over, lost] = [new AbortController(), new AbortController()];
  const renewing = renew(deps, id, { over: over.signal, lost });
  try {
    return await work(AbortSignal.any([signal, lost.signal]));
  } finally {
    over.abort();
    await renewing;
    // One that cannot be ended runs out.
    await deps.longReads.end(id).catch(() => {});
  }
}

async function renew(
  { longReads, clock }: HoldDeps,
  id: string,
  { over, lost }: { readonly over: AbortSignal; readonly lost: AbortController },
): Promise<void> {
  let heldMs = clock.monotonicMs();
  for (;;) {
    await clock.sleep(RENEW_MS, { signal: over }).catch(() => {});
    if (over.aborted) return;
    const askedMs = clock.monotonicMs();
    // The hold counts as begun anew where it had run out, so it must not have.
    if (askedMs - heldMs >= HOLD_MS) return lost.abort(ranOut("it was not renewed in time"));
    try {
      await longReads.hold(id, HOLD_MS);
      heldMs = askedMs;
    } catch (error) {
      if (clock.monotonicMs() - heldMs + RENEW_MS >= HOLD_MS) {
        return lost.abort(ranOut(messageOf(error)));
      }
    }
  }
}

function ranOut(why: string): OperatingError {
  return new OperatingError(
    "unavailable",
    `Cannot keep the warehouse's files in their place for the backup: ${why}; run it again, and it goes on with ` +
      "what it has copied",
    { reason: "hold_lost" },
  );
}
