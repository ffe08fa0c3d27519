/** Times as people write them on a command line. */

import { UsageError } from "../../shared/base/errors.ts";
import { NS_PER_MS, NS_PER_SEC, parseOptionalTimeNs } from "../../shared/base/time.ts";

const NS_OF_UNIT = {
  ms: NS_PER_MS,
  s: NS_PER_SEC,
  m: 60n * NS_PER_SEC,
  h: 3_600n * NS_PER_SEC,
  d: 86_400n * NS_PER_SEC,
  w: 604_800n * NS_PER_SEC,
} as const;
const AGO = /^(\d{1,9})(ms|s|m|h|d|w)$/;

/**
 * Returns Unix nanoseconds of `15m` before `nowNs`, or of a date or an instant. Errors:
 * `UsageError`, naming `flag`.
 */
export function searchTimeNs(text: string, nowNs: bigint, flag: string): bigint {
  const [, count, unit] = AGO.exec(text) ?? [];
  if (count !== undefined && unit !== undefined) {
    const ns = nowNs - BigInt(count) * NS_OF_UNIT[unit as keyof typeof NS_OF_UNIT];
    return ns < 0n ? 0n : ns;
  }
  const ns = text === "now" ? nowNs : parseOptionalTimeNs(text);
  if (ns !== undefined) return ns;
  throw new UsageError(
    `Cannot take ${JSON.stringify(text)} for ${flag}: write how long ago it was, as 15m, 2h or ` +
      "7d, or a time, as 2026-11-20 or 2026-11-20T21:04:05Z",
  );
}
