/**
 * What a statement is told when store, disk or room fail it: 503 with a time to wait, for whatever
 * may pass.
 */

import { getLogger } from "@logtape/logtape";
import { cutShortFile, goneFile } from "../../../base/damaged_file.ts";
import {
  type ErrorCode,
  isOperatingError,
  messageOf,
  OperatingError,
} from "../../../base/errors.ts";
import type { UnansweredRead } from "../data_files.ts";
import type { ByteRange } from "./byte_ranges.ts";
import type { CachedObject } from "./cached_file.ts";

const log = getLogger(["svc", "engine"]);

const RETRY_AFTER_SECS = 5;
const REASON = "storage_unavailable";

/**
 * Codes of errors of the store that are no fault of the caller: they may pass, once somebody has
 * seen to them.
 */
const STORE_CODES: readonly ErrorCode[] = ["unavailable", "permission_denied", "invalid_argument"];

/** An error of a read of table metadata. */
export function metadataError(error: unknown): unknown {
  if (!isOperatingError(error) || !STORE_CODES.includes(error.code)) return error;
  return new OperatingError("unavailable", error.message, {
    ...(error.place === undefined ? {} : { place: error.place }),
    reason: REASON,
    retryAfterSecs: error.retryAfterSecs ?? RETRY_AFTER_SECS,
    cause: error.cause ?? error,
  });
}

/** An error of a read of a data file. */
export function dataFileError(error: unknown, key: string): unknown {
  return isOperatingError(error, "not_found") ? goneFile(key, error) : metadataError(error);
}

/**
 * What to tell when a statement's time is over. Undefined, unless it waited for the store in half
 * of it.
 */
export function lateStore(
  unanswered: UnansweredRead | undefined,
  statementMs: number,
): OperatingError | undefined {
  if (unanswered === undefined || unanswered.forMs < statementMs / 2) return undefined;
  const { key, forMs } = unanswered;
  return new OperatingError(
    "unavailable",
    `Cannot read object ${JSON.stringify(key)}: the store did not answer for ${
      (forMs / 1_000).toFixed(1)
    } s, and the statement's time is over; retry`,
    { reason: REASON, retryAfterSecs: RETRY_AFTER_SECS },
  );
}

/** The error of an object that ended before it should, twice. */
export function shortObject(
  { key, byteLength }: CachedObject,
  { start, end }: ByteRange,
  bytes: Uint8Array,
): OperatingError {
  return cutShortFile(
    key,
    `of bytes ${start} to ${end} the store answered ${bytes.byteLength}, twice. The table says ` +
      `that it has ${byteLength} bytes`,
  );
}

/** The error of a statement that needs more than running ones may hold. */
export function noRoom(
  bytes: number,
  { isAlone, bytesInUseMax }: { readonly isAlone: boolean; readonly bytesInUseMax: number },
): OperatingError {
  const what = `Cannot fetch ${bytes} bytes of data files: running statements may hold ` +
    `${bytesInUseMax} bytes together on the query server's disk`;
  const remedy =
    "name fewer columns, narrow its time range, or raise --query-object-cache-max-bytes";
  return isAlone
    ? new OperatingError("too_large", `${what}; ${remedy}`, { reason: "object_cache_too_small" })
    : new OperatingError(
      "unavailable",
      `${what}, and others hold too much now; retry, or ${remedy}`,
      {
        reason: "object_cache_in_use",
        retryAfterSecs: RETRY_AFTER_SECS,
      },
    );
}

/** An error of the cache directory. */
export function fileError(verb: string, path: string, cause: unknown): unknown {
  if (isOperatingError(cause)) return cause;
  log.error("cannot {verb} {path}: {error}", { verb, path, error: messageOf(cause) });
  return new OperatingError(
    "unavailable",
    `Cannot ${verb} the query server's copy of a data file: free space in its cache directory`,
    { reason: "cache_not_writable", retryAfterSecs: RETRY_AFTER_SECS, cause },
  );
}
