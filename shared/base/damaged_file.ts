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

/** Whether `error` is one of these. */
export function isDamagedFile(error: unknown): error is OperatingError {
  return isOperatingError(error, "corrupt") && error.reason === DAMAGED_FILE;
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
