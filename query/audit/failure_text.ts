/**
 * What a log line may say of a failed append. An operating error never repeats a statement; of any
 * other error only its kind is told.
 */

import { isOperatingError } from "../../shared/base/errors.ts";

/** One text for a log line: an operating error's message, or the kind of another error. */
export function failureText(error: unknown): string {
  if (isOperatingError(error)) return error.message;
  return error instanceof Error ? error.name : "unknown";
}
