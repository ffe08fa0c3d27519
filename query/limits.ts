/** Limits of an interactive query: SHAPES.md "Numbers". What a request asks for is clamped, never refused. */

const GIB = 1024 ** 3;

export const ROWS_RETURNED_DEFAULT = 10_000;
export const ROWS_RETURNED_CEILING = 1_000_000;
export const TIMEOUT_SECONDS_DEFAULT = 60;
export const TIMEOUT_SECONDS_CEILING = 300;
export const ROWS_SCANNED_CEILING = 1_000_000_000;
export const BYTES_SCANNED_CEILING = 100 * GIB;

/** Least that a statement reserves of the memory pool, unless the share of one is less. */
export const ADMISSION_BYTES_MIN = 16 * 1024 ** 2;
/** Statements that wait for a reservation, in all and of one tenant; one more is 429 at once. */
export const ADMISSION_WAITERS_MAX = 1_024;
export const ADMISSION_WAITERS_PER_TENANT_MAX = 256;

/** A request body past this is 413. */
export const SQL_BODY_BYTES_MAX = 4 * 1024 * 1024;
/** A records answer is held whole until its status is known; one past this is 413 with advice. */
export const RECORDS_BYTES_MAX = 256 * 1024 * 1024;
/** All records answers being held or sent; one more is 503. */
export const ANSWERS_BYTES_MAX = 4 * RECORDS_BYTES_MAX;
/** A client that has not taken a records answer after this long is cut off. */
export const SEND_MS_MAX = 300_000;

/** `limits` of a request body, SPEC.md 2.4. */
export interface RequestedLimits {
  readonly max_rows_returned?: number | null | undefined;
  readonly max_rows_scanned?: number | null | undefined;
  readonly max_bytes_scanned?: number | null | undefined;
  readonly timeout_seconds?: number | null | undefined;
}

export interface EffectiveLimits {
  readonly rowsReturnedMax: number;
  readonly rowsScannedMax: number;
  readonly bytesScannedMax: number;
  readonly timeoutMs: number;
}

/** Defaults filled in, ceilings applied; `rowsCeiling` is the server's own (`--max-rows`). */
export function effectiveLimits(asked: RequestedLimits, rowsCeiling: number): EffectiveLimits {
  return {
    rowsReturnedMax: Math.min(asked.max_rows_returned ?? ROWS_RETURNED_DEFAULT, rowsCeiling),
    rowsScannedMax: Math.min(asked.max_rows_scanned ?? Infinity, ROWS_SCANNED_CEILING),
    bytesScannedMax: Math.min(asked.max_bytes_scanned ?? Infinity, BYTES_SCANNED_CEILING),
    timeoutMs: 1000 *
      Math.min(asked.timeout_seconds ?? TIMEOUT_SECONDS_DEFAULT, TIMEOUT_SECONDS_CEILING),
  };
}
