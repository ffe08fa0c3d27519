/**
 * Parameters of a request's address as precise values. Every refusal names the parameter, the value
 * and the remedy.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import { TIMESTAMP_NS_MAX } from "../../shared/base/time.ts";
import { parseGoDuration } from "./go_duration.ts";
import type { SpanConditions, TimeSpan } from "./search_request.ts";

const TAGS_MAX = 64;
const SHOWN_LENGTH_MAX = 100;

/** The first of `names` that is given and not empty, with its name. */
export function given(
  params: URLSearchParams,
  ...names: readonly string[]
): { readonly name: string; readonly value: string } | undefined {
  for (const name of names) {
    const value = params.get(name);
    if (value !== null && value !== "") return { name, value };
  }
  return undefined;
}

/** A duration in Go's form. Errors: `invalid_argument`. */
export function durationOf(
  params: URLSearchParams,
  ...names: readonly string[]
): bigint | undefined {
  const found = given(params, ...names);
  if (found === undefined) return undefined;
  const ns = parseGoDuration(found.value);
  if (ns === undefined) {
    throw badParameter(found, "it is a duration of 0 or more, such as 100us, 1.2s or 1h30m");
  }
  return ns;
}

/**
 * Unix time in units of `unitNs`, as the first nanosecond of that unit. Errors: `invalid_argument`.
 */
export function unixTimeOf(
  params: URLSearchParams,
  name: string,
  unit: { readonly ns: bigint; readonly word: string },
): bigint | undefined {
  const found = given(params, name);
  if (found === undefined) return undefined;
  const ns = /^\d{1,19}$/.test(found.value) ? BigInt(found.value) * unit.ns : TIMESTAMP_NS_MAX + 1n;
  if (ns > TIMESTAMP_NS_MAX) {
    throw badParameter(found, `it is a whole number of Unix ${unit.word} from 1970 to 2262`);
  }
  return ns;
}

export const MICROSECONDS = { ns: 1_000n, word: "microseconds" } as const;
export const MILLISECONDS = { ns: 1_000_000n, word: "milliseconds" } as const;

/** A whole number of at least 1. Errors: `invalid_argument`. */
export function countOf(params: URLSearchParams, ...names: readonly string[]): number | undefined {
  const found = given(params, ...names);
  if (found === undefined) return undefined;
  const count = /^\d{1,10}$/.test(found.value) ? Number(found.value) : 0;
  if (count < 1) throw badParameter(found, "it is a whole number of at least 1");
  return count;
}

/** A switch, in the words that Go reads as true or false. Errors: `invalid_argument`. */
export function switchOf(params: URLSearchParams, ...names: readonly string[]): boolean {
  const found = given(params, ...names);
  if (found === undefined) return false;
  if (/^(?:1|t|T|true|TRUE|True)$/.test(found.value)) return true;
  if (/^(?:0|f|F|false|FALSE|False)$/.test(found.value)) return false;
  throw badParameter(found, "it is true or false");
}

/** Adds the members of a JSON object whose values are texts. Errors: `invalid_argument`. */
export function addJsonTags(
  tags: Map<string, string>,
  found: { readonly name: string; readonly value: string },
): void {
  const parsed = parsedObject(found.value);
  if (parsed === undefined) {
    throw badParameter(found, 'it is a JSON object of texts, such as {"http.status_code":"500"}');
  }
  for (const [key, value] of Object.entries(parsed)) {
    refuseNul({ name: found.name, value: `${key}:${value}` });
    tags.set(key, value);
  }
}

/** Refuses a character that no statement can hold. Errors: `invalid_argument`. */
export function refuseNul(found: { readonly name: string; readonly value: string }): void {
  if (found.value.includes("\0")) throw badParameter(found, "leave the character U+0000 out");
}

function parsedObject(text: string): Readonly<Record<string, string>> | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return undefined;
  const isTexts = Object.values(parsed).every((value) => typeof value === "string");
  return isTexts ? parsed as Record<string, string> : undefined;
}

/** Refuses conditions that no span can meet, and too many tags. Errors: `invalid_argument`. */
export function refuseContradictions(
  { durationNsMin, durationNsMax, tags }: SpanConditions,
  range: TimeSpan,
  names: { readonly duration: readonly [string, string]; readonly time: readonly [string, string] },
): void {
  const [minDuration, maxDuration] = names.duration;
  if (
    durationNsMin !== undefined && durationNsMax !== undefined && durationNsMax < durationNsMin
  ) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot search: ${maxDuration} is ${durationNsMax} ns and ${minDuration} is ` +
        `${durationNsMin} ns; ${maxDuration} must not be the smaller one`,
      { reason: "bad_parameter" },
    );
  }
  if (range.maxNs < range.minNs) {
    const [start, end] = names.time;
    throw new OperatingError(
      "invalid_argument",
      `Cannot search: ${start} is at ${range.minNs} ns and ${end} at ${range.maxNs} ns; ` +
        `${start} must come before ${end}`,
      { reason: "bad_parameter" },
    );
  }
  if (tags.size > TAGS_MAX) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot search by ${tags.size} tags: at most ${TAGS_MAX} are compared`,
      { reason: "bad_parameter" },
    );
  }
}

/** The refusal of a parameter: its name, its value cut to a bound, and the remedy. */
export function badParameter(
  { name, value }: { readonly name: string; readonly value: string },
  remedy: string,
): OperatingError {
  const shown = value.length > SHOWN_LENGTH_MAX ? `${value.slice(0, SHOWN_LENGTH_MAX)}…` : value;
  return new OperatingError(
    "invalid_argument",
    `Cannot use ${name} ${JSON.stringify(shown)}: ${remedy}`,
    { reason: "bad_parameter" },
  );
}

/** The refusal of a request without a parameter that it needs. */
export function missingParameter(name: string): OperatingError {
  return new OperatingError("invalid_argument", `Cannot answer without ${name}: give it`, {
    reason: "missing_parameter",
  });
}
