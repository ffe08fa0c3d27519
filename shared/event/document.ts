/**
 * A JSON document → the fields of one row of the table `events`: SHAPES.md "bulk document → events-shaped index".
 *
 * Decided beyond it: `@timestamp` goes before `timestamp`, a dotted name before a nested one, that before the bare
 * one; a string `index` fills `index`; a value that is no string fills its column with its JSON text; null and
 * empty values fill nothing and stay among the attributes.
 */

import { OperatingError } from "../base/errors.ts";
import { parseRfc3339Ns, TIMESTAMP_NS_MAX } from "../base/time.ts";

export type JsonDocument = Readonly<Record<string, unknown>>;

export interface DocumentDefaults {
  /** Time of a document that has none. */
  readonly nowNs: bigint;
  readonly host?: string;
  readonly source?: string;
  readonly sourcetype?: string;
  readonly index?: string;
}

export interface EventFields {
  readonly timestampNs: bigint;
  readonly host: string;
  readonly source: string;
  readonly sourcetype: string;
  readonly index: string;
  readonly raw: string;
  /** A JSON object, or null when nothing is left. */
  readonly attributes: string | null;
}

/** Digits enough to lose some in a double. */
const LONG_NUMBER = /[0-9]{16}/;

/**
 * The document of one NDJSON line. Integers beyond 2^53 keep their digits (as raw JSON, which `JSON.stringify`
 * writes back unchanged). Throws `invalid_argument` for text that is no JSON object.
 */
export function parseDocument(text: string): JsonDocument {
  let document: unknown;
  try {
    document = LONG_NUMBER.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch (cause) {
    throw refusal(`${(cause as Error).message}; send one JSON object a line`, cause);
  }
  if (typeof document === "object" && document !== null && !Array.isArray(document)) {
    return document as JsonDocument;
  }
  throw refusal(`it is ${excerpt(document)}; send one JSON object a line`);
}

/** Raw JSON: a number that is kept as the text it was sent as. Standard, but unknown to the compiler's library. */
interface RawJson {
  readonly rawJSON: string;
}

const json = JSON as typeof JSON & {
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
};

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source;
  return source !== undefined && /^-?[0-9]+$/.test(source) ? json.rawJSON(source) : value;
}

/** The row of `document`. Throws `invalid_argument` naming a time that cannot be stored. */
export function eventOfDocument(document: JsonDocument, defaults: DocumentDefaults): EventFields {
  const rest: Record<string, unknown> = { ...document };
  const timestampNs = takeTime(rest) ?? defaults.nowNs;
  const host = takeText(rest, "host.name") ?? takeNested(rest, "host", "name") ??
    takeText(rest, "host") ?? defaults.host ?? "unknown";
  const source = takeText(rest, "service.name") ?? takeNested(rest, "service", "name") ??
    takeText(rest, "source") ?? defaults.source ?? "bulk";
  const sourcetype = takeText(rest, "sourcetype") ?? defaults.sourcetype ?? "bulk:doc";
  const index = takeText(rest, "index") ?? defaults.index ?? "main";
  const raw = takeMessage(rest) ?? jsonText(document);
  const attributes = Object.keys(rest).length === 0 ? null : jsonText(rest);
  return { timestampNs, host, source, sourcetype, index, raw, attributes };
}

function takeTime(rest: Record<string, unknown>): bigint | undefined {
  for (const name of ["@timestamp", "timestamp"]) {
    const value = rest[name] ?? undefined;
    if (value === undefined) continue;
    const ns = instantNs(value);
    if (ns === undefined || ns < 0n || ns > TIMESTAMP_NS_MAX) {
      throw refusal(
        `${name} is ${
          excerpt(value)
        }; send RFC 3339 with a zone, or Unix time in s, ms, us or ns, ` +
          "from 1970 to 2262",
      );
    }
    delete rest[name];
    return ns;
  }
  return undefined;
}

/** Nanoseconds of an RFC 3339 text or of a Unix time, whose unit its size tells; undefined for anything else. */
export function instantNs(value: unknown): bigint | undefined {
  if (typeof value === "number") return epochNs(value);
  const text = json.isRawJSON(value) ? value.rawJSON : value;
  if (typeof text !== "string") return undefined;
  if (/^-?[0-9]{1,20}$/.test(text)) return integerNs(BigInt(text));
  return parseRfc3339Ns(text);
}

/** Below these sizes a Unix time is in s, ms, us; else in ns. Seconds until the year 5138. */
const UNITS = [
  { below: 100_000_000_000n, ns: 1_000_000_000n },
  { below: 100_000_000_000_000n, ns: 1_000_000n },
  { below: 100_000_000_000_000_000n, ns: 1_000n },
] as const;

function integerNs(value: bigint): bigint {
  return value * unitOf(value);
}

function unitOf(value: bigint): bigint {
  return UNITS.find(({ below }) => value < below)?.ns ?? 1n;
}

function epochNs(value: number): bigint | undefined {
  if (!Number.isFinite(value)) return undefined;
  const whole = BigInt(Math.trunc(value));
  const unit = unitOf(whole);
  return whole * unit + BigInt(Math.round((value - Math.trunc(value)) * Number(unit)));
}

/** The text of a member, taken out; undefined when it has none. Objects fill no column. */
function takeText(rest: Record<string, unknown>, name: string): string | undefined {
  const text = textOf(rest[name]);
  if (text !== undefined) delete rest[name];
  return text;
}

/** The same of a member of a member; an object that this empties is taken out as well. */
function takeNested(
  rest: Record<string, unknown>,
  outer: string,
  inner: string,
): string | undefined {
  const parent = rest[outer];
  if (typeof parent !== "object" || parent === null || Array.isArray(parent)) return undefined;
  const { [inner]: value, ...others } = parent as Record<string, unknown>;
  const text = textOf(value);
  if (text === undefined) return undefined;
  if (Object.keys(others).length === 0) delete rest[outer];
  else rest[outer] = others;
  return text;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return json.isRawJSON(value) ? value.rawJSON : undefined;
}

/** The document's message: its text, or the JSON text of what is no string. An empty string is a message. */
function takeMessage(rest: Record<string, unknown>): string | undefined {
  const message = rest.message ?? undefined;
  if (message === undefined) return undefined;
  delete rest.message;
  return typeof message === "string" ? message : jsonText(message);
}

function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw refusal("it nests too deep; flatten it", cause);
  }
}

function excerpt(value: unknown): string {
  const text = jsonText(value) ?? String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

function refusal(what: string, cause?: unknown): OperatingError {
  return new OperatingError("invalid_argument", `Cannot store the document: ${what}`, { cause });
}
