/** Tells statements apart by all that the columns of their answers can depend on. */

import type { TimeBounds } from "../bounds/time_bounds.ts";
import type { TreeNode } from "./syntax_tree.ts";

/**
 * Returns all that a statement's columns can depend on, as JSON: its tree without the places in the
 * text and without the instants that bound its time.
 */
export function columnsShape(document: TreeNode, { micros }: TimeBounds): string {
  return JSON.stringify(document, (member, value) => {
    if (member === "query_location") return undefined;
    return micros.get(value) === undefined ? value : null;
  });
}
