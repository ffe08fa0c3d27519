/**
 * A JSON document as a row of `events`: SHAPES.md, "bulk document → events-shaped index". For `svc ingest`, where a
 * document is an object for a moment; not a hot path.
 *
 * A member that fills a column is not repeated in `attributes`. Integers keep their digits beyond 2^53.
 */

import { OperatingError } from "../shared/base/errors.ts";
import {
  NS_PER_MS,
  NS_PER_SEC,
  NS_PER_US,
  parseRfc3339Ns,
  TIMESTAMP_NS_MAX,
} from "../shared/base/time.ts";
import type { RowObject } from "../shared/columns/rows.ts";
import { ExactNumber, type JsonValue, parseExact } from "./sql/exact_json.ts";

type Members = Record<string, JsonValue>;

const NESTING_MAX = 32;
/** More digits than a JavaScript number keeps. */
const LONG_NUMBER = /\d{16}/;

/** Reads one document; `nowNs` is the time of one that has none. Errors: `invalid_argument`. */
export function eventRowOf(text: string, { nowNs }: { nowNs: bigint }): RowObject {
  const members = parseDocument(text);
  const timestampNs = takeTime(members) ?? nowNs;
  const row = {
    timestamp: timestampNs / NS_PER_US,
    timestamp_ns: timestampNs,
    host: takeText(members, "host.name") ?? takeHost(members) ?? "unknown",
    source: takeText(members, "service.name") ?? takeText(members, "source") ?? "bulk",
    sourcetype: takeText(members, "sourcetype") ?? "bulk:doc",
    index: takeText(members, "index") ?? "main",
    raw: takeMessage(members) ?? text.trim(),
  };
  const attributes = Object.keys(members).length === 0 ? null : JSON.stringify(members);
  return { ...row, attributes };
}

function parseDocument(text: string): Members {
  let value: JsonValue;
  try {
    value = LONG_NUMBER.test(text) ? parseExact(text) : JSON.parse(text);
  } catch (cause) {
    throw refused("it is no JSON", cause);
  }
  if (!isObject(value)) throw refused("it is no JSON object");
  if (depthOf(value) > NESTING_MAX) throw refused(`it nests deeper than ${NESTING_MAX}`);
  return value as Members;
}

function isObject(value: JsonValue | undefined): value is { readonly [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !(value instanceof ExactNumber);
}

/** Levels of objects and arrays, counted only as far as it matters. */
function depthOf(value: JsonValue, above = 0): number {
  if (typeof value !== "object" || value === null || value instanceof ExactNumber) return above;
  if (above > NESTING_MAX) return above;
  return Object.values(value).reduce<number>(
    (deepest, member) => Math.max(deepest, depthOf(member, above + 1)),
    above + 1,
  );
}

function takeText(members: Members, name: string): string | undefined {
  const value = members[name];
  if (typeof value !== "string") return undefined;
  delete members[name];
  return value;
}

/** `"host": "a"` or `"host": {"name": "a", …}`; of the latter the rest stays. */
function takeHost(members: Members): string | undefined {
  const { host } = members;
  if (!isObject(host)) return takeText(members, "host");
  const { name, ...rest } = host;
  if (typeof name !== "string") return undefined;
  if (Object.keys(rest).length === 0) delete members["host"];
  else members["host"] = rest;
  return name;
}

function takeMessage(members: Members): string | undefined {
  const { message } = members;
  if (message === undefined || message === null) return undefined;
  delete members["message"];
  return typeof message === "string" ? message : JSON.stringify(message);
}

function takeTime(members: Members): bigint | undefined {
  for (const name of ["@timestamp", "timestamp"]) {
    const value = members[name];
    if (value === undefined || value === null) continue;
    delete members[name];
    const ns = timeNs(value);
    if (ns !== undefined && ns >= 0n && ns <= TIMESTAMP_NS_MAX) return ns;
    throw refused(
      `its ${name} ${JSON.stringify(value)} is no time from 1970 to 2262: ` +
        "give RFC 3339 with a zone, or Unix s, ms, µs or ns",
    );
  }
  return undefined;
}

function timeNs(value: JsonValue): bigint | undefined {
  if (typeof value === "string") return parseRfc3339Ns(value);
  const text = value instanceof ExactNumber ? value.text : String(value);
  const [, digits = "", fraction = ""] = /^(\d{1,19})(?:\.(\d+))?$/.exec(text) ?? [];
  if (digits === "" || typeof value === "boolean") return undefined;
  const unitNs = unitNsOf(BigInt(digits));
  const fractionNs = BigInt(fraction.slice(0, 9).padEnd(9, "0")) * unitNs / NS_PER_SEC;
  return BigInt(digits) * unitNs + fractionNs;
}

/** The unit in which a number of this size is a time between 1973 and 5138. */
function unitNsOf(value: bigint): bigint {
  if (value < 100_000_000_000n) return NS_PER_SEC;
  if (value < 100_000_000_000_000n) return NS_PER_MS;
  return value < 100_000_000_000_000_000n ? NS_PER_US : 1n;
}

function refused(why: string, cause?: unknown): OperatingError {
  return new OperatingError("invalid_argument", why, { cause });
}
