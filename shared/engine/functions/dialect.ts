/**
 * The service's SQL dialect on top of DuckDB's. Scalar functions are macros, made once before the
 * configuration is locked. Aggregates cannot be macros (a macro takes no FILTER, DISTINCT or OVER),
 * so their other names are exchanged on the tree.
 */

import { OperatingError } from "../../base/errors.ts";
import {
  cloneTree,
  isNode,
  listAt,
  nodeAt,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import { ALIASES } from "./aliases.ts";
import { ATTR_GET } from "./attr_get.ts";
import { BOUNDED_CALLS } from "./bounded_calls.ts";
import { BOUNDED_FAIL, BOUNDED_TEXT } from "./bounded_text.ts";
import { DATE_BIN } from "./date_bin.ts";
import { EXACT_AVERAGE } from "./exact_average.ts";
import { EXACT_MEAN } from "./exact_mean.ts";
import { FOLDED_TEXT } from "./folded_text.ts";
import { KV_EXTRACT } from "./kv_extract.ts";
import { LOG_PATTERN } from "./log_pattern.ts";
import { MATCH } from "./match.ts";
import { PATTERNS } from "./pattern_calls.ts";
import { TO_TIMESTAMP_NANOS } from "./to_timestamp_nanos.ts";
import { UTC_TIMES } from "./utc_times.ts";

export const DIALECT_SETUP: readonly string[] = [
  BOUNDED_FAIL,
  ATTR_GET,
  KV_EXTRACT,
  LOG_PATTERN,
  DATE_BIN,
  ...UTC_TIMES,
  TO_TIMESTAMP_NANOS,
  ...FOLDED_TEXT,
  ...MATCH,
  ...ALIASES,
  ...BOUNDED_TEXT,
  ...BOUNDED_CALLS,
  ...PATTERNS,
  ...EXACT_AVERAGE,
  ...EXACT_MEAN,
  // What `user` means where no column has the name: nobody learns how DuckDB is run.
  "CREATE MACRO current_user() AS error('there is no column called user here')",
];

const RENAMED: Readonly<Record<string, string>> = {
  approx_distinct: "approx_count_distinct",
  approx_percentile_cont: "approx_quantile",
  approx_median: "median",
};

/**
 * Gives functions DuckDB's own names, and `regexp_replace` its bound; returns what changed. Errors:
 * `invalid_argument` for units that DuckDB does not survive.
 */
export function renameFunctions(
  root: TreeNode,
): { readonly renamed: boolean; readonly bounded: boolean } {
  let renamed = false;
  let bounded = false;
  walk(root, (node) => {
    const kind = textAt(node, "class");
    if (kind !== "FUNCTION" && kind !== "WINDOW") return;
    if (boundReplacement(node)) bounded = true;
    refuseUnsafeUnits(node);
    const name = RENAMED[textAt(node, "function_name").toLowerCase()];
    if (name === undefined) return;
    node["function_name"] = name;
    renamed = true;
  });
  return { renamed, bounded };
}

/**
 * Refuses ISO years and eras. DuckDB's calendar fails with them as a bug would (1.5.5:
 * `date_diff('isoyear', a, b)` of ordinary instants), and the whole database is lost with it.
 */
function refuseUnsafeUnits(node: TreeNode): void {
  const name = textAt(node, "function_name").toLowerCase();
  if (!["date_diff", "date_sub", "datediff", "datesub"].includes(name)) return;
  const [unit] = listAt(node, "children");
  const value = isNode(unit) && textAt(unit, "class") === "CONSTANT" ? nodeAt(unit, "value") : {};
  const text = textAt(value ?? {}, "value").trim().toLowerCase();
  if (text !== "" && !["isoyear", "era"].includes(text)) return;
  throw new OperatingError(
    "invalid_argument",
    `Cannot call ${name} by ${text === "" ? "a computed unit" : text}: write one of ` +
      "microsecond to millennium as a text, such as 'year'",
    { reason: "refused_function" },
  );
}

/** Whether `renameFunctions` changes something below `item`. */
export function isChangedByName(item: TreeNode): boolean {
  const { renamed, bounded } = renameFunctions(cloneTree(item));
  return renamed || bounded;
}

/** Longer replacements, and those that are no constant, are measured against the text first. */
const SHORT_REPLACEMENT = 16;

/**
 * Bounds a call of `regexp_replace`. A macro cannot replace the function: its options must be a
 * constant when the macro is made.
 */
function boundReplacement(node: TreeNode): boolean {
  const [value, pattern, replacement, ...options] = listAt(node, "children");
  if (textAt(node, "function_name").toLowerCase() !== "regexp_replace") return false;
  if (value === undefined || !isNode(replacement) || isShort(replacement)) return false;
  const bounded = {
    ...node,
    alias: "",
    schema: "",
    catalog: "",
    function_name: "bounded_replacement",
    children: [value, { ...replacement }],
  };
  node["children"] = [value, pattern, bounded, ...options];
  return true;
}

function isShort(replacement: TreeNode): boolean {
  if (textAt(replacement, "class") !== "CONSTANT") return false;
  return textAt(nodeAt(replacement, "value") ?? {}, "value").length <= SHORT_REPLACEMENT;
}
