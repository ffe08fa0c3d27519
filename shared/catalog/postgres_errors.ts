/**
 * PostgreSQL's failures as operating errors, by SQLSTATE; the client's own (no connection, no
 * answer in time) by what it says. What is not listed here is a bug and stays as it is.
 */

import { type ErrorCode, messageOf, OperatingError } from "../base/errors.ts";

interface Failure {
  /** Beginning of the SQLSTATE: two characters are a class. */
  readonly state: string;
  readonly code: ErrorCode;
  /** `{option}` stands for the option that names the database. */
  readonly remedy: string;
  /** Whether it is about the place: words of the server or client may name hosts and users. */
  readonly isPrivate?: boolean;
}

const TRY_AGAIN = "try again";

/** Longer beginnings first. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const FAILURES: readonly Failure[] = [
  {
    state: "42501",
    code: "permission_denied",
    remedy:
      "grant the user of {option} CREATE on the schema for its first start, and rights on the tables",
  },
  { state: "25006", code: "unavailable", remedy: "point {option} at the primary server" },
  { state: "57014", code: "unavailable", remedy: TRY_AGAIN },
  { state: "55P03", code: "unavailable", remedy: TRY_AGAIN },
  {
    state: "3D",
    code: "unavailable",
    remedy: "create the database that {option} names",
    isPrivate: true,
  },
  {
    state: "28",
    code: "permission_denied",
    remedy: "check user and password of {option}",
    isPrivate: true,
  },
  { state: "08", code: "unavailable", remedy: TRY_AGAIN },
  { state: "40", code: "unavailable", remedy: TRY_AGAIN },
  { state: "53", code: "unavailable", remedy: "check the server's disk, memory and connections" },
  { state: "57P", code: "unavailable", remedy: TRY_AGAIN },
  { state: "58", code: "unavailable", remedy: "check the server's disk" },
  { state: "XX001", code: "corrupt", remedy: "restore the database from a backup" },
  { state: "XX002", code: "corrupt", remedy: "restore the database from a backup" },
];

/** System errors of a connection, and the client's own words for a lost or silent one. */
const CONNECTION_CODES = /^(E[A-Z_]+)$/;
const CONNECTION_WORDS =
  /Connection terminated|connection timeout|timeout exceeded|Query read timeout|not queryable|connection error|Cannot use a pool/i;

/** SQLSTATE of a failure that the server told; undefined for any other. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error);
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !CONNECTION_CODES.test(code)
    ? code
    : undefined;
}

/** The option that names a database unless it is told. */
export const CATALOG_OPTION = "--catalog-uri";

/** What failed, and where: `option` named the database, `place` is it in logs. */
export interface PostgresCall {
  readonly what: string;
  readonly option?: string;
  readonly place: string;
}

/**
 * `error` as an operating error that says what was tried. Clients read its message, so that names
 * no host and no user.
 */
export function postgresError(error: unknown, call: PostgresCall): unknown {
  if (error instanceof OperatingError) return error;
  const state = sqlStateOf(error);
  const failure = state === undefined
    ? undefined
    : FAILURES.find((candidate) => state.startsWith(candidate.state));
  if (failure !== undefined) return told(error, failure, call);
  if (!CONNECTION_CODES.test(codeOf(error) ?? "") && !CONNECTION_WORDS.test(messageOf(error))) {
    return error;
  }
  return told(error, {
    code: "unavailable",
    remedy: "check that the server of {option} runs and can be reached",
    isPrivate: true,
  }, call);
}

function told(
  error: unknown,
  { code, remedy, isPrivate = false }: Omit<Failure, "state">,
  { what, option = CATALOG_OPTION, place }: PostgresCall,
) {
  const words = isPrivate ? codeOf(error) ?? messageOf(error) : messageOf(error);
  const advice = remedy.replace("{option}", option);
  return new OperatingError(code, `Cannot ${what}: ${words}; ${advice}`, {
    cause: error,
    ...(isPrivate ? { place: `${place}: ${messageOf(error)}` } : {}),
    ...(code === "unavailable" ? { retryAfterSecs: 1 } : {}),
  });
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}
