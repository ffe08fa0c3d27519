/**
 * Operating errors: what can go wrong in a correct program. One class with a stable code; one table
 * maps the code to HTTP and gRPC. Messages say what was tried, the value, and the remedy.
 *
 * Not covered here: bugs (`assert.ts`) and how a route renders an error (`shared/http`).
 */

interface ErrorKind {
  /** HTTP status of a request that failed this way. */
  readonly http: number;
  /** gRPC status code of a call that failed this way. */
  readonly grpc: number;
  /** Whether the same request may succeed later, unchanged. */
  readonly retryable: boolean;
}

/**
 * Every code an operating error can have. Source: docs/api/ingest.md#statuses,
 * docs/clients.md#what-otlp-asks-of-a-server.
 */
export const ERROR_KINDS = {
  invalid_argument: { http: 400, grpc: 3, retryable: false },
  unauthenticated: { http: 401, grpc: 16, retryable: false },
  permission_denied: { http: 403, grpc: 7, retryable: false },
  not_found: { http: 404, grpc: 5, retryable: false },
  method_not_allowed: { http: 405, grpc: 12, retryable: false },
  conflict: { http: 409, grpc: 6, retryable: false },
  precondition_failed: { http: 412, grpc: 9, retryable: false },
  too_large: { http: 413, grpc: 8, retryable: false },
  unsupported_media_type: { http: 415, grpc: 3, retryable: false },
  unprocessable: { http: 422, grpc: 3, retryable: false },
  rate_limited: { http: 429, grpc: 14, retryable: true },
  cancelled: { http: 499, grpc: 1, retryable: false },
  internal: { http: 500, grpc: 13, retryable: false },
  /** Bytes on disk or in an object store do not hold what their checksum or format says. */
  corrupt: { http: 500, grpc: 15, retryable: false },
  unimplemented: { http: 501, grpc: 12, retryable: false },
  unavailable: { http: 503, grpc: 14, retryable: true },
  deadline_exceeded: { http: 504, grpc: 4, retryable: false },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERROR_KINDS;

export interface OperatingErrorOptions {
  /** Stable snake_case word that a client may branch on; rendered as `reason`. */
  readonly reason?: string;
  /** Whole seconds a client should wait; rendered as `Retry-After`. */
  readonly retryAfterSecs?: number;
  readonly cause?: unknown;
  /**
   * Where it went wrong and how, in words that name hosts or users of the installation. For the
   * command line and logs: a client never reads it.
   */
  readonly place?: string;
  /** Further members of the JSON error body, for example `cost`. Never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * What can go wrong in a correct program. Its code decides the HTTP and gRPC status; its message
 * says what was tried, the value and the remedy.
 */
export class OperatingError extends Error {
  override readonly name: string = "OperatingError";
  readonly code: ErrorCode;
  readonly reason: string | undefined;
  readonly retryAfterSecs: number | undefined;
  readonly place: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, options: OperatingErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.reason = options.reason;
    this.retryAfterSecs = options.retryAfterSecs;
    this.place = options.place;
    this.details = options.details;
  }

  get httpStatus(): number {
    return ERROR_KINDS[this.code].http;
  }

  get grpcStatus(): number {
    return ERROR_KINDS[this.code].grpc;
  }
}

/**
 * Options that cannot be understood, have values they cannot take, or contradict each other: exit
 * status 2.
 */
export class UsageError extends OperatingError {
  override readonly name = "UsageError";

  constructor(message: string, options: OperatingErrorOptions = {}) {
    super("invalid_argument", message, options);
  }
}

/** Whether `error` is an operating error, of `code` when one is given. */
export function isOperatingError(error: unknown, code?: ErrorCode): error is OperatingError {
  return error instanceof OperatingError && (code === undefined || error.code === code);
}

/** What whoever started the program reads of an error: its message, and the place. */
export function placedMessageOf(error: unknown): string {
  const place = error instanceof OperatingError ? error.place : undefined;
  return place === undefined ? messageOf(error) : `${messageOf(error)} (${place})`;
}

/** The message of anything that was thrown, for log lines and error texts. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * The innermost cause. `fetch` says "fetch failed" whatever it met: only the innermost cause tells
 * of a name, a certificate or a port.
 */
export function rootCauseOf(error: unknown): unknown {
  let root = error;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  return root;
}
