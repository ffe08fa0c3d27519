/**
 * What an S3 service answers when it fails, as operating errors that name the object and the remedy. Never a key of the
 * credentials.
 */

import { messageOf, OperatingError } from "../base/errors.ts";

/** `reason` of an answer that asks for fewer requests. */
export const THROTTLED = "throttled";
/** `reason` of a request that got no answer, or only the begin of one. */
export const SILENT = "object_store_silent";

/** Thrown inside for a request that was given up, as its answer took too long. */
export class Unanswered extends Error {
  override readonly name = "Error";
}

interface Answer {
  readonly name?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly Region?: string;
}

/** Of the credentials and their rights. */
const DENIED: ReadonlySet<string> = new Set([
  "AccessDenied",
  "AccountProblem",
  "ExpiredToken",
  "Forbidden",
  "InvalidAccessKeyId",
  "InvalidToken",
  "RequestTimeTooSkewed",
  "SignatureDoesNotMatch",
]);
const WRONG_REGION: ReadonlySet<string> = new Set([
  "AuthorizationHeaderMalformed",
  "IllegalLocationConstraintException",
  "PermanentRedirect",
]);
const THROTTLING: ReadonlySet<string> = new Set([
  "RequestLimitExceeded",
  "SlowDown",
  "Throttling",
  "ThrottlingException",
  "TooManyRequests",
]);
/** Names that tell nothing: of errors that are not the service's. */
const NAMELESS: ReadonlySet<string> = new Set(["", "Error", "TypeError"]);
const TRY_AGAIN_SECS = 1;
const THROTTLED_SECS = 5;
const SILENT_SECS = 5;

/** `what` says what was tried: `read s3://bucket/key`. */
export function s3Error(what: string, thrown: unknown): OperatingError {
  if (thrown instanceof OperatingError) return thrown;
  const { name = "", $metadata, Region } = (thrown ?? {}) as Answer;
  const status = $metadata?.httpStatusCode ?? 0;
  const told = `Cannot ${what}: ${NAMELESS.has(name) ? "" : `${name}, `}${messageOf(thrown)}`;
  if (name === "NoSuchBucket") {
    return fail("invalid_argument", `${told}; create the bucket, or correct --warehouse-url`, {
      reason: "no_bucket",
    });
  }
  if (name === "NoSuchKey" || name === "NotFound" || status === 404) return fail("not_found", told);
  if (WRONG_REGION.has(name) || status === 301) {
    const region = Region === undefined ? "the bucket's region" : Region;
    return fail("invalid_argument", `${told}; set AWS_REGION to ${region}`, {
      reason: "wrong_region",
    });
  }
  if (DENIED.has(name) || status === 401 || status === 403) {
    return fail(
      "permission_denied",
      `${told}; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they may do with the bucket`,
      { reason: "access_denied" },
    );
  }
  if (name === "PreconditionFailed" || status === 412) {
    return fail("conflict", `${told}; there is an object of that key`);
  }
  if (THROTTLING.has(name) || status === 429 || status === 503) {
    return fail("unavailable", `${told}; the store asks for fewer requests`, {
      reason: THROTTLED,
      retryAfterSecs: THROTTLED_SECS,
    });
  }
  const isSilent = thrown instanceof Unanswered;
  // Another writer of the same key is at work, the store failed, or it was not reached.
  return fail("unavailable", `${told}; check that the store of AWS_ENDPOINT_URL runs and answers`, {
    reason: isSilent ? SILENT : "object_store_unavailable",
    retryAfterSecs: isSilent ? SILENT_SECS : TRY_AGAIN_SECS,
  });

  function fail(
    code: "invalid_argument" | "not_found" | "permission_denied" | "conflict" | "unavailable",
    message: string,
    options: { readonly reason?: string; readonly retryAfterSecs?: number } = {},
  ): OperatingError {
    return new OperatingError(code, message, { ...options, cause: thrown });
  }
}
