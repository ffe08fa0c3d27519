/**
 * A JSON document → the fields of one row of the table `events`:
 * docs/api/ingest.md#a-document-as-a-row.
 *
 * Decided beyond it: `@timestamp` goes before `timestamp`, a dotted name before a nested one, that
 * before the bare one. A string `index` fills `index`. A value that is no string fills its column
 * with its JSON text. Null and empty values fill nothing and stay among the attributes.
 */

import { OperatingError } from "../base/errors.ts";
import { parseOptionalTimeNs, TIMESTAMP_NS_MAX } from "../base/time.ts";
import { isExactNumber, parseExact, type RawNumber } from "./exact_numbers.ts";
import { boundsFault, DOCUMENT_BOUNDS } from "./json_bounds.ts";

export type JsonDocument = Readonly<Record<string, unknown>>;

/** What a document's row has where the document says nothing. */
export interface DocumentDefaults {
  /** Time of a document that has none. */
  readonly nowNs: bigint;
  readonly host?: string;
  readonly source?: string;
  readonly sourcetype?: string;
  readonly index?: string;
  /**
   * What the sender calls the document: kept as attribute `_id`. A member of that name may not say
   * otherwise.
   */
  readonly id?: string;
  /** Members that have columns of their own: no attributes. */
  readonly columnMembers?: ReadonlySet<string>;
  /** Columns that the document itself must fill: no default stands in. */
  readonly required?: ReadonlySet<string>;
  /**
   * Member that must hold the time; of `timestamp`, `@timestamp` is another spelling. Without it,
   * either may.
   */
  readonly timeMember?: string;
}

/** The columns of `events` for one document; times in Unix nanoseconds. */
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

/**
 * The document of one NDJSON line. Numbers that a double does not hold keep their digits (as raw
 * JSON, which `JSON.stringify` writes back unchanged). Throws `invalid_argument` for text that is
 * no JSON object, or is past `DOCUMENT_BOUNDS`, and for a number greater than any double: readers
 * of JSON refuse or change it.
 */
export function parseDocument(text: string): JsonDocument {
  const fault = boundsFault(text, DOCUMENT_BOUNDS);
  if (fault !== undefined) throw refusal(`it ${fault}`);
  let document: unknown;
  let tooGreat: RawNumber | undefined;
  try {
    document = parseExact(text, (number) => tooGreat ??= number);
  } catch (cause) {
    throw refusal(`${(cause as Error).message}; send one JSON object a line`, cause);
  }
  if (tooGreat !== undefined) {
    throw refusal(
      `${placeOf(tooGreat, document)} is ${
        shortened(tooGreat.rawJSON)
      }, greater than any double; send it as a string`,
    );
  }
  if (typeof document === "object" && document !== null && !Array.isArray(document)) {
    return document as JsonDocument;
  }
  throw refusal(`it is ${excerpt(document)}; send one JSON object a line`);
}

/** Names on the way to `found` in `value`, as `a.b[2].c`. */
function placeOf(found: RawNumber, value: unknown): string {
  return pathTo(found, value)?.replace(/^\./, "") || "it";
}

function pathTo(found: RawNumber, value: unknown): string | undefined {
  if (value === found) return "";
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const path = pathTo(found, inner);
    if (path === undefined) continue;
    return `${Array.isArray(value) ? `[${name}]` : `.${shortened(name)}`}${path}`;
  }
  return undefined;
}

/**
 * The row of `document`. Throws `invalid_argument` naming what is missing, or a time that cannot be
 * stored.
 */
