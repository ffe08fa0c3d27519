/**
 * What an S3 service answers when it fails, as operating errors that name the object and the
 * remedy. Never a key of the credentials.
 */

import { messageOf, OperatingError, type OperatingErrorOptions } from "../base/errors.ts";

/** `reason` of an answer that asks for fewer requests. */
export const THROTTLED = "throttled";
/** `reason` of a request that got no answer, or only the begin of one. */
export const SILENT = "object_store_silent";

/** Thrown inside for a request that was given up because its response took too long. */
export class Unanswered extends Error {}

/** Thrown inside for an answer that no S3 service gives, though it says that all is well. */
export class ForeignAnswer extends Error {}

/** Who is asked, for messages. */
export interface S3Service {
  /** Base address of the service. */
  readonly endpoint: string;
  /** `s3://bucket/prefix`. */
  readonly rootUri: string;
  /** Whether `AWS_ENDPOINT_URL` names it; else it is Amazon's of `AWS_REGION`. */
  readonly isNamed: boolean;
  /** That named the bucket. */
  readonly option: string;
}

interface Answer {
  readonly name?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
  readonly Region?: string;
  readonly cause?: unknown;
}

/** Error codes that say that credentials or their rights are at fault. */
const DENIED: ReadonlySet<string> = new Set([
  "AccessDenied",
  "AccountProblem",
  "ExpiredToken",
  "Forbidden",
  "InvalidAccessKeyId",
  "InvalidToken",
  "SignatureDoesNotMatch",
]);
const SKEWED: ReadonlySet<string> = new Set(["RequestTimeTooSkewed", "RequestExpired"]);
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
/** Names that tell nothing: of errors that are not the service's, and of answers that name none. */
const NAMELESS: ReadonlySet<string> = new Set(["", "Error", "TypeError", "Unknown", "NotFound"]);
/** What the client library says of an answer that it cannot read. */
const UNREADABLE = /Deserialization error|XML parse error/;
const TRY_AGAIN_SECS = 1;
const THROTTLED_SECS = 5;
const SILENT_SECS = 5;

/**
 * `what` says what was tried: `read key`. Clients read the message, so bucket, address and the
 * service's own words, which may name an account, are the place.
 */
export function s3Error(what: string, thrown: unknown, service: S3Service): OperatingError {
  if (thrown instanceof OperatingError) return thrown;
  const answer = (thrown ?? {}) as Answer;
  const { name = "" } = answer;
  const status = answer.$metadata?.httpStatusCode ?? 0;
  const told = `Cannot ${what}: ${toldBy(answer, status)}`;
  if (name === "NoSuchBucket") {
    return fail("invalid_argument", `${told}; create the bucket, or correct ${service.option}`, {
      reason: "no_bucket",
    });
  }
  if (name === "NoSuchKey") return fail("not_found", told);
  const region = answer.Region ?? answer.$response?.headers?.["x-amz-bucket-region"];
  if (WRONG_REGION.has(name) || (isRedirect(status) && region !== undefined)) {
    const remedy = region ?? "the bucket's region";
    return fail("invalid_argument", `${told}; set AWS_REGION to ${remedy}`, {
      reason: "wrong_region",
    });
  }
  if (SKEWED.has(name)) {
    return fail("permission_denied", `${told}; set this machine's clock`, {
      reason: "access_denied",
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
  if (isForeign(thrown, status)) {
    return fail("unavailable", `${told}; check that ${storeOf(service)} is one of S3`, {
      reason: "not_s3",
      retryAfterSecs: TRY_AGAIN_SECS,
    });
  }
  const isSilent = thrown instanceof Unanswered;
  // Another writer of the same key is at work, the store failed, or it was not reached.
  return fail("unavailable", `${told}; check that ${storeOf(service)} runs and answers`, {
    reason: isSilent ? SILENT : "object_store_unavailable",
    retryAfterSecs: isSilent ? SILENT_SECS : TRY_AGAIN_SECS,
  });

  function fail(
    code: "invalid_argument" | "not_found" | "permission_denied" | "conflict" | "unavailable",
    message: string,
    options: Pick<OperatingErrorOptions, "reason" | "retryAfterSecs"> = {},
  ): OperatingError {
    const place = placeOf(service, answer);
    return new OperatingError(code, message, { ...options, place, cause: thrown });
  }
}

/** What happened, in a few words: of the service, of the connection, or else the status. */
function toldBy(answer: Answer, status: number): string {
  if (answer instanceof ForeignAnswer || UNREADABLE.test(messageOf(answer))) {
    return `its answer, ${status || 200}, is none of S3`;
  }
  if (!NAMELESS.has(answer.name ?? "")) return `${answer.name}`;
  if (status >= 300) return `the answer is ${status}, without a reason`;
  const { cause } = answer;
  // The library's own words hold the URL, which our message has already.
  return cause instanceof Error
    ? cause.message.replace(/^.*?client error \([^)]*\): /s, "")
    : messageOf(answer);
}

/**
 * Whether it is no service of S3 that answered. HEAD tells no reason, and its 404 has another name
 * by then.
 */
function isForeign(thrown: unknown, status: number): boolean {
  if (status >= 500) return false; // A proxy in front may say that with a page.
  const { name = "" } = (thrown ?? {}) as Answer;
  return thrown instanceof ForeignAnswer || UNREADABLE.test(messageOf(thrown)) ||
    isRedirect(status) || (status >= 400 && NAMELESS.has(name));
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

/** Clients read it: it names no host. */
function storeOf({ isNamed }: S3Service): string {
  return `the store (${isNamed ? "AWS_ENDPOINT_URL" : "AWS_REGION"})`;
}

function placeOf({ endpoint, rootUri }: S3Service, answer: Answer): string {
  // Without user and password, if it has any.
  const { protocol, host } = new URL(endpoint);
  const words = NAMELESS.has(answer.name ?? "") ? "" : `: ${messageOf(answer)}`;
  return `${rootUri} at ${protocol}//${host}${words}`;
}
