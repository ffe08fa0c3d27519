/**
 * `commit=force`: seal the segment, ask the drain for it now, and wait until the catalog says that
 * it was consumed. The catalog is only read. The drain may run in this process or another.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf, OperatingError } from "../shared/base/errors.ts";
import type { CatalogReader } from "../shared/catalog/catalog.ts";
import type { DrainBell } from "../shared/catalog/drain_bell.ts";
import { type LaneId, laneName } from "../shared/tenant/tenant.ts";
import { withDeadline } from "../shared/base/with_deadline.ts";
import type { Clock } from "../shared/os/clock.ts";
import type { Wal } from "../shared/wal/types.ts";
import type { IngestMetrics } from "./metrics.ts";

/** Wakes a drain that runs in this process. */
export interface DrainHook {
  wake(): void;
}

export interface ForceCommitDeps {
  readonly wal: Pick<Wal, "seal" | "requestDrain">;
  readonly catalog: Pick<CatalogReader, "consumedOf">;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly drain?: DrainHook | undefined;
  /**
   * The bell of drains on other machines. They see a segment once it is mirrored, so it is rung
   * until then.
   */
  readonly bell?: Pick<DrainBell, "ring"> | undefined;
  readonly metrics: Pick<IngestMetrics, "forceCommits">;
}

const POLL_MS_MIN = 5;
const POLL_MS_MAX = 100;
/** The last question, at the end of the time, is answered by a catalog that works. */
const ANSWER_MS_MIN = 1_000;
/** Between rings, doubling: a segment is mirrored soon after it is sealed, or the store is slow. */
const RING_MS_MIN = 50;
const RING_MS_MAX = 500;

/**
 * Returns once the rows of `segment` are in the lane's table. Errors: `deadline_exceeded` when that
 * was not seen in time (the rows are durable and may still commit). A WAL that cannot be sealed
 * only makes it later, and a catalog that cannot be read is asked again until then. An error that
 * invites to send the rows again would double them.
 */
export async function forceCommit(
  lane: LaneId,
  segment: string,
  deps: ForceCommitDeps,
): Promise<void> {
  const { clock, timeoutMs } = deps;
  const until = clock.monotonicMs() + timeoutMs;
  /** A catalog that is silent answers nobody in time. */
  const inTime = <T>(work: () => Promise<T>) =>
    withDeadline({
      msMax: Math.ceil(Math.max(ANSWER_MS_MIN, until - clock.monotonicMs())),
      what: "the catalog did not answer",
    }, work);
  const warnLate = warnOnce(lane);
  await hasten(lane, deps, warnLate);
  let ringAtMs = clock.monotonicMs();
  let ringMs = RING_MS_MIN;
  let catalogError: OperatingError | undefined;
  for (let pollMs = POLL_MS_MIN;; pollMs = Math.min(2 * pollMs, POLL_MS_MAX)) {
    if (deps.bell !== undefined && clock.monotonicMs() >= ringAtMs) {
      const { bell } = deps;
      await inTime(() => bell.ring(laneName(lane))).catch(warnLate);
      ringAtMs = clock.monotonicMs() + ringMs;
      ringMs = Math.min(2 * ringMs, RING_MS_MAX);
    }
    try {
      const consumed = await inTime(() => deps.catalog.consumedOf([segment]));
      if (consumed.has(segment)) {
        deps.metrics.forceCommits.add(1, { outcome: "observed" });
        return;
      }
      catalogError = undefined;
    } catch (error) {
      if (!(error instanceof OperatingError)) throw error;
      catalogError = error;
    }
    const leftMs = until - clock.monotonicMs();
    if (leftMs <= 0) break;
    await clock.sleep(Math.min(pollMs, leftMs));
  }
  deps.metrics.forceCommits.add(1, { outcome: "timeout" });
  throw notObserved(segment, {
    timeoutMs,
    catalogError,
    isRemote: deps.bell !== undefined,
  });
}

/**
 * Without it the segment is sealed by its age or salvaged, and drained at the next look. Never
 * throws.
 */
async function hasten(
  lane: LaneId,
  { wal, drain }: ForceCommitDeps,
  warnLate: (error: unknown) => void,
): Promise<void> {
  try {
    await wal.seal(lane);
    await wal.requestDrain(lane);
    drain?.wake();
  } catch (error) {
    warnLate(error);
  }
}

/** A failure to notify the drain only makes the commit late. It is logged once a request. */
function warnOnce(lane: LaneId): (error: unknown) => void {
  let hasWarned = false;
  return (error) => {
    if (hasWarned) return;
    hasWarned = true;
    getLogger(["svc", "ingest"]).warn("cannot hasten the commit of lane {lane}: {error}", {
      lane: laneName(lane),
      error: messageOf(error),
    });
  };
}

function notObserved(
  segment: string,
  { timeoutMs, catalogError, isRemote }: {
    readonly timeoutMs: number;
    readonly catalogError: OperatingError | undefined;
    /** The drain sees the mirror alone. */
    readonly isRemote: boolean;
  },
): OperatingError {
  if (catalogError !== undefined) {
    getLogger(["svc", "ingest"]).warn(
      "commit=force could not see whether segment {segment} was committed: {error}",
      { segment, error: catalogError.message },
    );
    return new OperatingError(
      "deadline_exceeded",
      `commit=force: whether WAL segment ${segment} was committed could not be seen within ` +
        `${
          timeoutMs / 1_000
        } s: the catalog cannot be read (the server's log says why). The rows are ` +
        `durable and will commit once it works: sending them again would double them`,
      { reason: "commit_not_observed", cause: catalogError },
    );
  }
  return new OperatingError(
    "deadline_exceeded",
    `commit=force: no compactor committed WAL segment ${segment} within ${timeoutMs / 1_000} s. ` +
      `The rows are durable and will commit once ${
        isRemote
          ? "they are mirrored (svc_ingest_mirror_lag_seconds) and a compactor elsewhere runs (svc compactor " +
            "--catalog-claim)"
          : "a compactor runs (svc compactor, or --with-compactor)"
      }: sending them again would double them`,
    { reason: "commit_not_observed" },
  );
}
