/**
 * Calls of a statement that are exchanged before it runs: patterns, words, and what must be
 * measured. It comes after everything that reads the statement as it was asked. Columns keep the
 * names that they had.
 */

import { columnName } from "../statement/column_name.ts";
import {
  cloneTree,
  nodesAt,
  someNode,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import { exchangeBoundedCalls, mayHoldBoundedCalls } from "./bounded_calls.ts";
import { exchangeMatchCalls, holdsMatchCalls } from "./match_calls.ts";
import { exchangePatternCalls, hasPatternCalls } from "./pattern_calls.ts";
import { aliasesOf } from "./value_growth.ts";

/** What the exchange needs to know of a statement's columns. */
export interface ExchangeOptions {
  /** The text of a SELECT. */
  readonly textOf: (select: TreeNode) => Promise<string>;
  /** The `COLUMN_REF` nodes of columns whose words are compared by their stems. */
  readonly stemmed: ReadonlySet<TreeNode>;
}

/** What became of the calls of a statement. */
export interface ExchangedCalls {
  readonly exchanged: boolean;
  /**
   * Whether DuckDB must not see some calls as they were, not even to find out the types of columns:
   * it evaluates constants.
   */
  readonly guarded: boolean;
}

/** Exchanges the calls below `root`. Errors: those of each kind of call. */
export async function exchangeCalls(
  root: TreeNode,
  { textOf, stemmed }: ExchangeOptions,
): Promise<ExchangedCalls> {
  const made = aliasesOf(root);
  const guards = (node: TreeNode) =>
    hasPatternCalls(node) ||
    mayHoldBoundedCalls(node) && exchangeBoundedCalls(cloneTree(node), made);
  const guarded = guards(root);
  if (!guarded && !holdsMatchCalls(root, stemmed)) return { exchanged: false, guarded };
  await keepNames(root, {
    textOf,
    wants: (item) => guards(item) || holdsMatchCalls(item, stemmed),
  });
  exchangePatternCalls(root);
  exchangeBoundedCalls(root, made);
  exchangeMatchCalls(root, stemmed);
  return { exchanged: true, guarded };
}

/**
 * Names the items of the wanted kind, which are about to change, by what they would have been
 * called.
 */
export async function keepNames(
  root: TreeNode,
  { textOf, wants }: Pick<ExchangeOptions, "textOf"> & {
    readonly wants: (item: TreeNode) => boolean;
  },
): Promise<void> {
  for (const select of selectsBelow(root)) {
    for (const item of nodesAt(select, "select_list")) {
      if (textAt(item, "alias") !== "" || holdsStar(item) || !wants(item)) continue;
      item["alias"] = await columnName(select, item, textOf);
    }
  }
}

/** An item with a star has several columns, each with a name of its own. */
function holdsStar(item: TreeNode): boolean {
  return someNode(item, (node) => textAt(node, "class") === "STAR");
}

function selectsBelow(root: TreeNode): TreeNode[] {
  const selects: TreeNode[] = [];
  walk(root, (node) => {
    if (node["type"] === "SELECT_NODE") selects.push(node);
  });
  return selects;
}
