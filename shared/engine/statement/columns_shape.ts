/** Tells statements apart by all that the columns of their answers can depend on. */

import type { TimeBounds } from "../bounds/time_bounds.ts";
import type { TreeNode } from "./syntax_tree.ts";

/**
 * Returns all that a statement's columns can depend on, as text. It is the tree without places in
 * the text, instants that bound its time, and the constants in `alike`. Members without content are
 * left out, which each have one such content: nothing, an empty text, or false.
 */
export function columnsShape(
  document: TreeNode,
  { micros }: Pick<TimeBounds, "micros">,
  alike: ReadonlySet<unknown> = NONE,
): string {
  const shapeOf = (value: unknown): string => {
    if (typeof value === "string") return JSON.stringify(value);
    if (typeof value !== "object" || value === null) return String(value);
    if (Array.isArray(value)) {
      let items = "[";
      for (const item of value) items += `${shapeOf(item)},`;
      return `${items}]`;
    }
    if (alike.has(value) || micros.get(value as TreeNode) !== undefined) return "null";
    let members = "{";
    const node = value as TreeNode;
    for (const member in node) {
      const own = node[member];
      if (member === "query_location") continue;
      // A constant's value is told apart from others of its type.
      if ((own === null || own === "" || own === false) && member !== "value") continue;
      members += `${member}:${shapeOf(own)},`;
    }
    return `${members}}`;
  };
  return shapeOf(document);
}

const NONE: ReadonlySet<unknown> = new Set();
