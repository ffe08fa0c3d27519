/** Errors as PostgreSQL's clients know them: SQLSTATE, message, hint, position. */

import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import type { ErrorCode } from "../../shared/base/errors.ts";

/** The fields of an ErrorResponse. */
export interface PgErrorFields {
  readonly severity: "ERROR" | "FATAL";
  readonly sqlstate: string;
  readonly message: string;
  readonly detail?: string;
  readonly hint?: string;
  /** Number of a character in the statement, from 1. */
  readonly position?: number;
  /** The function of PostgreSQL that tells it. */
  readonly routine?: string;
}

/** By `reason`, which is the narrower. Source: appendix A of PostgreSQL's manual. */
const OF_REASON: Readonly<Record<string, string>> = {
  syntax_error: "42601",
  not_one_select: "25006",
  statement_too_large: "54001",
  // Whether the plan tells it or the run: the statement goes past a limit of this server.
  max_rows_scanned: "54000",
  max_bytes_scanned: "54000",
  refused_function: "42883",
  refused_syntax: "0A000",
  unknown_table: "42P01",
  unknown_index: "42P01",
  bad_parameters: "08P01",
  pool_exhausted: "53200",
  admission_full: "53300",
  server_stopping: "57P01",
  engine_replaced: "57P03",
  stalled_reader: "57014",
};

const OF_CODE: Readonly<Record<ErrorCode, string>> = {
  invalid_argument: "22023",
  unauthenticated: "28P01",
  permission_denied: "42501",
  not_found: "42704",
  method_not_allowed: "0A000",
  conflict: "40001",
  precondition_failed: "55000",
  too_large: "54000",
  unsupported_media_type: "0A000",
  unprocessable: "22023",
  rate_limited: "53300",
  cancelled: "57014",
  internal: "XX000",
  corrupt: "XX001",
  unimplemented: "0A000",
  unavailable: "57P03",
  deadline_exceeded: "57014",
};

/** DuckDB's words for what is wrong with a statement, the first that fits. */
const OF_MESSAGE: readonly (readonly [RegExp, string])[] = [
  [/\bReferenced column\b|\bcolumn .* (?:not found|does not exist)/i, "42703"],
  [/Table with name .* does not exist/i, "42P01"],
  [/\bNo function matches\b|Scalar Function with name .* does not exist/i, "42883"],
  [/must appear in the GROUP BY clause/i, "42803"],
  [/Ambiguous reference/i, "42702"],
  [/Conversion Error|Could not convert|Invalid Input Error: Failed to cast/i, "22P02"],
  [/Out of Range/i, "22003"],
  [/division by zero/i, "22012"],
];

/** What a message is about stands in so many characters; values of statements may follow. */
const MESSAGE_START = 1_000;

/** An error that this room itself tells. */
export function pgError(
  sqlstate: string,
  message: string,
  { hint, routine, code = "invalid_argument" }: {
    readonly hint?: string;
    /** The function of PostgreSQL that tells it, where drivers look at that. */
    readonly routine?: string;
    readonly code?: ErrorCode;
  } = {},
): OperatingError {
  return new OperatingError(code, message, {
    details: {
      sqlstate,
      ...(hint === undefined ? {} : { hint }),
      ...(routine === undefined ? {} : { routine }),
    },
  });
}

/** The fields for anything that was thrown. `part`: the statement, to point into what was sent. */
export function errorFields(
  thrown: unknown,
  part?: { readonly text: string; readonly at: number },
): PgErrorFields {
  if (!isOperatingError(thrown)) {
    return { severity: "ERROR", sqlstate: "XX000", message: INTERNAL };
  }
  const { message, details, retryAfterSecs } = thrown;
  const given = details?.["hint"];
  const hint = typeof given === "string"
    ? given
    : retryAfterSecs === undefined
    ? undefined
    : `Ask again in ${retryAfterSecs} s.`;
  const routine = details?.["routine"];
  const position = positionIn(message, details?.["position"], part?.text);
  return {
    severity: "ERROR",
    sqlstate: sqlstateOf(thrown),
    // Clients point into the statement themselves.
    message: position === undefined ? message : message.replace(/\n\nLINE \d+: .*\n *\^/, ""),
    ...(hint === undefined ? {} : { hint }),
    ...(typeof routine === "string" ? { routine } : {}),
    ...(position === undefined ? {} : { position: position + (part?.at ?? 0) }),
  };
}

/** What is told of a bug; the log has it. */
const INTERNAL = "Cannot run the statement: the server met an internal error; its log tells which";

function sqlstateOf({ code, reason, message, details }: OperatingError): string {
  const given = details?.["sqlstate"];
  if (typeof given === "string") return given;
  const ofReason = reason === undefined ? undefined : OF_REASON[reason];
  if (ofReason !== undefined) return ofReason;
  if (code === "invalid_argument") {
    const start = message.slice(0, MESSAGE_START);
    const found = OF_MESSAGE.find(([pattern]) => pattern.test(start));
    if (found !== undefined) return found[1];
  }
  return OF_CODE[code];
}

/** Messages name places as ` at line 2, column 7`, or quote a line and point below it. */
function positionIn(message: string, given: unknown, sql: string | undefined): number | undefined {
  if (typeof given === "number") return given;
  if (sql === undefined) return undefined;
  const named = / at line (\d+), column (\d+)/.exec(message);
  if (named !== null) {
    const before = sql.split("\n").slice(0, Number(named[1]) - 1);
    return characters(before.map((line) => `${line}\n`).join("")) + Number(named[2]);
  }
  const pointed = /^LINE (\d+): (.*)\n( *)\^/m.exec(message);
  if (pointed === null) return undefined;
  const [, lineText = "1", quoted = "", blanks = ""] = pointed;
  const lines = sql.split("\n");
  const line = lines[Number(lineText) - 1] ?? "";
  const shown = quoted.replace(/^\.\.\./, "").replace(/\.\.\.$/, "");
  const from = line.indexOf(shown);
  const column = blanks.length - `LINE ${lineText}: `.length - (quoted.startsWith("...") ? 3 : 0);
  if (from < 0 || column < 0) return undefined;
  const before = lines.slice(0, Number(lineText) - 1).map((one) => `${one}\n`).join("");
  return characters(before + line.slice(0, from + column)) + 1;
}

function characters(text: string): number {
  return [...text].length;
}
