/**
 * Makes messages of DuckDB quote the caller's text. A message quotes the line that it means and
 * points at a place in it. Where the statement had been written anew (an implicit order, another
 * function name), that line is our text and not the caller's. So the place is found in the tree of
 * our text. What stands at the same place of the caller's tree is then quoted.
 */

import { utf8 } from "../../base/bytes.ts";
import { OperatingError } from "../../base/errors.ts";
import { type EngineConnection, EngineFault } from "../duckdb/driver.ts";
import { withHints, withoutPaths } from "../duckdb/fault_error.ts";
import { type Statement, textOfTree } from "./parse.ts";
import { isNode, parseTree, type TreeValue } from "./syntax_tree.ts";

/**
 * Returns `error`, or in its place one whose message quotes `statement` as it was sent. It quotes
 * nothing where the place is not found there.
 */
export async function inCallersText(
  given: unknown,
  statement: Statement,
  connection: EngineConnection,
): Promise<unknown> {
  if (!(given instanceof EngineFault) || given.kind !== "statement") return given;
  const error = withoutHidden(given);
  const quote = quoteOf(error.message);
  const { sql, sent } = statement;
  if (quote === undefined || (sql === sent && sql.includes(quote.text))) return error;
  try {
    const ours = await textOfTree(connection, statement.document);
    const at = ours.indexOf(quote.text);
    // What a fast path made of the statement is in no tree.
    const path = at < 0 ? undefined : pathTo(
      parseTree(await connection.serialize(ours)),
      utf8(ours.slice(0, at + quote.caret)).length,
    );
    const theirs = path === undefined ? undefined : locationAt(statement.document, path);
    const place = theirs === undefined ? "" : `\n\n${pointedAt(sent, theirs)}`;
    return new OperatingError(
      "invalid_argument",
      withHints(withoutPaths(`${quote.before}${place}`)),
      {
        reason: "statement_failed",
        cause: error,
      },
    );
  } catch {
    return error; // The message as it is tells more than none.
  }
}

/** No message names a column that stands for a call of the caller's (`schema/promoted.ts`). */
function withoutHidden(error: EngineFault): EngineFault {
  const message = error.message.replace(HIDDEN_SOURCE, "");
  return message === error.message ? error : new EngineFault(error.kind, message, { cause: error });
}

const HIDDEN_SOURCE = / when casting from source column attributes(?:\.[a-z ]+)?:[^\n]*/;

interface Quote {
  /** The message up to the quoted line. */
  readonly before: string;
  /** What is quoted, without the dots that stand for more of the line. */
  readonly text: string;
  /** Index in `text` of what is pointed at. */
  readonly caret: number;
}

function quoteOf(message: string): Quote | undefined {
  const found = /\s*^(LINE \d+: )(\.\.\.)?(.*?)(?:\.\.\.)?\n( *)\^/m.exec(message);
  const [, label = "", dots = "", text = "", spaces = ""] = found ?? [];
  const caret = indexAt(text, spaces.length - label.length - dots.length);
  if (found === null || text === "" || caret === undefined) return undefined;
  return { before: message.slice(0, found.index), text, caret };
}

/**
 * Returns the index in `text` of what is shown at `column`; undefined when nothing begins there.
 */
function indexAt(text: string, column: number): number | undefined {
  let index = 0;
  let at = 0;
  for (const character of text) {
    if (at >= column) break;
    index += character.length;
    at += columnsOf(character);
  }
  return at === column ? index : undefined;
}

/** DuckDB puts its caret where a terminal shows the place. */
function columnsOf(character: string): number {
  return WIDE.test(character) ? 2 : 1;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|\p{Emoji_Presentation}/u;

type Path = readonly (string | number)[];

/** Returns the way to the innermost node that stands at byte `location` of its text. */
function pathTo(value: TreeValue, location: number, path: Path = []): Path | undefined {
  let found = isNode(value) && value["query_location"] === location ? path : undefined;
  if (typeof value !== "object" || value === null) return found;
  for (const [member, inner] of Object.entries(value)) {
    found = pathTo(inner, location, [...path, Array.isArray(value) ? Number(member) : member]) ??
      found;
  }
  return found;
}

/**
 * Returns the byte offset of the node that `path` leads to; undefined when there is none, or none
 * that was sent.
 */
function locationAt(root: TreeValue, path: Path): number | undefined {
  let value: TreeValue = root;
  for (const member of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string | number, unknown>)[member];
  }
  const location = isNode(value) ? value["query_location"] : undefined;
  return typeof location === "number" && location > 0 ? location : undefined;
}

/** Characters that are shown of a line on either side of a place. */
const AROUND_MAX = 60;

/**
 * Returns `LINE 2: …` with a caret below, as DuckDB shows places. A long line is cut to what stands
 * around the place.
 */
function pointedAt(sql: string, location: number): string {
  const lines = new TextDecoder().decode(utf8(sql).subarray(0, location)).split("\n");
  const line = [...sql.split("\n")[lines.length - 1] ?? ""];
  const at = [...lines.at(-1) ?? ""].length;
  const first = Math.max(0, at - AROUND_MAX);
  const end = Math.min(line.length, at + AROUND_MAX);
  const before = `LINE ${lines.length}: ${first === 0 ? "" : "..."}`;
  const shown = `${line.slice(first, end).join("")}${end === line.length ? "" : "..."}`;
  const columns = line.slice(first, at).reduce((sum, one) => sum + columnsOf(one), 0);
  return `${before}${shown}\n${" ".repeat(before.length + columns)}^`;
}
