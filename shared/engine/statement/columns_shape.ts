/** Tells statements apart by all that the columns of their answers can depend on. */

import type { TimeBounds } from "../bounds/time_bounds.ts";
import type { TreeNode } from "./syntax_tree.ts";

/**
 * Returns all that a statement's columns can depend on, as JSON. It is the tree without places in
 * the text, instants that bound its time, and the constants in `alike`.
 */
export function columnsShape(
  document: TreeNode,
  { micros }: Pick<TimeBounds, "micros">,
  alike: ReadonlySet<unknown> = NONE,
): string {
  return JSON.stringify(document, (member, value) => {
    if (member === "query_location") return undefined;
    return micros.get(value) !== undefined || alike.has(value) ? null : value;
  });
}

const NONE: ReadonlySet<unknown> = new Set();
