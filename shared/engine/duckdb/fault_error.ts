/**
 * What a caller is told when DuckDB fails. DuckDB's own message is kept where the caller's SQL is
 * at fault, with the place counted in the caller's text. A path or another table's name never gets
 * out.
 */

import { OperatingError } from "../../base/errors.ts";
import { EngineFault } from "./driver.ts";
import { POOL_RETRY_AFTER_SECS } from "../limits.ts";

/** Reason of an error that says that DuckDB's process had to be replaced. */
export const ENGINE_REPLACED = "engine_replaced";

/** What a message needs to count places in the caller's text. */
export interface FaultContext {
  /** Lines that were put before the caller's statement. */
  readonly linesBefore: number;
}

/** Makes an operating error of whatever `error` is. An operating error stays itself. */
export function faultError(error: unknown, context: FaultContext = { linesBefore: 0 }): unknown {
  if (!(error instanceof EngineFault)) return error;
  switch (error.kind) {
    case "statement":
      return new OperatingError("invalid_argument", publicMessage(error.message, context), {
        reason: "statement_failed",
        cause: error,
      });
    case "memory":
      return new OperatingError(
        "unavailable",
        "The query memory pool or the spill space is exhausted; retry, or narrow the statement",
        {
          reason: "pool_exhausted",
          retryAfterSecs: POOL_RETRY_AFTER_SECS,
          cause: error,
        },
      );
    case "io":
      return new OperatingError("unavailable", "A data file could not be read; retry", {
        reason: "storage_unavailable",
        retryAfterSecs: 1,
        cause: error,
      });
    case "passed":
      return new OperatingError(
        "unavailable",
        "The answer failed after its first rows, by something that has passed; retry",
        { reason: "result_cut_short", retryAfterSecs: 1, cause: error },
      );
    case "lost":
      return new OperatingError(
        "unavailable",
        "The process that ran the statement was replaced, because of this statement or another one; retry",
        { reason: ENGINE_REPLACED, retryAfterSecs: 1, cause: error },
      );
    case "interrupted":
      return new OperatingError("cancelled", "The statement was interrupted", {
        reason: "cancelled",
        cause: error,
      });
    case "internal":
      return new OperatingError("internal", "DuckDB failed", {
        reason: "engine_failed",
        cause: error,
      });
  }
}

/** DuckDB's message without paths, its `LINE n:` counted in the caller's own text. */
function publicMessage(full: string, { linesBefore }: FaultContext): string {
  const message = withHints(full);
  const place = /^LINE (\d+):/m.exec(message);
  if (place === null) return withoutPaths(message).trim();
  const own = Number(place[1]) - linesBefore;
  const before = message.slice(0, place.index);
  // The text before the statement is ours.
  const quote = own < 1 ? "" : `LINE ${own}:${message.slice(place.index + place[0].length)}`;
  return withoutPaths(`${before}${quote}`).trim();
}

/** Begins the text of which `functions/bounded_text.ts` makes a number, so that DuckDB fails. */
export const LIMIT_FAILURE = "limit: ";
const LIMIT = new RegExp(
  `^Conversion Error: Could not convert string '${LIMIT_FAILURE}([^]*)' to INT32`,
);

/** What a message of DuckDB becomes for people. */
export function withHints(message: string): string {
  const limit = LIMIT.exec(message)?.[1];
  if (limit !== undefined) return `Invalid Input Error: ${limit}`;
  return withFewCandidates(withRemedy(withoutOurs(message)));
}

/**
 * The message without what is not the caller's: the schema of the views that stand for tables, and
 * settings, which are locked.
 */
function withoutOurs(message: string): string {
  return message.replaceAll('"temp".main.', "")
    .replace(/^Candidate tables: .*$/m, (line) => line.replaceAll('"main.', '"'))
    .replace(/\s*^Use "SET .*$/m, "");
}

/**
 * Message about a column that does not exist. The remedy goes after the line that names the columns
 * that do.
 */
const UNKNOWN_COLUMN =
  /Referenced column "([^"\n]{1,60})" not found in FROM clause!(?:\nCandidate bindings: .*)?/;
