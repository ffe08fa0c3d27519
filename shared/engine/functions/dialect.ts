/**
 * The service's SQL dialect on top of the engine's. Scalar functions are macros, made once before the
 * configuration is locked. Aggregates cannot be macros (a macro takes no FILTER, DISTINCT or OVER), so their
 * other names are exchanged on the tree.
 */

import { textAt, type TreeNode, walk } from "../syntax_tree.ts";
import { ALIASES } from "./aliases.ts";
import { ATTR_GET } from "./attr_get.ts";
import { BOUNDED_TEXT } from "./bounded_text.ts";
import { DATE_BIN } from "./date_bin.ts";
import { KV_EXTRACT } from "./kv_extract.ts";
import { TO_TIMESTAMP_NANOS } from "./to_timestamp_nanos.ts";

export const DIALECT_SETUP: readonly string[] = [
  ATTR_GET,
  KV_EXTRACT,
  DATE_BIN,
  TO_TIMESTAMP_NANOS,
  ...ALIASES,
  ...BOUNDED_TEXT,
];

const RENAMED: Readonly<Record<string, string>> = {
  approx_distinct: "approx_count_distinct",
  approx_percentile_cont: "approx_quantile",
  approx_median: "median",
};

/** Gives functions the engine's own names; returns whether any had another. */
export function renameFunctions(root: TreeNode): boolean {
  let changed = false;
  walk(root, (node) => {
    const kind = textAt(node, "class");
    if (kind !== "FUNCTION" && kind !== "WINDOW") return;
    const name = RENAMED[textAt(node, "function_name").toLowerCase()];
    if (name === undefined) return;
    node["function_name"] = name;
    changed = true;
  });
  return changed;
}
