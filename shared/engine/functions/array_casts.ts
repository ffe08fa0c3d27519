/**
 * `'{a,"b c",NULL}'::text[]` and `x = ANY ('{a,b}')`: PostgreSQL writes a list as a text in braces,
 * which DuckDB does not read. It becomes the list of its items.
 */

import { parseArrayText } from "../statement/array_text.ts";
import { textOfConstant } from "../statement/text_of_constant.ts";
import {
  nodeAt,
  nodesAt,
  replaceNode,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import { callNode, constantNode } from "../statement/tree_nodes.ts";

/** The cast with a list in place of the text; undefined: it is another node. */
export function castOfItems(cast: TreeNode): TreeNode | undefined {
  if (textAt(cast, "class") !== "CAST") return undefined;
  if (textAt(nodeAt(cast, "cast_type") ?? {}, "id") !== "LIST") return undefined;
  const child = listOfText(nodeAt(cast, "child") ?? {});
  return child === undefined ? undefined : { ...cast, child };
}

/** The list that a text in braces is; undefined: it is another node. */
export function listOfText(node: TreeNode): TreeNode | undefined {
  const text = textOfConstant(node);
  const items = text === undefined ? undefined : parseArrayText(text, ITEMS_MAX);
  if (items === undefined) return undefined;
  const constants = items.map((item) => constantNode(item === null ? "NULL" : "VARCHAR", item));
  return callNode("list_value", constants);
}

/** The list of `x = ANY (list)`, which the parser reads as `x = ANY (SELECT unnest(list))`. */
export function listOfAny(node: TreeNode): TreeNode | undefined {
  if (textAt(node, "subquery_type") !== "ANY") return undefined;
  const query = nodeAt(nodeAt(node, "subquery") ?? {}, "node") ?? {};
  const [call, ...more] = nodesAt(query, "select_list");
  if (call?.["function_name"] !== "unnest" || more.length > 0) return undefined;
  if (textAt(nodeAt(query, "from_table") ?? {}, "type") !== "EMPTY") return undefined;
  return nodesAt(call, "children")[0];
}

const ITEMS_MAX = 100_000;

/** Changes all such texts of the tree; returns whether there was one. */
export function exchangeArrayTexts(root: TreeNode): boolean {
  let isChanged = false;
  walk(root, (node) => {
    const list = listOfAny(node);
    const [place, exchanged] = list === undefined
      ? [node, castOfItems(node)]
      : [list, listOfText(list)];
    if (exchanged === undefined) return;
    replaceNode(place, exchanged);
    isChanged = true;
  });
  return isChanged;
}
