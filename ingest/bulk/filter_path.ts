/**
 * `filter_path` of a bulk request: which members of the reply the client wants, as
 * `errors,items.*.error`.
 *
 * A path keeps what it names and everything below. `*` stands for any text within a name, `**` for
 * any names. A path that begins with `-` takes away instead. The members of the reply are known
 * beforehand, so a filter is evaluated once for each of them, not once an item.
 */

import { BULK_ACTIONS, type BulkAction } from "./action_line.ts";

export interface ItemFields {
  readonly index: boolean;
  readonly id: boolean;
  readonly status: boolean;
  readonly errorType: boolean;
  readonly errorReason: boolean;
}

export interface ReplyFields {
  readonly took: boolean;
  readonly errors: boolean;
  readonly items: Readonly<Record<BulkAction, ItemFields>>;
}

/** Filters longer than this are not looked at: the whole reply is always a right one to get. */
const FILTER_LENGTH_MAX = 4_096;
const PATHS_MAX = 64;

/** `value` is the query parameter; null or empty keeps everything. */
export function replyFieldsOf(value: string | null): ReplyFields {
  return value === null ? EVERYTHING : fieldsOf(value);
}

function fieldsOf(value: string): ReplyFields {
  const paths = value.length > FILTER_LENGTH_MAX
    ? []
    : value.split(",").filter((path) => path !== "");
  if (paths.length > PATHS_MAX) return EVERYTHING;
  const kept = paths.filter((path) => !path.startsWith("-")).map(patternOf);
  const dropped = paths.filter((path) => path.startsWith("-")).map((path) =>
    patternOf(path.slice(1))
  );
  const has = (...leaf: string[]) =>
    (kept.length === 0 || kept.some((pattern) => covers(pattern, leaf))) &&
    !dropped.some((pattern) => covers(pattern, leaf));
  const itemFields = (action: BulkAction): ItemFields => ({
    index: has("items", action, "_index"),
    id: has("items", action, "_id"),
    status: has("items", action, "status"),
    errorType: has("items", action, "error", "type"),
    errorReason: has("items", action, "error", "reason"),
  });
  return {
    took: has("took"),
    errors: has("errors"),
    items: Object.fromEntries(
      BULK_ACTIONS.map((action) => [action, itemFields(action)]),
    ) as Record<BulkAction, ItemFields>,
  };
}

const EVERYTHING = fieldsOf("");

/** A name of a path, without its wildcards a literal text; `**` is kept as such. */
type Segment = "**" | readonly string[];

function patternOf(path: string): readonly Segment[] {
  const names = path.split(".");
  // Twice any names are any names, and a hundred times would be looked through in more ways than
  // can be counted.
  const distinct = names.filter((name, at) => name !== "**" || names[at - 1] !== "**");
  return distinct.map((name) => name === "**" ? name : name.split("*"));
}

/** Whether the path names `leaf` or something above it. */
function covers(pattern: readonly Segment[], leaf: readonly string[]): boolean {
  const [segment, ...others] = pattern;
  if (segment === undefined) return true;
  const [name, ...below] = leaf;
  if (segment === "**") {
    return covers(others, leaf) || (name !== undefined && covers(pattern, below));
  }
  return name !== undefined && matches(segment, name) && covers(others, below);
}

/**
 * Whether `name` is the pieces in order with any text between them: those of a pattern split at its
 * `*`.
 */
export function matches(pieces: readonly string[], name: string): boolean {
  const [first = "", ...others] = pieces;
  if (!name.startsWith(first)) return false;
  const last = others.pop();
  if (last === undefined) return name === first;
  let at = first.length;
  for (const piece of others) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
