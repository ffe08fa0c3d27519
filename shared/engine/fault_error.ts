/**
 * What a caller is told when the SQL engine fails. Its own message is kept where the caller's SQL is at
 * fault, with the place counted in the caller's text; a path or another table's name never gets out.
 */

import { OperatingError } from "../base/errors.ts";
import { EngineFault } from "./driver.ts";
import { POOL_RETRY_AFTER_SECS } from "./limits.ts";

export interface FaultContext {
  /** Lines that were put before the caller's statement. */
  readonly linesBefore: number;
}

/** An operating error for whatever `error` is; operating errors stay themselves. */
export function faultError(error: unknown, context: FaultContext = { linesBefore: 0 }): unknown {
  if (!(error instanceof EngineFault)) return error;
  switch (error.kind) {
    case "statement":
      return new OperatingError("invalid_argument", publicMessage(error.message, context), {
        reason: "statement_failed",
        cause: error,
      });
    case "memory":
      return new OperatingError(
        "unavailable",
        "The query memory pool or the spill space is exhausted; retry, or narrow the statement",
        {
          reason: "pool_exhausted",
          retryAfterSecs: POOL_RETRY_AFTER_SECS,
          cause: error,
        },
      );
    case "io":
      return new OperatingError("unavailable", "A data file could not be read; retry", {
        reason: "storage_unavailable",
        retryAfterSecs: 1,
        cause: error,
      });
    case "interrupted":
      return new OperatingError("cancelled", "The statement was interrupted", {
        reason: "cancelled",
        cause: error,
      });
    case "internal":
      return new OperatingError("internal", "The SQL engine failed", {
        reason: "engine_failed",
        cause: error,
      });
  }
}

/** The engine's message without paths, its `LINE n:` counted in the caller's own text. */
function publicMessage(message: string, { linesBefore }: FaultContext): string {
  const place = /^LINE (\d+):/m.exec(message);
  if (place === null) return withoutPaths(message).trim();
  const own = Number(place[1]) - linesBefore;
  const before = message.slice(0, place.index);
  // What stands before the statement is ours.
  const quote = own < 1 ? "" : `LINE ${own}:${message.slice(place.index + place[0].length)}`;
  return withoutPaths(`${before}${quote}`).trim();
}

/** Replaces whatever looks like a file of ours. */
export function withoutPaths(text: string): string {
  return text.replaceAll(
    /(?:file:\/\/|s3:\/\/)?(?:\/[^\s'",\/\[\]]+)+\.(?:parquet|json|db)\b/g,
    "<file>",
  );
}