export function eventOfDocument(document: JsonDocument, defaults: DocumentDefaults): EventFields {
  const time = timeOf(document, defaults.timeMember);
  const host = fieldOf(document, "host.name", "host", "name");
  const source = fieldOf(document, "service.name", "service", "name", "source");
  const sourcetype = textOf(document.sourcetype);
  const index = textOf(document.index);
  if (defaults.required !== undefined) {
    requireFilled({ host, source, sourcetype, index }, defaults.required);
  }
  const message = document.message ?? undefined;
  const raw = message === undefined || typeof message === "string" ? message : jsonText(message);
  return {
    timestampNs: time?.ns ?? defaults.nowNs,
    host: host?.text ?? defaults.host ?? "unknown",
    source: source?.text ?? defaults.source ?? "bulk",
    sourcetype: sourcetype ?? defaults.sourcetype ?? "bulk:doc",
    index: index ?? defaults.index ?? "main",
    raw: raw ?? jsonText(document),
    attributes: attributesOf(document, {
      time: time?.member,
      host,
      source,
      sourcetype: sourcetype === undefined ? undefined : "sourcetype",
      index: index === undefined ? undefined : "index",
      message: message === undefined ? undefined : "message",
      id: defaults.id,
      others: defaults.columnMembers,
    }),
  };
}

function requireFilled(
  filled: Readonly<Record<string, unknown>>,
  required: ReadonlySet<string>,
): void {
  for (const [name, value] of Object.entries(filled)) {
    if (value === undefined && required.has(name)) {
      throw refusal(`it lacks ${name}, which is required`);
    }
  }
}

/** Members that filled columns, and what they leave behind. */
interface Taken {
  readonly time: string | undefined;
  readonly host: Field | undefined;
  readonly source: Field | undefined;
  readonly sourcetype: string | undefined;
  readonly index: string | undefined;
  readonly message: string | undefined;
  /** Takes the place of the member `_id`. */
  readonly id: string | undefined;
  readonly others: ReadonlySet<string> | undefined;
}

/** JSON of the members that filled no column, null when none is left. */
function attributesOf(document: JsonDocument, taken: Taken): string | null {
  const { time, host, source, sourcetype, index, message, id, others } = taken;
  if (id !== undefined) requireSameId(document, id);
  const hostMember = host?.member;
  const sourceMember = source?.member;
  const rest: Record<string, unknown> = id === undefined ? {} : { _id: id };
  let isEmpty = id === undefined;
  for (const name in document) {
    if (name === message || name === time || name === sourcetype || name === index) continue;
    let value = document[name];
    if (name === hostMember) value = host?.rest;
    else if (name === sourceMember) value = source?.rest;
    if (value === undefined || (name === "_id" && id !== undefined)) continue;
    if (others?.has(name)) continue;
    if (name === "__proto__") Object.defineProperty(rest, name, { value, enumerable: true });
    else rest[name] = value;
    isEmpty = false;
  }
  return isEmpty ? null : jsonText(rest);
}

/**
 * In the search engine no document may have such a member; here one that says nothing else does no
 * harm.
 */
function requireSameId(document: JsonDocument, id: string): void {
  const own = document._id ?? undefined;
  if (own === undefined || textOf(own) === id) return;
  throw refusal(
    `_id is ${excerpt(own)}, and its action says ${
      excerpt(id)
    }: field [_id] is a metadata field and cannot be ` +
      "added inside a document; leave it out there",
  );
}

function timeOf(
  document: JsonDocument,
  required: string | undefined,
): { member: string; ns: bigint } | undefined {
  const members = required === undefined || required === "timestamp" ? TIME_MEMBERS : [required];
  const member = members.find((name) => (document[name] ?? undefined) !== undefined);
  if (member === undefined) {
    if (required === undefined) return undefined;
    throw refusal(`it lacks ${required}, which is required and holds its time`);
  }
  const value = document[member];
  const ns = instantNs(value);
  if (ns !== undefined && ns >= 0n && ns <= TIMESTAMP_NS_MAX) return { member, ns };
  throw refusal(
    `${member} is ${
      excerpt(value)
    }; send RFC 3339 (UTC without a zone), or Unix time in s, ms, us or ns, from 1970 to 2262`,
  );
}

/**
 * Nanoseconds of a text that `parseOptionalTimeNs` reads or of a Unix time, whose unit its size
 * tells; undefined for anything else. The decimal digits of a fraction count: the double next to
 * 1.1 s is less than that. A string of four digits is a year, as in search engines.
 */
