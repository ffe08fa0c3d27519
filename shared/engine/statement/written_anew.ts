/**
 * Statements that are written anew before anything judges them, because their tree was changed:
 * values took the places of parameters, or functions of PostgreSQL's catalog were exchanged. What
 * runs is another text then, and places in messages are still those of the text that was sent.
 */

import { parse, type Statement, textOfTree } from "./parse.ts";
import type { CachedConnection } from "./statement_cache.ts";
import { isNode, textAt, type TreeNode, type TreeValue } from "./syntax_tree.ts";

type Parser = Pick<CachedConnection, "serialize" | "deserialize">;

/**
 * Returns `statement` with the tree `document`, parsed from that tree's text, so that it is what
 * the parser makes of it. Errors: those of `parse`, the connection's.
 */
export async function writtenAnew(
  statement: Statement,
  document: TreeNode,
  cached: Parser,
): Promise<Statement> {
  const sql = await textOfTree(cached, document);
  return await parsedAgain({ ...statement, sql, writtenOf: document }, cached);
}

/** Returns the statement as it is before any phase changed its tree. */
export async function parsedAgain(statement: Statement, cached: Parser): Promise<Statement> {
  const { sent, explain, analyze, writtenOf, sql } = statement;
  const again = await parse((text) => cached.serialize(text), sql);
  if (writtenOf === undefined) return { ...again, sent, explain, analyze };
  placeAs(again.document, writtenOf);
  return { ...again, sent, explain, analyze, writtenOf };
}

/**
 * Gives the nodes of `tree` the places that those of `like` have. Where the two differ, all that
 * stands there has the place of what stood there.
 */
function placeAs(tree: TreeValue, like: TreeValue): void {
  if (Array.isArray(tree) && Array.isArray(like)) {
    tree.forEach((item, at) => placeAs(item, like[at]));
    return;
  }
  if (!isNode(tree)) return;
  if (!isNode(like) || !isAlike(tree, like)) {
    placeAt(tree, isNode(like) ? like["query_location"] : undefined);
    return;
  }
  if ("query_location" in tree) tree["query_location"] = like["query_location"] ?? 0;
  for (const member in tree) placeAs(tree[member], like[member]);
}

function isAlike(one: TreeNode, other: TreeNode): boolean {
  return textAt(one, "class") === textAt(other, "class") &&
    textAt(one, "type") === textAt(other, "type");
}

/** `location`: of the node that stood there; undefined: nothing was sent for it. */
function placeAt(tree: TreeValue, location: TreeValue): void {
  if (Array.isArray(tree)) { for (const item of tree) placeAt(item, location); }
  if (!isNode(tree)) return;
  if ("query_location" in tree) tree["query_location"] = location ?? 0;
  for (const member in tree) placeAt(tree[member], location);
}
