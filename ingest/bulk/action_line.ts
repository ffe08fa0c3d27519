/**
 * The action line of a bulk request: one JSON object with the action as its first member,
 * `{"index":{"_index":"a","_id":"1"}}`.
 *
 * Other metadata (`_type`, `pipeline`, `routing` and what is invented next) is ignored, as
 * docs/clients.md#fluent-bit asks. So are members after the action, as Elasticsearch 8 ignores
 * them: winston-elasticsearch counts its attempts in one. A line that is no action is an
 * `invalid_argument` for the whole request: nothing tells where the next action begins.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import { isExactNumber, parseExact } from "../../shared/document/exact_numbers.ts";
import { boundsFault, DOCUMENT_BOUNDS } from "../../shared/document/json_bounds.ts";
import type { LineFault } from "./body_lines.ts";

export const BULK_ACTIONS = ["index", "create", "update", "delete"] as const;
export type BulkAction = typeof BULK_ACTIONS[number];

export interface ActionLine {
  readonly action: BulkAction;
  /** The index as the client wrote it, unchecked. */
  readonly index: string | undefined;
  readonly id: string | undefined;
}

/** Senders mostly repeat one action line: the last one is not parsed again. */
export class ActionLines {
  #text = "";
  #action: ActionLine | undefined;

  /** The action of `text`. Errors: `invalid_argument` naming the line. */
  parse(text: string | LineFault, line: number): ActionLine {
    if (this.#action !== undefined && text === this.#text) return this.#action;
    if (typeof text !== "string") throw malformed(line, `it ${text.fault}`);
    this.#action = parseAction(text, line);
    this.#text = text;
    return this.#action;
  }
}

/**
 * Longest action line, in UTF-16 units; the search engine's ids have 512 bytes at most, its names
 * 255.
 */
const ACTION_LENGTH_MAX = 64 * 1024;

function parseAction(text: string, line: number): ActionLine {
  const fault = boundsFault(text, DOCUMENT_BOUNDS);
  if (fault !== undefined) throw malformed(line, `it ${fault}`);
  if (text.length > ACTION_LENGTH_MAX) {
    throw malformed(line, `it has more than ${ACTION_LENGTH_MAX} characters`);
  }
  const parsed = objectOf(text);
  if (parsed === undefined) throw malformed(line, `it is no JSON object: ${excerpt(text)}`);
  const names = Object.keys(parsed);
  const [action, second] = BULK_ACTIONS.filter((known) => Object.hasOwn(parsed, known));
  if (action === undefined || action !== names[0] || second !== undefined) {
    const expected = "first of all exactly one of index, create, update, delete";
    throw malformed(line, `its members are ${excerpt(names.join(", "))}, not ${expected}`);
  }
  const metadata = parsed[action];
  if (!isObject(metadata)) throw malformed(line, `${action} is no object: ${excerpt(text)}`);
  return {
    action,
    index: simpleValue(metadata, "_index", line),
    id: simpleValue(metadata, "_id", line),
  };
}

/** A string or number as text, all digits of a number; null is the same as none. */
function simpleValue(
  metadata: Record<string, unknown>,
  name: string,
  line: number,
): string | undefined {
  const value = metadata[name] ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  if (isExactNumber(value)) return value.rawJSON;
  throw malformed(line, `${name} is ${excerpt(JSON.stringify(value))}, not a string`);
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const parsed = parseExact(text);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !isExactNumber(value);
}

function excerpt(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

function malformed(line: number, why: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Malformed action line ${line}: ${why}. Send {"index":{"_index":"name"}} or ` +
      `{"create":{"_index":"name"}} before each document; nothing of this request was stored`,
    { reason: "malformed_action" },
  );
}
