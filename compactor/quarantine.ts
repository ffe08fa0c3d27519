/**
 * The catalog's quarantine as an operator sees it: a gauge, log lines with reasons, and a way back.
 */

import { getLogger } from "@logtape/logtape";
import { counted } from "../shared/base/counted.ts";
import type { WalClaims } from "../shared/catalog/wal_claims.ts";
import type { DrainObserver } from "../shared/drain/drain_observer.ts";
import { SystemClock } from "../shared/os/clock.ts";
import { FailureLog } from "../shared/logging/failure_log.ts";

const LOOK_INTERVAL_MS = 30_000;
/** Segments named in the log at most. */
const NAMED_MAX = 10;

/** Hands all quarantined segments out again. Errors: the catalog's. */
export async function requeueAll(claims: WalClaims): Promise<void> {
  const segments = await claims.requeue();
  getLogger(["svc", "drain"]).info("requeued {count} out of quarantine", {
    count: counted(segments.length, "WAL segment"),
    segments: segments.slice(0, NAMED_MAX),
  });
}

/**
 * Looks at the quarantine now and every half minute, and logs what is new in it. The function that
 * is returned ends it.
 */
export function watchQuarantine(
  claims: Pick<WalClaims, "quarantined">,
  observer: DrainObserver,
): () => Promise<void> {
  const log = getLogger(["svc", "drain"]);
  const failureLog = new FailureLog({
    clock: new SystemClock(),
    log,
    over: "the quarantine is read again",
  });
  let named: ReadonlySet<string> = new Set();
  const look = async () => {
    try {
      const { count, segments } = await claims.quarantined(NAMED_MAX);
      observer.inQuarantine?.(count);
      for (const { lane, segment, reason, attempts } of segments) {
        if (named.has(segment)) continue;
        log.warning("WAL segment {segment} of lane {lane} is quarantined: {reason}", {
          segment,
          lane,
          reason,
          attempts,
        });
      }
      named = new Set(segments.map(({ segment }) => segment));
      failureLog.worked("quarantine");
    } catch (error) {
      failureLog.failed("quarantine", "read the quarantine", error);
    }
  };
  let looking = look();
  const timer = setInterval(() => looking = look(), LOOK_INTERVAL_MS);
  return async () => {
    clearInterval(timer);
    await looking;
  };
}
