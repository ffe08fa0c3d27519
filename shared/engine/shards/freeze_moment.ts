/**
 * Puts the moment of a statement into it, so that each of many servers means the same one. What
 * would differ from server to server in another way keeps a statement on one server.
 */

import { keepNames } from "../functions/exchange_calls.ts";
import { listAt, replaceNode, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";
import { castNode, textNode } from "../statement/tree_nodes.ts";

const INSTANTS: ReadonlySet<string> = new Set([
  "now",
  "transaction_timestamp",
  "get_current_timestamp",
  "current_timestamp",
]);
const DATES: ReadonlySet<string> = new Set(["today", "current_date"]);
/** Functions, and words that stand for one, whose values are a server's own. */
const OWN: ReadonlySet<string> = new Set([
  "random",
  "setseed",
  "uuid",
  "uuidv4",
  "uuidv7",
  "gen_random_uuid",
  "nextval",
  "currval",
  "get_current_time",
  "current_time",
  "localtime",
  "localtimestamp",
  "current_query",
  "current_query_id",
  "current_transaction_id",
  "current_connection_id",
  "txid_current",
]);

/**
 * Changes the tree. Returns the word that keeps the statement on one server, or undefined.
 * `columns` are lower-cased names of the tables' columns.
 */
export async function freezeMoment(
  root: TreeNode,
  { nowMs, columns, textOf }: {
    /** Unix milliseconds. */
    readonly nowMs: number;
    readonly columns: ReadonlySet<string>;
    /** Text of a SELECT in DuckDB's words. */
    readonly textOf: (select: TreeNode) => Promise<string>;
  },
): Promise<string | undefined> {
  const found: { readonly node: TreeNode; readonly word: string }[] = [];
  walk(root, (node) => {
    const word = wordOf(node, columns);
    if (word !== undefined) found.push({ node, word });
  });
  const own = found.find(({ word }) => OWN.has(word));
  if (own !== undefined) return own.word;
  if (found.length === 0) return undefined;
  await keepNames(root, { textOf, wants: (item) => holdsWord(item, columns) });
  const instant = new Date(nowMs).toISOString();
  for (const { node, word } of found) {
    const constant = DATES.has(word)
      ? castNode(textNode(instant.slice(0, 10)), "DATE")
      : castNode(textNode(instant), "TIMESTAMP WITH TIME ZONE");
    replaceNode(node, { ...constant, alias: node["alias"] });
  }
  return undefined;
}

function holdsWord(item: TreeNode, columns: ReadonlySet<string>): boolean {
  let holds = false;
  walk(item, (node) => {
    holds ||= wordOf(node, columns) !== undefined;
  });
  return holds;
}

function wordOf(node: TreeNode, columns: ReadonlySet<string>): string | undefined {
  const kind = textAt(node, "class");
  if (kind === "FUNCTION") return known(textAt(node, "function_name").toLowerCase());
  if (kind !== "COLUMN_REF") return undefined;
  const [name, ...more] = listAt(node, "column_names").map((one) => String(one).toLowerCase());
  // The words that need no parentheses begin so; a column of that name goes before them.
  if (name === undefined || more.length > 0 || !/^(current|local)/.test(name)) return undefined;
  return columns.has(name) ? undefined : known(name);
}

function known(word: string): string | undefined {
  return INSTANTS.has(word) || DATES.has(word) || OWN.has(word) ? word : undefined;
}
