/**
 * The body of a SQL request (docs/api/query.md#sql-request) as a precise type.
 *
 * Unknown members at the top are ignored. `limits` is strict, because a misspelt cap that is
 * ignored would be no cap. A known member of the wrong type is refused. null stands for absent
 * where absent is allowed.
 */

import { z } from "zod";
import { textOf } from "../../shared/base/bytes.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import { givenValue, ruleOf, whichIs } from "../../shared/base/given_value.ts";
import { isExactNumber, parseExact } from "../../shared/document/exact_numbers.ts";
import type { Parameters, ParameterValue } from "../../shared/engine/types.ts";
import { noPeers } from "./no_peers.ts";

/** Values past 2^53 are read, too: what is above a ceiling is clamped. */
const count = z.number().min(1).refine(Number.isInteger, "give a whole number");

/** A member that may be absent; null means the same. */
function orElse<T>(schema: z.ZodType<T>, value: T) {
  return schema.nullish().transform((given) => given ?? value);
}

const LIMITS = z.strictObject({
  max_rows_returned: count.nullish(),
  max_rows_scanned: count.nullish(),
  max_bytes_scanned: count.nullish(),
  timeout_seconds: z.number().positive().nullish(),
});

/** Formats whose rows are sent while they are made. */
const STREAM_FORMATS = ["ndjson", "csv", "arrow", "parquet"] as const;
export const ARROW_CONTENT_TYPE = "application/vnd.apache.arrow.stream";
export type StreamFormat = typeof STREAM_FORMATS[number];

const PARAMETERS_MAX = 1_000;
const PARAMETER = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const FILE_NAME_CHARS_MAX = 200;

const SQL_REQUEST = z.object({
  query: z.string().refine((text) => text.trim() !== "", "give a SQL statement"),
  parameters: z.union([
    z.array(PARAMETER).max(PARAMETERS_MAX),
    z.record(z.string(), PARAMETER).refine(
      (given) => Object.keys(given).length <= PARAMETERS_MAX,
      `give at most ${PARAMETERS_MAX} values`,
    ),
  ], {
    error: `give a list for ? and $1, an object for $name, of at most ${PARAMETERS_MAX} texts, ` +
      "numbers, booleans and nulls",
  }).nullish(),
  format: orElse(z.enum(["records", ...STREAM_FORMATS]), "records"),
  download: z.string().min(1).max(FILE_NAME_CHARS_MAX).nullish(),
  priority: orElse(z.enum(["interactive", "batch"]), "interactive"),
  default_order: orElse(z.boolean(), true),
  exact: orElse(z.boolean(), true),
  dry_run: orElse(z.boolean(), false),
  types: orElse(z.boolean(), false),
  snapshot: z.string().nullish(),
  limits: LIMITS.nullish(),
  shard: z.object({ index: z.int(), count: z.int() }).nullish(),
});

export type SqlRequest = Omit<z.infer<typeof SQL_REQUEST>, "parameters"> & {
  readonly parameters?: Parameters | null | undefined;
};

/** The format in which the answer streams; undefined: it is one whole. */
export function streamFormatOf({ format }: Pick<SqlRequest, "format">): StreamFormat | undefined {
  return STREAM_FORMATS.find((one) => one === format);
}

/** Files have no limit of rows of their own, since nobody looks at them whole. */
export function isFile({ format }: Pick<SqlRequest, "format">): boolean {
  return format !== "records" && format !== "ndjson";
}

/**
 * Parses a request body; `accept` names the format where the body does not. Errors: `unprocessable`
 * naming the unknown members of `limits`, which wins over all else; `invalid_argument` for what is
 * no JSON, has a wrong type, or is for servers with peers.
 */
export function parseSqlRequest(body: Uint8Array, accept: string | null = null): SqlRequest {
  const { text, json } = parseJson(body);
  const given = accept?.includes(ARROW_CONTENT_TYPE) === true && isObject(json)
    ? { ...json, format: json["format"] ?? "arrow" }
    : json;
  const parsed = SQL_REQUEST.safeParse(given);
  if (!parsed.success) throw refusalOf(parsed.error.issues, given);
  refuseShard(parsed.data);
  const { parameters } = parsed.data;
  return parameters === undefined || parameters === null
    ? parsed.data
    : { ...parsed.data, parameters: withAllDigits(parameters, text) };
}

/** Whole numbers that a double does not hold come as they were sent: `timestamp_ns` is one. */
function withAllDigits(parameters: Parameters, text: string): Parameters {
  const { parameters: exact } = parseExact(text) as {
    readonly parameters: Readonly<Record<string, unknown>>;
  };
  const valueOf = (value: ParameterValue, name: string) => longInteger(exact[name]) ?? value;
  return Array.isArray(parameters)
    ? parameters.map((value, at) => valueOf(value, String(at)))
    : Object.fromEntries(
      Object.entries(parameters).map(([name, value]) => [name, valueOf(value, name)]),
    );
}

/** Undefined: it is no whole number, or its double holds it, or DuckDB has no type for it. */
function longInteger(value: unknown): ParameterValue | undefined {
  if (!isExactNumber(value) || !/^-?\d{1,39}$/.test(value.rawJSON)) return undefined;
  const whole = BigInt(value.rawJSON);
  for (const [type, bits] of [["BIGINT", 64], ["HUGEINT", 128]] as const) {
    if (BigInt.asIntN(bits, whole) === whole) return { type, text: value.rawJSON };
  }
  return undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseJson(body: Uint8Array): { readonly text: string; readonly json: unknown } {
  try {
    const text = textOf(body);
    return { text, json: JSON.parse(text) };
  } catch (cause) {
    throw new OperatingError(
      "invalid_argument",
      'Cannot read the request body as JSON: send an object such as {"query":"SELECT 1"}',
      { reason: "invalid_body", cause },
    );
  }
}

function refusalOf(issues: readonly z.core.$ZodIssue[], given: unknown): OperatingError {
  for (const issue of issues) {
    if (issue.code === "unrecognized_keys" && issue.path[0] === "limits") {
      const unknown = issue.keys.map((key) => `\`${key}\``).join(", ");
      const known = Object.keys(LIMITS.shape).map((key) => `\`${key}\``).join(", ");
      return new OperatingError(
        "unprocessable",
        `Cannot apply limits: unknown field ${unknown}; the known ones are ${known}`,
      );
    }
  }
  const [first] = issues;
  const path = first?.path ?? [];
  const where = path.length === 0 ? "the body" : path.join(".");
  if (path[0] === "query" && givenValue(given, path) === undefined) {
    return new OperatingError(
      "invalid_argument",
      'Cannot run a request without query: send an object such as {"query":"SELECT 1"}',
      { reason: "invalid_body" },
    );
  }
  return new OperatingError(
    "invalid_argument",
    `Cannot use ${where} of the request${whichIs(givenValue(given, path))}: ${
      ruleOf(first?.message)
    }`,
    { reason: "invalid_body" },
  );
}

/** Ignoring the member would give a wrong answer. */
function refuseShard({ shard }: SqlRequest): void {
  if (shard !== undefined && shard !== null) throw noPeers("scan one shard", "leave shard out");
}
