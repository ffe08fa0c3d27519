/**
 * Limits of a query, by tier: docs/api/query.md#limits. What a request asks for is clamped, never
 * refused.
 */

const GIB = 1024 ** 3;

export const ROWS_RETURNED_CEILING = 1_000_000;

/** What a request gets that asks for nothing, and the most that it may ask for. */
export interface LimitTier {
  readonly rowsReturned: { readonly default: number; readonly ceiling: number };
  readonly timeoutSeconds: { readonly default: number; readonly ceiling: number };
  readonly rowsScannedMax: number;
  readonly bytesScannedMax: number;
}

/** `rowsCeiling` is the server's own, `--max-rows`. */
export function interactiveTier(rowsCeiling: number): LimitTier {
  return {
    rowsReturned: { default: 10_000, ceiling: rowsCeiling },
    timeoutSeconds: { default: 60, ceiling: 300 },
    rowsScannedMax: 1_000_000_000,
    bytesScannedMax: 100 * GIB,
  };
}

/** A file is meant to be whole: a request that names no cap gets the ceiling. */
export function fileTier(rowsCeiling: number): LimitTier {
  const tier = interactiveTier(rowsCeiling);
  return { ...tier, rowsReturned: { default: rowsCeiling, ceiling: rowsCeiling } };
}

/** `--max-rows` does not apply to jobs. */
export const BATCH_TIER: LimitTier = {
  rowsReturned: { default: 100_000, ceiling: ROWS_RETURNED_CEILING },
  timeoutSeconds: { default: 3_600, ceiling: 6 * 3_600 },
  rowsScannedMax: 10_000_000_000,
  bytesScannedMax: 10 * 1024 * GIB,
};

/** The least that a statement reserves of the memory pool, unless its share is less. */
export const ADMISSION_BYTES_MIN = 16 * 1024 ** 2;
/** Statements that wait for a reservation, in all and of one tenant. One more is 429 at once. */
export const ADMISSION_WAITERS_MAX = 1_024;
export const ADMISSION_WAITERS_PER_TENANT_MAX = 256;

/** A request body past this is 413. */
export const SQL_BODY_BYTES_MAX = 4 * 1024 * 1024;
/** A records answer is buffered until its status is known. One past this is 413 with advice. */
export const RECORDS_BYTES_MAX = 256 * 1024 * 1024;
/** A client that has not taken a records answer after this long is cut off. */
export const SEND_MS_MAX = 300_000;

/** `limits` of a request body, docs/api/query.md#limits. */
export interface RequestedLimits {
  readonly max_rows_returned?: number | null | undefined;
  readonly max_rows_scanned?: number | null | undefined;
  readonly max_bytes_scanned?: number | null | undefined;
  readonly timeout_seconds?: number | null | undefined;
}

/** Limits of one query, in force: rows, bytes, milliseconds. */
export interface EffectiveLimits {
  readonly rowsReturnedMax: number;
  readonly rowsScannedMax: number;
  readonly bytesScannedMax: number;
  readonly timeoutMs: number;
}

/** What a request gets: the defaults of `tier` filled in, its ceilings applied. */
export function effectiveLimits(asked: RequestedLimits, tier: LimitTier): EffectiveLimits {
  const { rowsReturned, timeoutSeconds, rowsScannedMax, bytesScannedMax } = tier;
  const seconds = asked.timeout_seconds ?? timeoutSeconds.default;
  return {
    rowsReturnedMax: Math.min(
      asked.max_rows_returned ?? rowsReturned.default,
      rowsReturned.ceiling,
    ),
    rowsScannedMax: Math.min(asked.max_rows_scanned ?? Infinity, rowsScannedMax),
    bytesScannedMax: Math.min(asked.max_bytes_scanned ?? Infinity, bytesScannedMax),
    timeoutMs: 1000 * Math.min(seconds, timeoutSeconds.ceiling),
  };
}
