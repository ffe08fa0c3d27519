/** Values that a Bind message or an EXECUTE has for the parameters of a statement. */

import { OperatingError } from "../../../shared/base/errors.ts";
import type { Parameters, ParameterValue } from "../../../shared/engine/types.ts";
import { memoizeIn } from "../../../shared/base/memoize.ts";
import { PARAMETERS_MAX } from "../limits.ts";
import { pgError } from "../sqlstate.ts";
import { BINARY_FORMAT, type Format, TEXT_FORMAT } from "../types/formats.ts";
import { ARRAY_OID, OID } from "../types/oids.ts";
import {
  BLANK_BEFORE_OFFSET,
  parameterValue,
  type SentParameter,
  TIME_LENGTH_MAX,
} from "../types/parameters.ts";
import type { MessageFields } from "../wire/message_fields.ts";
import type { Prepared } from "./prepared_statements.ts";
import { sqlTokens } from "../../../shared/engine/statement/sql_tokens.ts";
import { type NumberedParameter, numberedParameters } from "./split_statements.ts";

/** Values as they were sent. */
export interface SentValues {
  /** None: text; one: of all values. */
  readonly formats: readonly Format[];
  /** null: NULL. */
  readonly sent: readonly (Uint8Array | null)[];
}

/**
 * What the engine binds. The session is asked for types that the client left open, where they
 * matter.
 * Errors: SQLSTATE 08P01 for another number of values than the statement has parameters; those of
 * `parameterValue`.
 */
export async function boundValues(
  session: { typesOf(statement: Prepared): Promise<readonly number[]> },
  statement: Prepared,
  { formats, sent }: SentValues,
): Promise<Parameters> {
  if (formats.length > 1 && formats.length !== sent.length) {
    throw pgError("08P01", "Cannot bind: there are formats for another number of parameters");
  }
  const { fixed, needed } = statement;
  if (
    fixed === undefined && needed > 0 && sent.length !== Math.max(needed, statement.given.length)
  ) {
    throw pgError(
      "08P01",
      `Cannot bind ${sent.length} values: the prepared statement has ${needed} parameters`,
    );
  }
  if (fixed !== undefined) return fixed;
  const formatOf = (at: number) =>
    (formats.length === 1 ? formats[0] : formats[at]) ??
      TEXT_FORMAT;
  const open = sent.flatMap((value, at) =>
    value !== null && (statement.given[at] ?? 0) === 0
      ? [{ number: at + 1, value, format: formatOf(at) }]
      : []
  );
  const operands = open.length > 0 ? operandsOf(statement) : new Set<number>();
  const areNeeded = open.some(({ number, format, value }) =>
    format === BINARY_FORMAT || needsType(value) || operands.has(number)
  );
  if (areNeeded) await session.typesOf(statement);
  const oids = statement.oids ?? statement.given;
  return sent.map((bytes, at): ParameterValue => {
    const value: SentParameter = { bytes, format: formatOf(at), oid: oids[at] ?? 0 };
    return parameterValue(value, at + 1);
  });
}

/**
 * Numbers of parameters beside a sign of arithmetic, in the arguments of a call, or in a row that
 * is compared. `1 + '2'` and `round('1.5')` are ambiguous for DuckDB, and a row of times is
 * compared with no text. A prepared statement is read once, however often it is bound.
 */
const operandsOf = memoizeIn(
  new WeakMap<Prepared, ReadonlySet<number>>(),
  ({ text }) => {
    const tokens = sqlTokens(text).filter(({ isBlank }) => !isBlank).map(({ text }) => text);
    const found = new Set<number>();
    // Whether each parenthesis that is open holds arguments, the innermost last.
    const opened: boolean[] = [];
    tokens.forEach((token, at) => {
      const before = tokens[at - 1] ?? "";
      const after = tokens[at + 1] ?? "";
      if (token === "(") opened.push(TAKES_ARGUMENTS.test(before) && !NO_CALL.test(before));
      else if (token === ")") opened.pop();
      else if (/^\$\d+$/.test(token)) {
        const isArgument = opened.at(-1) === true && /^[(,]$/.test(before) && /^[),]$/.test(after);
        const isOperand = ARITHMETIC.has(before) || ARITHMETIC.has(after);
        if (isArgument || isOperand) found.add(Number(token.slice(1)));
      }
    });
    return found;
  },
);