const FIELD_OF_TEXT =
  /Cannot extract field '([^'\n]{1,60})' from expression "attributes" because .*/;

/** Other engines write an attribute so. The message's last lines quote the statement. */
const KEY_OF_TEXT =
  /Could not convert string '([^'\n]{1,60})' to INT64(?=[^]*\battributes\['\1'\])/;
const TIME_AND_NUMBER =
  /Cannot (?:compare|mix) values of type (?=.*\bTIMESTAMP)(?=.*\b(?:INTEGER|BIGINT|DOUBLE|DECIMAL)).*/;
/** Attributes are texts. */
const TEXT_AND_NUMBER =
  /Cannot (?:compare|mix) values of type (?!.*\bTIMESTAMP)(?=.*\bVARCHAR)(?=.*\b(?:INTEGER|BIGINT|DOUBLE|DECIMAL)).*/;

/**
 * Adds what a caller mostly means who names no column: a text in the wrong quotes, or an attribute.
 * Adds what to write for a time in seconds, and for a text that holds a number.
 */
function withRemedy(message: string): string {
  return message
    .replace(UNKNOWN_COLUMN, (found, name: string) => {
      const text = name.replaceAll("'", "''");
      return `${found}\nA text is written '${text}', an attribute attr_get(attributes, '${text}')`;
    })
    .replace(
      FIELD_OF_TEXT,
      (found, name: string) => `${found}: write attr_get(attributes, '${name}')`,
    )
    .replace(
      KEY_OF_TEXT,
      (found, name: string) => `${found}: write attr_get(attributes, '${name}')`,
    )
    .replace(
      TIME_AND_NUMBER,
      (found) =>
        `${found}; write to_timestamp(…) for seconds, to_timestamp_nanos(…) for nanoseconds`,
    )
    .replace(TEXT_AND_NUMBER, (found) => `${found}; write TRY_CAST(… AS DOUBLE) of a text`);
}

const CANDIDATES = /(\tCandidate functions:\n)((?:\t.*\n)+)\n*/;
const CANDIDATES_MAX = 5;

/**
 * Names only as many candidate functions as can be read, those with the fitting number of arguments
 * first.
 */
function withFewCandidates(message: string): string {
  return message.replace(CANDIDATES, (_, title: string, lines: string) => {
    const wanted = argumentsOf(/types '(.*?)'\./.exec(message)?.[1] ?? "");
    const all = lines.split("\n").filter((line) => line !== "");
    const near = all.toSorted((a, b) => distance(a, wanted) - distance(b, wanted));
    const left = all.length - CANDIDATES_MAX;
    return title + near.slice(0, CANDIDATES_MAX).join("\n") +
      (left > 0 ? `\n\tand ${left} more` : "") + "\n\n";
  });
}

function argumentsOf(signature: string): string[] {
  return (/\((.*?)\)(?: ->|$)/.exec(signature)?.[1] ?? "").split(", ");
}

/**
 * How many arguments of a candidate are of another type. A candidate with another number of
 * arguments comes after all others.
 */
function distance(candidate: string, wanted: readonly string[]): number {
  const taken = argumentsOf(candidate);
  if (taken.length !== wanted.length) return Number.MAX_SAFE_INTEGER;
  return taken.filter((type, at) => type !== (wanted[at] ?? "").replace("_LITERAL", "")).length;
}

/** Replaces whatever looks like a file of ours. */
export function withoutPaths(text: string): string {
  return text.replaceAll(
    /(?:file:\/\/|s3:\/\/)?(?:\/[^\s'",\/\[\]]+)+\.(?:parquet|json|db)\b/g,
    "<file>",
  );
}
