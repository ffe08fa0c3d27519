/** The error of a stored file whose bytes are not those that were written. */

import { isOperatingError, OperatingError } from "./errors.ts";

/** The `reason` of these errors: clients and alerts go by it. */
export const DAMAGED_FILE = "damaged_file";

/** Bytes [offset, offset + byteLength) of a file that fail a check. */
export interface Damage {
  readonly offset: number;
  readonly byteLength: number;
  /** What lies there: `column chunk raw of row group 2`. */
  readonly what: string;
}

/** `corrupt`, 500: names the file by its key, and the damaged bytes. */
export function damagedFile(key: string, damage: Damage): OperatingError {
  const { offset, byteLength, what } = damage;
  return new OperatingError(
    "corrupt",
    `Cannot read ${key}: ${what}, at byte ${offset}, ${byteLength} bytes, fails its checksum. ` +
      `Restore the file from a copy${canBeSkipped(key) ? SKIP : ""}.`,
    { reason: DAMAGED_FILE, details: { file: key, offset, bytes: byteLength } },
  );
}

const SKIP = ", or have query servers leave it out (--skip-damaged-files)";

/** Rows can be missing. Metadata cannot: what it says of other files is needed. */
function canBeSkipped(key: string): boolean {
  return key.endsWith(".parquet");
}

/**
 * `unavailable`, 503: a stored file was replaced since its statement was planned, or somebody
 * removed it.
 */
export function goneFile(key: string, cause: unknown): OperatingError {
  return new OperatingError(
    "unavailable",
    `Cannot read ${key}: it is not there any more; retry, and restore the file if it stays away` +
      (canBeSkipped(key) ? SKIP : ""),
    { reason: "storage_unavailable", retryAfterSecs: 1, details: { file: key }, cause },
  );
}

/** `corrupt`, 500: an object ended before it should. `why`: how that was seen. */
export function cutShortFile(key: string, why: string): OperatingError {
  return new OperatingError(
    "corrupt",
    `Cannot read ${key}: ${why}. Restore the file from a copy${canBeSkipped(key) ? SKIP : ""}.`,
    { reason: CUT_SHORT, details: { file: key } },
  );
}

const CUT_SHORT = "object_cut_short";

/** Whether `error` is of a file that is there and is not as it was written. */
export function isDamagedFile(error: unknown): error is OperatingError {
  return isOperatingError(error, "corrupt") && error.reason === DAMAGED_FILE;
}

/**
 * The key of the file that `error` says is damaged, cut short or gone; undefined: it says so of
 * none.
 */
export function lostKey(error: unknown): string | undefined {
  if (!isOperatingError(error)) return undefined;
  const { file } = error.details ?? {};
  return typeof file === "string" ? file : undefined;
}

/** `error` of a file that statements leave out from now on. */
export function leftOutFile(error: OperatingError): OperatingError {
  if (isLeftOut(error)) return error;
  return new OperatingError("corrupt", `${error.message} Ask again: it is left out now.`, {
    reason: DAMAGED_FILE,
    details: { ...error.details, left_out: true },
    cause: error,
  });
}

/** Whether `error` is of a file that is left out when its statement begins anew. */
export function isLeftOut(error: unknown): boolean {
  return isDamagedFile(error) && error.details?.["left_out"] === true;
}

/** The key of the file that such an error names. */
export function damagedKey(error: OperatingError): string {
  return String(error.details?.["file"] ?? "");
}
