/** What a statement is told when the object store fails it: 503 with a time to wait, for whatever may pass. */

import { isOperatingError, OperatingError } from "../../base/errors.ts";

const RETRY_AFTER_SECS = 5;
const REASON = "storage_unavailable";

/** An error of a read of table metadata. */
export function metadataError(error: unknown): unknown {
  if (!isOperatingError(error, "unavailable")) return error;
  return new OperatingError("unavailable", error.message, {
    reason: error.reason ?? REASON,
    retryAfterSecs: error.retryAfterSecs ?? RETRY_AFTER_SECS,
    cause: error,
  });
}

/** An error of a read of a data file: one that is gone was replaced since the statement was planned. */
export function dataFileError(error: unknown): unknown {
  if (!isOperatingError(error, "not_found")) return metadataError(error);
  return new OperatingError("unavailable", "A data file is not there any more; retry", {
    reason: REASON,
    retryAfterSecs: 1,
    cause: error,
  });
}