export function instantNs(value: unknown): bigint | undefined {
  if (Number.isSafeInteger(value) && value as number >= 0) return unixNs(BigInt(value as number));
  const text = isExactNumber(value) ? value.rawJSON : value;
  if (typeof text !== "string" && typeof text !== "number") return undefined;
  const unix = UNIX_TIME.exec(String(text));
  if (unix !== null && !(typeof value === "string" && YEAR.test(value))) {
    return unixNs(BigInt(unix[1] ?? ""), unix[2] ?? "");
  }
  return typeof text === "string" ? parseOptionalTimeNs(text) : undefined;
}

const YEAR = /^[0-9]{4}$/;

const UNIX_TIME = /^([0-9]{1,20})(?:\.([0-9]+))?$/;

const TIME_MEMBERS = ["@timestamp", "timestamp"] as const;

/** Below these sizes a Unix time is in s, ms, us; else in ns. Seconds until the year 5138. */
const UNITS = [
  { below: 100_000_000_000n, digits: 9, ns: 1_000_000_000n },
  { below: 100_000_000_000_000n, digits: 6, ns: 1_000_000n },
  { below: 100_000_000_000_000_000n, digits: 3, ns: 1_000n },
] as const;

/** `digits` of a unit are those that nanoseconds have behind its point. */
function unixNs(whole: bigint, fraction = ""): bigint {
  const unit = UNITS.find(({ below }) => whole < below);
  if (unit === undefined) return whole;
  const { digits, ns } = unit;
  return whole * ns +
    (fraction === "" ? 0n : BigInt(fraction.slice(0, digits).padEnd(digits, "0")));
}

/** A column's text, the member that it came from, and what stays of that member. */
interface Field {
  readonly text: string;
  readonly member: string;
  readonly rest: JsonDocument | undefined;
}

/** The text of `dotted`, else of `inner` in `outer`, else of `bare`. Objects fill no column. */
function fieldOf(
  document: JsonDocument,
  dotted: string,
  outer: string,
  inner: string,
  bare = outer,
): Field | undefined {
  const dottedText = textOf(document[dotted]);
  if (dottedText !== undefined) return { text: dottedText, member: dotted, rest: undefined };
  const parent = document[outer];
  if (typeof parent === "object" && parent !== null && !Array.isArray(parent)) {
    const nested = nestedField(parent as JsonDocument, outer, inner);
    if (nested !== undefined) return nested;
  }
  const bareText = textOf(document[bare]);
  return bareText === undefined ? undefined : { text: bareText, member: bare, rest: undefined };
}

/** An object of which nothing stays is taken whole. */
function nestedField(parent: JsonDocument, outer: string, inner: string): Field | undefined {
  const text = textOf(parent[inner]);
  if (text === undefined) return undefined;
  const { [inner]: _, ...others } = parent;
  const isEmpty = Object.keys(others).length === 0;
  return { text, member: outer, rest: isEmpty ? undefined : others };
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return isExactNumber(value) ? value.rawJSON : undefined;
}

/**
 * JSON of a value that JSON can hold. Lone surrogates become U+FFFD, as in plain text: readers
 * refuse their escapes.
 */
export function jsonText(value: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw refusal("it nests too deep; flatten it", cause);
  }
  return text.includes("\\ud") ? text.replace(ESCAPE, wellFormed) : text;
}

/** A backslash is escaped itself, so that from the left on each one begins an escape. */
const ESCAPE = /\\(?:ud[0-9a-f]{3}|.)/g;

function wellFormed(escape: string): string {
  return escape.startsWith("\\ud") ? "\ufffd" : escape;
}

function excerpt(value: unknown): string {
  return shortened(jsonText(value) ?? String(value));
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

function refusal(what: string, cause?: unknown): OperatingError {
  return new OperatingError("invalid_argument", `Cannot store the document: ${what}`, { cause });
}
