/** Why a call fails, and what is told and counted of it. */

import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import { MIDFLIGHT_ROWS_SCANNED } from "../../shared/engine/duckdb/rows_breaker.ts";
import { POOL_RETRY_AFTER_SECS } from "../../shared/engine/limits.ts";
import type { Cost } from "../../shared/engine/types.ts";
import type { EffectiveLimits } from "../limits.ts";
import type { Outcome } from "../metrics/metrics.ts";

/** The outcome of a call that failed so. */
export function outcomeOf(failure: unknown): Outcome {
  if (!isOperatingError(failure)) return "failed";
  if (failure.code === "deadline_exceeded") return "timeout";
  if (failure.code === "cancelled") return "cancelled";
  return failure.httpStatus < 500 ? "refused" : "failed";
}

/** The breakers of the engine: the errors by which they end a statement. */
const BREAKERS = [
  {
    breaker: "midflight_rows_scanned",
    code: "too_large",
    told: { reason: MIDFLIGHT_ROWS_SCANNED },
  },
  {
    // The memory pool or the spill space is used up.
    breaker: "pool_exhausted",
    code: "unavailable",
    told: { reason: "pool_exhausted", retryAfterSecs: POOL_RETRY_AFTER_SECS },
  },
] as const;

/** The breaker of the engine that ended a call with `thrown`; undefined: none did. */
export function breakerOf(thrown: unknown): typeof BREAKERS[number] | undefined {
  return BREAKERS.find(({ code, told }) =>
    isOperatingError(thrown, code) && thrown.reason === told.reason
  );
}

/** Throws where a statement is priced above the limits of its request. */
export function refuseTooDear(
  cost: Cost,
  { bytesScannedMax, rowsScannedMax }: EffectiveLimits,
): void {
  const over = cost.estimated_bytes_scanned > bytesScannedMax
    ? { what: "bytes", estimate: cost.estimated_bytes_scanned, cap: bytesScannedMax }
    : cost.estimated_rows_processed > rowsScannedMax
    ? { what: "rows", estimate: cost.estimated_rows_processed, cap: rowsScannedMax }
    : undefined;
  if (over === undefined) return;
  throw new OperatingError(
    "invalid_argument",
    `Cannot run the query: it would scan about ${over.estimate} ${over.what} and ` +
      `limits.max_${over.what}_scanned allows ${over.cap}; narrow the time range or the columns`,
    { reason: `max_${over.what}_scanned`, details: { cost } },
  );
}

/**
 * The error of a statement that was interrupted while its caller waits. Only a stop of the server
 * does that.
 */
export function serverStops(): OperatingError {
  return new OperatingError(
    "unavailable",
    "Cannot finish the query: this server is stopping; send it again",
    { reason: "server_stopping", retryAfterSecs: 1 },
  );
}