/** A name, or the end of a comparison. */
const TAKES_ARGUMENTS = /(?:[\p{L}\p{N}_"]|[=<>])$/u;
/** Words before a parenthesis that is none of a call. */
const NO_CALL =
  /^(?:in|any|all|some|values|and|or|not|where|on|select|by|having|when|then|else|like|ilike|between|exists|using|over|filter|as|from|limit|offset|cast|try_cast|distinct|union|except|intersect|case|is)$/i;

const ARITHMETIC: ReadonlySet<string> = new Set(["+", "-", "*", "/", "%"]);

/** Texts that DuckDB reads in another way: of an array, of bytes, a time and its offset. */
function needsType(value: Uint8Array): boolean {
  if (value[0] === OPENING_BRACE || value[0] === BACKSLASH) return true;
  if (value.byteLength > TIME_LENGTH_MAX) return false;
  return BLANK_BEFORE_OFFSET.test(String.fromCharCode(...value));
}

const OPENING_BRACE = 0x7b;
const BACKSLASH = 0x5c;

/** Errors: SQLSTATE 08P01. */
export function formatsOf(fields: MessageFields): Format[] {
  return Array.from({ length: fields.uint16() }, () => {
    const format = fields.int16();
    if (format === TEXT_FORMAT || format === BINARY_FORMAT) return format;
    throw fields.violation(`the format ${format}`);
  });
}

/** Errors: SQLSTATE 08P01, 54023. */
export function sentValues(fields: MessageFields): (Uint8Array | null)[] {
  const count = fields.uint16();
  if (count > PARAMETERS_MAX) throw tooManyParameters();
  return Array.from({ length: count }, () => {
    const length = fields.int32();
    return length === -1 ? null : fields.bytes(length);
  });
}

function tooManyParameters(): OperatingError {
  return pgError("54023", `Cannot prepare more than ${PARAMETERS_MAX} parameters`);
}

/**
 * Types of parameters that are cast to `oid` or `oid[]`, by number. DuckDB reads BIGINT for `oid`,
 * which asyncpg cannot send before it has asked for the type by such a parameter.
 */
export function oidCasts(text: string): ReadonlyMap<number, number> {
  return new Map(
    numberedParameters(text).flatMap(({ number, at }) => {
      const found = OID_CAST.exec(text.slice(at, at + OID_CAST_LENGTH_MAX));
      if (found === null) return [];
      return [[number, found[1] === undefined ? OID.oid : ARRAY_OID[OID.oid] ?? OID.oid]];
    }),
  );
}

const OID_CAST = /^\$\d+\s*::\s*(?:pg_catalog\s*\.\s*)?oid\b\s*(\[\s*\])?/i;
const OID_CAST_LENGTH_MAX = 100;

/**
 * The number of `$1`, `$2`, … that a statement has. Errors: SQLSTATE 42P02 for one that cannot be,
 * 54023 past the bound, 42P18 for one that nothing tells the type of.
 */
export function parametersNeeded(text: string, given: readonly number[]): number {
  if (given.length > PARAMETERS_MAX) throw tooManyParameters();
  const found = numberedParameters(text);
  const numbers = new Set(found.map(({ number }) => number));
  if (numbers.size === 0) return 0;
  if (numbers.has(0)) throw noParameter(text, found.find(({ number }) => number === 0));
  const max = [...numbers].reduce((most, number) => Math.max(most, number), 0);
  if (max > PARAMETERS_MAX) throw tooManyParameters();
  for (let number = 1; number < max; number += 1) {
    if (numbers.has(number) || (given[number - 1] ?? 0) !== 0) continue;
    throw pgError("42P18", `Cannot determine the type of parameter $${number}: nothing names it`);
  }
  return max;
}

/** A statement of a simple query has no values, so no parameters. Errors: SQLSTATE 42P02. */
export function refuseParameters(text: string): 0 {
  const [first] = numberedParameters(text);
  if (first !== undefined) throw noParameter(text, first);
  return 0;
}

function noParameter(text: string, parameter: NumberedParameter | undefined): OperatingError {
  const { number = 0, at = 0 } = parameter ?? {};
  return new OperatingError(
    "invalid_argument",
    `Cannot run the statement: there is no parameter $${number}`,
    { details: { sqlstate: "42P02", position: [...text.slice(0, at)].length + 1 } },
  );
}
